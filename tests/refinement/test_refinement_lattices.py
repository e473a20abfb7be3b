"""Refinement on lattices: γ is the advantage of edges, and growth transforms raise the objective there, too."""

import numpy as np
import pytest
import small_models
from small_refinements import random_lexicon

from toledo.errors import InputError
from toledo.forest.kbest import k_best
from toledo.metrics.bleu import BLEU
from toledo.phrases.lexicon import Lexicons
from toledo.refinement.ascent import Growth, gradient
from toledo.refinement.distributions import LEXICON, PHRASE, prior_values
from toledo.refinement.expected_bleu import LatticeSpace, lattice_part, normalized, pruned_lattices
from toledo.refinement.objective import RefinementObjective, TrainedParameters
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.search.steps import steps_of

SOURCES = ["das haus ist klein", "klein ist das haus", "das ist neu", "haus ist klein ist das"]
REFERENCES = ["that house is small", "small is that house", "that is new", "the house is that small"]


@pytest.fixture(scope="module")
def model():
    from dataclasses import replace

    given = small_models.small_model()
    random = np.random.default_rng(1)
    forward = random_lexicon(random, given.source_vocabulary, given.target_vocabulary)
    backward = random_lexicon(random, given.target_vocabulary, given.source_vocabulary)
    return replace(given, word_lexicons=Lexicons(forward, backward))


def forests(model):
    return BeamSearch(model, Beam(50)).forests([line.split() for line in SOURCES], 1)


def objective(model, names, strength=0.01, density=50.0):
    lattices = pruned_lattices(forests(model), model.weights, density, None, 1)
    part = lattice_part(lattices, [line.split() for line in REFERENCES], model.weights, 1)
    space = LatticeSpace([part, part])
    exponents = normalized(model.weights, model.feature_names, 3.0)
    return RefinementObjective(space, TrainedParameters(model, names, space.used, 1), exponents, strength)


def test_edges_know_their_pairs(model):
    rows = np.arange(len(model.table), dtype=np.int32)[::-1].copy()
    for own, numbers in ((None, np.arange(len(model.table))), (rows, rows)):
        lattices = pruned_lattices(forests(model)[:1], model.weights, 50.0, own, 1)
        best = next(k_best(lattices, lattices.scores(model.weights)))
        original = next(k_best(forests(model)[0], forests(model)[0].scores(model.weights)))
        expected = [numbers[step.pair] for step in steps_of(original) if step.pair >= 0]
        assert sorted(pair for pair in best.provenance if pair >= 0) == sorted(expected)


@pytest.mark.parametrize("names", [PHRASE, LEXICON, PHRASE + LEXICON])
def test_gradient_by_central_differences(model, names):
    given = objective(model, names)
    values = prior_values(given.parameters.families)
    slopes = gradient(given, values, given.at(values))
    for name in given.trainable:
        groups = given.parameters.families[name].groups
        for place in range(values[name].size):
            ends = []
            for change in (1e-5, -1e-5):
                logs = np.log(values[name])
                logs[place] += change
                shares = np.exp(logs)
                shares /= np.bincount(groups.of, shares, groups.size)[groups.of]
                ends.append(given.at({**values, name: shares}).value)
            assert slopes[name][place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("strength", [0.0, 0.01])
def test_objective_rises(model, strength):
    given = objective(model, PHRASE + LEXICON, strength)
    values = prior_values(given.parameters.families)
    first = point = given.at(values)
    for _ in range(5):
        step = Growth().step(given, values, point)
        assert step.point.value > point.value + 1e-6
        values, point = step.values, step.point
    assert point.expectation.utility > first.expectation.utility


def test_best_translations_are_scored(model):
    given = objective(model, PHRASE)
    changes = np.zeros(len(model.table))
    found = given.space.expect(given.exponents, changes, 1)
    texts = [one.words for one in BeamSearch(model, Beam(50)).translate([line.split() for line in SOURCES], 1)]
    total = BLEU(smooth_method="none").corpus_statistics(texts, [[line.split()] for line in REFERENCES]).sum(axis=0)
    assert found.best == pytest.approx(BLEU(smooth_method="none").score(2 * total))
    assert found.utility == pytest.approx(8 * found.mean)
    with pytest.raises(InputError, match="no lattices"):
        LatticeSpace([])
