"""`toledo import` and `toledo export` from the outside."""

import json
from pathlib import Path

import pytest
from command_line import fail, run, succeed
from small_models import small_model

from toledo.model import PhraseModel
from toledo.search.document.settings import CONFIGURATION


@pytest.fixture
def model(tmp_path: Path) -> Path:
    small_model().save(tmp_path / "model")
    return tmp_path / "model"


def test_export_and_import(model: Path, tmp_path: Path) -> None:
    succeed("export", model, "--output", tmp_path / "moses", "-q")
    assert (tmp_path / "moses" / "moses.ini").is_file()
    command = ["import", "--moses-ini", tmp_path / "moses" / "moses.ini", "--output", tmp_path / "again"]
    assert json.loads(succeed(*command, "--json"))["result"]["phrase_pairs"] == 6
    before, after = PhraseModel.load(model), PhraseModel.load(tmp_path / "again")
    assert len(after.table) == len(before.table)
    assert dict(after.weights) == pytest.approx(dict(before.weights))


def test_exporting_single_files(model: Path, tmp_path: Path) -> None:
    succeed("export", model, "--write-phrase-table", tmp_path / "pt", "--write-language-model", tmp_path / "lm.arpa")
    assert len((tmp_path / "pt").read_text().splitlines()) == len(PhraseModel.load(model).table)
    assert (tmp_path / "lm.arpa").read_text().startswith("\\data\\")
    assert "nothing to export" in fail("export", model)
    assert "--output" in fail("export", model)
    assert "no such directory" in fail("export", model, "--write-phrase-table", tmp_path / "absent" / "pt")


def test_exporting_what_a_text_needs(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("haus\n")
    succeed("export", model, "--write-phrase-table", tmp_path / "pt", "--filter", tmp_path / "in")
    assert [line.split(" ||| ")[:2] for line in (tmp_path / "pt").read_text().splitlines()] == [["haus", "house"]]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    assert "no phrase table to import" in fail("import", "-o", tmp_path / "new")
    assert "no such directory" in fail("import", "-o", tmp_path / "absent" / "new")
    both = ["import", "--docent-config", "x.xml", "--moses-ini", "moses.ini", "--output", tmp_path / "new"]
    assert "names all models" in fail(*both)


def test_a_configuration_of_docent(shared_folder: Path, moses_files: Path, tmp_path: Path) -> None:
    files = shared_folder / "peers" / "docent-50"
    command = ["import", "--docent-config", files / "docent-config.xml", "--output", tmp_path / "docent"]
    error = fail(*command)
    assert "names it" in error
    assert "--phrase-table" in error
    command += ["--phrase-table", files / "phrase-table.gz"]
    error = fail(*command)
    assert "lm.3.bin" in error
    assert "--language-model" in error
    command += ["--language-model", moses_files / "lm.3.arpa.gz"]
    finished = run(*command)
    assert finished.exit_code == 0, finished.output
    assert CONFIGURATION in finished.stderr
    assert (tmp_path / "docent" / CONFIGURATION).is_file()


@pytest.mark.parametrize("command", ["import", "export"])
def test_help_shows_examples(command: str) -> None:
    assert "Examples" in succeed(command, "--help")
