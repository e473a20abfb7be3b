"""`toledo.compare` segment by segment: examples, tables, files, and which pair is shown."""

import csv
import json

import numpy as np
import pytest

import toledo

REFERENCES = ["the cat sat on the mat .", "three men walk up a hill .", "hello world", ""]
ONE = ["the cat sat on a mat .", "three men are walking uphill .", "hello world", ""]
TWO = ["the cat sat on the mat .", "three men walk up a hill .", "hi world", "x"]
THREE = ["a dog", "three men walk", "hello world", ""]


@pytest.fixture(scope="module")
def comparison():
    systems = {"one": ONE, "two": TWO, "three": THREE}
    return toledo.compare(systems, REFERENCES, tokenize="none", resamples=20, sources=["s1", "s2", "s3", "s4"])


def test_examples_differ_most(comparison):
    found = comparison.examples("two", 2)
    differences = comparison["two"].segments["chrf"] - comparison["one"].segments["chrf"]
    order = np.argsort(-np.abs(differences), kind="stable")[:2]
    assert [one.segment for one in found] == order.tolist()
    assert [one.gain for one in found] == pytest.approx(differences[order])
    assert found[0].texts == {"one": ONE[order[0]], "two": TWO[order[0]]}
    assert found[0].references == (REFERENCES[order[0]],)
    assert found[0].source == f"s{order[0] + 1}"
    (ter,) = comparison.examples("three", 1, metric="ter", baseline="two")
    assert ter.gain == ter.scores["two"] - ter.scores["three"]


def test_pairs_that_were_tested_or_one_of_them(comparison):
    assert [(one.system, one.baseline) for one in comparison.analyze().pairs] == [("two", "one"), ("three", "one")]
    (pair,) = comparison.analyze("three", "two", examples=1).pairs
    assert (pair.system, pair.baseline, len(pair.best)) == ("three", "two", 1)
    for names, message in (
        (("four",), "no system 'four'"),
        (("one",), "system 'one' has no baseline"),
        (("two", "two"), "system 'two' has no baseline"),
    ):
        with pytest.raises(toledo.InputError, match=message):
            comparison.analyze(*names)
    with pytest.raises(toledo.InputError, match="no metric 'comet'"):
        comparison.analyze(metric="comet")
    alone = toledo.compare({"one": ONE}, REFERENCES, resamples=5)
    with pytest.raises(toledo.InputError, match="there is only one system"):
        alone.analyze()


def test_the_printed_analysis(comparison):
    text = str(comparison.analyze("two", examples=1))
    assert "two against one, chrF2 of segments: better in 2, equal in 1, worse in 1" in text
    assert "one        three men [-are walking uphill-] ." in text
    assert "two        three men {+walk up a hill*+} ." in text
    colored = comparison.analyze("two", examples=1).text(color=True)
    assert "\x1b[35m\x1b[1mwalk up a hill\x1b[0m" in colored
    assert "{+" not in colored


@pytest.mark.parametrize("ending", ["tsv", "json", "jsonl", "tsv.gz"])
def test_scores_of_segments_are_saved(comparison, ending, tmp_path):
    path = tmp_path / f"scores.{ending}"
    comparison.segments.save(path)
    if ending == "tsv":
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t"))
        rows = [
            {**row, **{k: float(row[k]) for k in ("bleu", "chrf", "ter")}, "segment": int(row["segment"])}
            for row in rows
        ]
    elif ending == "json":
        rows = json.loads(path.read_text("utf-8"))
    elif ending == "jsonl":
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    else:
        assert path.read_bytes()[:2] == b"\x1f\x8b"
        return
    assert rows == comparison.segments.rows_as_dicts()
    assert [(row["segment"], row["system"]) for row in rows[:4]] == [(0, "one"), (0, "two"), (0, "three"), (1, "one")]
    assert rows[4]["text"] == TWO[1]
    assert rows[4]["chrf"] == pytest.approx(comparison["two"].segments["chrf"][1], abs=1e-6)


def test_quotes_and_tabs_in_texts_come_back(tmp_path):
    texts = ['say "hi"\tnow', '"', ""]
    table = toledo.compare([texts, texts], texts, resamples=5).segments
    table.save(tmp_path / "scores.tsv")
    with (tmp_path / "scores.tsv").open(encoding="utf-8", newline="") as stream:
        assert [row["text"] for row in csv.DictReader(stream, delimiter="\t")][::2] == texts
    with pytest.raises(toledo.InputError, match="the format is not known"):
        table.save(tmp_path / "scores.xlsx")


def test_files_of_different_lengths_are_named(tmp_path):
    for name, lines in (("a.en", 3), ("b.en", 2), ("ref.en", 3), ("short.en", 1), ("ids", 2)):
        (tmp_path / name).write_text("x\n" * lines)
    a, b, reference, short, ids = (tmp_path / name for name in ("a.en", "b.en", "ref.en", "short.en", "ids"))
    calls = [
        (lambda: toledo.evaluate(b, reference), f"{b} has 2 lines, {reference} has 3 lines"),
        (lambda: toledo.evaluate(a, [reference, short]), f"{a} has 3 lines, {short} has 1 line"),
        (lambda: toledo.compare([a, b], reference), f"{a} has 3 lines, {b} has 2 lines"),
        (lambda: toledo.evaluate(a, reference, sources=short), f"{a} has 3 lines, {short} has 1 line"),
        (lambda: toledo.evaluate(a, reference, document_ids=ids), f"{a} has 3 lines, {ids} has 2 lines"),
        (lambda: toledo.evaluate(["x", "y"], reference), f"hypotheses has 2 segments, {reference} has 3 lines"),
        (lambda: toledo.compare({"s": toledo.Runs(a, b)}, reference), f"{a} has 3 lines, {b} has 2 lines"),
    ]
    for call, message in calls:
        with pytest.raises(toledo.InputError) as error:
            call()
        assert error.value.message == message
        assert "line i of each must belong together" in error.value.remedy


def test_words_are_split_as_the_settings_say():
    found = toledo.compare([["The Cat."], ["the dog ."]], ["the cat."], metrics="chrf", lowercase=True, resamples=5)
    (pair,) = found.analyze().pairs
    assert [one.text for one in pair.lost] == ["the cat .", "the cat", "cat .", "cat"]
