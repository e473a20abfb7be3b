"""Segments as they come: windows, blocks, threads, pipes."""

import re
from collections.abc import Iterator, Sequence

import pytest

from toledo.combination import combiner as combiner_module
from toledo.combination.combiner import Combiner
from toledo.combination.lines import ModelSources, tune_lines
from toledo.combination.settings import CombinationSettings
from toledo.combination.streaming import StreamDecoding, combine_texts
from toledo.combination.tuning import TuningRun
from toledo.consensus.mbr import MBR
from toledo.consensus.registry import make_search_rule
from toledo.errors import InputError

NAMES = ["A", "B", "C"]
WORDS = "The old man saw a small house in Paris and said “yes”, but we did n’t go (3) there".split(" ")  # noqa: SIM905


def segment(number: int) -> list[list[str]]:
    """Three outputs that differ in a word each, with names that no other segment has."""
    begin = number % 9
    base = [*WORDS[begin : begin + 7], f"Name{number}"]
    outputs = [[*base[:place], *base[place + 1 :]] for place in (number % 7, (number + 2) % 7)]
    return [[" ".join(words) + "."] for words in (base, *outputs)]


SEGMENTS = [segment(number) for number in range(40)]
REFERENCES = [[own[0][0]] for own in SEGMENTS]
SETTINGS = {
    "raw, biased": CombinationSettings(entropy=(1.0,), lm_order=3, steps=3),
    "raw": CombinationSettings(entropy=(1.0,), lm_order=3, steps=3, bias=0.0),
    "tokenized, biased": CombinationSettings(tokenized=True, entropy=(1.0,), lm_order=3, steps=3, bias=0.5),
    "tokenized": CombinationSettings(tokenized=True, entropy=(1.0,), lm_order=3, steps=3, bias=0.0),
}


@pytest.fixture(scope="module", params=list(SETTINGS))
def combiner(request: pytest.FixtureRequest) -> Combiner:
    text = ModelSources(texts=[["the old man said yes", "a small house in paris"]])
    return tune_lines(SEGMENTS, REFERENCES, NAMES, SETTINGS[request.param], text, TuningRun(threads=1))


def texts(combiner: Combiner, segments: Sequence[Sequence[Sequence[str]]], **how: object) -> list[str]:
    return [line.text for line in combine_texts(combiner, segments, StreamDecoding(**{"threads": 1, **how}))]  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["viterbi", "mbr"])
def test_blocks_and_threads_change_nothing(combiner: Combiner, monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    how: dict[str, object] = {} if rule == "viterbi" else {"rule": MBR("chrf", size=5, reference_size=5)}
    whole = texts(combiner, SEGMENTS, **how)
    assert len(whole) == len(SEGMENTS)
    for size, threads in ((1, 2), (7, 1), (100, 3)):
        monkeypatch.setattr(combiner_module, "SEGMENTS_AT_ONCE", size)
        assert texts(combiner, SEGMENTS, threads=threads, **how) == whole
    assert texts(combiner, SEGMENTS, window=len(SEGMENTS), **how) == whole


def test_a_window_knows_its_own_segments(combiner: Combiner) -> None:
    """Full windows are as if they were alone; the last one is filled up with segments before it."""
    found = texts(combiner, SEGMENTS, window=12)
    for begin in (0, 12, 24):
        assert found[begin : begin + 12] == texts(combiner, SEGMENTS[begin : begin + 12])
    assert found[36:] == texts(combiner, SEGMENTS[28:])[8:]


def test_some_segments_are_what_they_are_among_all(combiner: Combiner) -> None:
    whole = texts(combiner, SEGMENTS, window=12)
    for only in ([0], [13, 14], [5, 39], [38]):
        lines = combine_texts(combiner, iter(SEGMENTS), StreamDecoding(threads=1, window=12), only=only)
        assert [line.text for line in lines] == [whole[number] for number in only]
    assert list(combine_texts(combiner, iter(SEGMENTS), only=[99])) == []


def test_no_more_is_read_than_a_window(combiner: Combiner) -> None:
    read = 0

    def endless() -> Iterator[list[list[str]]]:
        nonlocal read
        while True:
            read += 1
            yield segment(read)

    lines = combine_texts(combiner, endless(), StreamDecoding(threads=1, window=20))
    for _ in range(41):
        next(lines)
    assert read <= 60


def test_words_of_a_window_are_forgotten(combiner: Combiner) -> None:
    before = len(combiner.vocabulary)
    new = [[[f"{own[0]} unheard{number}"] for own in segment(number)] for number in range(6)]
    lines = list(combine_texts(combiner, new, StreamDecoding(threads=1, window=3)))
    assert len(combiner.vocabulary) == before
    assert {f"unheard{number}" for number in range(6)} == {line.text.split()[-1].lower() for line in lines}
    assert "unheard0" not in lines[-1].combined.lattice.forest.vocabulary
    assert all(combiner.path(line.combined) is not None for line in lines)


def test_sources_stay_with_their_segments(combiner: Combiner) -> None:
    asked: set[tuple[str, str]] = set()

    def judge(hypotheses: list[str], references: list[str], sources: list[str]) -> list[float]:
        asked.update(
            (re.findall("name[0-9]+", text.lower())[0], source)
            for text, source in zip(hypotheses, sources, strict=True)
        )
        return [float(len(text)) for text in hypotheses]

    how = StreamDecoding(make_search_rule("mbr", judge, size=3), threads=1, window=12)
    sources = (f"source of name{number}" for number in range(len(SEGMENTS)))
    assert len(list(combine_texts(combiner, SEGMENTS, how, sources=sources))) == len(SEGMENTS)
    assert asked == {(f"name{number}", f"source of name{number}") for number in range(len(SEGMENTS))}
    with pytest.raises(InputError, match=r"39 segments, but systems has more"):
        list(combine_texts(combiner, SEGMENTS, StreamDecoding(threads=1), sources=["x"] * 39))


def test_the_segment_with_an_error_is_named(combiner: Combiner) -> None:
    wrong = [*SEGMENTS[:30], SEGMENTS[0][:2]]
    with pytest.raises(InputError, match="segment 31 has outputs of 2 systems"):
        list(combine_texts(combiner, wrong, StreamDecoding(threads=1, window=12)))
