"""The commands and the Python of the page on refining run as printed, and it has the defaults of the library."""

from pathlib import Path
from typing import Any

import pytest
from page_commands import run_page

from toledo.refinement.settings import LEXICON_PART, RefineSettings
from toledo.settings import describe

PAPER = RefineSettings(method="growth").resolved()
PAGE = Path(__file__).parents[2] / "docs" / "refine.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    names: dict[str, Any] = {}
    run_page(PAGE.read_text(encoding="utf-8"), names)
    assert all(Path(name, "model.toml").is_file() for name in ("refined", "refined-in-python"))
    assert names["refinement"].model.translate("uno vako pazet .")


def test_the_page_has_the_defaults_of_the_library() -> None:
    text, ours = PAGE.read_text(encoding="utf-8"), RefineSettings().resolved()
    assert f"`--tau {ours.tau:g} --lexicon-tau {ours.lexicon_tau:g}`" in text
    assert ours.tau == pytest.approx(ours.lexicon_tau * LEXICON_PART)
    assert f"`--sharpness {ours.sharpness:g}` |" in text
    assert f"; {PAPER.sharpness:g} with growth transforms" in text
    assert f"τ is then {PAPER.tau:g} for both".replace("e-05", "e-5") in text
    assert PAPER.lexicon_tau == PAPER.tau
    assert ours.steps == 20
    assert "Twenty steps" in text
    assert ours.patience == 3
    assert "until three in a row" in text
    assert f"{ours.nbest}-best lists" in text
    assert f"`--folds {ours.folds}`" in text
    assert f"`--objective {ours.objective}`" in text
    assert f"`{ours.parameters}` (the default)" in text


def test_help_tells_the_defaults() -> None:
    help_texts = {name: text for name, (_, _, text) in describe(RefineSettings).items()}
    ours = RefineSettings().resolved()
    small = f"{PAPER.tau:g}".replace("e-05", "e-5")
    assert f"[default: {ours.tau:g}; {PAPER.distance}: {small}]" in help_texts["tau"]
    for name in ("sharpness", "iterations"):
        both = [f"{getattr(one, name):g}" for one in (ours, PAPER)]
        assert f"[default: {both[0]}; growth: {both[1]}" in help_texts[name]
    for name in ("distance", "level"):
        assert f"[default: {getattr(ours, name)}; growth: {getattr(PAPER, name)}]" in help_texts[name]
    assert f"[default: {ours.steps}]" in help_texts["steps"]
