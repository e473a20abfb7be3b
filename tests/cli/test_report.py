"""`toledo report`: runs are known by their content, and what is none is refused with a remedy."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pages import check_page
from small_histories import TRACE, refinement, tuning, write_all
from typer.testing import CliRunner

from toledo.cli.app import app
from toledo.errors import InputError, ToledoError
from toledo.refinement.settings import RefineSettings
from toledo.runs.checkpoint import plain

runner = CliRunner()


def report(*arguments: str | Path) -> str:
    result = runner.invoke(app, ["report", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_a_directory_with_a_run_of_each_kind(tmp_path: Path) -> None:
    write_all(tmp_path / "runs")
    told = report(tmp_path / "runs", "--output", tmp_path / "page.html", "--title", "Monday <1>")
    page = check_page(tmp_path / "page.html")
    assert "<h1>Monday &lt;1&gt;</h1>" in page
    for kind, name in {
        "Tuning": "mert.tuning", "Refinement": "refining", "Documents": "trace.jsonl", "Scores": "scores.json",
        "Combination": "combined.json", "Samples": "samples.json", "Hypotheses": "lists.jsonl",
    }.items():  # fmt: skip
        assert f"{kind}: {name}" in told
        assert f">{kind}: {name}</h2>" in page
    assert "Tunings side by side" in page
    assert page.count("Tuning: mert") == 2  # two seeds are one run: in the contents and as a heading
    assert "2 runs: min 45.00, max 46.00" in page
    assert '<td class="number">21.50<span class="beside">0.010 *</span></td>' in page
    assert "p: paired bootstrap against “a.out”" in page
    assert page.index("Scores: scores.json") < page.index("Tuning: cobleu")  # what lies highest comes first
    assert "&lt;b&gt;.out" in page
    assert "first &lt;1&gt;" in page
    assert "Hypotheses: best.nbest" in page


def test_posteriors_of_lists_are_those_of_their_scores(tmp_path: Path) -> None:
    write_all(tmp_path / "runs")
    report(tmp_path / "runs" / "best.nbest", "--output", tmp_path / "page.html")
    page = check_page(tmp_path / "page.html")
    assert 'title="1: 0.73"' in page  # 1 / (1 + exp(-1)): "the"
    assert 'title="1: 1.00, 2: 0.73"' in page  # both have "house"
    assert "viterbi, consensus" in page
    report(tmp_path / "runs" / "best.nbest", "--output", tmp_path / "page.html", "--scale", "2")
    assert 'title="1: 0.88"' in check_page(tmp_path / "page.html")


def test_tunings_are_called_by_their_directories_and_none_is_lost(tmp_path: Path) -> None:
    for day, tuner in (("monday", "mert"), ("tuesday", "mira")):
        (tmp_path / day / "t.tuning" / "seed-1").mkdir(parents=True)
        tuning(tuner, [30.0, 31.0]).save(tmp_path / day / "t.tuning" / "seed-1" / "history.json")
    days = [tmp_path / day / "t.tuning" for day in ("monday", "tuesday")]
    told = report(*days, "--output", tmp_path / "page.html")
    assert "Tuning: t.tuning\n" in told
    assert "Tuning: t.tuning (2)\n" in told
    assert "Tunings side by side" in check_page(tmp_path / "page.html")


def test_refinements_are_told_apart_by_their_settings(tmp_path: Path) -> None:
    settings = RefineSettings().resolved()
    history = replace(refinement(), configuration={"settings": plain(settings)})
    (tmp_path / "history.json").write_text(json.dumps(history.to_json()))
    report(tmp_path, "--output", tmp_path / "page.html")
    page = check_page(tmp_path / "page.html")
    assert "Settings: parameters two-stage, " in page
    assert ", tau 0.2, lexicon_tau 0.02, " in page


def test_the_page_that_is_written_or_replaced_is_named(tmp_path: Path) -> None:
    tuning("mira", [30.0, 31.0]).save(tmp_path / "history.json")
    assert f"written: {tmp_path / 'page.html'}\n" in report(tmp_path / "history.json", "-o", tmp_path / "page.html")
    assert f"replaced: {tmp_path / 'page.html'}\n" in report(tmp_path / "history.json", "-o", tmp_path / "page.html")


def test_a_history_alone(tmp_path: Path) -> None:
    tuning("mira", [30.0, 31.0]).save(tmp_path / "history.json")
    report(tmp_path / "history.json", "-o", tmp_path / "page.html")
    page = check_page(tmp_path / "page.html")
    assert "Tunings side by side" not in page
    assert "BLEU 30.00 at the start, 31.00 after round 1" in page


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.txt", "some text\n", "tells of no run"),
        (
            "a.json",
            "{\n 1\n}\n",
            "a.json:2: not valid JSON: Expecting property name enclosed in double quotes (column 2)\n",
        ),
        ("a.json", '{"kind": "tuning", "format": 1}\n', "saved with format 1, this version reads 2"),
        ("a.json", '{"kind": "refinement", "format": 2}\n', "not a saved run: Object missing required field"),
        ("a.json", '{"systems": [{"name": "x"}], "signatures": {}}\n', "there is no 'scores'"),
        ("a.json", '{"runs": []}\n', "tells of no run"),
        ("a.jsonl", json.dumps(TRACE[0]) + "\n" + '{"document": "x"}\n', "a.jsonl:2: no state of a document"),
        ("a.jsonl", json.dumps(TRACE[1]) + "\n" + json.dumps(TRACE[0]) + "\n", "step 0 of first <1> comes twice or"),
        ("a.jsonl", json.dumps(TRACE[0]) + "\n{\n", "a.jsonl:2: no state of a document: Expecting property name"),
        ("a.nbest", "0 ||| a ||| lm= x ||| -1\n", "a.nbest:1"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ToledoError, match="remedy") as caught:
        report(tmp_path / name, "--output", tmp_path / "page.html")
    assert told in str(caught.value)
    assert not (tmp_path / "page.html").exists()


def test_a_directory_without_runs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}\n")
    with pytest.raises(InputError, match="there is no run in this directory"):
        report(tmp_path, "--output", tmp_path / "page.html")
