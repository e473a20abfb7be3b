"""Expected gains against a loop over all pairs with the metrics themselves; MBR on lists and forests."""

from dataclasses import dataclass

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from toledo.compiled.ragged import Numbering, Sequences, character_sequences, number_words
from toledo.consensus.decide import decide
from toledo.consensus.gains import GAINS
from toledo.consensus.mbr import MBR, mbr
from toledo.consensus.texts import WeightedTexts, best_texts
from toledo.forest.constructors import Arc, ListEntry, from_lattice, from_nbest
from toledo.forest.forest import Forest
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.expected import expected_gains
from toledo.metrics.metric import Metric
from toledo.metrics.ter import TER
from toledo.text.vocabulary import Vocabulary

CLOSE = 1e-9
GAIN_METRICS: dict[str, Metric] = {
    "bleu": BLEU(smooth_method="exp", effective_order=True),
    "bleu+1": BLEU(smooth_method="add-k", smooth_value=1.0),
    "bleu+0.01": BLEU(smooth_method="add-k", smooth_value=0.01),
    "chrf": CHRF(),
    "ter": TER(),
}


@dataclass(frozen=True)
class Problem:
    hypotheses: list[list[str]]
    evidence: list[list[str]]
    probabilities: NDArray[np.float64]


texts = st.lists(st.sampled_from(["a", "b", "ab", "bab", "ä"]), max_size=9)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    hypotheses = draw(st.lists(texts, min_size=1, max_size=6))
    evidence = draw(st.lists(st.one_of(texts, st.sampled_from(hypotheses)), max_size=6))
    weights = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=len(evidence), max_size=len(evidence)))
    return Problem(hypotheses, evidence, np.array(weights))


def encode(sentences: list[list[str]], gain: Metric, numbering: Numbering) -> Sequences:
    if isinstance(gain, CHRF):
        return character_sequences([" ".join(words) for words in sentences])
    return number_words(sentences, numbering)


def ours(problem: Problem, gain: Metric) -> NDArray[np.float64]:
    numbering = Numbering()
    said, meant = encode(problem.hypotheses, gain, numbering), encode(problem.evidence, gain, numbering)
    return expected_gains(said, meant, problem.probabilities, gain)


def one_gain(metric: Metric, hypothesis: list[str], reference: list[str]) -> float:
    if isinstance(metric, CHRF):
        return metric.score(metric.statistics(" ".join(hypothesis), [" ".join(reference)]))
    score = metric.score(metric.statistics(hypothesis, [reference]))
    return score if metric.higher_is_better else max(0.0, 100 - score)


def brute_force(problem: Problem, metric: Metric) -> list[float]:
    weighted = list(zip(problem.evidence, problem.probabilities.tolist(), strict=True))
    return [sum(p * one_gain(metric, said, meant) for meant, p in weighted) for said in problem.hypotheses]


@pytest.mark.parametrize("name", GAIN_METRICS)
@given(problem=problems())
def test_expected_gains_are_those_of_the_metric(name: str, problem: Problem) -> None:
    assert ours(problem, GAINS.make(name)) == pytest.approx(brute_force(problem, GAIN_METRICS[name]), abs=CLOSE)


@settings(max_examples=40)
@given(
    problem=problems(),
    metric=st.builds(
        BLEU,
        max_ngram_order=st.integers(1, 5),
        smooth_method=st.sampled_from(["none", "floor", "add-k", "exp"]),
        smooth_value=st.sampled_from([None, 0.5]),
        effective_order=st.booleans(),
    ),
)
def test_every_smoothing(problem: Problem, metric: BLEU) -> None:
    assert ours(problem, metric) == pytest.approx(brute_force(problem, metric), abs=CLOSE)


@pytest.mark.parametrize("name", GAIN_METRICS)
@given(problem=problems())
def test_the_best_is_found_without_all_others(name: str, problem: Problem) -> None:
    gain, numbering = GAINS.make(name), Numbering()
    said, meant = encode(problem.hypotheses, gain, numbering), encode(problem.evidence, gain, numbering)
    values = np.round(ours(problem, gain), 9)
    place, value = mbr(said, meant, problem.probabilities, gain)
    assert (place, value) == (int(np.argmax(values)), pytest.approx(values.max(), abs=CLOSE))


def test_gains_are_those_of_sacrebleu() -> None:
    said, meant = list("abcdeefg"), list("xbcdefyg")
    problem = Problem([said], [meant], np.ones(1))
    line, reference = " ".join(said), [" ".join(meant)]
    assert ours(problem, GAINS.make("bleu"))[0] == pytest.approx(
        sacrebleu.sentence_bleu(line, reference, tokenize="none").score
    )
    assert ours(problem, GAINS.make("chrf"))[0] == pytest.approx(sacrebleu.sentence_chrf(line, reference).score)
    assert ours(problem, GAINS.make("ter"))[0] == pytest.approx(100 - sacrebleu.sentence_ter(line, reference).score)


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_long_texts(name: str) -> None:
    """Counts above 255, and many hypotheses, of which most share no n-gram."""
    generator = np.random.default_rng(1)
    loop = ["a"] * 300
    rare = [[f"w{number}" for number in generator.integers(0, 60, 7)] for _ in range(40)]
    problem = Problem([loop, [*loop, "b"], *rare], [loop[:280], *rare[:10]], np.full(11, 0.1))
    assert ours(problem, GAINS.make(name)) == pytest.approx(brute_force(problem, GAIN_METRICS[name]), abs=CLOSE)


def test_a_short_text_does_not_win_by_ter() -> None:
    """TER of a long text with a short one as its reference is 600; unbounded, it would decide everything."""
    samples = ["The cat sat on the mat.", "A cat sat on the mat.", "Cats!"]
    assert MBR("ter").choose(samples).text == samples[0]
    rows = np.minimum(100.0, TER().pairwise_scores(samples, samples))
    assert MBR("ter").choose(samples).ranking[0].score == pytest.approx(rows.mean(axis=1).min())
    assert TER().pairwise_scores(samples[:1], samples[2:])[0, 0] > 500


def test_of_equal_hypotheses_the_first() -> None:
    numbering = Numbering()
    alike = number_words([["b", "a"], ["a", "b"], ["b", "a"]], numbering)
    assert mbr(alike, number_words([["x"]], numbering), np.ones(1), GAINS.make("bleu")) == (0, 0.0)


@given(st.permutations(range(5)), st.sampled_from(["bleu", "chrf"]))
def test_rounding_makes_no_difference(places: list[int], name: str) -> None:
    """Each text has the same neighbors, so all are worth the same, whatever the order of the sums."""
    circle = [[f"w{(start + step) % 5}" for step in range(4)] for start in range(5)]
    mixed = [circle[place] for place in places]
    gain = GAINS.make(name)
    said = encode(mixed, gain, Numbering())
    assert mbr(said, said, np.full(5, 0.2), gain)[0] == 0


@pytest.mark.parametrize("name", GAIN_METRICS)
def test_one_hypothesis_and_equal_texts(name: str) -> None:
    numbers = number_words([["a", "b", "c", "d"]] * 3, Numbering())
    one = Sequences(numbers.symbols[:4], numbers.offsets[:2])
    assert mbr(one, one, np.ones(1), GAINS.make(name)) == (0, pytest.approx(100))
    assert mbr(numbers, numbers, np.full(3, 1 / 3), GAINS.make(name)) == (0, pytest.approx(100))


def test_bad_arrays_are_refused() -> None:
    good = number_words([["a"]], Numbering())
    none = Sequences(np.empty(0, np.int32), np.zeros(1, np.int64))
    with pytest.raises(ValueError, match="must rise"):
        Sequences(good.symbols, np.array([0, 5]))
    with pytest.raises(ValueError, match="shape"):
        expected_gains(good, good, np.ones(2), GAINS.make("bleu"))
    with pytest.raises(ValueError, match="not negative"):
        expected_gains(good, good, np.array([-1.0]), GAINS.make("bleu"))
    with pytest.raises(ValueError, match="no hypothesis"):
        mbr(none, good, np.ones(1), GAINS.make("bleu"))
    with pytest.raises(ValueError, match="characters only"):
        expected_gains(good, good, np.ones(1), CHRF(word_order=2))
    with pytest.raises(ValueError, match="no metric 'meteor'"):
        MBR("meteor")
    assert expected_gains(none, good, np.ones(1), TER()).size == 0


def nbest(*entries: tuple[str, float], vocabulary: Vocabulary) -> Forest:
    return from_nbest([ListEntry(text.split(), base=score) for text, score in entries], (), vocabulary)


def text_of(forest: Forest, ids: NDArray[np.int32]) -> str:
    return " ".join(forest.vocabulary.words(ids.tolist()))


@pytest.mark.parametrize("name", GAIN_METRICS)
@settings(max_examples=30)
@given(problem=problems(), scale=st.sampled_from([0.5, 2.0]), data=st.data())
def test_the_rule_on_lists(name: str, problem: Problem, scale: float, data: st.DataObject) -> None:
    """Scores become probabilities by softmax, equal texts add up, and the best text wins."""
    size = len(problem.hypotheses)
    scores = data.draw(st.lists(st.sampled_from([-2.0, 0.0, 1.0]), min_size=size, max_size=size))
    entries = [ListEntry(words, base=score) for words, score in zip(problem.hypotheses, scores, strict=True)]
    forest = from_nbest(entries, (), Vocabulary())
    (chosen,) = decide(MBR(name), [forest], {}, scale)
    weights = np.exp(scale * np.array(scores))
    expected = brute_force(Problem(problem.hypotheses, problem.hypotheses, weights / weights.sum()), GAIN_METRICS[name])
    assert chosen.value == pytest.approx(max(expected), abs=CLOSE)
    winner = problem.hypotheses.index(forest.vocabulary.words(chosen.words.tolist()))
    assert expected[winner] == pytest.approx(max(expected), abs=CLOSE)


def test_sizes() -> None:
    """Hypotheses and evidence are the best texts of a list, whatever its order."""
    vocabulary = Vocabulary()
    forest = nbest(("c c c c", -3.0), ("a a a a", -1.0), ("a a a b", -2.0), ("c c c c", -3.0), vocabulary=vocabulary)
    ranking = MBR(size=2, reference_size=1).rank(forest, forest.scores({}))
    assert [text_of(forest, one.words) for one in ranking] == ["a a a a", "a a a b"]
    assert ranking[0].value == pytest.approx(100)


def test_evidence_of_its_own() -> None:
    vocabulary = Vocabulary()
    forest = nbest(("a b c d", 5.0), ("x y z w", 0.0), vocabulary=vocabulary)
    evidence = nbest(("x y z v", 0.0), ("x y z u", 0.0), vocabulary=vocabulary)
    known = best_texts(evidence, evidence.scores({}), 1000)
    for name in GAIN_METRICS:
        assert text_of(forest, MBR(name).rank(forest, forest.scores({}), known)[0].words) == "x y z w"


def lattice(vocabulary: Vocabulary) -> Forest:
    """`a b`, written in two ways, and `c b`."""
    arcs = [
        Arc(0, 2, ["a", "b"], base=-1.0),
        Arc(0, 1, ["a"], base=-1.0),
        Arc(0, 1, ["c"], base=-0.8),
        Arc(1, 2, ["b"]),
    ]
    return from_lattice(arcs, 0, [2], (), vocabulary)


def test_derivations_of_a_text_count_together() -> None:
    forest = lattice(Vocabulary())
    ranking = MBR(BLEU(max_ngram_order=2, smooth_method="none")).rank(forest, forest.scores({}))
    assert [text_of(forest, one.words) for one in ranking] == ["a b", "c b"]
    share = 2 * np.exp(-1.0) / (2 * np.exp(-1.0) + np.exp(-0.8))
    assert ranking[0].value == pytest.approx(100 * share)


def test_samples_as_evidence() -> None:
    forest = lattice(Vocabulary())
    rule = MBR(BLEU(max_ngram_order=2, smooth_method="none"), num_samples=4000, seed=3)
    found = rule.decide(forest, forest.scores({}))
    share = 2 * np.exp(-1.0) / (2 * np.exp(-1.0) + np.exp(-0.8))
    assert text_of(forest, found.words) == "a b"
    assert found.value == pytest.approx(100 * share, abs=3)


def test_the_likeliest_texts_as_hypotheses() -> None:
    """The second text has the most probable derivation, the first is more probable by two of them."""
    vocabulary = Vocabulary()
    entries = [("a", 0.3), ("b", 0.4), ("a", 0.3), ("c", 0.0)]
    forest = from_nbest([ListEntry([word], base=float(np.log(p + 1e-9))) for word, p in entries], (), vocabulary)
    scores = forest.scores({})
    for likeliest, word in ((False, "b"), (True, "a")):
        (only,) = MBR(size=1, reference_size=10, likeliest=likeliest).rank(forest, scores)
        assert vocabulary.words(only.words.tolist()) == [word]


def test_nothing_to_choose() -> None:
    forest = nbest(vocabulary=Vocabulary())
    (found,) = decide(MBR(), [forest], {})
    assert (found.words.size, found.value) == (0, -np.inf)
    impossible = nbest(("a", 0.0), vocabulary=Vocabulary())
    assert MBR().decide(impossible, np.array([-np.inf])).value == -np.inf


def test_threads_do_not_matter() -> None:
    generator = np.random.default_rng(5)
    vocabulary = Vocabulary()
    lists = [
        [(" ".join(generator.choice(list("abcdef"), 8)), float(generator.normal())) for _ in range(20)]
        for _ in range(17)
    ]
    forests = [nbest(*some, vocabulary=vocabulary) for some in lists]
    for name in GAIN_METRICS:
        one, two = (decide(MBR(name), forests, {}, threads=threads) for threads in (1, 2))
        assert [x.value for x in one] == [x.value for x in two]
        assert all(np.array_equal(x.words, y.words) for x, y in zip(one, two, strict=True))


def test_first_of_weighted_texts() -> None:
    some = WeightedTexts(number_words([["a"], ["b"], ["c"]], Numbering()), np.array([0.5, 0.3, 0.2]))
    assert some.first(2).probabilities == pytest.approx([0.625, 0.375])
    assert some.first(3) is some
