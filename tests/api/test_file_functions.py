"""Reading and writing lists, forests and documents."""

from pathlib import Path

import pytest

from toledo.api.files import read_forests, read_lists, write_documents, write_forests, write_lists
from toledo.errors import InputError, UnknownNameError
from toledo.formats.documents import read_documents
from toledo.results import Hypothesis

GOLDEN = Path(__file__).parents[1] / "formats" / "golden"


@pytest.mark.parametrize("name", ["x.jsonl", "x.nbest", "x.cdec"])
def test_lists_come_back(tmp_path: Path, name: str) -> None:
    lists = [["a b", Hypothesis("c", -1.5, {"lm": -2.0})], [{"text": "d", "score": -1.0}]]
    write_lists(tmp_path / name, lists)
    found = read_lists(tmp_path / name)
    assert [[one.text for one in samples] for samples in found] == [["a b", "c"], ["d"]]
    assert found[0][1].score == -1.5
    assert found[0][1].features == {"lm": -2.0}


def test_lists_of_plain_text(tmp_path: Path) -> None:
    write_lists(tmp_path / "x", [["a", "b"], ["c", "d"]], format="text")
    found = read_lists(tmp_path / "x", format="text", num_samples=2)
    assert [[str(one) for one in samples] for samples in found] == [["a", "b"], ["c", "d"]]
    with pytest.raises(UnknownNameError, match="no format 'jsonll': did you mean 'jsonl'"):
        read_lists(tmp_path / "x", format="jsonll")
    with pytest.raises(InputError, match="format plf is not one of lists"):
        write_lists(tmp_path / "x.plf", [["a"]])


def test_texts_of_lists_stay_exactly_as_given(tmp_path: Path) -> None:
    texts = ["the  old\u00a0house\t", " a\u3000b", "c"]
    write_lists(tmp_path / "x.jsonl", [texts])
    (tmp_path / "x.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    for lists in (read_lists(tmp_path / "x.jsonl"), read_lists(tmp_path / "x.txt", num_samples=3)):
        assert [one.text for one in lists[0]] == texts
    (tmp_path / "y.jsonl").write_text('{"hypotheses": [{"text": "a", "logprob": -1.5}]}\n')
    assert read_lists(tmp_path / "y.jsonl")[0][0].logprob == -1.5


def test_forests(tmp_path: Path) -> None:
    forests = read_forests(GOLDEN / "lattices.plf")
    write_forests(tmp_path / "x.plf", forests)
    assert [one.edges for one in read_forests(tmp_path / "x.plf")] == [one.edges for one in forests]
    write_forests(tmp_path / "x.jsonl", forests, nbest=1, weights=dict.fromkeys(forests[0].feature_names, 1.0))
    assert max(map(len, read_lists(tmp_path / "x.jsonl"))) == 1
    assert len(read_forests(GOLDEN / "moses.nbest", format="nbest")) == 4


def test_documents(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\nc\n")
    (tmp_path / "ids").write_text("x\ny\n")
    documents = read_documents(tmp_path / "text", document_ids=tmp_path / "ids")
    write_documents(tmp_path / "out", documents)
    assert (tmp_path / "out").read_text() == "a b\nc\n"
    write_documents(tmp_path / "out.xml", documents, [["A"], ["B"]])
    assert 'docid="y"' in (tmp_path / "out.xml").read_text()
