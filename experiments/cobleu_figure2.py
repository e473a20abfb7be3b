"""Figure 2 of Pauls, DeNero and Klein (2009): what training sees as the weight of the language model varies.

python experiments/cobleu_figure2.py docs/figures/cobleu-figure2.svg
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from runs import save_figure

from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.derivations import viterbi
from toledo.forest.inside_outside import distribution
from toledo.forest.ngrams import localize
from toledo.objectives.cobleu import ConsensusPrecision
from toledo.objectives.objective import match
from toledo.text.vocabulary import Vocabulary

HYPOTHESES = {"Once on a rhyme": (-3.0, -7.0), "Once upon a rhyme": (-5.0, -6.0), "Once upon a time": (-9.0, -3.0)}
REFERENCE = "Once upon a rhyme"
MATCHING_BIGRAMS = {"Once on a rhyme": 1 / 3, "Once upon a rhyme": 1.0, "Once upon a time": 2 / 3}


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="picture to write (.svg, .png, .pdf)")
    output = parser.parse_args().output
    entries = [ListEntry(text.split(), {"tm": tm, "lm": lm}) for text, (tm, lm) in HYPOTHESES.items()]
    forest = from_nbest(entries, ["tm", "lm"], Vocabulary())
    matched = match(localize(forest, np.zeros(forest.edges), 2), [[REFERENCE.split()]])
    points = np.linspace(0.0, 4.0, 401)
    smooth, steps, posteriors = [], [], []
    for lm in points:
        weights = {"tm": 1.0, "lm": float(lm)}
        smooth.append(ConsensusPrecision().value_and_gradient(matched, weights)[0])
        steps.append(MATCHING_BIGRAMS[str(viterbi(forest, forest.scores(weights))[0])])
        posteriors.append(distribution(forest.shape, forest.scores(weights)).posteriors)
    figure, (top, bottom) = plt.subplots(2, sharex=True, figsize=(6, 5), layout="constrained")
    top.plot(points, steps, label="MaxBP (Viterbi)", color="0.5", drawstyle="steps-mid")
    top.plot(points, smooth, label="CoBP (expected counts)", color="C3")
    top.set_ylabel("bigram precision")
    top.legend()
    for name, values in zip(HYPOTHESES, np.transpose(posteriors), strict=True):
        bottom.plot(points, values, label=name)
    bottom.set(xlabel=r"$\theta_{LM}$  ($\theta_{TM} = 1$)", ylabel="posterior")
    bottom.legend()
    save_figure(figure, output)


if __name__ == "__main__":
    main()
