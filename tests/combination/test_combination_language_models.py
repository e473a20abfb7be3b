"""The language model of a combination against sums over the whole vocabulary."""

import numpy as np
import pytest
from backoff_twin import encoded
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.combination.language_models import (
    BIASES,
    add_bias,
    cut_order,
    estimate_model,
    likely_bias,
    mix_components,
    open_vocabulary,
)
from toledo.forest.constructors import ForestBuilder
from toledo.forest.derivations import viterbi
from toledo.forest.ngrams import rescore
from toledo.language_model.arpa import read_arpa
from toledo.language_model.automaton import advance
from toledo.language_model.model import LanguageModel
from toledo.text.vocabulary import END, UNKNOWN, Vocabulary

FIRST = END + 1
GENERAL = encoded([[FIRST, FIRST + 1, FIRST + 2], [FIRST, FIRST + 1], [FIRST + 1, FIRST + 1, FIRST], [FIRST + 2]])
OUTPUTS = [encoded([[FIRST, FIRST + 3], [FIRST + 1]]), encoded([[FIRST, FIRST + 1, FIRST + 3], [FIRST + 1, FIRST]])]
REFERENCES = encoded([[FIRST, FIRST + 1, FIRST + 3], [FIRST + 1, FIRST]])
ALL = [END, *range(FIRST, FIRST + 4)]
contexts = st.lists(st.integers(FIRST, FIRST + 3), max_size=5)


def probabilities(model: LanguageModel, context: list[int]) -> dict[int, float]:
    """Of all words that a model knows, after a context that begins a sentence."""
    state = model.begin
    for word in context:
        state = advance(model.automaton, state, word)[1]
    known = [word for word in [UNKNOWN, *ALL] if word in model.ngrams.orders[0].words]
    return {word: 10 ** advance(model.automaton, state, word)[0] for word in known}


@settings(max_examples=40)
@given(contexts, st.sampled_from(BIASES))
def test_mixtures_add_up_to_one_and_share_words(context: list[int], weight: float) -> None:
    general, biased = estimate_model([GENERAL], 3), estimate_model(OUTPUTS, 3)
    mixed = probabilities(add_bias(general, biased, weight), context)
    assert sum(mixed.values()) == pytest.approx(1.0, abs=1e-4)
    assert set(mixed) == {UNKNOWN, *ALL}  # the word that only the outputs have, and the one that they lack


def test_listed_ngrams_have_the_mixed_probability() -> None:
    general, biased = estimate_model([GENERAL], 3), estimate_model(OUTPUTS, 3)
    mixed = add_bias(general, biased, 0.3)
    one, two, both = (probabilities(model, [FIRST]) for model in (general, biased, mixed))
    for word in (FIRST + 1, FIRST + 3):  # seen after the first word
        assert both[word] == pytest.approx(0.7 * one.get(word, 0.0) + 0.3 * two[word], rel=1e-4)


def test_outputs_of_all_systems_are_one_text() -> None:
    together = encoded([[*text] for output in OUTPUTS for text in output])
    assert probabilities(estimate_model(OUTPUTS, 2), [FIRST]) == probabilities(estimate_model([together], 2), [FIRST])


def test_components_get_the_weights_of_lowest_perplexity() -> None:
    components = [estimate_model([GENERAL], 3), estimate_model(OUTPUTS, 2)]
    found = mix_components(components, REFERENCES)
    assert found.order == 3
    tried = [add_bias(*components, weight).sentence_perplexity(REFERENCES).value for weight in BIASES]
    assert found.sentence_perplexity(REFERENCES).value <= min(tried) + 0.1
    assert mix_components(components[:1], REFERENCES) is components[0]


def test_the_bias_of_lowest_perplexity_is_chosen() -> None:
    general, biased = estimate_model([GENERAL], 3), estimate_model(OUTPUTS, 3)
    tried = {weight: add_bias(general, biased, weight).sentence_perplexity(REFERENCES).value for weight in BIASES}
    assert likely_bias(general, biased, REFERENCES) == min(tried, key=tried.__getitem__)


@settings(max_examples=30)
@given(contexts, st.integers(1, 3))
def test_models_of_lower_order_are_distributions(context: list[int], order: int) -> None:
    model = estimate_model([GENERAL, *OUTPUTS], 4)
    cut = cut_order(model, order)
    assert cut.order == order
    assert sum(probabilities(cut, context).values()) == pytest.approx(1.0, abs=1e-4)
    if len(context) >= order:  # then what came before does not matter
        assert probabilities(cut, context) == probabilities(cut, [FIRST, *context])
    assert cut_order(model, 4) is cut_order(model, 9) is model
    with pytest.raises(ValueError, match="at least 1"):
        cut_order(model, 0)


@pytest.mark.parametrize("unknown", ["", "-99\t<unk>\t0\n"])
def test_a_closed_vocabulary_is_opened(tmp_path, unknown: str) -> None:
    lines = f"-99\t<s>\t0\n{unknown}-1\t</s>\n-0.5\ta\t-0.1\n-2.5\tb\t0\n"
    count = 4 + bool(unknown)
    (tmp_path / "lm.arpa").write_text(
        f"\\data\\\nngram 1={count}\nngram 2=1\n\n\\1-grams:\n{lines}\n\\2-grams:\n-0.2\ta b\n\n\\end\\\n"
    )
    vocabulary = Vocabulary()
    closed = read_arpa(tmp_path / "lm.arpa", vocabulary)
    model = open_vocabulary(closed)
    assert advance(model.automaton, model.begin, 77)[0] == pytest.approx(-2.5)
    assert advance(closed.automaton, closed.begin, 77)[0] <= -99
    for word in "ab":
        number = vocabulary.id(word)
        assert advance(model.automaton, model.begin, number) == advance(closed.automaton, closed.begin, number)
    assert open_vocabulary(model) is model


def test_a_lattice_asks_the_mixture_in_one_pass() -> None:
    vocabulary = Vocabulary("abcd")
    model = add_bias(estimate_model([GENERAL], 3), estimate_model(OUTPUTS, 3), 0.5)
    builder = ForestBuilder(vocabulary, ["word"])
    start, middle, goal = (builder.node() for _ in range(3))
    builder.edge(start)
    for word in "abcd":
        builder.edge(middle, [start], [0, word], {"word": 1.0})
        builder.edge(goal, [middle], [0, word], {"word": 1.0})
    forest = builder.build(goal)
    scored = rescore(forest, np.zeros(forest.edges), 2, model, "lm", 1.0).forest
    (best,) = viterbi(scored, scored.scores({"word": 0.0, "lm": 1.0}))
    assert best is not None
    texts = [[one, two] for one in vocabulary.ids("abcd") for two in vocabulary.ids("abcd")]
    expected = model.score_sentences(encoded(texts)) * np.log(10)
    assert best.score == pytest.approx(expected.max(), rel=1e-5)
    assert best.word_ids.tolist() == [int(word) for word in texts[int(expected.argmax())]]
