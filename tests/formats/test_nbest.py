"""N-best lists: every style, every odd case, real files, round trips, and what is refused."""

import gzip
import logging
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lattice_words import entries, in_single_precision

from toledo.errors import InputError
from toledo.forest.kbest import k_best
from toledo.formats.hypotheses import Entry, NBestList, PhraseSpan, feature_names, from_forest, to_forest
from toledo.formats.nbest import nbest_lines, read_nbest, read_plain_nbest, write_nbest
from toledo.text.vocabulary import Vocabulary

GOLDEN = Path(__file__).parent / "golden"


def read(tmp_path: Path, text: str) -> list[NBestList]:
    (tmp_path / "list").write_text(text, encoding="utf-8")
    return list(read_nbest(tmp_path / "list"))


def test_moses_with_alignments_gaps_and_blanks(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        lists = list(read_nbest(GOLDEN / "moses.nbest"))
    assert [(some.segment, len(some.entries)) for some in lists] == [(0, 2), (1, 0), (2, 1), (3, 1)]
    first, blank = lists[0].entries
    assert first == Entry(
        ["the", "house"],
        {"LM0": -1.5, "TM0_1": -1.0, "TM0_2": -2.25, "TM0_3": -3.0},
        score=-4.5,
        phrases=(PhraseSpan(range(1), range(1)), PhraseSpan(range(1, 3), range(1, 2))),
        links=((0, 0), (1, 1), (2, 1)),
    )
    assert (blank.words, blank.score, blank.phrases) == ([], -20.125, ())
    assert lists[2].entries[0].score is None
    assert lists[2].entries[0].features["LM0"] == 1e-05
    assert "1 segments without a hypothesis, the first is 1" in caplog.text


def test_marks_of_segmentation_in_the_text() -> None:
    entry = list(read_nbest(GOLDEN / "moses.nbest"))[3].entries[0]
    assert entry.words == ["a", "small", "house", "."]
    assert entry.phrases == (
        PhraseSpan(range(2), range(1)),
        PhraseSpan(range(3, 4), range(1, 3)),
        PhraseSpan(range(2, 3), range(3, 4)),
    )
    assert entry.features["pair=haus-house"] == 1.0


def test_the_old_labels_of_moses() -> None:
    lists = list(read_nbest(GOLDEN / "old.nbest"))
    assert lists[1].entries[0].features == {"d": -1, "lm": -2.5, "tm_1": -1, "tm_2": -2.5, "tm_3": -3, "w": -2}


def test_cdec_and_joshua() -> None:
    lists = list(read_nbest(GOLDEN / "cdec.nbest"))
    assert lists[0].entries[0].features == {"LanguageModel": -1.5, "PhraseModel_0": -2, "Glue": 1}
    assert lists[0].entries[1].features == {"LanguageModel": -2.5, "Rule:a=b": 1}
    assert feature_names(lists) == ("LanguageModel", "PhraseModel_0", "Glue", "Rule:a=b")


@pytest.mark.parametrize(
    ("line", "features", "score"),
    [
        ("0 ||| a b", {}, None),
        ("0 ||| a b |||", {}, None),
        ("0 ||| a b ||| -1.5", {}, -1.5),
        ("0 ||| a b ||| -1.5 ||| -2", {"feature": -1.5}, -2.0),
        ("0 ||| a b ||| 1 2 ||| -2", {"feature_1": 1.0, "feature_2": 2.0}, -2.0),
        ("0 ||| a b ||| x=1", {"x": 1.0}, None),
        ("0 ||| a b ||| ||| -3", {}, -3.0),
        ("0|||", None, None),
        ("0 ||| a b ||| lm=-.5 F0= +2e0 ||| -3.", {"lm": -0.5, "F0": 2.0}, -3.0),
    ],
)
def test_missing_fields(tmp_path: Path, line: str, features: dict[str, float] | None, score: float | None) -> None:
    if features is None:
        with pytest.raises(InputError, match="not the number of a segment"):
            read(tmp_path, line)
        return
    ((entry,),) = [some.entries for some in read(tmp_path, line)]
    assert (list(entry.words), entry.features, entry.score) == (["a", "b"], features, score)


def test_only_ascii_white_space_separates_words(tmp_path: Path) -> None:
    assert read(tmp_path, "0 ||| New\u00a0York\u3000x \t y")[0].entries[0].words == ["New\u00a0York\u3000x", "y"]


def test_unknown_fields_are_ignored_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        lists = read(tmp_path, "0 ||| a ||| x= 1 ||| 2 ||| (S (NP a)) ||| 0-0\n" * 3)
    assert [entry.links for entry in lists[0].entries] == [((0, 0),)] * 3
    assert caplog.text.count("field 5 is not an alignment") == 1


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("0 ||| a\nx ||| b", 2, "'x' is not the number of a segment"),
        ("-1 ||| a", 1, "not the number of a segment"),
        ("0 ||| a\n\n", 2, "not the number of a segment"),
        ("0", 1, "no text"),
        ("1 ||| a\n0 ||| b", 2, "segment 0 follows segment 1"),
        ("0 ||| a ||| lm= x ||| 1", 1, "'x' is not a number"),
        ("0 ||| a ||| lm= nan ||| 1", 1, "'nan' is not a number"),
        ("0 ||| a ||| lm=inf ||| 1", 1, "'inf' is not a number"),
        ("0 ||| a ||| lm= 1e99 ||| 1", 1, "too large"),
        ("0 ||| a ||| lm= ||| 1", 1, "lm has no value"),
        ("0 ||| a ||| lm= 1 lm= 2 ||| 1", 1, "lm occurs twice"),
        ("0 ||| a ||| =1 ||| 1", 1, "without a name"),
        ("0 ||| a ||| x= 1 ||| z", 1, "'z' is not a number"),
        ("0 ||| a ||| tm= 1 2 ||| 1\n0 ||| a ||| tm= 1 ||| 1", 2, "tm has 1 values, but 2 before"),
    ],
)
def test_bad_lines_are_refused(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, text)
    assert caught.value.line == line
    assert caught.value.remedy


def test_a_huge_gap_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="segment 900000 follows segment -1"):
        read(tmp_path, "900000 ||| a")


def test_a_truncated_gzip_file_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(("0 ||| a b c ||| x= 1 ||| 2\n" * 10_000).encode())
    (tmp_path / "list.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="damaged gzip"):
        list(read_nbest(tmp_path / "list.gz"))


def test_streaming_reads_no_further_than_asked(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("0 ||| a\n1 ||| b\n2 ||| c\nbroken")
    assert [some.segment for some in islice(read_nbest(tmp_path / "list"), 2)] == [0, 1]


@given(
    st.lists(st.lists(entries(), min_size=1, max_size=3), min_size=1, max_size=3), st.sampled_from(["moses", "cdec"])
)
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, content, style) -> None:
    lists = [NBestList(segment, tuple(some)) for segment, some in enumerate(content)]
    path = tmp_path_factory.mktemp("nbest") / "list.gz"
    write_nbest(lists, path, style)
    assert in_single_precision(read_nbest(path)) == in_single_precision(lists)


def test_words_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    for word in ("|||", "a b", "", "a\tb", "|0-1|"):
        with pytest.raises(InputError, match="cannot be written"):
            write_nbest([NBestList(0, (Entry([word]),))], tmp_path / "list")
    assert not (tmp_path / "list").exists()


def test_labels_are_grouped_only_if_always_alike(tmp_path: Path) -> None:
    rows = [{"T_1": 1.0, "T_2": 2.0}, {"T_1": 1.0}, {"T_1": 1.0, "T_2": 2.0, "T_3": 3.0}, {"T_2": 1.0}]
    lists = [NBestList(0, tuple(Entry(["a"], row) for row in rows))]
    write_nbest(lists, tmp_path / "list")
    fields = [line.split(" ||| ")[2] for line in (tmp_path / "list").read_text().splitlines()]
    assert fields == ["T= 1 2", "T_1= 1", "T_1= 1 T_2= 2 T_3= 3", "T_2= 1"]
    assert list(read_nbest(tmp_path / "list")) == lists


def test_plain_text_with_a_fixed_number_of_lines(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\n\nc\nd\n")
    lists = list(read_plain_nbest(tmp_path / "text", 2))
    assert [[entry.words for entry in some.entries] for some in lists] == [[["a", "b"], []], [["c"], ["d"]]]
    with pytest.raises(InputError, match="has 4 lines, which is not a multiple of 3"):
        list(read_plain_nbest(tmp_path / "text", 3))


def test_forests_by_features_or_by_model_scores() -> None:
    some = next(iter(read_nbest(GOLDEN / "moses.nbest")))
    forest = to_forest(some.entries, ["LM0", "TM0_1"], Vocabulary())
    assert forest.scores({"LM0": 1.0, "TM0_1": 0.0}).tolist() == [-1.5, -0.5]
    assert forest.sparse is not None
    assert set(forest.sparse.names) == {"TM0_2", "TM0_3"}
    scored = to_forest(some.entries, ["LM0"], Vocabulary(), use_scores=True)
    assert scored.scores({}).tolist() == [-4.5, -20.125]
    with pytest.raises(InputError, match="hypothesis 0 has no model score"):
        to_forest([Entry(["a"])], (), Vocabulary(), use_scores=True)


def test_lists_from_forests_are_the_best_derivations() -> None:
    some = next(iter(read_nbest(GOLDEN / "cdec.nbest")))
    forest = to_forest([*some.entries, Entry(["the", "house"], {"Glue": 5.0})], ("LanguageModel",), Vocabulary())
    scores = forest.scores({"LanguageModel": 1.0, "Glue": 1.0})
    found = from_forest(forest, scores, 2, segment=7)
    assert found.segment == 7
    assert [(" ".join(entry.words), entry.score) for entry in found.entries] == [
        ("the house", 5.0),
        ("the house", -0.5),
    ]
    assert len(from_forest(forest, scores, 9, distinct=True).entries) == 2


@pytest.mark.parametrize("name", ["out/test2016.100best.gz", "mert-nbest/run1.best100.out.gz"])
def test_real_lists_of_moses(moses_files: Path, name: str) -> None:
    lists = list(islice(read_nbest(moses_files / name), 50))
    names = feature_names(lists)
    assert names[-4:] == tuple(f"TranslationModel0_{place}" for place in (1, 2, 3, 4))
    assert all(set(entry.features) == set(names) for some in lists for entry in some.entries)
    assert all(entry.score is not None for some in lists for entry in some.entries)
    forest = to_forest(lists[0].entries, names, Vocabulary(), use_scores=True)
    assert [one.score for one in k_best(forest, forest.scores({}))] == [entry.score for entry in lists[0].entries]


def test_real_weights_give_the_real_model_scores(moses_files: Path) -> None:
    """The weights that a round started from, times features, plus −100 for each unknown word, are Moses' scores."""
    values: dict[str, list[float]] = {}
    for line in (moses_files / "mert-nbest" / "run4.dense").read_text().splitlines():
        label, value = line.split()
        values.setdefault(label.rstrip("="), []).append(float(value))
    weights = {
        f"{label}_{place}" if len(some) > 1 else label: value
        for label, some in values.items()
        for place, value in enumerate(some, start=1)
    }
    for some in islice(read_nbest(moses_files / "mert-nbest" / "run4.best100.out.gz"), 20):
        names = feature_names([some])
        forest = to_forest(some.entries, names, Vocabulary())
        difference = forest.scores(weights) - np.array([entry.score for entry in some.entries])
        np.testing.assert_allclose(difference, 100 * np.round(difference / 100), atol=2e-3)


def test_real_segmentation_covers_the_text(moses_files: Path) -> None:
    for some in islice(read_nbest(moses_files / "out" / "test2016.first100.20best-segmentation.gz"), 20):
        for entry in some.entries:
            assert [place for span in entry.phrases for place in span.target] == list(range(len(entry.words)))
            assert all(target < len(entry.words) for _, target in entry.links)


def test_a_real_list_is_written_as_it_was(moses_files: Path, tmp_path: Path) -> None:
    source = moses_files / "out" / "test2016.first100.20best-segmentation.gz"
    write_nbest(islice(read_nbest(source), 20), tmp_path / "list")
    with gzip.open(source, "rt", encoding="utf-8") as stream:
        for written, original in zip((tmp_path / "list").read_text("utf-8").splitlines(), stream, strict=False):
            assert written.split() == original.split()


def test_marked_text_refuses_words_that_look_like_marks() -> None:
    entry = Entry(["a", "|0-1|", "b"], score=1.0, phrases=(PhraseSpan(range(2), range(3)),))
    with pytest.raises(InputError, match=r"'\|0-1\|' cannot be written in text with segmentation"):
        list(nbest_lines(marked=True)(NBestList(0, (entry,))))


def test_a_number_without_a_blank_behind_it(tmp_path: Path) -> None:
    """Moses' own tools read such lines."""
    first, second = read(tmp_path, "0||| the house ||| -1\n1 ||| a|||b ||| -2\n")
    assert (first.entries[0].words, first.entries[0].score) == (["the", "house"], -1.0)
    assert second.entries[0].words == ["a|||b"]


def test_a_name_that_is_a_label_elsewhere(tmp_path: Path) -> None:
    single, several = {"TM0": 1.0}, {"TM0_1": 2.0, "TM0_2": 3.0}
    lists = [NBestList(0, (Entry(["a"], single, score=0.0),)), NBestList(1, (Entry(["b"], several, score=0.0),))]
    write_nbest(lists, tmp_path / "list")
    assert [some.entries[0].features for some in read_nbest(tmp_path / "list")] == [single, several]
    with pytest.raises(InputError, match="TM0_1 and later TM0"):
        write_nbest([NBestList(1, lists[1].entries), NBestList(2, lists[0].entries)], tmp_path / "other")


@pytest.mark.parametrize("style", ["moses", "cdec"])
def test_the_base_score_is_written_as_a_feature(tmp_path: Path, style: str) -> None:
    """Readers make it a base score again."""
    entry = Entry(["a"], {"lm": -1.0}, -2.5)
    write_nbest([NBestList(0, (entry,))], tmp_path / "list", style)  # type: ignore[arg-type]
    (some,) = read_nbest(tmp_path / "list")
    again, forest = (to_forest(one, ["lm"], Vocabulary()) for one in (some.entries, [entry]))
    assert again.base is not None
    assert forest.base is not None
    assert again.base.tolist() == forest.base.tolist()


def test_links_without_blanks_between_them_take_no_time(tmp_path: Path) -> None:
    (some,) = read(tmp_path, f"0 ||| a ||| lm= 1 ||| 1 ||| 0{'-11' * 200}x\n")
    assert some.entries[0].links == ()
