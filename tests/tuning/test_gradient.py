"""Gradient tuners: their gradients, what they recover, and what they leave alone."""

import math

import numpy as np
import pytest

from toledo.errors import InputError
from toledo.forest.constructors import Arc, ListEntry, from_lattice, from_nbest
from toledo.forest.forest import Forest
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.metrics.ter import TER
from toledo.objectives.linear_bleu import fitted_linear_bleu
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.examples import Examples
from toledo.tuning.maximize import DeterministicAnnealing, draw_batches
from toledo.tuning.tuners.gradient import Gradient, at_temperature
from toledo.tuning.weight_space import PenalizedObjective, weight_space
from toledo.weights import Weights

NAMES: list[str] = ["cobleu", "xbleu", "expected-bleu", "corpus-expected-bleu", "linear-bleu", "gleu"]
START = Weights({"good": 0.1, "noise": 0.1, "fixed": 1.0}, frozen=frozenset({"fixed"}))
REFERENCE = ["a", "small", "cat", "sat", "on", "the", "mat", "today"]


def lists(segments: int = 12, seed: int = 3) -> list[Forest]:
    """Each hypothesis keeps some words of the reference: `good` says how many, `noise` nothing."""
    rng, vocabulary, found = np.random.default_rng(seed), Vocabulary(), []
    for segment in range(segments):
        entries = []
        for rank in range(8):
            wrong = rng.random(len(REFERENCE)) < rank / 10
            words = [f"x{rng.integers(5)}" if bad else word for word, bad in zip(REFERENCE, wrong, strict=True)]
            right = float(len(wrong) - wrong.sum())
            features = {"good": right + rng.normal(), "noise": rng.normal(), "fixed": rng.normal() / 4}
            entries.append(ListEntry(words[: len(words) - segment % 2], {**features, f"sparse{rank % 3}": 1.0}))
        found.append(from_nbest(entries, ["good", "noise", "fixed"], vocabulary))
    return found


def lattices(segments: int = 6, seed: int = 5) -> list[Forest]:
    """For each word the right one or a wrong one, with features as above."""
    rng, vocabulary, found = np.random.default_rng(seed), Vocabulary(), []
    for _ in range(segments):
        arcs = [
            Arc(
                place,
                place + 1,
                [word if right else f"x{rng.integers(5)}"],
                {"good": right + rng.normal() / 2, "noise": rng.normal(), "fixed": rng.normal() / 4},
            )
            for place, word in enumerate(REFERENCE)
            for right in (1.0, 0.0)
        ]
        found.append(from_lattice(arcs, 0, [len(REFERENCE)], ["good", "noise", "fixed"], vocabulary))
    return found


def examples(forests: list[Forest], metric: Metric = BLEU(smooth_method="none")) -> Examples:  # noqa: B008 (frozen)
    return Examples(forests, [[REFERENCE]] * len(forests), metric)


def function_for(tuner: Gradient, given: Examples, temperature: float) -> PenalizedObjective:
    matched = tuner.prepare(given, START)
    objective = at_temperature(tuner.goal.fitted(matched, START, lambda: given.lists), temperature, matched)
    return PenalizedObjective(objective, matched, weight_space(matched.ngrams.forest, START), tuner.l2, tuner.l1)


@pytest.mark.parametrize("temperature", [0.0, 0.3, -0.1])
@pytest.mark.parametrize("l1", [0.0, 0.02])
@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_that_of_finite_differences(name: str, l1: float, temperature: float) -> None:
    given = examples(lists())
    tuner = Gradient(name, on="lists", l2=0.05, l1=l1)
    function = function_for(tuner, given, temperature)
    point = function.first + np.linspace(0.01, 0.2, function.first.size)
    gradient, step = function(point)[1], 1e-5
    for k in range(point.size):
        move = step * (np.arange(point.size) == k)
        up, down = (function(point + sign * move)[0] for sign in (1, -1))
        assert gradient[k] == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("optimizer", ["lbfgs", "ascent", "adagrad"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_good_is_found_on_lists(name: str, optimizer: str) -> None:
    tuner = Gradient(name, optimizer=optimizer, on="lists", l2=0.01, steps=60)  # type: ignore[arg-type]
    tuned = tuner.tune(examples(lists(40)), START)
    assert tuned.objective > tuned.details["before"]
    assert tuned.weights["good"] > 3 * abs(tuned.weights["noise"])
    assert tuned.weights["fixed"] == 1.0


@pytest.mark.parametrize("optimizer", ["lbfgs", "ascent", "adagrad"])
@pytest.mark.parametrize("name", ["cobleu", "xbleu", "linear-bleu", "gleu"])
def test_what_is_good_is_found_on_lattices(name: str, optimizer: str) -> None:
    tuner = Gradient(name, optimizer=optimizer, l2=0.01, steps=60)  # type: ignore[arg-type]
    tuned = tuner.tune(examples(lattices(20)), START)
    assert tuned.objective > tuned.details["before"]
    assert tuned.weights["good"] > 3 * abs(tuned.weights["noise"])
    assert tuned.details["norm"] == pytest.approx(math.hypot(tuned.weights["good"], tuned.weights["noise"]))


def test_all_optimizers_find_the_same_maximum() -> None:
    found = [
        Gradient("xbleu", optimizer=optimizer, on="lists", l2=0.02, steps=2000).tune(examples(lists()), START)
        for optimizer in ("lbfgs", "ascent", "adagrad")
    ]
    for other in found[1:]:
        assert other.objective == pytest.approx(found[0].objective, abs=1e-6)
        assert other.weights["good"] == pytest.approx(found[0].weights["good"], abs=0.02)


@pytest.mark.parametrize("optimizer", ["lbfgs", "ascent", "adagrad"])
def test_annealing_ends_at_a_maximum_of_the_objective_itself(optimizer: str) -> None:
    plain = Gradient("expected-bleu", optimizer=optimizer, on="lists", l2=0.02, steps=2000)  # type: ignore[arg-type]
    annealed = Gradient(
        "expected-bleu",
        optimizer=optimizer,
        annealing=DeterministicAnnealing(start=0.1, cooling=0.3, end=0.01),
        on="lists",
        l2=0.02,
        steps=2000,
    )  # type: ignore[arg-type]
    one, other = (tuner.tune(examples(lists()), START) for tuner in (plain, annealed))
    assert other.objective == pytest.approx(one.objective, abs=1e-6)
    assert other.weights["good"] == pytest.approx(one.weights["good"], abs=0.02)


def test_temperatures_rule_the_entropy() -> None:
    hot = DeterministicAnnealing(start=0.1, cooling=0.5, end=0.05)
    sharp = DeterministicAnnealing(start=0.1, cooling=0.5, end=0.05, quenching=(-0.02, -0.1))
    assert hot.temperatures == (0.1, 0.05, 0.0)
    assert sharp.temperatures == (0.1, 0.05, 0.0, -0.02, -0.1)
    entropies = [
        Gradient("expected-bleu", annealing=some, on="lists", l2=0.05).tune(examples(lists()), START)
        for some in (hot, sharp)
    ]
    assert entropies[1].details["entropy"] < 0.8 * entropies[0].details["entropy"]
    with pytest.raises(ValueError, match="below 0"):
        DeterministicAnnealing(quenching=(0.1,))


def test_l1_makes_weights_exactly_zero() -> None:
    tuner = Gradient("expected-bleu", on="lists", l1=0.02)
    tuned = tuner.tune(examples(lists(40)), START)
    assert tuned.weights["noise"] == 0.0
    assert tuned.weights["good"] > 0.2
    assert 0.0 in {tuned.weights[f"sparse{k}"] for k in range(3)}


@pytest.mark.parametrize("l1", [0.0, 0.001])
def test_limits_hold(l1: float) -> None:
    start = Weights({"good": 0.1, "noise": 0.7, "fixed": 1.0}, START.frozen, {"good": (0.0, 0.2), "noise": (0.6, 2.0)})
    for optimizer in ("lbfgs", "ascent", "adagrad"):
        tuned = Gradient("xbleu", optimizer=optimizer, on="lists", l1=l1, l2=0.01).tune(examples(lists(40)), start)
        assert tuned.weights["good"] == pytest.approx(0.2)
        assert tuned.weights["noise"] == pytest.approx(0.6)
        assert tuned.weights.bounds == start.bounds


def test_threads_and_repetition_do_not_change_a_digit() -> None:
    runs = [Gradient("cobleu", l2=1e-3).tune(examples(lattices(40)), START, threads=n) for n in (1, 2, 1)]
    assert runs[0].weights == runs[1].weights == runs[2].weights


def test_error_rates_fall() -> None:
    for name in ("expected-bleu", "corpus-expected-bleu"):
        tuned = Gradient(name, on="lists", l2=1e-3).tune(examples(lists(), TER()), START)
        assert tuned.details["before"] < tuned.objective < 0.0
        assert tuned.weights["good"] > 0.2
    with pytest.raises(InputError, match="cannot use metric 'ter'"):
        Gradient("cobleu", on="lists").tune(examples(lists(), TER()), START)


def test_nothing_to_tune_and_nothing_to_choose_are_no_obstacle() -> None:
    frozen = Weights({"good": 0.1, "noise": 0.1, "fixed": 1.0}, frozenset({"good", "noise", "fixed"}))
    assert Gradient("xbleu").tune(examples(lattices()), frozen).weights == frozen
    one = from_nbest([ListEntry(["a"], {"good": 1.0, "noise": 0.0, "fixed": 0.0})], START.keys(), Vocabulary())
    assert Gradient("expected-bleu", on="lists", l2=0.0).tune(examples([one]), START).weights == START


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="works on lists only"):
        Gradient("expected-bleu", on="forests")
    with pytest.raises(LookupError, match="no objective"):
        Gradient("bleu")
    with pytest.raises(ValueError, match="at least 0"):
        Gradient("xbleu", l2=-1.0)


def test_linear_bleu_has_the_precisions_of_the_start() -> None:
    matched = Gradient("linear-bleu:order=2", on="lists").prepare(examples(lists(1)), START)
    fitted = fitted_linear_bleu(matched, START, 2)
    forest, found = matched.ngrams.forest, np.zeros((2, 2))
    scores = forest.scores(START)
    chances = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    known = {n: {tuple(REFERENCE[i : i + n]) for i in range(len(REFERENCE) - n + 1)} for n in (1, 2)}
    for edge, chance in enumerate(chances):
        span = forest.yields.words[forest.yields.offsets[edge] : forest.yields.offsets[edge + 1]]
        words = forest.vocabulary.words(span.tolist())
        for n in (1, 2):
            parts = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
            found[n - 1] += chance * np.array([sum(part in known[n] for part in parts), len(parts)])
    precision = found[:, 0] / found[:, 1]
    assert (fitted.precision, fitted.ratio) == pytest.approx((precision[0], precision[1] / precision[0]))


@pytest.mark.parametrize("name", ["cobleu", "expected-bleu"])
def test_batches_find_nearly_the_same_maximum(name: str) -> None:
    given = examples(lists(60))
    plain = Gradient(name, on="lists", l2=0.02).tune(given, START)
    tuner = Gradient(name, on="lists", l2=0.02, steps=40, batch=9)
    batched, again = (tuner.tune(given, START, seed=7, threads=threads) for threads in (1, 2))
    assert batched.objective > plain.details["before"] + 0.9 * (plain.objective - plain.details["before"])
    assert dict(batched.weights) == dict(again.weights)
    assert batched.weights["fixed"] == 1.0
    assert len(batched.path) == (80 if name == "cobleu" else 40)
    assert dict(tuner.tune(given, START, seed=8).weights) != dict(batched.weights)


def test_a_batch_without_words_says_nothing() -> None:
    forests = lattices(3)
    arc = Arc(0, 1, [], {"good": 0.0, "noise": 0.0, "fixed": 0.0})
    empty = from_lattice([arc], 0, [1], ["good", "noise", "fixed"], forests[0].vocabulary)
    given = Examples([*forests, empty], [[REFERENCE]] * 3 + [[[]]], BLEU(smooth_method="none"))
    tuned = Gradient("cobleu", batch=1, steps=3).tune(given, START)
    assert np.isfinite(tuned.path).all()


def test_batches_hold_all_segments_once() -> None:
    parts = draw_batches(23, 5, np.random.default_rng(1))
    assert sorted(np.concatenate(parts).tolist()) == list(range(23))
    assert {part.size for part in parts} <= {4, 5}
    assert len(draw_batches(3, 100, np.random.default_rng(1))) == 1


@pytest.mark.parametrize("optimizer", ["lbfgs", "ascent", "adagrad"])
def test_the_path_rises_to_the_objective(optimizer: str) -> None:
    tuner = Gradient("xbleu", optimizer=optimizer, on="lists", l2=0.02, steps=20, gentle=None)  # type: ignore[arg-type]
    tuned = tuner.tune(examples(lists()), START)
    assert 1 < len(tuned.path) <= 20
    assert list(tuned.path) == sorted(tuned.path)
    assert tuned.path[-1] == pytest.approx(tuned.objective)


@pytest.mark.parametrize(("seed", "gain"), [(0, 0.0), (3, 1e-4), (4, 1e-3), (7, 1e-2)])
def test_a_gentle_penalty_leads_over_the_ridge(seed: int, gain: float) -> None:
    """Half of the hypotheses are short: good weights lie where the penalty for short texts sets in."""
    rng, vocabulary, found = np.random.default_rng(seed), Vocabulary(), []
    for _ in range(30):
        entries = []
        for rank in range(10):
            wrong = rng.random(len(REFERENCE)) < rank / 12
            words = [f"x{rng.integers(5)}" if bad else word for word, bad in zip(REFERENCE, wrong, strict=True)]
            short = int(rng.integers(4))
            features = {"good": -float(wrong.sum()) + rng.normal(), "length": float(short), "noise": rng.normal()}
            entries.append(ListEntry(words[: len(words) - short] + (["y"] if rank % 3 == 0 else []), features))
        found.append(from_nbest(entries, ["good", "length", "noise"], vocabulary))
    start = Weights({"good": 0.1, "length": 0.1, "noise": 0.1})
    plain, gentle = (
        Gradient("cobleu", optimizer="adagrad", on="lists", l2=1e-3, gentle=some).tune(examples(found), start).objective
        for some in (None, 30.0)
    )
    assert gentle >= plain + gain
