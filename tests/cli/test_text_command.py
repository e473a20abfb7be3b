"""`toledo text` from the outside."""

from pathlib import Path

from typer.testing import CliRunner

from toledo.cli.app import app

runner = CliRunner()


def test_one_line_in_is_one_line_out() -> None:
    result = runner.invoke(app, ["text", "tokenise", "-l", "en"], input="Hello, world!\n\nTab\there.\n")
    assert result.output == "Hello , world !\n\nTab here .\n"


def test_clean_keeps_pairs_together(tmp_path: Path) -> None:
    (tmp_path / "de").write_text("a\n\nb b\n")
    (tmp_path / "en").write_text("A\nx\nB\n")
    command = ["text", "clean", "--source", tmp_path / "de", "--target", tmp_path / "en"]
    command += ["--source-output", tmp_path / "de.clean", "--target-output", tmp_path / "en.clean"]
    result = runner.invoke(app, [str(part) for part in command])
    assert result.exit_code == 0
    assert "kept 2 sentence pairs, dropped 1" in result.stderr
    assert (tmp_path / "de.clean").read_text() == "a\nb b\n"
    assert (tmp_path / "en.clean").read_text() == "A\nB\n"
