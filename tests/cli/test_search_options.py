"""Options of searches and gradients that would be ignored are refused, and what ITG search ignores is told."""

from pathlib import Path

import pytest
from beam_twin import small_model
from typer.testing import CliRunner

from toledo.cli.app import app
from toledo.cli.translate.searches import SearchChoice, SearchName
from toledo.errors import InputError

TUNE = ["tune", "model", "--source", "s", "-r", "r", "--output", "w.toml"]


def refusal(*options: str) -> str:
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(app, options, catch_exceptions=False)
    return str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("translate", "model", "--beam", "5"), "--beam: not for --search beam"),
        (("translate", "model", "--search", "itg", "--pop-limit", "5"), "--pop-limit: not for --search itg"),
        (("translate", "model", "--search", "gibbs", "--beam", "5"), "--beam: not for --search gibbs"),
        (("translate", "model", "--gain", "chrf"), "--gain: not for --decide viterbi, only for mbr"),
        (("translate", "model", "--scale", "2"), "--scale: not for --decide viterbi"),
        (("translate", "model", "--choose-scale", "-r", "r"), "--choose-scale: not for --decide viterbi"),
        (("translate", "model", "--search", "gibbs", "--hypotheses", "9"), "--hypotheses: not for --decide viterbi"),
        (
            ("translate", "model", "--decide", "mbr", "--ratio", "0.5"),
            "--ratio: not for --decide mbr, only for lattice",
        ),
        (("translate", "model", "--decide", "mbr", "--decide-density", "9"), "only for consensus, forest-consensus"),
        (("translate", "model", "--n-best-size", "9"), "--n-best-size: n-best lists without a place"),
        (("translate", "model", "--plf-values", "logarithms"), "--plf-values: only for --lattice FILE.plf"),
        (("translate", "model", "--force", "f", "--pop-limit", "9"), "--pop-limit: --force does not search"),
        (("consensus", "lists", "--precision", "0.5"), "--precision: not for --decide mbr"),
        (("combine", "run", "combo", "--systems", "a", "--gain", "ter"), "--gain: not for --decide viterbi"),
        ((*TUNE, "--objective", "cobleu", "--batch", "10", "--optimiser", "ascent"), "leave one of both out"),
        ((*TUNE, "--scale", "3"), "--scale: no scale changes which derivation is best"),
    ],
)
def test_options_without_effect_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refusal(*options)


def test_a_reordering_table_is_not_used_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    content = {(("a",), ("x",)): (-0.1, -0.1, -0.1, -0.1)}
    for reordering in (False, True):
        model = small_model(content, (2,), None, reordering, [0.5] * 16)
        SearchChoice(SearchName.beam, 10, 10).tell(model)
        SearchChoice(SearchName.itg, 10, 10).tell(model)
        assert caplog.text.count("reordering table") == int(reordering)
