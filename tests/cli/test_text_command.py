"""`toledo text` from the outside."""

import json
from pathlib import Path

import pytest
from command_line import fail, run, succeed


def test_one_line_in_is_one_line_out() -> None:
    raw = "Hello, world!\n\nTab\there.\n"
    assert succeed("text", "tokenize", "-l", "en", input=raw) == "Hello , world !\n\nTab here .\n"
    assert succeed("text", "detokenize", "-l", "en", input="Hello , world !\n") == "Hello, world!\n"
    assert succeed("text", "normalize", "-l", "en", input="“Hello” – world…\n") == '"Hello" - world...\n'
    assert succeed("text", "lowercase", input="Łódź\n") == "łódź\n"
    assert succeed("text", "escape", input="a|b\n") == "a&#124;b\n"
    assert succeed("text", "unescape", input="a&#124;b\n") == "a|b\n"


def test_json_lines() -> None:
    lines = succeed("text", "lowercase", "--json", input="A\nB\n").splitlines()
    assert [json.loads(line) for line in lines] == [{"segment": 0, "text": "a"}, {"segment": 1, "text": "b"}]


def test_truecasing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("The man saw the Haus\nA man saw the Haus\n")
    succeed("text", "train-truecaser", tmp_path / "text", "--truecaser", tmp_path / "case")
    cased = succeed("text", "truecase", "--truecaser", tmp_path / "case", input="The Haus . haus\n")
    assert cased == "the Haus . Haus\n"
    assert succeed("text", "detruecase", input=cased) == "The Haus . Haus\n"


def clean(folder: Path, *options: object) -> list[object]:
    texts = ["-s", folder / "de", "-t", folder / "en"]
    outputs = ["--source-output", folder / "de.clean", "--target-output", folder / "en.clean"]
    return ["text", "clean", *texts, *outputs, *options]


def test_clean_keeps_pairs_together(tmp_path: Path) -> None:
    (tmp_path / "de").write_text("a\n\nb b\n")
    (tmp_path / "en").write_text("A\nx\nB\n")
    finished = run(*clean(tmp_path))
    assert finished.exit_code == 0
    assert "kept 2 of 3 sentence pairs (1 too short)" in finished.stderr
    assert (tmp_path / "de.clean").read_text() == "a\nb b\n"
    assert (tmp_path / "en.clean").read_text() == "A\nB\n"
    succeed(*clean(tmp_path, "--ratio", 1.5))
    assert (tmp_path / "de.clean").read_text() == "a\n"


def test_clean_refuses_texts_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "de").write_text("a\nb\n")
    (tmp_path / "en").write_text("A\n")
    assert "differ in their number of lines" in fail(*clean(tmp_path))
    assert "ratio is 0.5: expected float of at least 1" in fail(*clean(tmp_path, "--ratio", 0.5))
    assert not (tmp_path / "de.clean").exists()


@pytest.mark.parametrize("name", ["tokenize", "detokenize", "normalize"])
def test_a_language_is_needed(name: str) -> None:
    assert "--language" in fail("text", name, input="a\n")


@pytest.mark.parametrize("name", ["tokenise", "detokenise"])
def test_unknown_names_are_refused(name: str) -> None:
    assert run("text", name, "-l", "en").exit_code == 2
