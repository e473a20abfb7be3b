"""`toledo align` from the outside."""

import json

import pytest
from command_line import fail, run, succeed

from toledo.files import read_lines

SOURCE = ["das haus", "das buch", "ein buch", "", "ein haus"]
TARGET = ["the house", "the book", "a book", "", "a house"]
DIAGONAL = ["0-0 1-1", "0-0 1-1", "0-0 1-1", "", "0-0 1-1"]


@pytest.fixture
def texts(tmp_path):
    for name, lines in (("source", SOURCE), ("target", TARGET)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    return ["--source", tmp_path / "source", "--target", tmp_path / "target"]


@pytest.mark.parametrize("model", ["hmm", "ibm1"])
@pytest.mark.parametrize("symmetrize", ["intersection", "grow-diag-final-and"])
def test_a_line_for_each_pair_on_standard_output(texts, model, symmetrize):
    aligner = f"{model}:iterations_ibm1=8"
    finished = run("align", *texts, "--aligner", aligner, "--symmetrize", symmetrize, "--threads", 2)
    assert finished.exit_code == 0, finished.output
    assert finished.stdout.splitlines() == DIAGONAL
    assert "IBM Model 1, iteration 8: log-likelihood" in finished.stderr


def test_files_and_lexicons(texts, tmp_path):
    lexicons = tmp_path / "new" / "lexicons"
    finished = run("align", *texts, "--quiet", "--output", tmp_path / "links.gz", "--write-lexicons", lexicons)
    assert finished.exit_code == 0
    assert finished.output == ""
    assert list(read_lines(tmp_path / "links.gz")) == DIAGONAL
    forward = "\n".join(read_lines(lexicons / "lex.f2e.gz"))
    backward = "\n".join(read_lines(lexicons / "lex.e2f.gz"))
    assert "house haus 0." in forward
    assert "haus house 0." in backward
    assert " NULL 0." in forward


def test_pairs_and_json(texts, tmp_path):
    pairs = zip(SOURCE, TARGET, strict=True)
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    assert succeed("align", "--pairs", tmp_path / "pairs.tsv").splitlines() == DIAGONAL
    rows = [json.loads(line) for line in succeed("align", *texts, "--json").splitlines()]
    assert rows[:1] + rows[3:4] == [{"segment": 0, "links": [[0, 0], [1, 1]]}, {"segment": 3, "links": []}]
    assert "give --source and --target, or --pairs alone" in fail("align", *texts, "--pairs", "x")
    assert "give --source and --target, or --pairs alone" in fail("align", "-s", "x")


def test_bad_input_leaves_no_output(texts, tmp_path):
    (tmp_path / "target").write_text("one line\n")
    assert "differ in their number of lines" in fail("align", *texts, "--output", tmp_path / "links")
    assert not (tmp_path / "links").exists()


def test_an_input_is_not_overwritten(texts, tmp_path):
    assert "the output is also an input" in fail("align", *texts, "--output", tmp_path / "source")
    assert (tmp_path / "source").read_text().splitlines() == SOURCE


@pytest.mark.parametrize(
    ("aligner", "message"),
    [
        ("hmmm", "no aligner 'hmmm': did you mean 'hmm'?"),
        ("hmm:iterations_ibm1=0", "iterations_ibm1 of aligner 'hmm' is 0: expected int of at least 1"),
        ("ibm1:iterations_hmm=3", "no setting of aligner 'ibm1' 'iterations_hmm'"),
    ],
)
def test_bad_aligners(texts, aligner, message):
    assert message in fail("align", *texts, "--aligner", aligner)


def test_a_missing_directory_is_noticed_before_the_work(texts, tmp_path, monkeypatch):
    monkeypatch.setattr("toledo.api.align.align_words", None)
    assert "no such directory" in fail("align", *texts, "--output", tmp_path / "absent" / "links")


def test_an_aligner_that_was_written_aligns_new_text(texts, tmp_path):
    succeed("align", *texts, "-o", tmp_path / "links", "--write-aligner", tmp_path / "aligner", "-q")
    again = succeed("align", *texts, "--load", tmp_path / "aligner", "-q")
    assert again == (tmp_path / "links").read_text()
    for name, line in (("new.source", SOURCE[0]), ("new.target", TARGET[0])):
        (tmp_path / name).write_text(f"{line} xyzzy\n")
    new = ("-s", tmp_path / "new.source", "-t", tmp_path / "new.target")
    assert succeed("align", *new, "--load", tmp_path / "aligner", "-q") == "0-0 1-1 2-2\n"
    assert "trained already" in fail("align", *new, "--load", tmp_path / "aligner", "--aligner", "ibm1")
    assert "is not an aligner" in fail("align", *new, "--load", tmp_path)
    kept = ("--aligner", "eflomal", "--write-aligner", tmp_path / "other")
    assert "eflomal cannot be kept" in fail("align", *texts, *kept)
