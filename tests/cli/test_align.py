"""`toledo align` from the outside."""

import pytest
from typer.testing import CliRunner

from toledo.cli.app import app
from toledo.errors import InputError
from toledo.files import read_lines

SOURCE = ["das haus", "das buch", "ein buch", "", "ein haus"]
TARGET = ["the house", "the book", "a book", "", "a house"]
DIAGONAL = ["0-0 1-1", "0-0 1-1", "0-0 1-1", "", "0-0 1-1"]


@pytest.fixture
def texts(tmp_path):
    for name, lines in (("source", SOURCE), ("target", TARGET)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    return ["--source", tmp_path / "source", "--target", tmp_path / "target"]


def run(*arguments: object):
    return CliRunner().invoke(app, ["align", *map(str, arguments)], catch_exceptions=False)


@pytest.mark.parametrize("model", ["hmm", "ibm1"])
@pytest.mark.parametrize("symmetrize", ["intersection", "grow-diag-final-and"])
def test_a_line_for_each_pair_on_standard_output(texts, model, symmetrize):
    result = run(*texts, "--aligner", model, "--symmetrize", symmetrize, "--threads", 2, "--iterations-ibm1", 8)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == DIAGONAL
    assert "IBM Model 1, iteration 8: log-likelihood" in result.stderr


def test_files_and_lexicons(texts, tmp_path):
    result = run(*texts, "--quiet", "--output", tmp_path / "links.gz", "--lexicons", tmp_path / "new" / "lexicons")
    assert result.exit_code == 0
    assert result.output == ""
    assert list(read_lines(tmp_path / "links.gz")) == DIAGONAL
    forward = "\n".join(read_lines(tmp_path / "new" / "lexicons" / "lex.f2e.gz"))
    backward = "\n".join(read_lines(tmp_path / "new" / "lexicons" / "lex.e2f.gz"))
    assert "house haus 0." in forward
    assert "haus house 0." in backward
    assert " NULL 0." in forward


def test_bad_input_leaves_no_output(texts, tmp_path):
    (tmp_path / "target").write_text("one line\n")
    with pytest.raises(InputError, match="differ in their number of lines"):
        run(*texts, "--output", tmp_path / "links")
    assert not (tmp_path / "links").exists()


def test_a_missing_directory_is_noticed_before_the_work(texts, tmp_path, monkeypatch):
    monkeypatch.setattr("toledo.phrases.word_alignment.aligner.align", None)
    with pytest.raises(InputError, match="no such directory"):
        run(*texts, "--output", tmp_path / "absent" / "links")
