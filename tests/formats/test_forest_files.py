"""Forests from and to any format: guessing, directories of numbered files, conversion."""

import logging
from pathlib import Path

import pytest
from lattice_words import texts

from toledo.errors import InputError
from toledo.forest.assemble import join
from toledo.formats.forest_files import (
    Conversion,
    convert,
    guess_format,
    guess_output_format,
    read_forests,
    read_lists,
    score_with,
)
from toledo.formats.jsonl import read_jsonl
from toledo.formats.nbest import read_nbest

GOLDEN = Path(__file__).parent / "golden"
GRAPHS = ("hypergraph", "slf", "plf", "toledo")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("moses.nbest", "nbest"), ("hypotheses.jsonl", "jsonl"), ("segments.jsonl", "jsonl"), ("lattices.plf", "plf"),
        ("speech.slf", "slf"), ("network.slf", "slf"), ("moses.slf", "slf"), ("moses.hg", "hypergraph"),
        ("cdec.nbest", "nbest"),
    ],
)  # fmt: skip
def test_formats_are_guessed_by_name_or_first_line(tmp_path: Path, name: str, expected: str) -> None:
    assert guess_format(GOLDEN / name) == expected
    (tmp_path / "file").write_bytes((GOLDEN / name).read_bytes())
    assert guess_format(tmp_path / "file") == expected


def test_what_cannot_be_guessed_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("some text\n")
    for path in (tmp_path / "file.txt", "-"):
        with pytest.raises(InputError, match="format") as caught:
            guess_format(path)
        assert "name the format" in str(caught.value.remedy)
    for path in ("out.txt", "-", "out/"):
        with pytest.raises(InputError, match="format to write") as caught:
            guess_output_format(path)
        assert "name the format" in str(caught.value.remedy)
    assert guess_output_format("a.best100.gz") == "nbest"
    assert guess_output_format("some/forests") == "toledo"


@pytest.mark.parametrize("form", GRAPHS)
def test_lists_as_graphs_keep_texts_and_features(tmp_path: Path, form: str) -> None:
    source, output = tmp_path / "lists", tmp_path / "out"
    lines = ("0 ||| the house ||| LM0= -1.5 TM0= 0 -2.25 ||| -4", "1 ||| it 's ||| LM0= -2.5 TM0= -1 -2 rare= 3 ||| -5")
    source.write_text("\n".join(lines))
    options = Conversion(plf_values="logarithms")
    assert convert(source, "nbest", output, form, options) == 2
    found = list(read_forests(output, form, plf_values="logarithms"))
    expected = list(read_forests(source, "nbest"))
    assert [one.segment for one in found] == [0, 1]
    for one, original in zip(found, expected, strict=True):
        if form == "plf":  # has no names
            assert [text for text, _ in texts(one.forest)] == [text for text, _ in texts(original.forest)]
        else:
            assert texts(one.forest) == texts(original.forest)
    join([one.forest for one in found])  # one vocabulary, the same dense features


def test_lists_stay_lists(tmp_path: Path) -> None:
    source = GOLDEN / "moses.nbest"
    convert(source, "nbest", tmp_path / "a.jsonl", "jsonl", Conversion())
    convert(tmp_path / "a.jsonl", "jsonl", tmp_path / "b", "nbest", Conversion())
    assert list(read_jsonl(tmp_path / "a.jsonl")) == list(read_nbest(source)) == list(read_nbest(tmp_path / "b"))
    convert(source, "nbest", tmp_path / "c", "cdec", Conversion(size=1))
    assert [len(some.entries) for some in read_lists(tmp_path / "c", "cdec")] == [1, 0, 1, 1]


def test_weights_rank_lists_anew(tmp_path: Path) -> None:
    options = Conversion(size=1, weights={"LM0": 1.0, "TM0_1": 0.0, "TM0_2": 0.0, "TM0_3": 0.0})
    convert(GOLDEN / "moses.nbest", "nbest", tmp_path / "a", "nbest", options)
    (best,) = next(read_nbest(tmp_path / "a")).entries
    assert (list(best.words), best.score) == ([], -0.5)


def test_a_forest_becomes_a_list_of_its_best(tmp_path: Path) -> None:
    weights = {"LM0": 1.0, "TM0_1": 1.0, "TM0_2": 1.0, "pair=haus-house": 0.0}
    convert(GOLDEN / "moses.hg", "hypergraph", tmp_path / "a", "nbest", Conversion(size=2, weights=weights))
    assert (tmp_path / "a").read_text().splitlines() == [
        "0 ||| the house ||| LM0= -3 TM0= -0.125 0 pair=haus-house= 0 ||| -3.125",
        "0 ||| the house ||| LM0= -2.5 TM0= -0.75 0 pair=haus-house= 1 ||| -3.25",
    ]
    distinct = Conversion(size=2, distinct=True, weights=weights)
    convert(GOLDEN / "moses.hg", "hypergraph", tmp_path / "a", "nbest", distinct)
    assert [" ".join(entry.words) for entry in next(read_nbest(tmp_path / "a")).entries] == ["the house", "a house"]


def test_a_forest_cut_down_fits_into_lattice_formats(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InputError, match="not a lattice"):
        convert(GOLDEN / "chart.hg", "hypergraph", tmp_path / "a", "slf", Conversion())
    with caplog.at_level(logging.WARNING):
        convert(GOLDEN / "chart.hg", "hypergraph", tmp_path / "a", "slf", Conversion(size=2, weights={"p": 1.0}))
    (found,) = read_forests(tmp_path / "a", "slf")
    assert texts(found.forest).total() == 2
    assert texts(found.forest)["the man sees , the man", (("base", -2.0), ("p", -0.75))] == 1


def test_without_weights_there_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        convert(GOLDEN / "moses.hg", "hypergraph", tmp_path / "a", "nbest", Conversion())
    assert "no weights" in caplog.text


def test_a_directory_of_numbered_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    convert(GOLDEN / "old.nbest", "nbest", f"{tmp_path}/graphs/", "hypergraph", Conversion())
    folder = tmp_path / "graphs"
    assert sorted(path.name for path in folder.iterdir()) == ["0.gz", "1.gz"]
    assert guess_format(folder) == "hypergraph"
    (folder / "0.gz").rename(folder / "3.gz")
    (folder / "notes.txt").write_text("not a graph")
    with caplog.at_level(logging.WARNING):
        found = list(read_forests(folder, "hypergraph"))
    assert [(one.segment, one.forest.edges) for one in found] == [(0, 0), (1, 1), (2, 0), (3, 1)]
    assert "2 segments without" in caplog.text
    join([one.forest for one in found])
    (folder / "3.slf").write_text("")
    with pytest.raises(InputError, match="segment 3 occurs twice"):
        list(read_forests(folder, "hypergraph"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no files named by segment"):
        guess_format(tmp_path / "empty")


def test_what_files_say_about_scores() -> None:
    by_model = next(read_forests(GOLDEN / "moses.nbest", "nbest", model_scores=True))
    assert score_with(by_model, None).tolist() == [-4.5, -20.125]
    by_features = next(read_forests(GOLDEN / "moses.nbest", "nbest"))
    assert by_features.weights is None
    assert score_with(by_features, None).tolist() == [0.0, 0.0]
    speech = next(read_forests(GOLDEN / "speech.slf", "slf"))
    assert speech.weights == {"a": 1.0, "l": 2.0, "words": -0.5}
    only_scores = next(read_forests(GOLDEN / "segments.jsonl", "jsonl"))
    assert only_scores.weights is None  # one hypothesis has no score


def test_scores_are_all_there_is_without_features(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1 ||| a ||| -1\n1 ||| b ||| -2\n")
    first, second = read_forests(tmp_path / "a", "nbest")
    assert first.forest.edges == 0
    assert score_with(second, None).tolist() == [-1.0, -2.0]


def test_an_empty_file_cannot_become_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(InputError, match="no segments"):
        convert(tmp_path / "a.jsonl", "jsonl", tmp_path / "out", "toledo", Conversion())


@pytest.mark.parametrize("name", ["list.nbest", "list.cdec", "list.jsonl"])
def test_base_scores_go_through_lists_and_back(tmp_path: Path, name: str) -> None:
    graph = "# target ||| features ||| source-covered\n1 2\n2\na ||| x=1 base=-2 ||| 1\nb ||| x=3 ||| 1\n"
    (tmp_path / "a.hg").write_text(graph, encoding="utf-8")
    weights = {"x": 1.0}
    convert(tmp_path / "a.hg", "hypergraph", tmp_path / name, guess_output_format(name), Conversion(weights=weights))
    convert(tmp_path / name, guess_format(tmp_path / name), tmp_path / "b.hg", "hypergraph", Conversion())
    scores = [
        sorted(score_with(found, weights).tolist())
        for file in ("a.hg", name, "b.hg")
        for found in read_forests(tmp_path / file, guess_format(tmp_path / file))
    ]
    assert scores == [[-1.0, 3.0]] * 3
