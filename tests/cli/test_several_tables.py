"""Phrase tables and language models that are added to a model, from the outside."""

import json
from pathlib import Path

import pytest
from command_line import fail, succeed

import toledo
from toledo.model import PhraseModel

SOURCES = ["das haus ist klein", "ein haus", "das buch", "ein buch ist klein"] * 3
TARGETS = ["the house is small", "a house", "the book", "a book is small"] * 3
OTHER_SOURCES = ["das auto ist neu", "ein auto", "das haus ist neu", "ein haus"] * 3
OTHER_TARGETS = ["the car is new", "one car", "that house is new", "one house"] * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, the second table as a file of Moses, and texts."""
    home = tmp_path_factory.mktemp("several")
    for name, lines in (("src", SOURCES), ("trg", TARGETS), ("src2", OTHER_SOURCES), ("trg2", OTHER_TARGETS)):
        (home / name).write_text("".join(f"{line}\n" for line in lines))
    toledo.train(SOURCES, TARGETS, tokenized=True, reordering=True, output=home / "first")
    toledo.train(OTHER_SOURCES, OTHER_TARGETS, tokenized=True, lm_order=2, output=home / "second")
    toledo.train(TARGETS, SOURCES, tokenized=True, output=home / "backward")
    succeed("export", home / "second", "--write-phrase-table", home / "second.gz", "-q")
    succeed("export", home / "second", "--write-language-model", home / "second.arpa", "-q")
    return home


def pairs_of(path: Path) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
    return {(pair.source, pair.target) for pair in PhraseModel.load(path).table}


@pytest.mark.parametrize("table", ["second", "second.gz"])
def test_tables_are_added_to_a_model(folder: Path, tmp_path: Path, table: str) -> None:
    added = ["--phrase-table", folder / table, "--lm", folder / "second.arpa"]
    succeed("model", "add", folder / "first", *added, "-o", tmp_path / "both", "-q")
    first, second, both = (PhraseModel.load(path) for path in (folder / "first", folder / "second", tmp_path / "both"))
    assert len(both.table) == len(first.table) + len(second.table)
    assert [model.order for model in both.language_models] == [3, 2]
    assert (both.weights["lm"], both.weights["lm.1"]) == (0.25, 0.25)  # they share what one weighed
    assert both.weights["phrase.forward.1"] == first.weights["phrase.forward"]
    text = succeed("translate", tmp_path / "both", "-q", input="das auto ist klein\n")
    assert text == "the car is small\n"
    found = json.loads(succeed("model", "info", tmp_path / "both", "--json"))["result"]
    rows = {(row["part"], row["kind"]): row["parameters"] for row in found["parameters"]}
    assert rows["phrase table 0", "phrase.forward"] == len(first.table)
    assert rows["phrase table 1", "phrase.forward.1"] == len(second.table)
    assert {part for part, _ in rows} >= {"language model 0", "language model 1"}
    assert found["training"]["added"] == {"phrase_tables": 1, "language_models": 1, "combine": "either"}


def test_training_takes_tables_and_language_models(folder: Path, tmp_path: Path) -> None:
    text = ["-s", folder / "src", "-t", folder / "trg", "--tokenized", "-q"]
    models = ["--lm-text", folder / "trg", "--lm", folder / "second"]
    succeed("train", *text, *models, "--phrase-table", folder / "second", "-o", tmp_path / "both")
    both = toledo.load(tmp_path / "both")
    assert [model.order for model in both.phrase_model.language_models] == [3, 2]
    assert both.translate("das auto ist klein", search="itg") == "the car is small"


def test_back_off_and_fill_up(folder: Path, tmp_path: Path) -> None:
    add = ["model", "add", folder / "first", "--phrase-table", folder / "second", "-q", "--combine-tables"]
    succeed(*add, "back-off", "--back-off-length", 1, "-o", tmp_path / "one")
    assert pairs_of(tmp_path / "one") - pairs_of(folder / "first") == {(("auto",), ("car",)), (("neu",), ("new",))}
    succeed(*add, "fill-up", "-o", tmp_path / "filled")
    assert pairs_of(tmp_path / "filled") == pairs_of(folder / "first") | pairs_of(folder / "second")
    filled = PhraseModel.load(tmp_path / "filled")
    assert filled.weights["phrase.filled.1"] == 0
    assert not filled.table.parts


def test_linear_interpolation_prefers_the_table_of_the_tuning_text(folder: Path, tmp_path: Path) -> None:
    add = ["model", "add", folder / "first", "--phrase-table", folder / "second", "--combine-tables", "linear"]
    for text, word in (("", "a"), ("2", "one")):
        on = ["--interpolate-on", folder / f"src{text}", folder / f"trg{text}"]
        succeed(*add, *on, "-o", tmp_path / "mixed", "-q")
        table = PhraseModel.load(tmp_path / "mixed").table
        options = {pair.target: pair.scores["phrase.forward"] for pair in table if pair.source == ("ein",)}
        assert max(options, key=lambda target: options[target]) == (word,)
    assert "--interpolate-on" in fail(*add, "-o", tmp_path / "mixed")


def test_moses_has_the_same_model(folder: Path, tmp_path: Path) -> None:
    added = ["--phrase-table", folder / "second", "--language-model", folder / "second"]
    how = ["--combine-tables", "back-off", "--back-off-length", 2]
    succeed("model", "add", folder / "first", *added, *how, "-o", tmp_path / "both", "-q")
    succeed("export", tmp_path / "both", "-o", tmp_path / "moses", "-q")
    ini = (tmp_path / "moses" / "moses.ini").read_text()
    assert "[mapping]\n0 T 0\n1 T 1\n" in ini
    assert "[decoding-graph-backoff]\n0\n2\n" in ini
    assert "name=TranslationModel1 num-features=4 path=phrase-table.1.gz" in ini
    assert "KENLM name=LM1 factor=0 path=lm.1.arpa.gz order=2" in ini
    succeed("import", "--moses-ini", tmp_path / "moses" / "moses.ini", "-o", tmp_path / "again", "-q")
    before, after = PhraseModel.load(tmp_path / "both"), PhraseModel.load(tmp_path / "again")
    assert dict(after.weights) == pytest.approx(dict(before.weights))
    assert after.table.parts == before.table.parts
    ours, theirs = (
        {(pair.source, pair.target, *(value != 0 for value in pair.scores.values())): pair.scores for pair in one.table}
        for one in (before, after)
    )
    assert ours.keys() == theirs.keys()
    for pair, scores in ours.items():
        assert theirs[pair] == pytest.approx(scores, abs=1e-5)
    lines = "das auto ist klein\nein haus ist neu\n"
    assert succeed("translate", tmp_path / "both", "-q", input=lines) == succeed(
        "translate", tmp_path / "again", "-q", input=lines
    )


def test_tables_of_moses_one_by_one(folder: Path, tmp_path: Path) -> None:
    succeed("export", folder / "first", "--write-phrase-table", tmp_path / "first.gz", "-q")
    tables = ["--phrase-table", tmp_path / "first.gz", "--phrase-table", folder / "second.gz"]
    succeed("import", *tables, "--language-model", folder / "second.arpa", "-o", tmp_path / "both", "-q")
    sizes = [len(PhraseModel.load(folder / name).table) for name in ("first", "second")]
    assert len(PhraseModel.load(tmp_path / "both").table) == sum(sizes)
    twice = ["--phrase-table", tmp_path / "first.gz"] * 2
    assert "given twice" in fail("import", *twice, "-o", tmp_path / "twice")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to add"),
        (["--phrase-table", "{}/second", "--phrase-table", "{}/second"], "is given twice"),
        (["--phrase-table", "{}/second", "--phrase-table", "{}/second.gz"], "the same phrase pairs and scores"),
        (["--phrase-table", "{}/first"], "has the same phrase pairs and scores as the model"),
        (["--phrase-table", "{}/backward"], "the table of the other direction"),
        (["--phrase-table", "{}/five", "--combine-tables", "fill-up"], "needs the same scores"),
        (["--phrase-table", "{}/second", "--back-off-length", "3"], "--back-off-length is only for back-off"),
        (["--phrase-table", "{}/second", "--interpolate-on", "{}/src", "{}/trg"], "only for linear"),
        (["--lm", "{}/second.arpa", "--lm", "{}/second.arpa"], "is given twice"),
    ],
)
def test_what_cannot_be_added_is_refused(folder: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    (folder / "five").write_text("das ||| the ||| 0.1 0.2 0.3 0.4 0.5\n")
    given = [one.replace("{}", str(folder)) for one in arguments]
    error = fail("model", "add", folder / "first", *given, "-o", tmp_path / "both")
    assert message in error
    assert not (tmp_path / "both").exists()


def test_the_model_that_was_given_stays_as_it_was(folder: Path) -> None:
    first, second = toledo.load(folder / "first"), toledo.load(folder / "second")
    words = len(first.phrase_model.source_vocabulary), len(first.phrase_model.target_vocabulary)
    both = first.add(phrase_tables=[second], language_models=[second])
    assert (len(first.phrase_model.source_vocabulary), len(first.phrase_model.target_vocabulary)) == words
    assert first.translate("das auto ist klein") == "the auto is small"
    assert both.translate("das auto ist klein") == "the car is small"


def test_models_of_other_languages_are_refused(tmp_path: Path) -> None:
    texts = {"de": SOURCES, "en": TARGETS}
    for source, target in (("de", "en"), ("en", "de")):
        how = {"source_language": source, "target_language": target, "clean": False}
        toledo.train(texts[source], texts[target], output=tmp_path / source, **how)
    error = fail("model", "add", tmp_path / "de", "--phrase-table", tmp_path / "en", "-o", tmp_path / "both")
    assert "is a model for en to de, this one is for de to en" in error
