"""Variational decoding against every text, and its n-gram model against all others of its order."""

import math
from collections import Counter, defaultdict

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toledo
from toledo.consensus.registry import make_rule, rule_text
from toledo.consensus.scale import Candidate, decide_candidates
from toledo.consensus.variational import Variational
from toledo.errors import InputError
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.forest import Forest
from toledo.text.vocabulary import Vocabulary

Words = tuple[int | str, ...]
Model = dict[Words, dict[int | str, float]]


def texts_of(forest: Forest, scores: np.ndarray) -> dict[Words, float]:
    trees = [tree for tree in oracle.derivations(forest) if tree.score(scores) > -np.inf]
    texts: Counter[Words] = Counter()
    for tree, probability in zip(trees, oracle.probabilities(trees, scores), strict=True):
        texts[tree.words] += probability
    return dict(texts)  # some may be too small for a number above 0


def steps(text: Words, order: int) -> list[tuple[Words, int | str]]:
    """Each word of a text, and its end, with the words before it that a model of some order sees."""
    padded = ("<s>", *text, "</s>")
    return [(padded[max(place - order + 1, 0) : place], padded[place]) for place in range(1, len(padded))]


def model_of(texts: dict[Words, float], order: int) -> Model:
    """Conditional probabilities from expected counts, by their definition."""
    counts: defaultdict[Words, Counter[int | str]] = defaultdict(Counter)
    for text, probability in texts.items():
        for history, word in steps(text, order):
            counts[history][word] += probability
    return {
        history: {word: count / sum(found.values()) for word, count in found.items() if count > 0.0}
        for history, found in counts.items()
    }


def logarithm(model: Model, text: Words, order: int) -> float:
    chances = [model[history].get(word, 0.0) for history, word in steps(text, order)]
    return sum(map(math.log, chances)) if all(chances) else -math.inf


rules = st.builds(
    Variational,
    order_weights=st.sampled_from([(1.0,), (0.0, 1.0), (0.0, 0.0, 1.0), (0.5, 1.0, 0.0, 2.0), (1.0, 1.0, 1.0, 1.0)]),
    length_weight=st.sampled_from([0.0, 0.3, -0.5]),
    map_weight=st.just(0.0),
    density=st.none(),
)


@given(st.data())
def test_the_best_of_all_texts(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = data.draw(oracle.edge_scores(forest))
    rule, scale = data.draw(rules), data.draw(st.sampled_from([0.5, 1.0]))
    (found,) = Variational.decide_each(forest, scores, [(rule, scale)])
    texts = texts_of(forest, scale * scores)
    if not texts:
        assert (found.words.size, found.value) == (0, -np.inf)
        return
    models = {order: model_of(texts, order) for order in range(1, rule.order + 1)}
    values = {
        text: rule.length_weight * len(text)
        + sum(weight * logarithm(models[n], text, n) for n, weight in enumerate(rule.order_weights, 1) if weight)
        for text in texts
    }
    assert found.value == pytest.approx(max(values.values()), abs=1e-6)
    assert values[tuple(found.words.tolist())] == pytest.approx(found.value, abs=1e-6)


@given(st.data())
def test_no_model_of_the_same_order_is_nearer(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = data.draw(oracle.edge_scores(forest, impossible=False))
    order, seed = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 99))
    texts, random = texts_of(forest, scores), np.random.default_rng(seed)
    if not texts:
        return
    weights = tuple(float(n == order) for n in range(1, order + 1))
    rule = Variational(order_weights=weights, density=None)
    own = {text: rule_value(rule, forest, scores, text) for text in texts}
    nearest = divergence(texts, own)
    exact = model_of(texts, order)
    assert nearest == pytest.approx(divergence(texts, {t: logarithm(exact, t, order) for t in texts}), abs=1e-9)
    assert nearest >= -1e-9
    for _ in range(20):  # any other model of this order
        other = {
            history: dict(zip(found, random.dirichlet(np.array(list(found.values())) * 20 + 0.1), strict=True))
            for history, found in exact.items()
        }
        if all(probability > 0 for found in other.values() for probability in found.values()):
            assert divergence(texts, {t: logarithm(other, t, order) for t in texts}) >= nearest - 1e-9


def rule_value(rule: Variational, forest: Forest, scores: np.ndarray, text: Words) -> float:
    """What the rule says of one text: that of the forest with all other texts made impossible at the last step."""
    from toledo.consensus.lattice_mbr import ngram_space

    space = ngram_space(forest, scores, rule.order, boundaries=True)
    index = space.ngrams.indexes[0]
    worth = rule.worth(index, space.ngrams.expected_counts(space.distribution(1.0)))
    padded = (1, *text, 2)
    numbers = [
        space.ngrams.number(0, padded[place : place + n])
        for n in range(1, rule.order + 1)
        for place in range(len(padded) - n + 1)
    ]
    return float(worth[numbers].sum())


def divergence(texts: dict[Words, float], logarithms: dict[Words, float]) -> float:
    return sum(p * (math.log(p) - logarithms[text]) for text, p in texts.items() if p > 0.0)


@given(st.data())
def test_lists_as_texts_and_as_forests(data: st.DataObject) -> None:
    samples = data.draw(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=5))
    logprobs = [data.draw(st.floats(-3, 0)) for _ in samples]
    rule = data.draw(rules)
    texts = list(dict.fromkeys(" ".join(words) for words in samples))
    chosen = rule.choose(texts, logprobs=logprobs[: len(texts)])
    entries = [ListEntry(text.split(), base=score) for text, score in zip(texts, logprobs, strict=False)]
    forest = from_nbest(entries, (), Vocabulary())
    found = rule.decide(forest, forest.scores({}))
    values = dict(zip(texts, logprobs, strict=False))
    assert chosen.score == pytest.approx(found.value, abs=1e-6)
    assert set(values) >= {chosen.text, " ".join(forest.vocabulary.words(found.words.tolist()))}


def test_a_text_that_the_model_has_seen_beats_one_that_it_has_not() -> None:
    chosen = toledo.choose(["x y z", "a b"], rule="variational", references=["a b", "a b c"])
    assert chosen.text == "a b"
    assert np.isfinite(chosen.score)


def test_the_score_of_the_derivation_decides_if_it_weighs_enough() -> None:
    texts, logprobs = ["a b", "a c", "b c"], [-0.1, -3.0, -3.0]
    assert toledo.choose(texts, rule="variational:map_weight=1000", logprobs=logprobs).text == "a b"
    entries = [ListEntry(text.split(), base=score) for text, score in zip(texts, logprobs, strict=True)]
    forest = from_nbest(entries, (), Vocabulary())
    found = Variational(map_weight=1000.0).decide(forest, forest.scores({}))
    assert forest.vocabulary.words(found.words.tolist()) == ["a", "b"]


def test_several_at_once_decide_as_each_alone() -> None:
    forest = oracle.chain(4, 3)
    candidates = [Candidate(Variational(order_weights=(1.0,) * n), scale) for n in (1, 2, 3) for scale in (0.5, 2.0)]
    weights = dict.fromkeys(forest.feature_names, 1.0)
    together = decide_candidates(candidates, [forest], weights)
    for candidate, (decision,) in zip(candidates, together, strict=True):
        alone = candidate.rule.decide(forest, candidate.scale * forest.scores(weights))
        assert (decision.words.tolist(), decision.value) == (alone.words.tolist(), pytest.approx(alone.value))


def test_by_name_and_back() -> None:
    rule = make_rule("variational:order_weights=[1,1,0.5],length_weight=0.2")
    assert rule == Variational(order_weights=(1.0, 1.0, 0.5), length_weight=0.2)
    assert make_rule(rule_text(rule)) == rule


@pytest.mark.parametrize("weights", [(), (0.0,), (0.0, 0.0), (1.0, -1.0)])
def test_weights_that_make_no_model(weights: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="order_weights"):
        Variational(order_weights=weights)


def test_boundaries_within_a_text_are_refused() -> None:
    forest = from_nbest([ListEntry(["a", "<s>"])], (), Vocabulary())
    with pytest.raises(InputError, match="contains <s>"):
        Variational().decide(forest, forest.scores({}))
