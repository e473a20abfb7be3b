"""Figure 2 of Pauls, DeNero and Klein (2009): what training sees as the weight of the language model varies.

python experiments/cobleu_figure2.py docs/figures/cobleu-figure2.svg
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from runs import save_figure

from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.derivations import viterbi
from toledo.forest.inside_outside import distribution
from toledo.forest.ngrams import localize
from toledo.objectives.cobleu import ConsensusPrecision
from toledo.objectives.objective import match
from toledo.text.vocabulary import Vocabulary
from toledo.view.curves import Lines, Series

HYPOTHESES = {"Once on a rhyme": (-3.0, -7.0), "Once upon a rhyme": (-5.0, -6.0), "Once upon a time": (-9.0, -3.0)}
REFERENCE = "Once upon a rhyme"
MATCHING_BIGRAMS = {"Once on a rhyme": 1 / 3, "Once upon a rhyme": 1.0, "Once upon a time": 2 / 3}


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="picture to write (.svg)")
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
    precision = [Series("MaxBP", _points(points, steps)), Series("CoBP", _points(points, smooth))]
    columns = zip(HYPOTHESES, np.transpose(posteriors), strict=True)
    chances = [Series(name, _points(points, values)) for name, values in columns]
    x = "weight of the language model; that of the translation model is 1"
    rows = [
        [("Bigram precision of the best translation, and by expected counts", Lines(precision, x, "precision"))],
        [("Probabilities of the translations", Lines(chances, x, "posterior"))],
    ]
    save_figure(rows, output, 600)


def _points(x: Iterable[float], y: Iterable[float]) -> list[tuple[float, float]]:
    return [(float(one), float(two)) for one, two in zip(x, y, strict=True)]


if __name__ == "__main__":
    main()
