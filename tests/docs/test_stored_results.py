"""Results of experiments are stored with their origin, and small; pages show what is stored."""

import importlib
import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.metrics.bleu import BLEU

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"
PAGES = runpy.run_path(str(ROOT / "docs" / "make_results.py"))
LARGEST = 10_000_000  # bytes of all results
FIELDS = {"key", "version", "commit", "code", "options", "data", "seconds", "scores", "statistics"}
METRIC = BLEU(smooth_method="none")


def module(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "experiments"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


stored, origin, differences = module("stored"), module("origin"), module("differences")


def bleu_rows(size: int, seed: int, skill: float = 0.5) -> np.ndarray:
    """Statistics of segments whose words match with some chance."""
    random, rows = np.random.default_rng(seed), []
    for _ in range(size):
        length, other = random.integers(4, 15, size=2)
        right = random.random(length) < skill
        matches = [sum(right[i : i + n].all() for i in range(length - n + 1)) for n in range(1, 5)]
        rows.append([length, other, *matches, *(max(length - n, 0) for n in range(4))])
    return np.array(rows, dtype=np.float64)


@given(st.lists(st.tuples(*[st.integers(-(2**40), 2**40)] * 3), min_size=1, max_size=30))
def test_packed_statistics_come_back(rows: list[tuple[int, ...]]) -> None:
    given_rows = np.array(rows, dtype=np.float64)
    np.testing.assert_array_equal(stored.unpack(stored.pack(given_rows)), given_rows)


def test_statistics_are_packed_small() -> None:
    assert len(stored.pack(bleu_rows(1000, 1))) < 6000  # 80,000 bytes before


@pytest.mark.parametrize("text", ["3x2 i1 eJw=", "1x1 <f8 eJxjYGBgAAAABAAB", "9999999x99999 i1 eJw=", "1x1 i1 %%%%"])
def test_damaged_statistics_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (also those of base64)
        stored.unpack(text)


def test_fractions_are_refused() -> None:
    with pytest.raises(ValueError, match="whole numbers"):
        stored.pack(np.array([[0.5]]))


def test_runs_are_found_replaced_and_known_to_be_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, folder = ROOT / "experiments" / "tuners.py", tmp_path / "results"
    kept = stored.Stored(script, folder)
    key = {"tuner": "mert", "seed": 1}
    assert not kept.done(**key)
    for score in (1.0, 2.0):
        kept.add(key, data=[script], scores={"test": score}, statistics={"test": bleu_rows(3, 1)}, seconds={"a": 0.123})
    kept.add({**key, "seed": 2}, data=[script], scores={"test": 3.0})
    assert [run["scores"]["test"] for run in kept.find(tuner="mert")] == [2.0, 3.0]
    (run, _) = kept.find(tuner="mert")
    assert run.keys() == FIELDS
    assert run["data"].keys() == {"experiments/tuners.py"}
    assert kept.done(**key)
    lines = (folder / "tuners.jsonl").read_text(encoding="utf-8").replace(kept.code, "0" * 12)
    (folder / "tuners.jsonl").write_text(lines, encoding="utf-8")
    assert not kept.done(**key)
    listing = stored.Stored(script, folder, listing=True)
    assert listing.done(**key)
    assert listing.done(tuner="pro", seed=1)
    assert capsys.readouterr().out.splitlines() == [
        "tuners: seed 1, tuner mert: made by other code",
        "tuners: seed 1, tuner pro: missing",
    ]


def test_a_quick_look_is_not_stored_among_results(tmp_path: Path) -> None:
    options = type("Options", (), {"results": stored.FOLDER, "stale": False, "table": False, "every": 5, "seeds": None})
    with pytest.raises(SystemExit, match="--every: give another folder"):
        stored.Stored.of("fewer_calls.py", options, quick=["every", "seeds"])
    options.results = tmp_path
    assert stored.Stored.of("fewer_calls.py", options, quick=["every"]).file == tmp_path / "fewer_calls.jsonl"


def test_the_code_of_an_experiment_is_what_it_can_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {path.relative_to(ROOT).as_posix() for path in origin.code_of(ROOT / "experiments" / "tuners.py")}
    assert {"toledo/tuning/tuners/mert.py", "toledo/tuning/tuners/pro.py", "toledo/search/beam/search.py"} <= names
    assert not {"toledo/search/document/search.py", "toledo/reports/tuning.py", "toledo/view/svg.py"} & names
    exported = {path.relative_to(ROOT).as_posix() for path in origin.code_of(ROOT / "experiments" / "system_votes.py")}
    assert "toledo/consensus/votes.py" in exported  # by way of toledo.tune_votes


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("ROUNDS, POP_LIMIT = 10, 200", "ROUNDS, POP_LIMIT = 10, 100", False),
        ("ROUNDS, POP_LIMIT = 10, 200", "ROUNDS, POP_LIMIT = 10, 200  # a comment", True),
        ('"""Do what is not there yet, then print the table."""', '"""Do it."""', True),
        ("def tables(", "def tables(more: int, ", True),
    ],
)
def test_the_hash_changes_with_what_can_change_a_result(
    old: str, new: str, same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("toledo", "experiments"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "results"))
    monkeypatch.setattr(origin, "ROOT", tmp_path)
    monkeypatch.setattr(origin, "__file__", str(tmp_path / "experiments" / "origin.py"))
    script = tmp_path / "experiments" / "tuners.py"
    before = origin.code_hash.__wrapped__(script)
    text = script.read_text(encoding="utf-8")
    assert old in text
    script.write_text(text.replace(old, new), encoding="utf-8")
    assert (origin.code_hash.__wrapped__(script) == before) == same


def test_a_change_far_below_changes_the_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("toledo", "experiments"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "results"))
    monkeypatch.setattr(origin, "ROOT", tmp_path)
    script = tmp_path / "experiments" / "tuners.py"
    hashes = [origin.code_hash.__wrapped__(script)]
    for file in ("toledo/reports/tuning.py", "toledo/compiled/sorting.py"):
        with (tmp_path / file).open("a", encoding="utf-8") as stream:
            stream.write("\nCHANGED = 1\n")
        hashes.append(origin.code_hash.__wrapped__(script))
    assert hashes[0] == hashes[1] != hashes[2]


def test_results_are_small_and_whole() -> None:
    files = sorted(RESULTS.iterdir())
    assert sum(file.stat().st_size for file in files) <= LARGEST
    for file in files:
        assert file.suffix == ".jsonl", file
        keys = []
        for line in file.read_text(encoding="utf-8").splitlines():
            run = json.loads(line)
            assert run.keys() == FIELDS
            assert run["commit"]
            assert not run["commit"].endswith("+"), f"{file.name}: made by code that is not committed"
            for packed in run["statistics"].values():
                assert stored.unpack(packed).size
            keys.append(json.dumps(run["key"], sort_keys=True))
        assert len(keys) == len(set(keys)), file


def test_stored_scores_are_those_of_stored_statistics() -> None:
    """Where a score has the name of a text, and BLEU is that of tokenized words."""
    checked = 0
    for name in ("tuners", "decision_rules", "combination", "cobleu", "minimum_risk", "documents"):
        for run in stored.Stored(ROOT / "experiments" / f"{name}.py").all():
            for text, packed in run["statistics"].items():
                assert METRIC.score(stored.unpack(packed).sum(axis=0)) == pytest.approx(run["scores"][text], rel=1e-5)
                checked += 1
    assert checked


def test_one_run_each_is_a_studentized_bootstrap() -> None:
    """The interval and p agree; more skill is found, the same skill is not; p of no difference is uniform enough."""
    same, better = (
        differences.compare(METRIC, [bleu_rows(400, 1, skill)], [bleu_rows(400, 2, 0.5)]) for skill in (0.5, 0.6)
    )
    assert same.p > 0.05
    assert same.low < 0 < same.high
    assert better.p < 0.01
    assert 0 < better.low < better.value < better.high
    rows = bleu_rows(50, 3)
    assert differences.compare(METRIC, [rows], [rows]).p == 1.0


def test_several_runs_take_account_of_runs_and_segments() -> None:
    """The formula, with loops; single runs that happen to differ are no evidence for the systems."""
    one = [bleu_rows(60, seed, skill) for seed, skill in enumerate((0.45, 0.55, 0.65))]
    two = [bleu_rows(60, seed, skill) for seed, skill in enumerate((0.4, 0.5), 10)]
    found = differences.compare(METRIC, one, two)
    scores = [[METRIC.score(rows.sum(axis=0)) for rows in group] for group in (one, two)]
    effects = []
    for group in (one, two):
        effects.append([[float(METRIC.gradient(rows.sum(axis=0)) @ row) for row in rows] for rows in group])
    n = 60

    def centered(run: list[float]) -> list[float]:
        return [value - sum(run) / n for value in run]

    effects = [[centered(run) for run in group] for group in effects]
    means = [[sum(run[i] for run in group) / len(group) for i in range(n)] for group in effects]
    v_segments = n / (n - 1) * sum((a - b) ** 2 for a, b in zip(*means, strict=True))
    v_both = (
        n
        / (n - 1)
        * sum(
            sum((run[i] - mean[i]) ** 2 for run in group for i in range(n)) / (len(group) * (len(group) - 1))
            for group, mean in zip(effects, means, strict=True)
        )
    )
    v_runs = sum(np.var(own, ddof=1) / len(own) for own in scores)
    total = max(v_segments + v_runs - v_both, v_segments, v_runs)
    middle = (found.low + found.high) / 2
    assert found.value == pytest.approx(np.mean(scores[0]) - np.mean(scores[1]))
    assert middle == pytest.approx(found.value)
    degrees = total**2 / (
        v_segments**2 / (n - 1) + sum((np.var(own, ddof=1) / len(own)) ** 2 / (len(own) - 1) for own in scores)
    )
    from scipy.stats import t

    # The package takes effects of segments by leaving each out, which agrees with the gradient to first order.
    assert found.p == pytest.approx(2 * t.sf(abs(found.value) / np.sqrt(total), degrees), rel=1e-4)
    assert found.p > differences.compare(METRIC, one[2:], two[:1]).p


def test_pages_show_what_is_stored() -> None:
    for page in PAGES["pages"]():
        text = page.read_text(encoding="utf-8")
        assert PAGES["filled"](text) == text, f"{page.name}: make docs"


def test_marks_are_filled() -> None:
    page = "A\n\n<!-- results: some one -->\nold\n<!-- end -->\n\nB\n"
    page += "<!-- results: some two | rows: x; y -->\n<!-- end -->\n"
    tables = {"one": "", "two": "| n | v |\n|---|---|\n| x | 1 |\n| z | 2 |\n\nNote.\n"}
    new = PAGES["filled"](page, lambda name: tables if name == "some" else {})
    assert new == (
        "A\n\n<!-- results: some one -->\n\nNo runs are stored yet.\n\n<!-- end -->\n\nB\n"
        "<!-- results: some two | rows: x; y -->\n\n| n | v |\n|---|---|\n| x | 1 |\n\nNote.\n\n<!-- end -->\n"
    )
    with pytest.raises(ValueError, match="has no table 'one'"):
        PAGES["filled"](page, lambda name: {})


def test_what_a_benchmark_prints_is_stored(tmp_path: Path) -> None:
    printed, command = module("printed"), "benchmarks/cold.py --help"
    run = [sys.executable, "experiments/printed.py", command, "--results", str(tmp_path)]
    subprocess.run(run, cwd=ROOT, check=True)
    results = stored.Stored(printed.__file__, tmp_path)
    (row,) = results.all()
    assert row["key"] == {"command": command}
    assert printed.tables(results)[command].startswith("usage: cold.py")
