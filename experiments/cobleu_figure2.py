"""Figure 2 of Pauls, DeNero and Klein (2009): what training sees as the weight of the language model varies.

python experiments/cobleu_figure2.py docs/figures/cobleu-figure2.svg
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from runs import save_figure

from toledo.consensus.decide import Viterbi
from toledo.consensus.fast_consensus import Consensus
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.ngrams import localize
from toledo.objectives.cobleu import ConsensusPrecision
from toledo.objectives.objective import match
from toledo.objectives.one_best import OneBestObjective
from toledo.text.vocabulary import Vocabulary
from toledo.view.curves import Lines, Series

HYPOTHESES = {"Once on a rhyme": (-3.0, -7.0), "Once upon a rhyme": (-5.0, -6.0), "Once upon a time": (-9.0, -3.0)}
REFERENCE = "Once upon a rhyme"


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="picture to write (.svg)")
    output = parser.parse_args().output
    entries = [ListEntry(text.split(), {"tm": tm, "lm": lm}) for text, (tm, lm) in HYPOTHESES.items()]
    forest = from_nbest(entries, ["tm", "lm"], Vocabulary())
    matched = match(localize(forest, np.zeros(forest.edges), 2), [[REFERENCE.split()]])
    points = np.linspace(0.0, 4.0, 401)
    objectives = {"MaxBP": OneBestObjective(ConsensusPrecision()), "CoBP": ConsensusPrecision()}
    rules = {"Viterbi": Viterbi(), "consensus": Consensus(order=2)}
    scores, precision, taken = [], {name: [] for name in objectives}, {name: [] for name in rules}
    texts = list(HYPOTHESES)
    for lm in points:
        weights = {"tm": 1.0, "lm": float(lm)}
        scores.append(forest.scores(weights))
        for name, objective in objectives.items():
            precision[name].append(objective.value_and_gradient(matched, weights)[0])
        for name, rule in rules.items():
            words = rule.decide(forest, scores[-1]).words.tolist()
            taken[name].append(texts.index(" ".join(forest.vocabulary.words(words))) + 1)
    x = "weight of the language model; that of the translation model is 1"
    model = [*zip(texts, np.transpose(scores), strict=True), ("best of them", np.max(scores, axis=1))]
    panels = {
        "Model scores, and the hull of the best": (model, "score"),
        "Bigram precision of the best translation, and by expected counts": (precision.items(), "precision"),
        "Which of the three is taken": (taken.items(), "number of the translation"),
    }
    rows = [
        [(title, Lines([Series(name, _points(points, values)) for name, values in curves], x, y))]
        for title, (curves, y) in panels.items()
    ]
    save_figure(rows, output, 600)


def _points(x: Iterable[float], y: Iterable[float]) -> list[tuple[float, float]]:
    return [(float(one), float(two)) for one, two in zip(x, y, strict=True)]


if __name__ == "__main__":
    main()
