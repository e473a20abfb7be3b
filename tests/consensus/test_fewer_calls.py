"""Rules that look at some pairs only: what they ask for, what they find, and that the seed alone decides."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import toledo
from toledo.consensus.aggregate import average_scores
from toledo.consensus.fewer_calls import EliminationMBR, completed, estimates
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.metric import Metric
from toledo.metrics.vectors import VectorMetric

Floats = NDArray[np.float64]
APPROXIMATE = [
    "proxy-mbr:proxy=bleu+1",
    "elimination-mbr:proxy=bleu+1",
    "pruning-mbr",
    "halving-mbr:share=0.5",
    "low-rank-mbr:share=0.5",
    "budget-mbr:budget=600,proxy=bleu+1",
]
SIZE = 60


def random_texts(seed: int, size: int = SIZE) -> list[str]:
    """Variations of one sentence: some words replaced, more in later texts."""
    generator = np.random.default_rng(seed)
    words = [f"w{number}" for number in generator.integers(0, 50, 14)]
    return [
        " ".join(
            word if generator.random() > 0.05 + 0.5 * place / size else f"v{generator.integers(0, 30)}"
            for word in words
        )
        for place in range(size)
    ]


LISTS = [random_texts(seed) for seed in range(12)]
EXACT = toledo.choose_many(LISTS, metric="chrf")


def counted(calls: list[int]) -> Callable[..., Floats]:
    def dear(hypotheses: list[str], references: list[str], sources: object) -> Floats:
        calls.append(len(hypotheses))
        return CHRF().sentence_scores(hypotheses, [references])

    return dear


@pytest.mark.parametrize("rule", APPROXIMATE)
def test_fewer_calls_and_nearly_the_same_choices(rule: str) -> None:
    calls: list[int] = []
    found = toledo.choose_many(LISTS, metric=counted(calls), rule=rule)
    distinct = sum(len(set(texts)) ** 2 for texts in LISTS)
    assert sum(calls) == found.num_calls < 0.65 * distinct
    lost = [
        exact.score - next(one.score for one in exact.ranking if one.text == choice.text)
        for exact, choice in zip(EXACT, found, strict=True)
    ]
    means = [np.mean([exact.score - one.score for one in exact.ranking]) for exact in EXACT]
    assert np.mean(lost) < 0.05 * np.mean(means)  # what a random choice would lose


class Noise(Metric):
    """Random numbers, which say nothing about any other metric."""

    name = "noise"  # type: ignore[assignment]

    def pairwise_scores(
        self, hypotheses: Sequence[str], references: Sequence[str], source: str | None = None
    ) -> Floats:
        return np.random.default_rng(1).normal(size=(len(hypotheses), len(references)))


def test_a_bad_proxy_costs_calls_and_no_accuracy() -> None:
    good = toledo.choose_many(LISTS, metric="chrf", rule=EliminationMBR(proxy="bleu+1"))
    bad = toledo.choose_many(LISTS, metric="chrf", rule=EliminationMBR(proxy=Noise()))
    assert bad.num_calls > good.num_calls
    assert bad.texts == EXACT.texts


@pytest.mark.parametrize("rule", APPROXIMATE)
def test_the_seed_alone_decides(rule: str) -> None:
    first = toledo.choose_many(LISTS[:4], metric="chrf", rule=rule, seed=3, threads=1)
    again = toledo.choose_many(LISTS[:4], metric="chrf", rule=rule, seed=3, threads=2)
    assert [one.to_dict() for one in first] == [one.to_dict() for one in again]
    alone = toledo.choose(LISTS[0], metric="chrf", rule=rule, seed=3)
    assert (alone.text, alone.num_calls) == (first[0].text, first[0].num_calls)


def test_elimination_depends_on_its_seed() -> None:
    calls = {toledo.choose(LISTS[0], rule="elimination-mbr:proxy=bleu", seed=seed).num_calls for seed in range(8)}
    assert len(calls) > 1


def test_a_function_is_asked_for_many_segments_at_once() -> None:
    calls: list[int] = []
    toledo.choose_many(LISTS, metric=counted(calls), rule="elimination-mbr", batch_size=100_000)
    assert calls[0] == sum(6 * len(set(texts)) for texts in LISTS)


@pytest.mark.parametrize("rule", ["elimination-mbr:first=1000", "pruning-mbr:first=1000", "budget-mbr:budget=3600"])
def test_with_all_pairs_the_result_is_exact(rule: str) -> None:
    found = toledo.choose_many(LISTS[:3], metric="chrf", rule=rule)
    for choice, exact in zip(found, EXACT, strict=False):
        assert (choice.text, choice.score) == (exact.text, pytest.approx(exact.score))


def test_elimination_estimates_are_exact_where_the_proxy_is_the_metric() -> None:
    """Whatever the references seen, a proxy that equals the metric up to a line leaves no error."""
    generator = np.random.default_rng(1)
    scores, shares = generator.normal(size=(6, 9)), generator.dirichlet(np.ones(9))
    proxy = 0.5 * scores - 3.0 + generator.normal(size=(6, 1))
    found = estimates(scores, shares, np.array([4, 0, 7]), proxy)
    assert found == pytest.approx(scores @ shares)


def test_estimates_use_what_was_seen_exactly() -> None:
    scores = np.array([[1.0, 5.0, np.nan], [2.0, 2.0, np.nan]])
    found = estimates(scores, np.array([0.5, 0.3, 0.2]), np.array([0, 1]))
    assert found == pytest.approx([0.5 + 1.5 + 0.2 * 3.0, 2.0])


def test_a_matrix_of_low_rank_is_completed() -> None:
    generator = np.random.default_rng(2)
    full = 50 + generator.normal(size=(30, 1)) + generator.normal(size=30)
    full = full + 5 * np.outer(generator.normal(size=30), generator.normal(size=30))
    known = np.where(generator.random((30, 30)) < 0.6, full, np.nan)
    found = completed(known, 1, generator)
    missing = np.isnan(known)
    assert np.array_equal(found[~missing], full[~missing])
    assert np.abs(found - full)[missing].mean() < 0.1 * np.abs(full - full.mean())[missing].mean()


@pytest.mark.parametrize("budget", [1, 7, 60, 200, 3599])
@pytest.mark.parametrize("as_function", [False, True])
def test_a_budget_is_not_exceeded(budget: int, as_function: bool) -> None:
    calls: list[int] = []
    metric: object = counted(calls) if as_function else "chrf"
    choice = toledo.choose(LISTS[1], metric=metric, budget=budget)
    assert 0 < choice.num_calls <= budget
    assert not as_function or sum(calls) == choice.num_calls


def test_an_error_rate_as_proxy() -> None:
    """A small budget is for the best by the proxy, not for the worst."""
    choice = toledo.choose(LISTS[1], metric=counted([]), rule="budget-mbr:budget=120,proxy=ter")
    worst = EXACT[1].ranking[-1].score
    score = next(one.score for one in EXACT[1].ranking if one.text == choice.text)
    assert score > 0.8 * EXACT[1].ranking[0].score + 0.2 * worst


def test_a_large_budget_is_exact() -> None:
    choice = toledo.choose(LISTS[1], budget=10_000)
    assert (choice.text, choice.num_calls) == (EXACT[1].text, len(set(LISTS[1])) ** 2)


def brute_average(metric: Metric, texts: list[str], shares: Floats) -> list[float]:
    """BLEU and chrF of texts against expected counts, by dictionaries."""
    order = 6 if isinstance(metric, CHRF) else 4
    units = [list(text.replace(" ", "")) if isinstance(metric, CHRF) else text.split() for text in texts]

    def grams(words: list[str], n: int) -> dict[tuple[str, ...], float]:
        found: dict[tuple[str, ...], float] = {}
        for start in range(len(words) - n + 1):
            gram = tuple(words[start : start + n])
            found[gram] = found.get(gram, 0.0) + 1.0
        return found

    expected: list[dict[tuple[str, ...], float]] = []
    for n in range(1, order + 1):
        total: dict[tuple[str, ...], float] = {}
        for words, share in zip(units, shares, strict=True):
            for gram, count in grams(words, n).items():
                total[gram] = total.get(gram, 0.0) + share * count
        expected.append(total)
    rows = []
    for words in units:
        said = [grams(words, n) for n in range(1, order + 1)]
        totals = [sum(one.values()) for one in said]
        known = [sum(one.values()) for one in expected]
        matches = [
            sum(min(count, other.get(gram, 0.0)) for gram, count in one.items())
            for one, other in zip(said, expected, strict=True)
        ]
        if isinstance(metric, CHRF):
            rows.append([x for triple in zip(totals, known, matches, strict=True) for x in triple])
        else:
            rows.append([totals[0], known[0], *matches, *totals])
    return metric.scores(np.array(rows)).tolist()


@pytest.mark.parametrize("metric", [BLEU(tokenize="none", effective_order=True), CHRF(), CHRF(beta=1)])
def test_the_average_reference_has_expected_counts(metric: Metric) -> None:
    texts, generator = list(dict.fromkeys(random_texts(5, 9) + ["a a a", "a"])), np.random.default_rng(4)
    shares = generator.dirichlet(np.ones(len(texts)))
    found = average_scores(metric, texts, texts, shares)
    assert found == pytest.approx(brute_average(metric, texts, shares))


def test_aggregation_and_the_best_few() -> None:
    size = len(set(LISTS[0]))
    rough = toledo.choose(LISTS[0], aggregate=True)
    assert (rough.num_calls, rough.confidence) == (size, None)
    sharp = toledo.choose_many(LISTS, rule="aggregate-mbr:top=5")
    assert sharp.num_calls == sum(6 * len(set(texts)) for texts in LISTS)
    assert [len(one.ranking) for one in sharp] == [5] * len(LISTS)
    assert sum(one.text == exact.text for one, exact in zip(sharp, EXACT, strict=True)) >= 11
    for one, exact in zip(sharp, EXACT, strict=True):
        if [x.text for x in one.ranking[:2]] == [x.text for x in exact.ranking[:2]]:
            assert (one.score, one.confidence) == (pytest.approx(exact.score), pytest.approx(exact.confidence))


def test_the_mean_of_metrics_is_aggregated_too() -> None:
    texts, shares = list(dict.fromkeys(LISTS[2])), np.full(len(set(LISTS[2])), 1 / len(set(LISTS[2])))
    gain = toledo.MBR("mean").metric_for_texts()
    parts = [average_scores(one, texts, texts, shares) for one in gain.parts]  # type: ignore[attr-defined]
    assert average_scores(gain, texts, texts, shares) == pytest.approx(np.mean(parts, axis=0))


class LetterCounts(VectorMetric):
    """Cosine of counts of letters: a metric of vectors."""

    name = "letters"  # type: ignore[assignment]

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode_texts(self, texts: list[str]) -> Floats:
        self.encoded += texts
        return np.array([[text.count(letter) for letter in "abcdefgh0123"] for text in texts], np.float64)

    def score_vectors(self, hypotheses: Floats, references: Floats, sources: Floats | None = None) -> Floats:
        norms = np.linalg.norm(hypotheses, axis=1) * np.linalg.norm(references, axis=1)
        return 100.0 * (hypotheses * references).sum(axis=1) / norms


def test_the_average_of_vectors() -> None:
    metric, texts = LetterCounts(), ["ab", "aab", "b0", "aab"]
    choice = toledo.choose(texts, metric=metric, aggregate=True)
    vectors = np.array([[1, 1, 0], [2, 1, 0], [0, 1, 1]], np.float64)
    mean = np.array([0.25, 0.5, 0.25]) @ vectors
    cosines = 100 * vectors @ mean / np.linalg.norm(vectors, axis=1) / np.linalg.norm(mean)
    assert [one.score for one in choice.ranking] == pytest.approx(np.sort(cosines)[::-1])
    assert sorted(metric.encoded) == ["aab", "ab", "b0"]


def test_metrics_that_have_no_average() -> None:
    for metric in ("ter", "chrf++", counted([])):
        with pytest.raises(toledo.InputError, match="cannot aggregate references"):
            toledo.choose(LISTS[0], metric=metric, aggregate=True)
    with pytest.raises(toledo.InputError, match="no average reference"):
        toledo.choose(["a", "b"], matrix=np.eye(2), aggregate=True)


@pytest.mark.parametrize("rule", ["elimination-mbr", "pruning-mbr", "halving-mbr", "low-rank-mbr"])
def test_error_rates_are_bounded_and_turned(rule: str) -> None:
    texts = [*random_texts(7, 30), "w1"]
    exact = toledo.choose(texts, metric="ter")
    found = toledo.choose(texts, metric="ter", rule=rule)
    scores = {one.text: one.score for one in exact.ranking}
    assert scores[found.text] < exact.score + 5
    assert 0 <= found.ranking[0].score < 100


def test_a_matrix_instead_of_calls() -> None:
    texts = list(dict.fromkeys(LISTS[3]))
    matrix = CHRF().pairwise_scores(texts, texts)
    by_matrix = toledo.choose(texts, matrix=matrix, rule="elimination-mbr:proxy=bleu")
    by_metric = toledo.choose(texts, metric="chrf", rule="elimination-mbr:proxy=bleu")
    assert (by_matrix.text, by_matrix.num_calls) == (by_metric.text, by_metric.num_calls)
    assert by_matrix.score == pytest.approx(by_metric.score)
    assert toledo.choose(texts, matrix=matrix, budget=500).num_calls <= 500


def test_texts_of_named_systems() -> None:
    """Votes are shares of the references; the mean of BLEU and chrF has an average."""
    systems = {f"system {place}": [texts[place] for texts in LISTS] for place in range(9)}
    exact = toledo.choose_many(systems)
    rough = toledo.choose_many(systems, aggregate=True)
    assert rough.num_calls < 0.2 * exact.num_calls
    assert sum(one == other for one, other in zip(exact.texts, rough.texts, strict=True)) >= 9
    assert toledo.choose_many(systems, budget=1000).texts == exact.texts
    assert toledo.choose_many(systems, metric=counted([]), budget=30).num_calls <= 30 * len(LISTS)


def test_shares_of_references_count() -> None:
    """One reference with nearly all of the probability decides, whatever the others say."""
    texts = list(dict.fromkeys(LISTS[4]))
    weights = np.full(len(texts), 1e-6)
    weights[-1] = 1.0
    for rule in ("elimination-mbr:proxy=bleu", "pruning-mbr", "halving-mbr", "low-rank-mbr"):
        assert toledo.choose(texts, metric="chrf", weights=weights, rule=rule).index == len(texts) - 1


def test_refusals() -> None:
    with pytest.raises(toledo.InputError, match="prune and budget exclude each other"):
        toledo.choose(LISTS[0], prune=0.9, budget=100)
    with pytest.raises(toledo.InputError, match="budget is for rule 'mbr', not 'viterbi'"):
        toledo.choose(LISTS[0], rule="viterbi", budget=100)
    with pytest.raises(toledo.InputError, match="cache is for a metric that is a function"):
        toledo.choose(LISTS[0], cache="scores.sqlite")
    with pytest.raises(toledo.InputError, match="not in forests"):
        toledo.choose_many([toledo.Forest.from_list(["a", "b"])], rule="pruning-mbr")
    with pytest.raises(toledo.InputError, match="returned nan for sample 0 of segment 0"):
        toledo.choose(["a", "b"], metric=lambda h, r, s: [np.nan] * len(h), rule="elimination-mbr")


def test_paid_calls_are_kept_and_reused(tmp_path: Path) -> None:
    file = tmp_path / "scores.sqlite"
    calls: list[int] = []
    first = toledo.choose(LISTS[0][:20], metric=counted(calls), cache=file)
    paid = sum(calls)
    again = toledo.choose(LISTS[0][:20], metric=counted(calls), cache=file)
    assert (sum(calls), again) == (paid, first)
    longer = LISTS[0][:21]
    toledo.choose(longer, metric=counted(calls), cache=file)
    assert sum(calls) == len(set(longer)) ** 2


def test_an_interruption_loses_one_batch_at_most(tmp_path: Path) -> None:
    file, texts = tmp_path / "scores.sqlite", list(dict.fromkeys(LISTS[0]))[:20]
    calls: list[int] = []

    def breaks(hypotheses: list[str], references: list[str], sources: object) -> Floats:
        if len(calls) == 7:
            raise KeyboardInterrupt
        return counted(calls)(hypotheses, references, sources)

    breaks.__name__ = "dear"
    with pytest.raises(KeyboardInterrupt):
        toledo.choose(texts, metric=breaks, cache=file, batch_size=10)
    assert sum(calls) == 70
    again: list[int] = []
    toledo.choose(texts, metric=counted(again), cache=file, batch_size=10)
    assert sum(again) == 400 - 70


def test_the_cache_knows_metrics_and_sources_apart(tmp_path: Path) -> None:
    file, calls = tmp_path / "scores.sqlite", list[int]()
    function = counted(calls)
    toledo.choose(["a", "b"], metric=toledo.utility(function, name="one"), cache=file)
    toledo.choose(["a", "b"], metric=toledo.utility(function, name="two"), cache=file)
    toledo.choose(["a", "b"], metric=toledo.utility(function, name="two"), source="s", cache=file)
    assert sum(calls) == 12


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("these are my notes, and not scores\n" * 100)
    with pytest.raises(toledo.InputError, match=r"notes\.txt: cannot keep scores") as error:
        toledo.choose(["a", "b"], metric=counted([]), cache=file)
    assert error.value.remedy
    assert file.read_text().startswith("these are my notes")
