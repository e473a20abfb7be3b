"""Refinement of a model with several phrase tables: the first is trained, the others are left alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_refinements import ALL, hypotheses, random_model, random_space

from toledo import storage
from toledo.api.model import Model
from toledo.api.refine import refine
from toledo.api.train import train
from toledo.errors import InputError
from toledo.model import PhraseModel, default_weights, feature_names
from toledo.phrases.several import part_of, recoded, unite
from toledo.refinement.ascent import softmax
from toledo.refinement.distributions import PHRASE, has_word_sums, refined_model, with_word_sums
from toledo.refinement.objective import RefinementObjective, TrainedParameters
from toledo.refinement.settings import RefineSettings
from toledo.refinement.training_lists import make_folds
from toledo.text.corpus import ParallelCorpus, encode_texts

SOURCES = ["das haus ist klein", "ein haus", "das buch", "ein buch ist klein", "das haus", "ein buch"]
TARGETS = ["the house is small", "a house", "the book", "a book is small", "the house", "a book"]
OTHERS = ["das auto ist klein", "ein auto", "das haus"], ["the car is small", "a car", "that house"]


def united_objective(seed: int, strength: float = 0.0) -> RefinementObjective:
    random = np.random.default_rng(seed)
    model = with_word_sums(random_model(random))
    other = recoded(random_model(random).table, model.source_vocabulary, model.target_vocabulary)
    table = unite([model.table, other])
    model = replace(model, table=table, weights=default_weights(feature_names(table, 0)))
    space = random_space(random, model)
    exponents = dict(zip(model.feature_names, (random.random(len(model.feature_names)) + 0.2).tolist(), strict=True))
    return RefinementObjective(space, TrainedParameters(model, ALL, space.used, 1), exponents, strength)


def shaken(objective: RefinementObjective, seed: int) -> dict[str, np.ndarray]:
    random, values = np.random.default_rng(seed), {}
    for name, family in objective.parameters.families.items():
        raw = family.prior * (0.3 + random.random(len(family)))
        values[name] = raw / np.bincount(family.groups.of, raw, family.groups.size)[family.groups.of]
    return values


def utility(objective: RefinementObjective, table_scores: np.ndarray) -> float:
    """U of lists whose phrase pairs have other scores now, from the scores of all tables."""
    model, total = objective.parameters.model, 0.0
    change = (table_scores.astype(np.float64) - model.table.scores) @ [
        objective.exponents[name] for name in model.table.feature_names
    ]
    for sentence in hypotheses(objective.space):
        if sentence:
            weights = [objective.exponents[name] for name in model.feature_names]
            scores = np.array([np.dot(features, weights) + change[pairs].sum() for features, pairs, _ in sentence])
            posteriors = np.exp(scores - scores.max())
            total += float(posteriors @ [bleu for _, _, bleu in sentence] / posteriors.sum())
    return total


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_expectation_is_that_of_the_refined_model(seed: int) -> None:
    objective = united_objective(seed)
    model, values = objective.parameters.model, shaken(objective, seed)
    refined = refined_model(objective.parameters, values, 1)
    others = ~model.table.of_part(0)
    np.testing.assert_array_equal(refined.table.scores[others], model.table.scores[others])
    np.testing.assert_array_equal(refined.table.scores[:, 4:], model.table.scores[:, 4:])
    assert has_word_sums(model)
    assert objective.at(values).expectation.utility == pytest.approx(utility(objective, refined.table.scores), rel=1e-4)
    for name in PHRASE:
        assert (values[name][others] == 1.0).all()


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_gradients_are_those_of_central_differences(seed: int) -> None:
    """Also of the second table: its shares cannot change, so nothing does if they are moved and divided again."""
    objective = united_objective(seed, strength=0.01)
    values = shaken(objective, seed)
    gradient = objective.gradient(values, objective.at(values))
    random = np.random.default_rng(seed)
    for name in PHRASE:
        family = objective.parameters.families[name]
        direction = random.normal(size=len(family))

        def moved(step: float, name: str = name, direction: np.ndarray = direction) -> float:
            family = objective.parameters.families[name]
            shares = softmax(family.groups, np.log(values[name]) + step * direction)
            return objective.at({**values, name: shares}).value

        shares = values[name]
        mean = np.bincount(family.groups.of, shares * direction, family.groups.size)[family.groups.of]
        expected = float(gradient[name] @ (direction - mean))
        assert (moved(1e-5) - moved(-1e-5)) / 2e-5 == pytest.approx(expected, rel=1e-3, abs=1e-7)


@pytest.fixture(scope="module")
def both() -> Model:
    model = train(SOURCES, TARGETS, tokenized=True, lm_order=2)
    other = train(*OTHERS, tokenized=True, lm_order=3)
    return model.add(phrase_tables=[other], language_models=[other])


def corpus_of(model: PhraseModel) -> ParallelCorpus:
    source = encode_texts(SOURCES, model.source_vocabulary, "sources")
    target = encode_texts(TARGETS, model.target_vocabulary, "targets")
    vocabularies = model.source_vocabulary, model.target_vocabulary
    return ParallelCorpus(source, target, *vocabularies, np.arange(1, len(source) + 1))


def test_folds_have_the_other_tables_and_language_models(both: Model, tmp_path: Path) -> None:
    model = both.phrase_model
    for fold in make_folds(model, corpus_of(model), 2, tmp_path, threads=1):
        found = PhraseModel.load(fold.model)
        assert found.feature_names == model.feature_names
        assert dict(found.weights) == dict(model.weights)
        assert [one.order for one in found.language_models] == [2, 3]
        assert fold.rows is not None
        rows = storage.load(fold.rows, "rows.toml")[1]["rows"]
        assert found.table.pairs.origin is not None
        assert model.table.pairs.origin is not None
        np.testing.assert_array_equal(found.table.pairs.origin, model.table.pairs.origin[rows])
        for number, row in enumerate(rows.tolist()):
            one, same = found.table[number], model.table[row]
            assert (one.source, one.target) == (same.source, same.target)
        theirs, ours = part_of(found.table, 1), part_of(model.table, 1)
        assert sorted(map(repr, theirs)) == sorted(map(repr, ours))


@pytest.mark.parametrize("folds", [1, 2])
def test_refining_leaves_the_second_table_alone(both: Model, tmp_path: Path, folds: int) -> None:
    both.save(tmp_path / "both")
    settings = RefineSettings("phrase", folds=folds, nbest=20, tau=1e-6, iterations=2, tune_every=0, keep_weights=True)
    sets = {"tune": (SOURCES, TARGETS), "dev": OTHERS}
    found = refine(
        tmp_path / "both", SOURCES, TARGETS, **sets, tokenized=True, settings=settings, output=tmp_path / "refined"
    )
    assert len(found.iterations) == 3
    before, after = (PhraseModel.load(tmp_path / name).table for name in ("both", "refined"))
    np.testing.assert_array_equal(before.pairs.source, after.pairs.source)
    np.testing.assert_array_equal(before.scores[:, 4:], after.scores[:, 4:])
    others = ~before.of_part(0)
    assert others.any()
    np.testing.assert_array_equal(before.scores[others], after.scores[others])


def test_folds_of_a_merged_table_are_refused(tmp_path: Path) -> None:
    model = train(SOURCES, TARGETS, tokenized=True, lm_order=2)
    other = train(*OTHERS, tokenized=True, lm_order=2).phrase_model
    filled = model.add(phrase_tables=[other.table], combine_tables="fill-up").phrase_model
    with pytest.raises(InputError, match=r"made from several \(fill-up\)") as caught:
        make_folds(filled, corpus_of(filled), 2, tmp_path)
    assert "refine the model first" in (caught.value.remedy or "")
