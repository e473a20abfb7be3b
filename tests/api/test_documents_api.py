"""Documents through the front door: texts in, texts out; results, errors, and runs that continue."""

import signal
from pathlib import Path
from typing import Any

import pytest
from small_models import small_model

import toledo
from toledo.api.documents import oracle, translate_document, tune_documents
from toledo.api.model import Model
from toledo.errors import InputError, RunError, UnknownNameError
from toledo.model import PhraseModel
from toledo.search.document.search import DocumentSearch
from toledo.search.document.state import DocumentState
from toledo.weights import Weights

TEXTS = ["das haus ist klein", "klein ist das haus", "ist das haus klein", "das haus"]
REFERENCES = ["the house is small", "small is the house", "is that house small", "that house"]
IDS = ["a", "a", "b", "b"]
MODEL = small_model()
QUICK = toledo.DocumentGradient(rounds=2, batch=1, gradient_steps=2, num_samples=4)


def test_texts_in_texts_out() -> None:
    found = translate_document(MODEL, TEXTS, document_ids=IDS, document_models={"consistency": 5.0}, steps=200)
    assert isinstance(found, toledo.DocumentTranslation)
    assert [one.id for one in found] == ["a", "b"]
    assert found.texts == [*found[0].texts, *found[1].texts] == str(found).splitlines()
    assert found.texts[0] == "the house is small"
    assert (found.steps, found.bleu, found.trace) == (400, None, ())
    assert found[0].score == pytest.approx(
        sum({**MODEL.weights, "document.consistency": 5.0}[name] * value for name, value in found[0].features.items())
    )
    assert found.signature.startswith("documents:2|segments:4|start:beam|accept:hill-climbing|steps:200|seed:1")
    assert set(found.to_dict()) >= {"documents", "score", "features", "steps", "accepted", "operations", "signature"}
    assert repr(found).startswith("DocumentTranslation(2 documents, 4 segments, score=")
    assert translate_document(MODEL, (text for text in TEXTS), document_ids=IDS, steps=0, threads=2).texts


def test_files_and_texts_give_the_same(tmp_path: Path) -> None:
    for name, lines in (("text", TEXTS), ("ids", IDS), ("reference", REFERENCES)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    how: dict[str, Any] = {"accept": "sampling", "steps": 300, "record": 100, "start": "random", "keep": "last"}
    texts = translate_document(MODEL, TEXTS, document_ids=IDS, references=[[one] for one in REFERENCES], **how)
    files = translate_document(
        MODEL, tmp_path / "text", document_ids=tmp_path / "ids", references=[tmp_path / "reference"], **how
    )
    mixed = Model(MODEL).translate_document(tmp_path / "text", document_ids=IDS, references=REFERENCES, **how)
    assert texts == files == mixed
    assert {row["step"] for row in texts.trace} == {0, 100, 200, 300}
    assert texts.bleu == pytest.approx(toledo.BLEU(tokenize="none", smooth_method="none")
                                       .corpus_score(texts.texts, [REFERENCES]).score)  # fmt: skip


def test_a_function_is_a_document_model() -> None:
    def short(sentences: list[list[str]]) -> float:
        return -float(sum(map(len, sentences)))

    found = translate_document(MODEL, TEXTS, document_models={short: 0.5, "lix": -0.1}, steps=100)
    assert found[0].features["short"] == -sum(len(text.split()) for text in found.texts)
    assert "document.lix" in found[0].features


def test_the_highest_reachable_bleu(tmp_path: Path) -> None:
    how: dict[str, Any] = {"document_ids": IDS, "steps": 3000, "start": "random"}
    found = oracle(MODEL, TEXTS, REFERENCES, **how)
    assert found.bleu == pytest.approx(100.0)
    assert Model(MODEL).oracle(TEXTS, REFERENCES, guided=True, **how).bleu == pytest.approx(100.0)
    drawn = oracle(MODEL, TEXTS, pseudo_reference=tmp_path / "drawn", **how)
    assert drawn.texts == (tmp_path / "drawn").read_text().splitlines()
    with pytest.raises(InputError, match="one kind of reference"):
        oracle(MODEL, TEXTS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"document_ids": IDS[:3]}, "document_ids 3"),
        ({"document_ids": ["a", "b", "a", "b"]}, "'a' comes back at segment 2 after 'b'"),
        ({"document_models": {"parety": 1.0}}, "no document model 'parety': did you mean 'parity'"),
        ({"document_models": {"parity": float("nan")}}, "the weight of document.parity is nan"),
        ({"document_models": {"semantic": 1.0}}, "needs word vectors"),
        ({"document_models": {"bleu": 1.0}}, "BLEU without references"),
        ({"references": REFERENCES[:2]}, "references 2"),
        ({"steps": -1}, "steps is -1"),
        ({"accept": "anneal"}, "did you mean 'annealing'"),
        ({"start": "bean"}, "did you mean 'beam'"),
        ({"keep": "first"}, "no state to keep 'first'"),
        ({"resume": True}, "give the `output` of before"),
    ],
)
def test_mistakes(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        translate_document(MODEL, TEXTS, **given)
    assert message in str(caught.value)


def test_misspelled_settings_and_no_texts() -> None:
    with pytest.raises(TypeError, match="stepps"):
        translate_document(MODEL, TEXTS, stepps=3)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="sources is empty"):
        translate_document(MODEL, [])
    with pytest.raises(InputError, match=r"not a file|no such file"):
        translate_document(MODEL, "das haus")


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_search_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"document_ids": IDS, "accept": "sampling", "steps": 50_000, "threads": 1}
    whole = translate_document(MODEL, TEXTS, **how)
    usual, blocks = DocumentSearch._take_steps, []

    def interrupt(self: DocumentSearch, state: DocumentState, *how: Any) -> None:
        blocks.append(state.step)
        if len(blocks) == 3:
            signal.raise_signal(signal.SIGINT)
        usual(self, state, *how)

    output = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(DocumentSearch, "_take_steps", interrupt)
        with pytest.raises(KeyboardInterrupt):
            translate_document(MODEL, TEXTS, output=output, **how)
    assert len(output.read_text().splitlines()) == len(TEXTS)
    with pytest.raises(RunError, match="unfinished"):
        translate_document(MODEL, TEXTS, output=output, **how)
    found = translate_document(MODEL, TEXTS, output=output, resume=True, **how)
    assert (found.texts, found.score) == (whole.texts, whole.score)
    assert output.read_text().splitlines() == whole.texts
    assert not (tmp_path / "out.states").exists()


def test_tuning_gives_a_model_with_document_models(tmp_path: Path) -> None:
    how: dict[str, Any] = {"document_ids": IDS, "document_models": {"parity": 0.0}, "objective": QUICK, "threads": 1}
    tuned = tune_documents(MODEL, TEXTS, REFERENCES, output=tmp_path / "tuned", **how)
    assert isinstance(tuned, toledo.Tuning)
    assert (len(tuned.rounds), tuned.best_round, tuned.matched, tuned.by_score) == (3, 2, True, False)
    saved = PhraseModel.load(tmp_path / "tuned")
    assert dict(saved.weights) == dict(tuned.weights) == dict(tuned.model.weights)
    found = translate_document(tuned.model, TEXTS, document_ids=IDS, steps=100)
    assert "document.parity" in found[0].features
    assert dict(tune_documents(MODEL, TEXTS, REFERENCES, **how).weights) == dict(tuned.weights)
    dev = tune_documents(MODEL, TEXTS, REFERENCES, dev=(TEXTS, REFERENCES, IDS), **how)
    assert dev.by_score
    assert dev.score == dev.best.best_score


def test_objectives_by_name() -> None:
    found = tune_documents(MODEL, TEXTS, REFERENCES, objective="pro:steps=300,pairs=consecutive,positive=false", seed=3)
    again = tune_documents(
        MODEL, TEXTS, REFERENCES, seed=3, objective=toledo.DocumentPRO("consecutive", positive=False, steps=300)
    )
    assert found.weights == again.weights
    assert isinstance(found.weights, Weights)
    both = tune_documents(MODEL, TEXTS, REFERENCES, objective="pro:steps=300,decoding=model+bleu,max_states=3", seed=3)
    assert both.rounds[1].weights != found.rounds[1].weights
    with pytest.raises(UnknownNameError, match="did you mean 'pro'"):
        tune_documents(MODEL, TEXTS, REFERENCES, objective="pror")
    with pytest.raises(UnknownNameError, match="batch"):
        tune_documents(MODEL, TEXTS, REFERENCES, objective="pro:batch=3")


def test_a_semantic_space_from_texts(tmp_path: Path) -> None:
    words = ["house small roof", "cat dog mouse", "red blue green"]
    lines = [f"the {words[n % 3]} is {words[n % 3]}" for n in range(60)]
    ids = [f"d{n // 2}" for n in range(60)]
    space = toledo.SemanticSpace.train(lines, document_ids=ids, dimensions=2, stop_words=2)
    space.save(tmp_path / "space")
    for given in (space, tmp_path / "space"):
        for name in ("semantic", "semantic:context=2"):
            found = translate_document(MODEL, TEXTS, document_models={name: 1.0}, semantic_space=given, steps=50)
            assert "document.semantic" in found[0].features
    with pytest.raises(InputError, match="texts has 60 segments, document_ids 59"):
        toledo.SemanticSpace.train(lines, document_ids=ids[:-1])
    with pytest.raises(InputError, match="comes back"):
        toledo.SemanticSpace.train(lines, document_ids=[*ids[:-1], "d0"])
