"""Samples of the Gibbs sampler against the exact distribution over all derivations of short sentences."""

from dataclasses import replace

import numpy as np
import pytest
from beam_twin import small_model
from gibbs_twin import Twin
from scipy.stats import chi2

from toledo.consensus.decide import MaxTranslation, Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.forest.forest import Forest
from toledo.forest.inside_outside import distribution
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel, default_weights
from toledo.objectives.lists import ExpectedGain, make_lists
from toledo.objectives.objective import without_ngrams
from toledo.search.gibbs.samples import Samples
from toledo.search.gibbs.search import GibbsSearch, plan_chains
from toledo.search.settings import OPERATORS, Gibbs

PAPER = ("retrans", "merge-split", "reorder")
VALUES = [0.3, 0.2, 0.5, 0.4, 0.3, 0.2, 0.3, 0.3, 0.2, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4]
CONTENT = {
    (("a",), ("x",)): (-0.1, -0.2, -0.3, -0.4),
    (("a",), ("y",)): (-0.5, -0.2, -0.3, -0.4),
    (("b",), ("y",)): (-0.1, -0.2, -0.3, -0.1),
    (("c",), ("z",)): (-0.3, -0.2, -0.1, -0.1),
    (("a", "b"), ("z",)): (-0.1, -0.2, -0.3, -0.4),
    (("b", "c"), ("z", "x")): (-0.1, -0.2, -0.3, -0.4),
    (("c", "a", "b"), ("z", "x", "y")): (-0.1, -0.2, -0.3, -0.4),
}
WORDS = list("acab")


def twin_of(limit: int | None, orders: tuple[int, ...] = (3,), reordering: bool = False) -> Twin:
    return Twin(small_model(CONTENT, orders, limit, reordering, VALUES), WORDS)


def surprise(counts: np.ndarray, expected: np.ndarray) -> float:
    """The p value of Pearson's test; rare cells count as one."""
    order = np.argsort(-expected)
    counts, expected = counts[order], expected[order] * counts.sum()
    kept = max(int(np.count_nonzero(expected >= 5)), 1)
    observed = np.append(counts[:kept], counts[kept:].sum())
    wanted = np.append(expected[:kept], expected[kept:].sum())
    if wanted[-1] < 5:
        observed[-2] += observed[-1]
        wanted[-2] += wanted[-1]
        observed, wanted = observed[:-1], wanted[:-1]
    return float(chi2.sf(((observed - wanted) ** 2 / wanted).sum(), max(wanted.size - 1, 1)))


@pytest.mark.parametrize("limit", [1, 2, 4, None])
@pytest.mark.parametrize("operators", [PAPER, (*PAPER, "move"), ("resegment", "move"), OPERATORS])
def test_samples_follow_the_posterior_of_what_they_can_reach(limit: int | None, operators: tuple[str, ...]) -> None:
    twin = twin_of(limit)
    reached = [twin.number[state] for state in twin.component(twin.states[0], operators)]
    expected = np.zeros(len(twin.states))
    expected[reached] = twin.posterior[reached] / twin.posterior[reached].sum()
    twin.put(twin.states[0])
    visited = twin.run(60_000, operators)
    counts = np.bincount(visited, minlength=len(twin.states))
    assert abs(counts / visited.size - expected).sum() / 2 < 0.02
    thinned = np.bincount(visited[::30], minlength=len(twin.states))
    assert surprise(thinned, expected) > 1e-4


@pytest.mark.parametrize("operators", [*((name,) for name in OPERATORS), OPERATORS])
@pytest.mark.parametrize(("orders", "reordering"), [((3,), True), ((1, 2), False)])
def test_no_operator_changes_the_posterior(
    operators: tuple[str, ...], orders: tuple[int, ...], reordering: bool
) -> None:
    """One step from exact samples gives exact samples."""
    twin = twin_of(3, orders, reordering)
    rng = np.random.default_rng(5)
    starts = rng.choice(len(twin.states), 1500, p=twin.posterior)
    counts = np.zeros(len(twin.states), np.int64)
    for start in starts.tolist():
        twin.put(twin.states[start])
        counts[twin.run(1, operators)] += 1
    assert surprise(counts, twin.posterior) > 1e-4


def test_every_start_leads_to_the_posterior() -> None:
    twin = twin_of(3)
    for start in twin.states:
        twin.put(start)
        twin.run(20)
        counts = np.bincount(twin.run(1_500, thinning=3), minlength=len(twin.states))
        assert surprise(counts, twin.posterior) > 1e-6


def sampled(model: PhraseModel, seed: int = 1, **settings: object) -> Samples:
    given = {"iterations": 1000, "scale": 1.0, **settings}
    (samples,) = GibbsSearch(model, Gibbs(**given), seed).samples([WORDS], threads=1)
    return samples


def number_of(twin: Twin, samples: Samples) -> list[int]:
    phrases = (samples.translation(d).steps for d in range(len(samples)))
    return [twin.number[tuple((step.begin, step.end, step.pair) for step in steps)] for steps in phrases]


@pytest.mark.parametrize(("orders", "reordering", "start"), [((3,), True, "beam"), ((1, 2), False, "random")])
def test_the_forest_has_the_features_and_the_counts(orders: tuple[int, ...], reordering: bool, start: str) -> None:
    twin = twin_of(4, orders, reordering)
    samples = sampled(twin.model, iterations=2000, start=start, scale=0.5)
    assert samples.counts.sum() == samples.size == 4000
    numbers = number_of(twin, samples)
    assert len(set(numbers)) == len(samples)
    forest = samples.forest
    for edge, number in enumerate(numbers):
        found = dict(zip(forest.feature_names, forest.features[edge].tolist(), strict=True))
        assert found == pytest.approx({name: twin.features[number][name] for name in found}, abs=1e-4)
        assert samples.scores[edge] == pytest.approx(twin.scores[number], abs=1e-4)
    np.testing.assert_allclose(0.5 * forest.scores(twin.model.weights), np.log(samples.counts), atol=1e-6)
    flat = twin.posterior**0.5 / (twin.posterior**0.5).sum()
    counts = np.zeros(len(twin.states))
    counts[numbers] = samples.counts
    assert abs(counts / 4000 - flat).sum() / 2 < 0.08


def test_expected_ngrams_agree_with_exact_ones() -> None:
    twin = twin_of(4)
    samples = sampled(twin.model, iterations=20_000)
    expected = ngrams([text_of(twin, k) for k in range(len(twin.states))], twin.posterior)
    texts = [tuple(samples.translation(d).words) for d in range(len(samples))]
    found = ngrams(texts, samples.counts / samples.size)
    assert found.keys() <= expected.keys()
    plain, smoothed = (named(samples, smoothed=smooth) for smooth in (False, True))
    assert plain == pytest.approx(found)
    for gram, count in expected.items():
        assert found.get(gram, 0.0) == pytest.approx(count, abs=0.02)
        assert smoothed.get(gram, 0.0) == pytest.approx(count, abs=0.01)


def test_smoothed_ngram_counts_vary_less() -> None:
    twin = twin_of(4)
    expected = ngrams([text_of(twin, k) for k in range(len(twin.states))], twin.posterior)
    errors = np.zeros((2, 5))
    for seed in range(60):
        samples = sampled(twin.model, iterations=50, chains=1, seed=seed)
        for smooth in (False, True):
            found = named(samples, smoothed=smooth)
            for gram, count in expected.items():
                errors[int(smooth), len(gram)] += (found.get(gram, 0.0) - count) ** 2
    assert np.all(errors[1, 1:] < 0.9 * errors[0, 1:]), errors


def named(samples: Samples, *, smoothed: bool) -> dict[tuple[str, ...], float]:
    vocabulary = samples.model.target_vocabulary
    found = samples.expected_ngrams(4, smoothed=smoothed)
    return {tuple(vocabulary.words(words)): count for words, count in found.items()}


def text_of(twin: Twin, number: int) -> tuple[str, ...]:
    steps = twin.states[number]
    return tuple(w for b, _, pair in steps for w in ([twin.words[b]] if pair < 0 else twin.model.table[pair].target))


def ngrams(texts: list[tuple[str, ...]], weights: np.ndarray, order: int = 4) -> dict[tuple[str, ...], float]:
    found: dict[tuple[str, ...], float] = {}
    for text, weight in zip(texts, weights.tolist(), strict=True):
        for n in range(1, order + 1):
            for i in range(len(text) - n + 1):
                found[text[i : i + n]] = found.get(text[i : i + n], 0.0) + weight
    return found


def gain_gradient(forest: Forest, model: PhraseModel) -> np.ndarray:
    """The gradient of expected sentence BLEU, from the covariance of gains and features."""
    objective = ExpectedGain(100.0 * make_lists(forest, [[["x", "z", "x", "y"]]], BLEU()).gains)
    _, gradient = objective.value_and_gradient(without_ngrams(forest), model.weights, threads=1)
    return np.array([gradient[name] for name in model.feature_names])


def test_the_gradient_from_samples_is_that_of_all_derivations() -> None:
    twin = twin_of(4)
    everything = sampled(twin.model, iterations=20_000)
    numbers = number_of(twin, everything)
    forest = everything.forest  # of all derivations that matter; with exact probabilities instead of counts
    exact = np.log(twin.posterior[numbers]) - (forest.scores(twin.model.weights) - forest.base)
    expected = gain_gradient(replace(forest, base=exact), twin.model)
    assert twin.posterior[numbers].sum() > 0.999
    size, found = 50, []
    for seed in range(300):
        few = sampled(twin.model, iterations=size * 5, thinning=5, chains=1, burn_in=20, seed=seed)
        found.append(gain_gradient(few.forest, twin.model) * size / (size - 1))  # as for any sample covariance
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert np.all(abs(np.mean(found, axis=0) - expected) <= 4 * error + 1e-3 * abs(expected) + 1e-9)


def test_decision_rules_work_on_samples() -> None:
    twin = twin_of(4)
    search = GibbsSearch(twin.model, Gibbs(iterations=20_000, scale=1.0))
    (result,), (samples,) = search.results([WORDS]), search.samples([WORDS])
    chosen = {
        rule.name: tuple(twin.model.target_vocabulary.words(one.words.tolist()))
        for rule in (Viterbi(), MaxTranslation(), MBR(), Consensus(), LatticeMBR())
        for one in decide(rule, [result.forest], twin.model.weights)
    }
    best = int(np.argmax(twin.posterior))
    assert result.translation == samples.translation(samples.best) == search.translate([WORDS])[0]
    assert result.translation.score == pytest.approx(twin.scores[best], abs=1e-4)
    assert chosen["viterbi"] == text_of(twin, best)  # the mode of the samples
    texts: dict[tuple[str, ...], float] = {}
    for number, probability in enumerate(twin.posterior.tolist()):
        texts[text_of(twin, number)] = texts.get(text_of(twin, number), 0.0) + probability
    assert chosen["max-translation"] == max(texts, key=texts.__getitem__)
    assert set(chosen.values()) <= texts.keys()
    entropy = float(distribution(result.forest.shape, result.forest.scores(twin.model.weights)).entropy()[0])
    assert entropy == pytest.approx(-(twin.posterior * np.log(twin.posterior)).sum(), abs=0.05)


def test_threads_places_and_odd_sentences() -> None:
    model = small_model(CONTENT, (3,), 6, False, VALUES)
    model = model.with_weights(default_weights(model.feature_names))
    rng = np.random.default_rng(3)
    sentences = [list(rng.choice(list("abcd"), size)) for size in (150, 1, 0, 70, 12, 5)]
    search = GibbsSearch(model, Gibbs(iterations=20, burn_in=5, start="random", annealing=(3.0, 2.0)))
    one, two = (search.forests(sentences, threads=threads) for threads in (1, 2))
    (alone,) = search.forests(sentences[3:4])
    for first, second in [*zip(one, two, strict=True), (one[3], alone)]:
        np.testing.assert_array_equal(first.features, second.features)
        np.testing.assert_array_equal(first.base, second.base)
        np.testing.assert_array_equal(first.yields.words, second.yields.words)
    assert one[2].yields.words.size == 0
    for words, found in zip(sentences, search.translate(sentences), strict=True):
        covered = sorted(position for step in found.steps for position in range(step.begin, step.end))
        assert covered == list(range(len(words)))
    other = GibbsSearch(model, Gibbs(iterations=20), seed=2).forests(sentences[4:5])
    assert other[0].features.shape != one[4].features.shape or (other[0].features != one[4].features).any()


def test_only_iterations_after_burn_in_are_kept_and_at_the_scale() -> None:
    settings = Gibbs(2, 7, 3, 2, scale=0.5, annealing=(5.0,), reheating=(2.0, 4.0), start="random")
    plan = plan_chains(settings, 0.5)
    first = [*[0.0] * 10, 0.1, *[0.5] * 9]
    np.testing.assert_allclose(plan.sharpness, [*first, 0.25, 0.125, *[0.5] * 9])
    kept = [-1, 0, -1, 0, -1, 0]
    assert plan.chain.tolist() == [*[-1] * 14, *kept, *[-1] * 5, *(-1 if one < 0 else 1 for one in kept)]
    assert (plan.chains, plan.samples) == (2, 3)


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong in (
        {"chains": 0}, {"iterations": 0}, {"burn_in": -1}, {"thinning": 6000}, {"scale": 0.0}, {"start": "anywhere"},
        {"operators": ("swap",)}, {"reheating": (0.0,)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"\w"):
            Gibbs(**wrong)
