"""Gradients from samples against the exact gradient over all derivations, for sentences and for small corpora."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from beam_twin import small_model
from gibbs_twin import Twin

from toledo.errors import InputError
from toledo.metrics.bleu import BLEU
from toledo.metrics.ter import TER
from toledo.objectives.lists import make_lists, smoothed
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.settings import Gibbs
from toledo.tuning.maximize import DeterministicAnnealing
from toledo.tuning.minimum_risk.advantages import (
    CORPUS_SMOOTHING,
    SampledBatch,
    corpus_advantages,
    draw_lines,
    sentence_advantages,
)
from toledo.tuning.minimum_risk.trainer import GainAdaptation, MinimumRisk, TrainingState

VALUES = [0.3, 0.2, 0.5, 0.4, 0.3, 0.2, 0.3, 0.3, 0.2, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4]
CONTENT = {
    (("a",), ("x",)): (-0.1, -0.2, -0.3, -0.4),
    (("a",), ("y",)): (-0.5, -0.2, -0.3, -0.4),
    (("b",), ("y",)): (-0.1, -0.2, -0.3, -0.1),
    (("a", "b"), ("z",)): (-0.1, -0.2, -0.3, -0.4),
    (("a", "b"), ("y", "x")): (-0.1, -0.2, -0.3, -0.4),
}
SENTENCES = [["a", "b"], ["b", "a"], ["a", "a", "b"]]
REFERENCES = [[["y", "x"]], [["y", "x", "z"]], [["x", "z"], ["y", "y", "x"]]]
METRIC = BLEU(smooth_method="none")


@cache
def twins() -> list[Twin]:
    model = small_model(CONTENT, (2,), 3, False, VALUES)
    return [Twin(model, words) for words in SENTENCES]


@cache
def everything() -> tuple[SampledBatch, np.ndarray]:
    """All derivations with their probabilities instead of counts, and their features."""
    texts = [
        [w for b, _, pair in state for w in ([twin.words[b]] if pair < 0 else twin.model.table[pair].target)]
        for twin in twins()
        for state in twin.states
    ]
    sizes = [len(twin.states) for twin in twins()]
    references = [some for some, size in zip(REFERENCES, sizes, strict=True) for _ in range(size)]
    names = twins()[0].model.feature_names
    features = np.array([[one[name] for name in names] for twin in twins() for one in twin.features])
    batch = SampledBatch(
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([twin.posterior for twin in twins()]),
        METRIC.corpus_statistics(texts, references),
        np.concatenate([twin.scores for twin in twins()]),
    )
    return batch, features


def objective(weights: np.ndarray, kind: str, temperature: float) -> float:
    """The expected gain plus temperature times the mean entropy, by definition."""
    batch, features = everything()
    scores = features @ weights
    parts = [slice(begin, end) for begin, end in zip(batch.offsets[:-1], batch.offsets[1:], strict=True)]
    shares = []
    for part in parts:
        raised = np.exp(scores[part] - scores[part].max())
        shares.append(raised / raised.sum())
    entropy = -sum(float(p @ np.log(p)) for p in shares) / len(parts)
    if kind == "sentence":
        gains = smoothed(METRIC, 1.0).scores(batch.statistics) / 100
        value = sum(float(p @ gains[part]) for p, part in zip(shares, parts, strict=True)) / len(parts)
    else:
        value = 0.0
        for line in product(*(range(p.size) for p in shares)):
            total = sum(batch.statistics[part][d] for part, d in zip(parts, line, strict=True))
            probability = np.prod([p[d] for p, d in zip(shares, line, strict=True)])
            value += probability * smoothed(METRIC, CORPUS_SMOOTHING).score(total) / 100
    return value + temperature * entropy


@cache
def exact(kind: str, temperature: float) -> np.ndarray:
    model = twins()[0].model
    start = np.array([model.weights[name] for name in model.feature_names])
    found = []
    for k in range(start.size):
        step = np.zeros(start.size)
        step[k] = 1e-4
        found.append((objective(start + step, kind, temperature) - objective(start - step, kind, temperature)) / 2e-4)
    return np.array(found)


def gradient(
    batch: SampledBatch, features: np.ndarray, kind: str, temperature: float, seed: int, lines: int
) -> np.ndarray:
    if kind == "corpus":
        random = np.random.default_rng(seed)
        return corpus_advantages(batch, METRIC, lines, random, temperature)[1] @ features
    return sentence_advantages(batch, smoothed(METRIC, 1.0).scores(batch.statistics) / 100, temperature)[1] @ features


@pytest.mark.parametrize("temperature", [0.0, 0.2])
def test_all_derivations_give_the_exact_gradient(temperature: float) -> None:
    batch, features = everything()
    expected = exact("sentence", temperature)
    assert np.abs(expected).max() > 1e-2
    np.testing.assert_allclose(gradient(batch, features, "sentence", temperature, 1, 2), expected, atol=1e-6)


@pytest.mark.parametrize("temperature", [0.0, 0.2])
def test_lines_of_all_derivations_give_the_exact_gradient_but_for_their_own_noise(temperature: float) -> None:
    batch, features = everything()
    found = [gradient(batch, features, "corpus", temperature, seed, 20_000) for seed in range(20)]
    error = np.std(found, axis=0, ddof=1) / np.sqrt(20)
    expected = exact("corpus", temperature)
    assert np.all(error < 0.02 * np.abs(expected).max())
    assert np.all(abs(np.mean(found, axis=0) - expected) <= 4 * error + 1e-6)


def test_every_line_once_gives_the_exact_gradient_of_a_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equally likely derivations all lines are a sample without noise, which is divided by one less than it has."""
    batch, features = everything()
    flat = SampledBatch(batch.offsets, np.ones(batch.counts.size), batch.statistics, np.zeros(batch.counts.size))
    sizes = np.diff(flat.offsets)
    drawn = np.array(list(product(*(range(size) for size in sizes)))).T + flat.offsets[:-1, None]
    monkeypatch.setattr("toledo.tuning.minimum_risk.advantages.draw_lines", lambda *_: drawn)
    value, found = corpus_advantages(flat, METRIC, drawn.shape[1], np.random.default_rng(1))
    gains = smoothed(METRIC, CORPUS_SMOOTHING).scores(flat.statistics[drawn].sum(axis=0)) / 100
    expected = np.zeros(found.size)
    for segment, line in enumerate(drawn):
        factor = sizes[segment] / (sizes[segment] - 1)
        for d in range(flat.offsets[segment], flat.offsets[segment + 1]):
            expected[d] = factor * np.mean((gains - gains.mean()) * (line == d))
    assert value == pytest.approx(gains.mean())
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())
    assert np.abs(found @ features).max() > 0


@pytest.mark.parametrize("temperature", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["sentence", "corpus"])
def test_samples_give_the_gradient_without_bias(kind: str, temperature: float) -> None:
    model = twins()[0].model
    found = []
    for seed in range(300):
        settings = Gibbs(iterations=150, thinning=5, chains=1, burn_in=20, scale=1.0)
        forests = GibbsSearch(model, settings, seed).forests(SENTENCES, threads=1)
        batch, features = sampled(forests, model)
        assert set(batch.samples) == {30.0}
        found.append(gradient(batch, features, kind, temperature, seed, 100))
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    expected = exact(kind, temperature)
    assert np.all(abs(np.mean(found, axis=0) - expected) <= 4 * error + 1e-6)


def sampled(forests: list, model: object) -> tuple[SampledBatch, np.ndarray]:
    from toledo.forest.assemble import join

    lists = make_lists(join(forests), REFERENCES, METRIC)
    totals = lists.forest.scores(model.weights)
    counts = np.rint(np.exp(totals))
    np.testing.assert_allclose(counts, np.exp(totals), rtol=1e-6)
    return SampledBatch(lists.offsets, counts, lists.statistics, totals - lists.forest.base), lists.forest.features


def test_the_control_variate_takes_noise_away() -> None:
    """Compared with the covariance over lines alone, as the paper has it."""
    batch, features = everything()
    counts = np.maximum(np.rint(batch.counts * 200), 1.0)
    batch = SampledBatch(batch.offsets, counts, batch.statistics, batch.scores)
    plain, better = [], []
    for seed in range(100):
        random = np.random.default_rng(seed)
        drawn = draw_lines(batch, 50, random)
        gains = smoothed(METRIC, CORPUS_SMOOTHING).scores(batch.statistics[drawn].sum(axis=0)) / 100
        plain.append((gains - gains.mean()) @ features[drawn].sum(axis=0) / 49)
        better.append(gradient(batch, features, "corpus", 0.0, seed, 50))
    error = np.std(np.subtract(plain, better), axis=0) / 10
    assert np.all(
        abs(np.mean(plain, axis=0) - np.mean(better, axis=0)) <= 4 * error + 0.02 * abs(np.mean(better, axis=0))
    )
    assert np.var(better, axis=0).sum() < 0.5 * np.var(plain, axis=0).sum()


def test_lines_are_drawn_by_counts() -> None:
    batch = SampledBatch(np.array([0, 3, 4]), np.array([1.0, 6.0, 3.0, 5.0]), np.zeros((4, 10)), np.zeros(4))
    drawn = draw_lines(batch, 20_000, np.random.default_rng(1))
    np.testing.assert_allclose(np.bincount(drawn[0], minlength=4) / 20_000, [0.1, 0.6, 0.3, 0.0], atol=0.02)
    assert set(drawn[1]) == {3}
    assert batch.entropy == pytest.approx(-(0.1 * np.log(0.1) + 0.6 * np.log(0.6) + 0.3 * np.log(0.3)) / 2)


def test_error_rates_have_a_minus_sign() -> None:
    metric = TER()
    statistics = metric.corpus_statistics([["a", "b"], ["a", "c"]], [[["a", "b"]], [["a", "b"]]])
    batch = SampledBatch(np.array([0, 2]), np.array([1.0, 1.0]), statistics, np.zeros(2))
    value, found = corpus_advantages(batch, metric, 100, np.random.default_rng(1))
    assert -0.5 < value < 0.0
    assert found[0] > 0.0 > found[1]


def test_impossible_derivations_are_refused() -> None:
    with pytest.raises(InputError, match="impossible"):
        SampledBatch(np.array([0, 1]), np.ones(1), np.ones((1, 10)), np.array([-np.inf]))


class AllDerivations:
    """What a step sees of samples, for all derivations with their probabilities."""

    def __init__(self, free: np.ndarray) -> None:
        model = twins()[0].model
        self.names, self.free, self.derivations = model.feature_names, free, 0
        self.sentences, self.features = everything()
        self.point = np.array([model.weights[name] for name in self.names])
        self.variances = np.ones(self.point.size)

    def gradient(self, trainer: MinimumRisk, temperature: float, _: object) -> tuple[float, np.ndarray]:
        return 0.0, gradient(self.sentences, self.features, "sentence", temperature, 0, 0)


@pytest.mark.parametrize("temperature", [0.0, 0.2])
@pytest.mark.parametrize("frozen", [0, 3])
def test_two_steps_follow_the_gradients_of_direction_and_scale(temperature: float, frozen: int) -> None:
    free = np.arange(len(twins()[0].model.feature_names)) >= frozen
    batch, small = AllDerivations(free), 1e-6
    cooling = DeterministicAnnealing(temperature, 0.5, temperature, steps=4) if temperature else None
    trainer = MinimumRisk(
        steps=4, annealing=cooling, two_step=True, scale_temperature=0.5,
        adaptation=GainAdaptation(step=small, rate=0.0, normalized=False),
    )  # fmt: skip
    weights = twins()[0].model.weights
    own = np.where(free, batch.point, 0.0)
    scale, direction = np.linalg.norm(own), own / np.linalg.norm(own)

    def slope(along: np.ndarray, temperature: float) -> float:
        ahead, behind = (objective(batch.point + sign * 1e-4 * along, "sentence", temperature) for sign in (1, -1))
        return (ahead - behind) / 2e-4

    for step in range(4):
        found = trainer.step(batch, weights, TrainingState(step), np.random.default_rng(1))  # type: ignore[arg-type]
        moved = np.array([found.weights[name] for name in batch.names])
        change = (moved - batch.point) / small
        assert change[~free] == pytest.approx(0.0)
        if step < 2:  # the direction turns
            assert np.linalg.norm(np.where(free, moved, 0.0)) == pytest.approx(scale, rel=1e-12)
            for k in np.flatnonzero(free):
                tangent = np.eye(free.size)[k] - direction[k] * direction
                assert change @ tangent == pytest.approx(slope(tangent, temperature), abs=1e-6)
        else:  # the scale changes
            assert change == pytest.approx(slope(direction, 0.5 * temperature) * direction, abs=1e-6)


def test_a_point_without_direction_moves_freely() -> None:
    batch = AllDerivations(np.ones(len(twins()[0].model.feature_names), np.bool_))
    batch.point = np.zeros(batch.point.size)
    trainer = MinimumRisk(two_step=True)
    found = trainer.step(batch, twins()[0].model.weights, TrainingState(), np.random.default_rng(1))  # type: ignore[arg-type]
    assert any(found.weights[name] for name in batch.names)
