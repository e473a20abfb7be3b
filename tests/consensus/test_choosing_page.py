"""The page on choosing runs as printed: what it does for lists, and with a model."""

from pathlib import Path

import pytest
from page_commands import run_page

PAGE = Path(__file__).parents[2] / "docs" / "choosing.md"


@pytest.fixture
def sections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    return PAGE.read_text(encoding="utf-8").split("\n## ")


def test_choosing_among_samples(sections: list[str]) -> None:
    names: dict[str, object] = {}
    run_page(sections[0], names)
    run_page(sections[1].split("```sh", 1)[1].split("```\n", 1)[1], names)  # what needs no model


def test_choosing_among_systems(sections: list[str]) -> None:
    (systems,) = [section for section in sections if section.startswith("Several systems")]
    assert "quality" in run_page(systems)
    assert len(Path("chosen.en").read_text(encoding="utf-8").splitlines()) == 2


def test_choosing_with_a_model(sections: list[str]) -> None:
    run_page(sections[0] + sections[1])
    outputs = [Path(f"test.{name}").read_text(encoding="utf-8").splitlines() for name in ("out", "viterbi", "mbr")]
    assert [len(lines) for lines in outputs] == [50, 50, 50]
    (scale,) = [section for section in sections if section.startswith("The scale")]
    assert run_page(scale).count("best: ") == 2
    assert Path("ruled").is_dir()


def test_dear_metrics_and_what_samples_say_together(sections: list[str]) -> None:
    names: dict[str, object] = {}
    run_page(sections[0], names)
    for title in ("Expensive metrics", "What samples say together"):
        (section,) = [one for one in sections if one.startswith(title)]
        run_page(section, names)
    assert Path("calls.sqlite").is_file()
