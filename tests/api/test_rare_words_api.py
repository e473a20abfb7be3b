"""Rare words of a model: trained, kept, translated, tuned and refined, from Python and from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, succeed
from rare_twin import compound_pairs, translate

import toledo
from toledo import storage
from toledo.errors import InputError, ModelError
from toledo.model import DESCRIPTION
from toledo.refinement.settings import RefineSettings
from toledo.text.rare_words import RareWords

SOURCES, TARGETS, ROOTS = compound_pairs()
NEW = f"{ROOTS[1]}s{ROOTS[0]}"
GIVEN = f"{ROOTS[3]} {NEW} {ROOTS[4]} fremd"
HELD_OUT = compound_pairs(40, seed=1)


@pytest.fixture(scope="module")
def model() -> toledo.Model:
    assert NEW not in " ".join(SOURCES)
    return toledo.train(SOURCES, TARGETS, tokenized=True, rare_words="rewrite", threads=1)


@pytest.fixture(scope="module")
def saved(model: toledo.Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rare") / "model"
    model.save(path)
    return path


def rare_of(model: toledo.Model) -> RareWords:
    rare = model.phrase_model.preparation.source.rare
    assert rare is not None
    return rare


def test_new_compounds_are_translated(model: toledo.Model) -> None:
    kept = toledo.train(SOURCES, TARGETS, tokenized=True, rare_words="keep", threads=1)
    parts = {translate(ROOTS[1]), translate(ROOTS[0])}
    assert parts <= set(model.translate(GIVEN).split())
    assert NEW in kept.translate(GIVEN).split()
    assert "fremd" in model.translate(GIVEN).split()  # what remains unknown is copied
    assert kept.phrase_model.preparation.source.rare is None


def test_the_model_is_that_of_the_rewritten_text(model: toledo.Model, tmp_path: Path) -> None:
    rewritten = [" ".join(rare_of(model).rewrite(line.split())) for line in SOURCES]
    assert rewritten != SOURCES
    other = toledo.train(rewritten, TARGETS, tokenized=True, rare_words="keep", threads=2)
    model.save(tmp_path / "model")
    other.save(tmp_path / "other")
    for file in sorted((tmp_path / "other").glob("*.npy")):
        assert file.read_bytes() == (tmp_path / "model" / file.name).read_bytes()


def test_small_texts_are_kept_by_default() -> None:
    assert toledo.train(SOURCES, TARGETS, tokenized=True).phrase_model.preparation.source.rare is None


def test_positions_are_those_of_the_given_words(model: toledo.Model) -> None:
    words = GIVEN.split()
    found = model.decode(GIVEN)
    assert found.alignment is not None
    assert found.segmentation is not None
    linked = {(words[source], found.text.split()[target]) for source, target in found.alignment}
    expected = {(NEW, translate(ROOTS[1])), (NEW, translate(ROOTS[0])), ("fremd", "fremd")}
    assert expected <= linked
    assert {source for source, _ in found.alignment} == set(range(len(words)))
    assert len(set(found.alignment)) == len(found.alignment)
    assert max(end for _, end, _ in found.segmentation) == len(words)
    assert found.unknown_words == ("fremd",)
    best = model.nbest(GIVEN, 5)[0]
    assert best.alignment == found.alignment
    sample = max(model.sample(GIVEN, 20, burn_in=5), key=lambda one: one.score or 0)
    assert {source for source, _ in sample.alignment or ()} == set(range(len(words)))


def test_traces_show_both(model: toledo.Model) -> None:
    trace = model.explain(GIVEN)
    assert trace.source == GIVEN
    rows = [(row["span"], row["source"].split()) for row in trace.rows_as_dicts()]
    assert any(ROOTS[1] in words and "1" in span for span, words in rows)
    assert trace.unknown_words == ("fremd",)
    scored = model.score(GIVEN, model.translate(GIVEN))
    assert scored is not None


def test_models_keep_their_rare_words(model: toledo.Model, saved: Path) -> None:
    loaded = toledo.load(saved)
    assert loaded.phrase_model.preparation == model.phrase_model.preparation
    assert loaded.translate(HELD_OUT[0]) == model.translate(HELD_OUT[0])
    assert loaded.translate(GIVEN, tokenized=True) == model.translate(GIVEN)
    assert "+rare" in loaded.signature


def test_damaged_tables_are_refused(saved: Path, tmp_path: Path) -> None:
    """Even if their checksum is right."""
    content, arrays = storage.load(saved, DESCRIPTION)
    for name, text in (("rewritten", b"nothing\tnobody"), ("known", b"one\ttwo\tthree"), ("rules", b"\xff")):
        broken = arrays | {f"text_source.rare_{name}": np.frombuffer(text, np.uint8)}
        storage.save(tmp_path / name, DESCRIPTION, content, broken)
        with pytest.raises(ModelError, match="does not fit together"):
            toledo.load(tmp_path / name)
    lacking = {name: array for name, array in arrays.items() if name != "text_source.rare_rules"}
    storage.save(tmp_path / "lacking", DESCRIPTION, content, lacking)
    with pytest.raises(ModelError, match="rules"):
        toledo.load(tmp_path / "lacking")


def test_threads_do_not_matter(model: toledo.Model) -> None:
    other = toledo.train(SOURCES, TARGETS, tokenized=True, rare_words="rewrite", threads=3)
    assert rare_of(other) == rare_of(model)
    assert other.translate(HELD_OUT[0], threads=2) == model.translate(HELD_OUT[0], threads=1)


def test_raw_text(tmp_path: Path) -> None:
    """Words are looked up in any case, and written in that of the training text."""
    sources = [f"{line.capitalize()}." for line in SOURCES]
    targets = [f"{line.capitalize()}." for line in TARGETS]
    how = {"source_language": "de", "target_language": "en", "rare_words": "rewrite", "clean": False}
    model = toledo.train(sources, targets, **how)  # type: ignore[arg-type]
    found = model.translate(f"{NEW.capitalize()} Fremd.")
    assert {translate(ROOTS[1]).lower(), translate(ROOTS[0]).lower(), "fremd"} <= set(found[:-1].lower().split())
    assert "Fremd" in found
    model.save(tmp_path / "model")
    assert toledo.load(tmp_path / "model").translate(sources[:9]) == model.translate(sources[:9])


def test_tuning_and_refining_rewrite_alike(model: toledo.Model, tmp_path: Path) -> None:
    tuned = toledo.tune(model, *HELD_OUT[:2], rounds=1, tokenized=True, threads=1).model
    assert tuned is not None
    assert rare_of(tuned) == rare_of(model)
    settings = RefineSettings(iterations=1, folds=2, rounds=1, nbest=5)
    sets = {"tune": HELD_OUT[:2], "dev": HELD_OUT[:2]}
    refined = toledo.refine(
        model,
        SOURCES,
        TARGETS,
        **sets,
        settings=settings,
        output=tmp_path / "refined",
        threads=1,  # type: ignore[arg-type]
    ).model
    assert rare_of(refined) == rare_of(model)
    assert len(refined.phrase_model.source_vocabulary) == len(model.phrase_model.source_vocabulary)
    links = ["0-0"] * len(SOURCES)
    with pytest.raises(InputError, match="keeps rare words"):
        toledo.refine(
            model,
            SOURCES,
            TARGETS,
            **sets,
            alignments=links,
            settings=settings,
            output=tmp_path / "other",  # type: ignore[arg-type]
        )


def test_given_alignments_keep_rare_words() -> None:
    links = ["0-0"] * len(SOURCES)
    with pytest.raises(InputError, match="rare_words"):
        toledo.train(SOURCES, TARGETS, tokenized=True, alignments=links, rare_words="rewrite")
    model = toledo.train(SOURCES * 20, TARGETS * 20, tokenized=True, alignments=links * 20)
    assert model.phrase_model.preparation.source.rare is None


def test_documents(model: toledo.Model, tmp_path: Path) -> None:
    found = toledo.translate_document(model, [GIVEN, SOURCES[1]], tokenized=True, steps=10)
    assert {translate(ROOTS[1]), translate(ROOTS[0])} <= set(str(found).split())
    (tmp_path / "start").write_text("a |0-0|\n", encoding="utf-8")
    with pytest.raises(InputError, match="rewrites rare"):
        toledo.translate_document(model, [GIVEN], tokenized=True, start=str(tmp_path / "start"))


def test_command_line(tmp_path: Path) -> None:
    texts = {"s": "\n".join(SOURCES), "t": "\n".join(TARGETS), "new": GIVEN}
    for name, text in texts.items():
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    files = "-s", tmp_path / "s", "-t", tmp_path / "t", "--tokenized"
    succeed("train", *files, "--rare-words", "rewrite", "--rare-below", 4, "-o", tmp_path / "model")
    alignment, nbest = tmp_path / "links", tmp_path / "nbest"
    options = "--write-alignment", alignment, "--write-nbest", nbest, "--nbest-alignments", "--mark-phrases"
    text = succeed("translate", tmp_path / "model", tmp_path / "new", *options)
    places = {int(link.split("-")[0]) for link in alignment.read_text("utf-8").split()}
    assert places == set(range(4))
    assert "|1" in text
    assert "|4" not in text
    assert "|4" not in nbest.read_text("utf-8")
    found = json.loads(succeed("translate", tmp_path / "model", tmp_path / "new", "--json"))
    assert translate(ROOTS[0]) in found["text"]
    assert {source for source, _ in found["alignment"]} == places
    assert "rare" in fail("train", *files, "--rare-words", "drop", "-o", tmp_path / "other")


def test_words_of_an_added_table_are_not_rewritten(model: toledo.Model, tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_text(
        f"{ROOTS[0]} ||| {translate(ROOTS[0])} ||| 1 1 1 1\n{NEW} ||| anthem ||| 1 1 1 1\n", encoding="utf-8"
    )
    both = model.add(phrase_tables=[table])
    assert "anthem" in both.translate(GIVEN).split()
    assert "anthem" not in model.translate(GIVEN).split()
    both.save(tmp_path / "both")
    assert toledo.load(tmp_path / "both").translate(GIVEN) == both.translate(GIVEN)
