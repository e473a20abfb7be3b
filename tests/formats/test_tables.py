"""Data frames, Parquet, Arrow and data sets; texts in which BLEU finds no words."""

import logging
import sys
from pathlib import Path

import pytest
from command_line import fail, succeed

import toledo
from toledo.errors import InputError, MissingExtraError

CAT = "The cat sat on the mat."
TEXTS = [CAT, "A cat sat on the mat.", "Cats!"]
ROWS = [
    {"id": "q1", "samples": TEXTS, "scores": [-1.0, -1.0, -9.0], "lang": "de"},
    {"id": "q2", "samples": ["x"], "scores": [-1.0], "lang": None},
]


def test_data_frames_and_their_files(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    choices = toledo.choose_many(frame)
    assert (choices.texts, [one.id for one in choices]) == ([CAT, "x"], ["q1", "q2"])
    assert [dict(one.extra) for one in choices] == [{"lang": "de"}, {"lang": None}]
    frame.to_json(tmp_path / "x.jsonl", orient="records", lines=True)
    frame.to_json(tmp_path / "x.json", orient="records")
    for name in ("x.jsonl", "x.json"):
        assert toledo.choose_many(tmp_path / name).texts == [CAT, "x"]
    systems = pandas.DataFrame({"A": [CAT], "B": [TEXTS[1]]})
    assert [one.system for one in toledo.read_lists(systems, fields={"text": ["A", "B"]})[0]] == ["A", "B"]


def test_parquet_and_arrow_files(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import ipc, parquet

    table = pyarrow.Table.from_pylist(ROWS)
    parquet.write_table(table, tmp_path / "x.parquet")
    (tmp_path / "set").mkdir()
    with ipc.new_stream(tmp_path / "set/data-00000-of-00001.arrow", table.schema) as writer:
        writer.write_table(table)
    with ipc.new_file(tmp_path / "x.arrow", table.schema) as writer:
        writer.write_table(table)
    for given in (table, tmp_path / "x.parquet", tmp_path / "x.arrow", tmp_path / "set", str(tmp_path / "set")):
        choices = toledo.choose_many(given)
        assert (choices.texts, [one.id for one in choices]) == ([CAT, "x"], ["q1", "q2"])
    assert succeed("choose", tmp_path / "x.parquet").splitlines() == [CAT, "x"]
    (tmp_path / "splits/test").mkdir(parents=True)
    assert "name one of its folders: test" in fail("choose", tmp_path / "splits")
    (tmp_path / "x.parquet").write_bytes((tmp_path / "x.parquet").read_bytes()[:-20])
    assert "not a table that can be read" in fail("choose", tmp_path / "x.parquet")


def test_large_row_groups_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "x.parquet")
    monkeypatch.setattr("toledo.formats.rows.MOST_BYTES", 10)
    with pytest.raises(InputError, match="a row group of"):
        toledo.read_lists(tmp_path / "x.parquet")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"toledo-mt\[tables\]"):
        toledo.read_lists(tmp_path / "x.parquet")


def test_data_sets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_list(ROWS)
    assert toledo.choose_many(data).texts == [CAT, "x"]
    data.save_to_disk(tmp_path / "set")
    assert toledo.choose_many(tmp_path / "set").texts == [CAT, "x"]


def test_texts_without_blanks_get_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    lists = [["今日は天気がいいです。", "今日は良い天気です。", "天気がいい。"]]
    for metric, warned in (("bleu", True), ("ter", True), ("mean", True), ("chrf", False), ("bleu:tokenize=zh", False)):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            toledo.choose_many(lists, metric=metric)
        assert ("no blanks between words" in caplog.text) == warned, metric
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        toledo.choose_many(
            [["今日 は 天気 が いい です 。", "今日 は 良い 天気 です 。"], ["A 今 text."]], metric="bleu"
        )
    assert "no blanks" not in caplog.text
    found = toledo.choose(["我喜欢猫和狗", "我喜欢猫", "我喜欢猫和鸟"], metric="bleu:tokenize=zh")
    assert (found.text, "tok:zh" in found.signature) == ("我喜欢猫和狗", True)
