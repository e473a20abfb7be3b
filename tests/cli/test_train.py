"""`toledo train` from the outside, and what it says about bad input."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import Finished, fail, run, succeed

from toledo.model import PhraseModel

SOURCE = "das haus ist klein\nein haus\ndas buch\nein buch ist klein\n" * 3
TARGET = "the house is small\na house\nthe book\na book is small\n" * 3


def write(folder: Path, source: str | bytes = SOURCE, target: str | bytes = TARGET) -> list[str]:
    for name, text in (("src", source), ("trg", target)):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return ["--source", str(folder / "src"), "--target", str(folder / "trg"), "--output", str(folder / "model")]


def test_train(tmp_path: Path) -> None:
    finished = run("train", "--tokenized", *write(tmp_path), "--reordering", "--lm-order", "2")
    assert finished.exit_code == 0, finished.output
    assert "signature: pairs:" in finished.stderr
    model = PhraseModel.load(tmp_path / "model")
    assert model.table.reordering is not None
    assert [one.order for one in model.language_models] == [2]


def test_options_reach_training(tmp_path: Path) -> None:
    arguments = write(tmp_path)
    (tmp_path / "align").write_text("0-0 1-1 2-2 3-3\n0-0 1-1\n0-0 1-1\n0-0 1-1 2-2 3-3\n" * 3)
    more = ["--alignment", tmp_path / "align", "--smoothing", "kneser-ney", "--prune-phrases", "alpha-epsilon"]
    succeed(
        "train", "--tokenized", *arguments, *more, "--max-phrase-length", 2, "--distortion-limit", "none", "--quiet"
    )
    text = (tmp_path / "model" / "model.toml").read_text()
    assert 'smoothing = "kneser-ney"' in text
    assert 'pruning = "alpha-epsilon"' in text
    assert "max_length = 2" in text
    assert PhraseModel.load(tmp_path / "model").settings.distortion_limit is None
    succeed("train", "--tokenized", *arguments, "--prune-phrases", 1.5, "--aligner", "hmm:iterations_hmm=2", "--quiet")
    text = (tmp_path / "model" / "model.toml").read_text()
    assert "pruning = 1.5" in text
    assert "iterations_hmm = 2" in text


def test_pairs_and_language_models(tmp_path: Path) -> None:
    write(tmp_path)
    pairs = zip(SOURCE.splitlines(), TARGET.splitlines(), strict=True)
    (tmp_path / "pairs.jsonl").write_text(
        "".join(json.dumps({"translation": {"de": source, "en": target}}) + "\n" for source, target in pairs)
    )
    for name in ("lm.arpa", "lm"):
        succeed("lm", "train", tmp_path / "trg", "--order", 2, "-o", tmp_path / name, "-q")
    given = ["--language-model", tmp_path / "lm.arpa", "--language-model", tmp_path / "lm"]
    printed = succeed(
        "train", "--tokenized", "--pairs", tmp_path / "pairs.jsonl", *given, "-o", tmp_path / "model", "--json"
    )
    model = PhraseModel.load(tmp_path / "model")
    assert [one.order for one in model.language_models] == [2, 2]
    assert json.loads(printed)["signature"] == model.signature
    assert json.loads(printed)["result"]["phrase_pairs"] == len(model.table)


def test_ranges_are_checked(tmp_path: Path) -> None:
    assert "lm_order is 7: expected int of at most 6" in fail("train", "--tokenized", *write(tmp_path), "--lm-order", 7)
    assert "no option --alignments: it is --alignment" in fail(
        "train", "--tokenized", *write(tmp_path), "--alignments", "x"
    )
    assert not (tmp_path / "model").exists()


BAD = {
    "unequal": (SOURCE + "more\n", TARGET, r"src has 13, .*trg has 12"),
    "not utf-8": (SOURCE.encode() + "schön\n".encode("latin1"), TARGET + "nice\n", r"src:13: not valid UTF-8"),
    "empty": ("", TARGET, "src: the file is empty"),
    "reserved": (SOURCE + "a <s> b\n", TARGET + "x\n", r"src:13: the reserved word <s>"),
    "truncated": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03+", TARGET, "src: damaged gzip"),
    "only blank": ("\n\n", "\n\n", "none of the 2 sentence pairs"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_with_its_place_and_leaves_nothing(tmp_path: Path, case: str) -> None:
    source, target, message = BAD[case]
    result = run("train", "--tokenized", *write(tmp_path, source, target))
    assert result.exit_code == 2
    assert re.search(message, result.stderr.replace(str(tmp_path) + "/", "")), result.stderr
    assert "remedy:" in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["src", "trg"]


@pytest.mark.parametrize("option", ["--alignment", "--lm-text", "--language-model"])
def test_a_missing_file_is_told_before_the_texts_are_read(tmp_path: Path, option: str) -> None:
    error = fail("train", "--tokenized", *write(tmp_path, SOURCE, TARGET), option, "absent")
    assert error == "toledo: error: absent: no such file\n  remedy: check the path\n"


@pytest.mark.parametrize(
    ("lines", "message"),
    [("0-0\n" * 11, "11"), ("0-0\n" * 4 + "0-x\n" + "0-0\n" * 7, ":5:"), ("0-0\n0-9\n" + "0-0\n" * 10, ":2:")],
)
def test_bad_alignments_are_named_with_their_line(tmp_path: Path, lines: str, message: str) -> None:
    arguments = write(tmp_path)
    (tmp_path / "align").write_text(lines)
    assert message in fail("train", "--tokenized", *arguments, "--alignment", tmp_path / "align")
    assert not (tmp_path / "model").exists()


def test_a_line_of_a_hundred_thousand_words_is_no_trouble(tmp_path: Path) -> None:
    arguments = write(tmp_path, SOURCE + "a " * 100_000 + "\n", TARGET + "x\n")
    result: Finished = run("train", "--tokenized", *arguments)
    assert result.exit_code == 0, result.stderr
    assert "left out 1 pairs" in result.stderr


@pytest.mark.parametrize("output", ["thesis", "notes/chapter", "nowhere/model"])
def test_a_bad_output_is_refused_before_any_work(tmp_path: Path, output: str) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text").write_text("precious")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "chapter").write_text("precious")
    error = fail("train", "--tokenized", "-s", "absent", "-t", "absent", "-o", tmp_path / output)
    assert "remedy: name a new directory" in error or "no such directory" in error
    assert (tmp_path / "thesis" / "text").read_text() == "precious"
    assert (tmp_path / "notes" / "chapter").read_text() == "precious"


def test_output_is_utf8_whatever_the_locale() -> None:
    command = [sys.executable, "-m", "toledo", "text", "lowercase"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin1"}
    result = subprocess.run(command, input="Łódź\n".encode(), capture_output=True, check=True, env=environment)
    assert result.stdout.decode() == "łódź\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_command_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "toledo", "text", "lowercase", "--output", str(tmp_path / "out")]
    listening = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}  # also below nohup
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, **listening) as process:
        while process.poll() is None and not list(tmp_path.iterdir()):  # it waits for input with its file open
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(timeout=60) != 0
    assert not list(tmp_path.iterdir())
