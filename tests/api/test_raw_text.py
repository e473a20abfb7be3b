"""Raw text in, raw text out: everything that a model does with texts."""

import logging
from pathlib import Path

import numpy as np
import pytest
from command_line import run, succeed

import toledo
from toledo.metrics.bleu import BLEU
from toledo.refinement.settings import RefineSettings
from toledo.text.settings import Cleaning

RAW = toledo.example_data(train=600, tune=30, test=20, raw=True)
SETTINGS = {"source_language": "it", "target_language": "en"}
SOURCES, TARGETS = RAW.train.sources, RAW.train.targets


@pytest.fixture(autouse=True)
def warnings_only(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "toledo")


@pytest.fixture(scope="module")
def model() -> toledo.Model:
    return toledo.train(SOURCES, TARGETS, clean=False, **SETTINGS)


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Warnings about texts; those of unknown words and of small language models are tested elsewhere."""
    found = [one.message for one in caplog.records if "language_model" not in one.name]
    caplog.clear()
    return [message for message in found if "are unknown to the model" not in message]


def in_words(model: toledo.Model, texts: list[str], side: str = "source") -> list[str]:
    return [" ".join(getattr(model.phrase_model.preparation, side).words(text)) for text in texts]


def bleu(hypotheses: list[str], references: list[list[str]]) -> float:
    metric = BLEU(smooth_method="none")
    return metric.score(metric.corpus_statistics(hypotheses, references).sum(axis=0))


def test_the_words_are_those_of_prepared_text(model: toledo.Model, tmp_path: Path) -> None:
    """A model of raw text is the model of its tokenized text, bit for bit, and says how it reads and writes."""
    words = in_words(model, SOURCES), in_words(model, TARGETS, "target")
    tokenized = toledo.train(*words, tokenized=True)
    model.save(tmp_path / "raw")
    tokenized.save(tmp_path / "tokenized")
    for file in sorted((tmp_path / "tokenized").glob("*.npy")):
        assert file.read_bytes() == (tmp_path / "raw" / file.name).read_bytes()
    assert "[text" not in (tmp_path / "tokenized/model.toml").read_text("utf-8")
    loaded = toledo.load(tmp_path / "raw")
    assert loaded.phrase_model.preparation == model.phrase_model.preparation
    assert (loaded.languages, tokenized.languages) == (("it", "en"), ("", ""))
    assert repr(loaded).startswith("Model('raw', it-en, ")
    assert "text:it.moses-en.moses" in loaded.signature
    assert loaded.translate(RAW.test.sources) == model.translate(RAW.test.sources)
    assert tokenized.translate(words[0][:9]) == model.translate(words[0][:9], tokenized=True)


def test_translations_are_written_text(model: toledo.Model, tmp_path: Path) -> None:
    texts = model.translate(RAW.test.sources)
    assert all(text[0].isupper() and text[-1] in ".?" and " ." not in text and " ," not in text for text in texts)
    (tmp_path / "text").write_text("".join(f"{text}\r\n" for text in ["\ufeff" + RAW.test.sources[0], ""]), "utf-8")
    assert model.translate(tmp_path / "text") == [texts[0], ""]
    assert list(model.iter_translate(iter(RAW.test.sources))) == texts
    source = RAW.test.sources[1]
    assert str(model.decode(source)) == model.nbest(source, 3)[0].text == model.translate(source)
    assert model.sample(source, 20)[0].text[0].isupper()
    score = model.score(source, model.translate(source))
    assert score is not None
    assert score.text == model.translate(source)
    assert score.score == pytest.approx(model.nbest(source, 1)[0].score, abs=1e-4)
    assert model.explain(source, model.translate(source)).rows == model.explain(source).rows
    words = in_words(model, [source])[0]
    assert model.forest(source).nodes == model.forest(words, tokenized=True).nodes


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["uno vako pazet .", "la pastoretta ."], "the text looks tokenized"),
        (["uno vako pazet."] * 6, "the text is all in lower case"),
        (["Это русское предложение."] * 3, "most letters are CYRILLIC"),
    ],
)
def test_strange_text_is_one_warning(
    model: toledo.Model, texts: list[str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    model.translate(texts)
    (found,) = messages(caplog)
    assert message in found


def test_raw_text_for_words_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    tokenized = toledo.train(["das Haus .", "ein Hund ."], ["the house .", "a dog ."], tokenized=True)
    assert not messages(caplog)
    tokenized.translate(["Das Haus.", "Ein Hund."])
    doubt = "the text looks raw ('Haus.'), and tokenized text is expected: use `toledo text tokenize`"
    assert messages(caplog) == [doubt]
    toledo.train(["Das Haus.", "Ein Hund."], ["The house.", "A dog."], tokenized=True)
    assert messages(caplog) == [f"sources: {doubt}"]
    toledo.train(["das Haus .", "ein Hund ."], ["the house .", "a dog ."])
    assert messages(caplog) == [
        "sources: the text looks tokenized, and raw text is expected: give `tokenized=True`, or the raw text"
    ]


def test_scores_of_tuning_are_those_of_written_text(model: toledo.Model) -> None:
    sources, references = RAW.tune.sources, [list(group) for group in zip(*RAW.tune.references, strict=True)]
    tuning = toledo.tune(model, sources, references, objective="mira", rounds=2, search="beam:pop_limit=400")
    assert tuning.model is not None
    before, after = ([one.text for one in best.decode(sources)] for best in (model, tuning.model))
    assert tuning.rounds[0].score == pytest.approx(bleu(before, references))
    assert tuning.best.best_score == pytest.approx(bleu(after, references))
    assert tuning.model.phrase_model.preparation == model.phrase_model.preparation
    rules = toledo.tune_rule(model, references, sources=sources, rules=["viterbi"])
    assert rules.rows[0].score == pytest.approx(bleu(before, references))
    assert "tok:13a" in rules.signature
    words = in_words(model, sources), [in_words(model, group, "target") for group in references]
    again = toledo.tune(model, *words, tokenized=True, objective="mira", rounds=2, search="beam:pop_limit=400")
    assert dict(again.weights) == dict(tuning.weights)
    assert again.rounds[0].score != tuning.rounds[0].score


def test_samples_are_scored_as_written(model: toledo.Model) -> None:
    how = {"objective": "expected-bleu", "search": "gibbs:iterations=20,burn_in=5", "rounds": 1}
    tuning = toledo.tune(model, RAW.tune.sources[:6], RAW.tune.targets[:6], **how)  # type: ignore[arg-type]
    words = in_words(model, RAW.tune.sources[:6]), in_words(model, RAW.tune.targets[:6], "target")
    again = toledo.tune(model, *words, tokenized=True, **how)  # type: ignore[arg-type]
    assert dict(again.weights) == dict(tuning.weights)
    assert again.rounds[0].score != tuning.rounds[0].score


def test_refining_cleans_and_prepares_as_training_did(tmp_path: Path) -> None:
    sources, targets = SOURCES[:200] + [SOURCES[0], ""], TARGETS[:200] + [TARGETS[0], "Nothing."]
    model = toledo.train(sources, targets, max_phrase_length=3, **SETTINGS)
    assert model.phrase_model.training["cleaning"]["dropped"] == {"empty": 1, "duplicate": 1}
    dev = RAW.tune.sources[:10], RAW.tune.targets[:10]
    settings = RefineSettings(
        "phrase", folds=2, nbest=5, search="beam:pop_limit=10", rounds=1, rounds_again=1, objective="mira", iterations=1
    )
    output = tmp_path / "refined"
    found = toledo.refine(model, sources, targets, tune=dev, dev=dev, settings=settings, output=output)
    refined = toledo.load(output)
    assert refined.phrase_model.preparation == model.phrase_model.preparation
    assert found.model.translate(dev[0]) == refined.translate(dev[0])
    best = found.iterations[found.best].score
    translated = refined.translate(dev[0], search="beam:pop_limit=10")
    assert best == pytest.approx(bleu(translated, [[text] for text in dev[1]]))
    with pytest.raises(toledo.InputError, match="`alignments` are those of tokenized text"):
        toledo.refine(model, sources, targets, tune=dev, dev=dev, alignments=["0-0"], output=tmp_path / "other")


def test_documents_of_raw_text(model: toledo.Model, tmp_path: Path) -> None:
    sources, ids = RAW.test.sources, RAW.test.document_ids
    found = model.translate_document(sources, document_ids=ids, references=RAW.test.targets, steps=0)
    assert found.texts == model.translate(sources)
    words = in_words(model, sources)
    tokenized = model.translate_document(words, document_ids=ids, steps=0, tokenized=True)
    assert in_words(model, found.texts, "target") == tokenized.texts
    reachable = model.oracle(sources[:4], pseudo_reference=tmp_path / "random", steps=50, start="random")
    lines = (tmp_path / "random").read_text("utf-8").splitlines()
    assert all(line[0].isupper() for line in lines)
    again = model.oracle(sources[:4], pseudo_reference=tmp_path / "random", steps=50, start="random")
    assert again.bleu == reachable.bleu
    quick = toledo.DocumentGradient(rounds=1, batch=1, gradient_steps=1, num_samples=2)
    tuned = toledo.tune_documents(model, sources[:4], RAW.test.targets[:4], objective=quick)
    assert tuned.model is not None
    assert tuned.model.phrase_model.preparation == model.phrase_model.preparation


def test_cleaning(tmp_path: Path) -> None:
    sources, targets = [*SOURCES[:50], SOURCES[0], "Это русское слово"], [*TARGETS[:50], TARGETS[0], "A Russian word"]
    default = toledo.train(sources, targets).phrase_model.training
    assert default["sentences"] == 50
    assert default["cleaning"]["dropped"] == {"script": 1, "duplicate": 1}
    assert default["cleaning"]["examples"]["script"] == [[52, "Это русское слово", "A Russian word"]]
    assert toledo.train(sources, targets, clean=False).phrase_model.training["sentences"] == 52
    own = toledo.train(sources, targets, clean=Cleaning(keep_duplicates=True)).phrase_model.training
    assert own["sentences"] == 51
    tokenized = toledo.train(sources, targets, tokenized=True, clean=True).phrase_model.training
    assert tokenized["cleaning"]["kept"] == 50
    with pytest.raises(toledo.InputError, match="no pairs are left: cleaning: kept 0 of 1"):
        toledo.train(["a"], [""])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alignments": ["0-0"] * 600}, "`alignments` are those of tokenized text"),
        ({"tokenized": True, "source_tokenizer": "moses"}, "tokenized text needs no tokenizer"),
        ({"source_language": "Deutsch!"}, "no language 'Deutsch!'"),
        ({"target_tokenizer": "mosses"}, "no tokenizer 'mosses': did you mean 'moses'"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(toledo.InputError, match=message):
        toledo.train(SOURCES, TARGETS, **arguments)  # type: ignore[arg-type]


def test_lengths_name_the_files(tmp_path: Path, model: toledo.Model) -> None:
    (tmp_path / "a.it").write_text("A\nB\n")
    (tmp_path / "a.en").write_text("A\n")
    with pytest.raises(toledo.InputError, match=r"a\.it has 2 lines, .*a\.en has 1 line\n"):
        toledo.train(tmp_path / "a.it", tmp_path / "a.en")
    with pytest.raises(toledo.InputError, match=r"a\.it has 2 lines, .*a\.en has 1 line\n"):
        toledo.tune(model, tmp_path / "a.it", tmp_path / "a.en")


def test_other_text_for_the_language_model(model: toledo.Model) -> None:
    other = toledo.train(SOURCES, TARGETS, lm_text=["A unicorn grazes."], clean=False, **SETTINGS)
    assert "unicorn" in other.phrase_model.target_vocabulary
    assert "grazes." not in other.phrase_model.target_vocabulary


def test_two_commands(tmp_path: Path) -> None:
    """From two raw texts to translations that read as written, and to a tuned model."""
    succeed("example-data", tmp_path / "data", "--raw", "--train", 300, "--tune", 10, "--test", 10, "-q")
    data, output = tmp_path / "data", tmp_path / "model"
    trained = run("train", "-s", data / "train.src", "-t", data / "train.trg", "--target-language", "en", "-o", output)
    assert "cleaning: kept 300 of 300 sentence pairs" in trained.stderr
    lines = succeed("translate", output, data / "test.src", "-q").splitlines()
    assert all(line[0].isupper() and line[-1] in ".?" and " ." not in line for line in lines)
    scored = run("translate", output, data / "test.src", "--score-target", data / "test.trg.0")
    assert scored.exit_code == 0
    tokenized = run("translate", output, "--tokenized", input="uno vako pazet .\n")
    assert tokenized.stdout.endswith(" .\n")
    warned = run("translate", output, input="uno vako pazet .\n")
    assert "give --tokenized, or the raw text" in warned.stderr
    tune = ["tune", output, "-s", data / "tune.src", "-r", data / "tune.trg.0", "--objective", "mira", "--rounds", 1]
    succeed(*tune, "-o", tmp_path / "tuned", "-q")
    assert np.isfinite(list(toledo.load(tmp_path / "tuned").weights.values())).all()
    assert "lists of another system" in run("tune", "--lists", "x", "-r", "y", "--tokenized", "-o", "z").stderr
