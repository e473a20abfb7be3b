"""DocumentSampling at a temperature against the exact distribution over all states of a tiny document."""

import numpy as np
import pytest
from beam_twin import small_model
from document_twin import all_states, document_features, posterior
from scipy.stats import chi2
from small_documents import FEATURE_WEIGHTS, MODELS, document_of, references_of, search_of, state_of

from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import OPERATIONS, DocumentSampling, DocumentSettings, Operations
from toledo.search.features import Derivations
from toledo.text.corpus import Document

VALUES = [0.3, 0.2, 0.5, 0.4, 0.3, 0.2, 0.3, 0.3, 0.2, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4]
CONTENT = {
    (("a",), ("x",)): (-0.1, -0.2, -0.3, -0.4),
    (("a",), ("y",)): (-0.5, -0.2, -0.3, -0.4),
    (("b",), ("y",)): (-0.1, -0.2, -0.3, -0.1),
    (("c",), ("z",)): (-0.3, -0.2, -0.1, -0.1),
    (("a", "b"), ("z",)): (-0.1, -0.2, -0.3, -0.4),
    (("c", "a", "b"), ("z", "x", "y")): (-0.1, -0.2, -0.3, -0.4),
}
SOURCES = [list("cab"), list("ac")]
CROOKED = {  # the way back is not as likely as the way there
    "right_move_preference": 0.7,
    "right_distance_decay": 0.4,
    "left_distance_decay": 0.6,
    "phrase_resegmentation_decay": 0.45,
}
MODEL = small_model(CONTENT, (3,), 2, True, VALUES)
REFERENCES = references_of(SOURCES)
STATES = all_states(MODEL, SOURCES)
NUMBER = {state: k for k, state in enumerate(STATES)}


def score_of(state: tuple) -> float:
    weights = {**MODEL.weights, **FEATURE_WEIGHTS}
    features = document_features(MODEL, SOURCES, state, MODELS, REFERENCES)
    return sum(weights[name] * value for name, value in features.items())


SCORES = np.array([score_of(state) for state in STATES])


def surprise(counts: np.ndarray, expected: np.ndarray) -> float:
    """The p value of Pearson's test; rare cells count as one."""
    order = np.argsort(-expected)
    counts, expected = counts[order], expected[order] * counts.sum()
    kept = max(int(np.count_nonzero(expected >= 5)), 1)
    observed, wanted = (np.append(array[:kept], array[kept:].sum()) for array in (counts, expected))
    if wanted[-1] < 5:
        observed, wanted = (np.append(array[:-2], array[-2:].sum()) for array in (observed, wanted))
    return float(chi2.sf(((observed - wanted) ** 2 / wanted).sum(), max(wanted.size - 1, 1)))


def visits(
    search: DocumentSearch, document: Document, numbers: dict[tuple, int], samples: int, thinning: int
) -> np.ndarray:
    """How often each state is seen, every `thinning` steps."""
    state, counts = search.start(document), np.zeros(len(numbers), np.int64)
    search._result = lambda state, records: state  # type: ignore[method-assign,assignment,return-value]
    for _ in range(samples):
        search.run(state, thinning)
        present = [state.present.steps(s) for s in range(len(state.present))]
        counts[numbers[tuple(tuple((one.begin, one.end, one.pair) for one in steps) for steps in present)]] += 1
    return counts


@pytest.mark.parametrize(
    ("operations", "temperature"),
    [
        (Operations(**CROOKED), 1.0),
        (Operations(**CROOKED), 2.0),
        (Operations(0, 0, 1, 1, 0, 0, 0, **CROOKED), 1.0),
        (Operations(0, 1, 0, 1, 0, 0, 0, **CROOKED), 1.0),
        (Operations(1, 0, 0, 0.2, 1, 1, 1, **CROOKED), 1.0),
    ],
)
def test_samples_follow_the_posterior(operations: Operations, temperature: float) -> None:
    expected = posterior(SCORES, temperature)
    search = search_of(
        MODEL, DocumentSettings(DocumentSampling(temperature), operations, 10**9, start="random"), MODELS
    )
    counts = visits(search, document_of(SOURCES, REFERENCES), NUMBER, 8_000, 40)
    assert abs(counts / counts.sum() - expected).sum() / 2 < 0.06
    assert surprise(counts, expected) > 1e-4


def test_samples_follow_the_posterior_where_steps_stay_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toledo.search.document.settings.SMALL", 0)
    settings = DocumentSettings(DocumentSampling(), Operations(**CROOKED), 24, start="random")
    assert settings.visit(words=5, sentences=2) == 3
    counts = visits(
        search_of(MODEL, settings, MODELS), document_of(SOURCES, REFERENCES), NUMBER, samples=8_000, thinning=40
    )
    expected = posterior(SCORES)
    assert abs(counts / counts.sum() - expected).sum() / 2 < 0.06
    assert surprise(counts, expected) > 1e-4


LONGER = {  # phrases of several lengths, so that swaps and moves meet the ends of the sentence in different ways
    (("a",), ("x",)): (-0.1, -0.2, -0.3, -0.4),
    (("b",), ("y",)): (-0.1, -0.2, -0.3, -0.1),
    (("c",), ("z",)): (-0.3, -0.2, -0.1, -0.1),
    (("a", "b"), ("z",)): (-0.1, -0.2, -0.3, -0.4),
    (("b", "c"), ("x", "y")): (-0.1, -0.2, -0.3, -0.4),
}


@pytest.mark.parametrize("name", ["swap", "move"])
def test_the_ways_there_and_back_are_weighed(name: str) -> None:
    """Without the ratio of Hastings, swaps or moves among four phrases would change the distribution."""
    model, source = small_model(LONGER, (3,), 6, True, VALUES), list("abcd")
    states = all_states(model, [source])
    numbers = {state: k for k, state in enumerate(states)}
    features = [document_features(model, [source], state, [], []) for state in states]
    scores = np.array([sum(model.weights[key] * value for key, value in one.items()) for one in features])
    operations = Operations(**(dict.fromkeys(OPERATIONS, 0.0) | {name: 1.0, "resegment": 1.0} | CROOKED))
    search = DocumentSearch(model, DocumentSettings(DocumentSampling(), operations, 10**9, start="random"))
    counts = visits(search, document_of([source]), numbers, 10_000, 40)
    expected = posterior(scores)
    assert len(states) == 36
    assert abs(counts / counts.sum() - expected).sum() / 2 < 0.03
    assert surprise(counts, expected) > 1e-4


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_operation_changes_the_posterior(name: str) -> None:
    """Some steps from exact samples give exact samples."""
    expected = posterior(SCORES)
    starts = np.random.default_rng(5).choice(len(STATES), 1500, p=expected)
    operations = Operations(**(dict.fromkeys(OPERATIONS, 0.0) | {name: 1.0} | CROOKED))
    search = search_of(MODEL, DocumentSettings(DocumentSampling(), operations, 3, start="random"), MODELS)
    state = search.start(document_of(SOURCES, REFERENCES))
    options = {
        (s, int(b), int(e), int(p)): option
        for s in range(len(SOURCES))
        for option in state.known.options_of(s)
        for b, e, p in [[array[option] for array in state.known.text.options[:3]]]
    }
    counts = np.zeros(len(STATES), np.int64)
    search._result = lambda state, records: state  # type: ignore[method-assign,assignment,return-value]
    for start in starts.tolist():
        parts = [np.array([options[s, *step] for step in steps], np.int32) for s, steps in enumerate(STATES[start])]
        search._put(state, Derivations.joined(state.known.model, state.known.text.options, parts))
        search.run(state, 3)
        present = [state.present.steps(s) for s in range(len(state.present))]
        counts[NUMBER[tuple(tuple((one.begin, one.end, one.pair) for one in steps) for steps in present)]] += 1
    assert surprise(counts, expected) > 1e-4


def test_the_last_state_of_sampling_is_a_sample_and_the_best_is_kept() -> None:
    search = search_of(MODEL, DocumentSettings(DocumentSampling(5.0), steps=5_000, start="random"), MODELS)
    (result,) = search.search([document_of(SOURCES, REFERENCES)])
    assert result.best.score == pytest.approx(SCORES.max(), abs=1e-5)
    assert STATES[int(SCORES.argmax())] == state_of(result.best)
    assert result.last.score == pytest.approx(SCORES[NUMBER[state_of(result.last)]], abs=1e-5)
