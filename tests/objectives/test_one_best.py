"""MaxBLEU against BLEU of the best derivations, found one by one."""

import math

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.forest.assemble import join
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.ngrams import localize
from toledo.metrics.bleu import BLEU
from toledo.objectives.cobleu import CoBLEU, ConsensusPrecision
from toledo.objectives.objective import match
from toledo.objectives.one_best import OneBestObjective
from toledo.text.vocabulary import Vocabulary


@given(st.data())
def test_the_value_is_the_precision_of_a_best_derivation(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    reference = data.draw(st.lists(st.sampled_from(oracle.WORDS), min_size=1, max_size=5))
    weights = {"f0": data.draw(st.floats(-1, 1)), "f1": data.draw(st.floats(-1, 1))}
    scores, trees = forest.scores(weights), oracle.derivations(forest)
    totals = np.array([tree.score(scores) for tree in trees])
    matched = match(localize(forest, np.zeros(forest.edges), 1), [[reference]])
    value, gradient = OneBestObjective(ConsensusPrecision(order=1)).value_and_gradient(matched, weights)
    best = [trees[place].words for place in np.flatnonzero(totals >= totals.max(initial=-np.inf) - 1e-6)]
    possible = [_precision(forest.vocabulary.words(words), reference) for words in best] or [0.0]
    assert min(abs(value - one) for one in possible) < 1e-9
    assert set(gradient.values()) <= {0.0}


def _precision(words: list[str], reference: list[str]) -> float:
    return sum(min(words.count(one), reference.count(one)) for one in set(words)) / max(len(words), 1)


def test_bleu_of_several_segments() -> None:
    vocabulary = Vocabulary()
    texts = [["the cat sat on the mat", "a cat sat on a mat"], ["he waits for a train", "he is waiting for the train"]]
    forest = join([
        from_nbest([ListEntry(text.split(), {"f": float(place)}) for place, text in enumerate(some)], ["f"], vocabulary)
        for some in texts
    ])  # fmt: skip
    references = ["the cat sat on a mat", "he waits for the train"]
    matched = match(localize(forest, np.zeros(forest.edges), 4), [[one.split()] for one in references])
    for weight, chosen in ((1.0, 1), (-1.0, 0)):
        value, _ = OneBestObjective(CoBLEU()).value_and_gradient(matched, {"f": weight})
        best = [some[chosen] for some in texts]
        assert 100 * math.exp(value) == pytest.approx(BLEU(smooth_method="none").corpus_score(best, [references]).score)
