"""`toledo report`, `list`, `example-data`, `warm-up`: saved runs name their kind, and other files are refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import fail, run, succeed
from pages import check_page
from small_histories import TRACE, refinement, tuning, write_all

from toledo.refinement.settings import RefineSettings
from toledo.runs.checkpoint import plain


def report(*arguments: str | Path) -> str:
    finished = run("report", *arguments)
    assert finished.exit_code == 0, finished.output
    assert not finished.stdout
    return finished.stderr


def test_a_directory_with_a_run_of_each_kind(tmp_path: Path) -> None:
    write_all(tmp_path / "runs")
    messages = report(tmp_path / "runs", "--output", tmp_path / "page.html", "--title", "Monday <1>")
    page = check_page(tmp_path / "page.html")
    assert "<h1>Monday &lt;1&gt;</h1>" in page
    for kind, name in {
        "Tuning": "mert", "Refinement": "refined", "Documents": "trace.jsonl", "Scores": "scores.json",
        "Combination": "combined", "Samples": "samples.json", "Hypotheses": "lists.jsonl",
    }.items():  # fmt: skip
        assert f"{kind}: {name}\n" in messages
        assert f">{kind}: {name}</h2>" in page
    assert "Tunings side by side" in page
    assert page.count("Tuning: mert") == 2  # two seeds are one run: in the contents and as a heading
    assert "2 runs: min 45.00, max 46.00" in page
    assert "<b>21.50</b>" in page
    assert '<span class="badge better">+1.00 · p = 0.010</span>' in page
    assert "p: sacreBLEU&#x27;s paired bootstrap, Holm&#x27;s correction against “a”" in page
    assert page.index("Scores: scores.json") < page.index("Tuning: cobleu")  # files at the top come first
    assert "<td>&lt;b&gt;</td>" in page
    assert '<td>combination</td><td class="number">22.00</td>' in page
    assert '<td>A A</td><td class="number">0.400</td>' in page  # the share in its last stage
    assert "first &lt;1&gt;" in page
    assert "Hypotheses: best.nbest" in page


def test_posteriors_of_lists_are_those_of_their_scores(tmp_path: Path) -> None:
    write_all(tmp_path / "runs")
    report(tmp_path / "runs" / "best.nbest", "--output", tmp_path / "page.html")
    page = check_page(tmp_path / "page.html")
    assert '<span class="w p6" title="0.73">the</span>' in page  # 1 / (1 + exp(-1))
    assert 'title="1.00, 2-gram 0.73">house' in page  # both have "house"
    assert "viterbi, consensus" in page
    report(tmp_path / "runs" / "best.nbest", "--output", tmp_path / "page.html", "--scale", "2")
    assert 'title="0.88">the' in check_page(tmp_path / "page.html")


def test_runs_of_the_same_name_are_numbered(tmp_path: Path) -> None:
    for day, tuner in (("monday", "mert"), ("tuesday", "mira")):
        (tmp_path / day / "tuned" / "run").mkdir(parents=True)
        tuning(tuner, [30.0, 31.0]).save(tmp_path / day / "tuned" / "run" / "history.json")
    days = [tmp_path / day / "tuned" for day in ("monday", "tuesday")]
    messages = report(*days, "--output", tmp_path / "page.html")
    assert "Tuning: tuned\n" in messages
    assert "Tuning: tuned (2)\n" in messages
    assert "Tunings side by side" in check_page(tmp_path / "page.html")


def test_refinements_show_their_settings(tmp_path: Path) -> None:
    settings = RefineSettings().resolved()
    history = replace(refinement(), configuration={"settings": plain(settings)})
    (tmp_path / "history.json").write_text(json.dumps(history.to_json()))
    report(tmp_path, "--output", tmp_path / "page.html")
    page = check_page(tmp_path / "page.html")
    assert "Settings: parameters two-stage, " in page
    assert ", tau 0.2, lexicon_tau 0.02, " in page


def test_messages_and_json_name_the_page(tmp_path: Path) -> None:
    tuning("mira", [30.0, 31.0]).save(tmp_path / "history.json")
    place = tmp_path / "history.json", "-o", tmp_path / "page.html"
    assert f"written: {tmp_path / 'page.html'}\n" in report(*place)
    assert f"replaced: {tmp_path / 'page.html'}\n" in report(*place)
    found = json.loads(succeed("report", *place, "--json"))["result"]
    assert found == {"output": str(tmp_path / "page.html"), "parts": [f"Tuning: {tmp_path.name}"]}


def test_a_history_alone(tmp_path: Path) -> None:
    tuning("mira", [30.0, 31.0]).save(tmp_path / "history.json")
    report(tmp_path / "history.json", "-o", tmp_path / "page.html")
    page = check_page(tmp_path / "page.html")
    assert "Tunings side by side" not in page
    assert "<dt>at the start</dt><dd>30.00</dd>" in page
    assert "<dt>change</dt><dd>+1.00</dd>" in page


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "some text\n", "is not a run or result"),
        (
            "a.json",
            "{\n 1\n}\n",
            "a.json:2: not valid JSON: Expecting property name enclosed in double quotes (column 2)\n",
        ),
        ("a.json", '{"kind": "tuning", "format": 1}\n', "saved with format 1, this version reads 2"),
        ("a.json", '{"kind": "refinement", "format": 2}\n', "not a saved run: Object missing required field"),
        ("a.json", '{"command": "compare", "result": {"systems": {"x": {}}}}\n', "there is no 'scores'"),
        ("a.json", '{"runs": []}\n', "is not a run or result"),
        ("combination.toml", "format = 2\n", "is not a combination that this version can read"),
        ("a.jsonl", json.dumps(TRACE[0]) + "\n" + '{"document": "x"}\n', "a.jsonl:2: not a state of a document"),
        ("a.jsonl", json.dumps(TRACE[1]) + "\n" + json.dumps(TRACE[0]) + "\n", "step 0 of first <1> comes after"),
        ("a.jsonl", json.dumps(TRACE[0]) + "\n{\n", "a.jsonl:2: not a state of a document: Expecting property name"),
        ("a.nbest", "0 ||| a ||| lm= x ||| -1\n", "a.nbest:1"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    finished = run("report", tmp_path / name, "--output", tmp_path / "page.html")
    assert finished.exit_code in (2, 3)
    assert message in finished.stderr
    assert "remedy: " in finished.stderr
    assert not (tmp_path / "page.html").exists()


def test_what_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}\n")
    assert "there is no run in this directory" in fail("report", tmp_path, "--output", tmp_path / "page.html")
    assert "nothing to show" in fail("report")
    tuning("mira", [30.0, 31.0]).save(tmp_path / "history.json")
    assert "examples is 0" in fail("report", tmp_path, "--examples", 0, "-o", tmp_path / "page.html")
    assert "is also an input" in fail("report", tmp_path / "history.json", "-o", tmp_path / "history.json")


def test_names_are_listed_with_settings(tmp_path: Path) -> None:
    text = succeed("list", "searches")
    assert "beam: Beam search" in text
    assert "  pop_limit  400  Hypotheses expanded" in text
    assert "cobleu: The same as gradient:objective=cobleu." in succeed("list", "objectives")
    found = json.loads(succeed("list", "metrics", "--json"))["result"]
    bleu = next(one for one in found["names"] if one["name"] == "bleu")
    assert {"name": "max_ngram_order", "default": 4, "help": "Length of the longest n-grams."} in bleu["settings"]
    for kind in ("rules", "document-models", "aligners", "formats"):
        assert succeed("list", kind)
    assert "formats" in fail("list", "colors")


def test_example_data_are_the_same_everywhere(tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert not succeed("example-data", tmp_path / name, "--train", 20, "--tune", 3, "--test", 4, "--seed", 7)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == 14
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert len((tmp_path / "one" / "train.src").read_text().splitlines()) == 20
    assert "--train is 0" in fail("example-data", tmp_path / "three", "--train", 0)


def test_warm_up_runs_what_it_is_asked_for(tmp_path: Path) -> None:
    finished = run("warm-up", "choose", "evaluate")
    assert finished.exit_code == 0, finished.output
    assert "compiling: choose" in finished.stderr
    assert "align" in fail("warm-up", "predict")
