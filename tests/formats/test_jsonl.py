"""JSONL: both schemas, round trips, and what is refused."""

import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lattice_words import entries, in_single_precision

from toledo.errors import InputError
from toledo.formats.hypotheses import Entry, NBestList, PhraseSpan
from toledo.formats.jsonl import jsonl_lines, read_jsonl, write_jsonl

GOLDEN = Path(__file__).parent / "golden"


def test_an_object_for_each_hypothesis(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        lists = list(read_jsonl(GOLDEN / "hypotheses.jsonl"))
    assert lists == [
        NBestList(
            0,
            (
                Entry(["the", "house"], {"lm": -1.5, "tm": -2.0}, score=-4.5, links=((0, 0), (1, 1))),
                Entry(["New York", "house"]),
            ),
        ),
        NBestList(1, ()),
        NBestList(2, (Entry([], score=0.0, phrases=(PhraseSpan(range(2), range(0)),)),)),
    ]
    assert "1 segments without a hypothesis" in caplog.text


def test_an_object_for_each_segment() -> None:
    lists = list(read_jsonl(GOLDEN / "segments.jsonl"))
    assert [some.segment for some in lists] == [0, 1, 2, 3]
    assert lists[0].entries == (Entry(["the", "house"], score=-1.5), Entry(["a", "home"]))
    assert lists[1].entries == lists[2].entries == ()
    assert lists[3].entries == (Entry(["x"], {"lm": 1.0}),)


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    assert list(read_jsonl(tmp_path / "f")) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": 0, "text": "a"', r"not valid JSON: Expecting ',' delimiter \(column 22\)\n"),
        ("[1]", "not a JSON object"),
        ('{"id": 0, "text": "a", "text": "b"}', "the key 'text' occurs twice"),
        ('{"rules": [1, "a"], "node": 1, "node": 2}', "the key 'node' occurs twice"),  # as cdec's forests
        ('{"id": -1, "text": "a"}', "id: expected int >= 0"),
        ('{"id": true, "text": "a"}', "id: expected int"),
        ('{"id": 0, "words": null}', "needs a string 'text'"),
        ('{"id": 0, "text": "a", "words": ["a"]}', "not both"),
        ('{"id": 0, "words": ["a", 1]}', r"words\[1\]: expected str, got int"),
        ('{"id": 0, "words": [""]}', r"words\[0\]: expected str of length >= 1"),
        ('{"id": 0, "text": "a", "score": "high"}', "score: expected float"),
        ('{"id": 0, "text": "a", "score": NaN}', "NaN is not a number"),
        ('{"id": 0, "text": "a", "score": 1e999}', "score: expected float <= 3e"),
        ('{"id": 0, "text": "a", "features": [1]}', "features: expected object"),
        ('{"id": 0, "text": "a", "features": {"lm": null}}', r"features\[...\]: expected float, got null"),
        ('{"id": 0, "text": "a", "links": [[0]]}', r"links\[0\]: expected array of length 2"),
        ('{"id": 0, "text": "a", "links": [[0, "x"]]}', r"links\[0\]\[1\]: expected int"),
        ('{"id": 0, "hypotheses": "a"}', "hypotheses: expected array"),
        ('{"hypotheses": ["a", "b"], "scores": [1]}', "scores has 1 values for 2 texts"),
        ('{"id": 0, "hypotheses": [1]}', r"hypotheses\[0\]: expected str | object, got int"),
        ('{"id": 0, "text": "a", "score": 1' + 400 * "0" + "}", "score: "),
        ('{"a":' * 3000, "not valid JSON"),
        (r'{"hypotheses": ["\ud83d"]}', "half of a surrogate pair"),
    ],
)
def test_bad_lines_are_refused(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "f").write_text(line + "\n")
    with pytest.raises(InputError, match=message) as caught:
        list(read_jsonl(tmp_path / "f"))
    assert caught.value.line == 1
    assert "hypotheses" in str(caught.value.remedy)
    assert "the number of the segment, from 0" in str(caught.value.remedy)


@pytest.mark.parametrize("end", ["\n", "\n\n", "  \n\r\n", " "])
def test_empty_lines_at_the_end_are_ignored(tmp_path: Path, end: str) -> None:
    for text in ('{"id": 0, "text": "a"}\n', '{"hypotheses": ["a"]}\n'):
        (tmp_path / "f").write_text(text + end)
        assert list(read_jsonl(tmp_path / "f")) == [NBestList(0, (Entry(["a"]),))]
    (tmp_path / "f").write_text(end)
    assert list(read_jsonl(tmp_path / "f")) == []


@pytest.mark.parametrize("before", [0, 1])
def test_empty_lines_elsewhere_are_refused(tmp_path: Path, before: int) -> None:
    line = '{"hypotheses": ["a"]}\n'
    (tmp_path / "f").write_text(before * line + "\n \n" + line + "\n")
    with pytest.raises(InputError, match="empty line") as caught:
        list(read_jsonl(tmp_path / "f"))
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "f"), before + 1)
    assert "remove the line" in str(caught.value.remedy)


def test_segments_must_rise_and_keep_their_form(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('{"id": 1, "hypotheses": []}\n{"id": 1, "hypotheses": []}\n')
    with pytest.raises(InputError, match="segment 1 follows segment 1"):
        list(read_jsonl(tmp_path / "f"))
    (tmp_path / "f").write_text('{"id": 1, "hypotheses": []}\n{"id": 2, "text": "a"}\n')
    with pytest.raises(InputError, match="as in the first line"):
        list(read_jsonl(tmp_path / "f"))


@given(st.lists(st.lists(entries(), min_size=1, max_size=3), min_size=1, max_size=3), st.booleans())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, content, per_segment) -> None:
    lists = [NBestList(segment, tuple(some)) for segment, some in enumerate(content)]
    path = tmp_path_factory.mktemp("jsonl") / "list"
    write_jsonl(lists, path)
    if per_segment:
        rows = [(some.segment, [json.loads(line) for line in jsonl_lines(some)]) for some in lists]
        lines = [json.dumps({"id": segment, "hypotheses": objects}) for segment, objects in rows]
        path.write_text("\n".join(lines), encoding="utf-8")
    assert in_single_precision(read_jsonl(path)) == in_single_precision(lists)
    assert all(json.loads(line)["id"] >= 0 for line in path.read_text("utf-8").splitlines())


def test_the_base_score_is_written_as_a_feature(tmp_path: Path) -> None:
    write_jsonl([NBestList(0, (Entry(["a"], {"lm": -1.0}, -2.5),))], tmp_path / "list")
    (some,) = read_jsonl(tmp_path / "list")
    assert some.entries[0].features == {"lm": -1.0, "base": -2.5}
