"""Samples of document chains: features of each sentence, and gradients against the exact one over all states."""

from functools import cache

import numpy as np
import pytest
from beam_twin import features_of, small_model
from document_twin import all_states, document_features, text_of
from small_documents import document_of

from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.phrases.sparse import sparse_features, target_words
from toledo.search.document.models.model import DocumentModel
from toledo.search.document.models.readability import LengthParity
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings
from toledo.tuning.documents.chains import Chains, ChainSettings, sentence_rows
from toledo.tuning.minimum_risk.advantages import CORPUS_SMOOTHING, smoothed
from toledo.tuning.minimum_risk.trainer import DocumentBatch, MinimumRisk
from toledo.weights import Weights

VALUES = [0.3, 0.2, 0.5, 0.4, 0.3, 0.2, 0.3, 0.3, 0.2, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4]
CONTENT = {
    (("a",), ("x",)): (-0.1, -0.2, -0.3, -0.4),
    (("a",), ("y",)): (-0.5, -0.2, -0.3, -0.4),
    (("b",), ("y",)): (-0.1, -0.2, -0.3, -0.1),
    (("a", "b"), ("z",)): (-0.1, -0.2, -0.3, -0.4),
    (("a", "b"), ("y", "x")): (-0.1, -0.2, -0.3, -0.4),
}
SOURCES = [["a", "b"], ["b", "a"]]
REFERENCES = [[["y", "x"]], [["y", "x", "z"]]]
PARITY = [LengthParity()]
METRIC = BLEU(smooth_method="none")
BATCHES = 10


@cache
def model_of(parity: float = 0.0, reordering: bool = False) -> PhraseModel:
    plain = small_model(CONTENT, (2,), 3, reordering, VALUES)
    return plain.with_weights(Weights({**plain.weights, "document.parity": parity}, frozenset({"oov"})))


@pytest.mark.parametrize("reordering", [False, True])
def test_rows_are_the_features_of_each_sentence(reordering: bool) -> None:
    plain = model_of(reordering=reordering)
    model = PhraseModel(
        plain.table, plain.language_models, plain.weights, plain.settings,
        sparse=sparse_features(plain.table, [target_words]),
    )  # fmt: skip
    sources = [["a", "b", "a"], ["d", "b"], ["b", "a", "a", "b"]]
    search = DocumentSearch(model, DocumentSettings(start="random"))
    state = search.start(document_of(sources))
    phrases, size = state.present, len(model.feature_names)
    rows = sentence_rows(phrases, size)
    offsets, words = phrases.yields()
    for s, source in enumerate(sources):
        steps = phrases.steps(s)
        found = tuple((step.begin, step.end, step.pair) for step in steps)
        expected = features_of(model, source, found)
        assert rows.dense[s] == pytest.approx([expected[name] for name in model.feature_names], rel=1e-5)
        own = slice(rows.offsets[s], rows.offsets[s + 1])
        sparse: dict[str, float] = {}
        for column, value in zip(rows.columns[own].tolist(), rows.values[own].tolist(), strict=True):
            name = model.sparse.names[column - size]
            sparse[name] = sparse.get(name, 0.0) + value
        assert sparse == {name: value for name, value in expected.items() if name.startswith("target:")}
        assert model.target_vocabulary.words(words[offsets[s] : offsets[s + 1]].tolist()) == text_of(
            model, source, found
        )


def exact(models: list[DocumentModel], names: tuple[str, ...], point: np.ndarray, documents: int) -> float:
    """Expected BLEU of so many copies of the document, one document or a corpus, over all states."""
    model = model_of()
    states = all_states(model, SOURCES)
    features = [document_features(model, SOURCES, state, models, REFERENCES) for state in states]
    scores = np.array([[one[name] for name in names] for one in features]) @ point
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    statistics = np.array(
        [
            METRIC.corpus_statistics([text_of(model, *one) for one in zip(SOURCES, state, strict=True)], REFERENCES)
            for state in states
        ]
    ).sum(axis=1)
    gain = smoothed(METRIC, CORPUS_SMOOTHING)
    if documents == 1:
        return float(shares @ gain.scores(statistics)) / 100.0
    pairs = statistics[:, None] + statistics[None]
    return float(shares @ gain.scores(pairs.reshape(-1, METRIC.size)).reshape(len(states), -1) @ shares) / 100.0


def slopes_of(models: list[DocumentModel], names: tuple[str, ...], point: np.ndarray, documents: int) -> np.ndarray:
    """By finite differences."""
    width, found = 1e-4, np.zeros(point.size)
    for k in range(point.size):
        up, down = point.copy(), point.copy()
        up[k] += width
        down[k] -= width
        found[k] = (exact(models, names, up, documents) - exact(models, names, down, documents)) / (2 * width)
    return found


@pytest.mark.parametrize(
    ("parity", "objective", "coupled", "documents"),
    [
        (None, "expected-bleu", False, 1),
        (None, "corpus-expected-bleu", False, 2),
        (0.8, "expected-bleu", True, 1),
        (0.8, "corpus-expected-bleu", True, 2),
        (0.0, "corpus-expected-bleu", False, 2),
    ],
)
def test_gradients_are_those_over_all_states(parity, objective, coupled, documents) -> None:
    """Where sentences are independent they may be taken one by one; with a document model, `coupled` is exact."""
    models = [] if parity is None else PARITY
    model = model_of(parity or 0.0)
    chains = Chains(
        model, [document_of(SOURCES, REFERENCES)] * documents, models, ChainSettings(1500, 3.0, 20.0, 20.0, "random")
    )
    point = np.array([model.weights[name] for name in chains.names])
    trainer, found, values = MinimumRisk(objective, lines=1000, coupled=coupled), [], []
    for number in range(BATCHES):
        samples = chains.sample(range(documents), model.weights, threads=1)
        batch = DocumentBatch(samples, chains.names, METRIC, model.weights)
        value, slopes = batch.gradient(trainer, 0.0, np.random.default_rng(number))
        values.append(value)
        found.append(slopes)
    expected = slopes_of(models, chains.names, point, documents)
    error = np.std(found, axis=0, ddof=1) / np.sqrt(BATCHES)
    assert np.all(np.abs(np.mean(found, axis=0) - expected) <= 4.5 * error + 1e-4)
    assert np.all(error <= 0.15 * np.abs(expected).max())
    assert np.mean(values) == pytest.approx(exact(models, chains.names, point, documents), abs=0.01)


def test_entropy_pulls_towards_flat_distributions() -> None:
    """The derivative of T · H by each weight is −T · cov(score, feature)."""
    model = model_of()
    chains = Chains(model, [document_of(SOURCES, REFERENCES)], (), ChainSettings(500, 3.0, 20.0, 20.0, "random"))
    point = np.array([model.weights[name] for name in chains.names])
    batch = DocumentBatch(chains.sample([0], model.weights), chains.names, METRIC, model.weights)
    trainer = MinimumRisk("corpus-expected-bleu", lines=2)
    warm, cold = (batch.gradient(trainer, t, np.random.default_rng(1))[1] for t in (0.3, 0.0))
    expected = np.zeros(point.size)
    for s in range(len(SOURCES)):
        features = batch.rows.dense[500 * s : 500 * (s + 1)].astype(np.float64)
        expected -= 0.3 / len(SOURCES) * np.cov(features.T) @ point
    assert warm - cold == pytest.approx(expected, abs=1e-5)


def test_samples_do_not_depend_on_threads_and_go_on_from_saved_chains() -> None:
    model, documents = model_of(0.8), [document_of(SOURCES, REFERENCES), document_of(SOURCES[::-1], REFERENCES[::-1])]
    one, two = (Chains(model, documents, PARITY, ChainSettings(5, 1.0, 2.0, 2.0, "random")) for _ in range(2))
    first = one.sample([0, 1], model.weights, threads=1)
    again = two.sample([0, 1], model.weights, threads=2)
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a.rows.dense, b.rows.dense)
        assert np.array_equal(a.totals, b.totals)
    other = Chains(model, documents, PARITY, two.settings)
    other.put(two.to_arrays())
    hotter = model.weights.updated(["lm"], np.array([0.05]))
    a, b = (chains.sample([1], hotter)[0] for chains in (one, other))
    assert np.array_equal(a.statistics, b.statistics)
    assert np.array_equal(a.rows.dense, b.rows.dense)


def test_a_document_without_words_takes_no_step() -> None:
    model = model_of()
    documents = [document_of([[], []], [[["x"]], [["y"]]]), document_of(SOURCES, REFERENCES)]
    chains = Chains(model, documents, PARITY, ChainSettings(3, 1.0, 2.0, 2.0, "random"))
    for _ in range(2):
        empty, full = chains.sample([0, 1], model.weights)
        assert empty.offsets.tolist() == [0] * 7
        assert empty.pair_offsets.tolist() == [0] * 7
        assert full.words.size
    assert chains.to_arrays()["chain0.counters"].tolist() == [0, 0, 0]
    for wrong in ({"every": np.inf}, {"first": np.inf}, {"again": np.nan}):
        with pytest.raises(ValueError, match="burn-in"):
            ChainSettings(**wrong)
