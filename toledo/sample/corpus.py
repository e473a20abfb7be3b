"""The built-in sample corpus: a small parallel text in documents, with gold word alignments and two references.

The source language, Talvan, is invented; the target is English. The text depends on the seed alone: only
`random.Random.random` is used, whose numbers are the same on every machine and in every version of Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import NamedTuple

from toledo.errors import InputError
from toledo.sample.scene import Scene
from toledo.sample.sentences import sentence
from toledo.sample.speaker import Speaker, length_of, written

TRAIN, TUNE, TEST = 10_000, 300, 300
SHORTEST, LONGEST = 4, 22  # of the source, so that English has at most about 30 words
SHORTEST_DOCUMENT, LONGEST_DOCUMENT = 6, 14


class Pair(NamedTuple):
    """A sentence, its translation, the links between their words (Pharaoh format), and its document."""

    source: str
    target: str
    links: str
    document: str


@dataclass(frozen=True)
class Part:
    """Parallel text line by line; `alignments` belong to the first reference."""

    source: list[str]
    references: tuple[list[str], ...]
    alignments: list[str]
    documents: list[str]

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True)
class SampleCorpus:
    """Text to train on (one reference), to tune on and to test on (two references)."""

    train: Part
    tune: Part
    test: Part


def generate(seed: int = 1, train: int = TRAIN, tune: int = TUNE, test: int = TEST) -> SampleCorpus:
    """The sample of a seed; a smaller part is the beginning of a larger one."""
    return SampleCorpus(
        _part(seed, "train", train, references=1),
        _part(seed, "tune", tune, references=2),
        _part(seed, "test", test, references=2),
    )


def pairs(seed: int, part: str, count: int, reference: int = 0) -> Iterator[Pair]:
    """The sentence pairs of a part; another `reference` gives the same source with another translation."""
    if seed < 0 or count < 0:
        raise InputError("seeds and sizes must not be negative", remedy="give a number from 0 up")
    return islice(_endless(seed, part, reference), count)


def _endless(seed: int, part: str, reference: int) -> Iterator[Pair]:
    content = Random(f"{seed} {part}").random
    style = Random(f"{seed} {part} {reference}").random
    number = 0
    while True:
        number += 1
        scene = Scene(content)
        document = f"{part}-{number:05d}-{scene.topic.name}"
        speaker = Speaker(scene, style)
        for _ in range(SHORTEST_DOCUMENT + int(content() * (LONGEST_DOCUMENT - SHORTEST_DOCUMENT + 1))):
            yield Pair(*_sentence(speaker), document)


def _sentence(speaker: Speaker) -> tuple[str, str, str]:
    """Lengths are judged by the source alone, so that all references have the same source."""
    while True:
        phrase = sentence(speaker)
        if SHORTEST <= length_of(phrase) <= LONGEST:
            return written(phrase, speaker.keys)


def _part(seed: int, part: str, count: int, references: int) -> Part:
    first, *others = (list(pairs(seed, part, count, reference)) for reference in range(references))
    return Part(
        [pair.source for pair in first],
        tuple([pair.target for pair in reference] for reference in (first, *others)),
        [pair.links for pair in first],
        [pair.document for pair in first],
    )
