"""MaxBLEU against BLEU of the best derivations, found one by one."""

import math
from dataclasses import replace

import numpy as np
import oracle
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toledo.forest.assemble import join
from toledo.forest.ngrams import localize
from toledo.metrics.bleu import BLEU
from toledo.objectives.cobleu import CoBLEU
from toledo.objectives.objective import match
from toledo.objectives.one_best import OneBest


@given(st.data())
def test_the_value_is_bleu_of_the_best_derivations(data: st.DataObject) -> None:
    drawn = data.draw(st.lists(oracle.forests(max_nodes=4), min_size=1, max_size=3))
    forests = [replace(one, vocabulary=drawn[0].vocabulary) for one in drawn]  # all have the same words
    forest = join(forests)
    references = [
        data.draw(st.lists(st.sampled_from(oracle.WORDS), min_size=1, max_size=5)) for _ in range(len(forest))
    ]
    weights = {"f0": data.draw(st.floats(-1, 1)), "f1": data.draw(st.floats(-1, 1))}
    matched = match(localize(forest, np.zeros(forest.edges), 2), [[one] for one in references])
    texts = []
    for one in forests:
        scores, trees = one.scores(weights), oracle.derivations(one)
        totals = [tree.score(scores) for tree in trees]
        assume(trees and (np.diff(sorted(totals)) > 1e-6).all())  # one of them is the best
        texts.append(" ".join(forest.vocabulary.words(trees[int(np.argmax(totals))].words)))
    assume(any(len(text.split()) > 1 for text in texts))  # CoBLEU leaves orders out of which there is no n-gram at all
    bleu = BLEU(max_ngram_order=2, smooth_method="none", tokenize="none")
    expected = bleu.corpus_score(texts, [[" ".join(one) for one in references]]).score / 100
    assume(expected > 0.0)  # CoBLEU has a finite value where there is no match
    value, gradient = OneBest(CoBLEU(order=2)).value_and_gradient(matched, weights)
    assert math.exp(value) == pytest.approx(expected, abs=1e-9)
    assert set(gradient.values()) == {0.0}
