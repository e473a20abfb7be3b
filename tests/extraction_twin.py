"""Slow, readable twins of phrase extraction, and small corpora for it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from toledo.phrases.table import PhrasePairs, WordLinks
from toledo.text.corpus import ParallelCorpus, Sentences
from toledo.text.vocabulary import RESERVED, Vocabulary

SentencePair = tuple[list[int], list[int], list[tuple[int, int]]]
Phrase = tuple[int, ...]
WORDS = 4  # few words, so that phrases repeat


@st.composite
def sentence_pairs(draw: st.DrawFn) -> SentencePair:
    words = st.integers(len(RESERVED), len(RESERVED) + WORDS - 1)
    source, target = draw(st.lists(words, max_size=7)), draw(st.lists(words, max_size=7))
    cells = [(s, t) for s in range(len(source)) for t in range(len(target))]
    links = draw(st.lists(st.sampled_from(cells), max_size=8, unique=True)) if cells else []
    return source, target, sorted(links)


corpora = st.lists(sentence_pairs(), min_size=1, max_size=6)


def encode(sentences: list[SentencePair]) -> tuple[ParallelCorpus, WordLinks]:
    sides = [
        Sentences.from_lengths(
            np.array([word for pair in sentences for word in pair[side]], np.int32),
            np.array([len(pair[side]) for pair in sentences], np.int64),
        )
        for side in (0, 1)
    ]
    most = max((word for pair in sentences for side in pair[:2] for word in side), default=0)
    words = [f"w{i}" for i in range(len(RESERVED), max(most + 1, len(RESERVED) + WORDS))]
    corpus = ParallelCorpus(*sides, Vocabulary(words), Vocabulary(words), np.arange(1, len(sentences) + 1))
    offsets = np.cumsum([0, *(len(pair[2]) for pair in sentences)])
    links = np.array([link for pair in sentences for link in pair[2]], np.int32).reshape(-1, 2)
    return corpus, WordLinks(links, offsets)


@dataclass
class Found:
    """What all occurrences of one phrase pair add up to."""

    alignments: Counter[tuple[tuple[int, int], ...]] = field(default_factory=Counter)
    orientations: list[int] = field(default_factory=lambda: [0] * 6)

    @property
    def count(self) -> int:
        return self.alignments.total()

    def best(self, side: int) -> tuple[tuple[int, int], ...]:
        """The most frequent alignment; of several the one whose lists of positions linked to each word come last."""

        def lists(links: tuple[tuple[int, int], ...]) -> list[list[int]]:
            return [sorted(link[1 - side] for link in links if link[side] == word) for word in range(20)]

        return max(self.alignments, key=lambda links: (self.alignments[links], lists(links)))


def extract_slowly(sentences: list[SentencePair], max_length: int) -> dict[tuple[Phrase, Phrase], Found]:
    """Look at all pairs of spans."""
    found: dict[tuple[Phrase, Phrase], Found] = defaultdict(Found)
    for source, target, links in sentences:
        for a, b in _spans(len(source), max_length):
            for c, d in _spans(len(target), max_length):
                inside = [(a <= s < b, c <= t < d) for s, t in links]
                if (True, True) in inside and all(first == second for first, second in inside):
                    pair = found[tuple(source[a:b]), tuple(target[c:d])]
                    pair.alignments[tuple((s - a, t - c) for s, t in links if a <= s < b)] += 1
                    points = {*links, (-1, -1), (len(source), len(target))}
                    pair.orientations[_orientation((a - 1, c - 1) in points, (b, c - 1) in points)] += 1
                    pair.orientations[3 + _orientation((b, d) in points, (a - 1, d) in points)] += 1
    return found


def _spans(length: int, longest: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(length) for b in range(a + 1, min(a + longest, length) + 1)]


def _orientation(straight: bool, crossed: bool) -> int:
    return {(True, False): 0, (False, True): 1}.get((straight, crossed), 2)


def words_of(pairs: PhrasePairs, index: int) -> tuple[Phrase, Phrase]:
    return tuple(pairs.sources[int(pairs.source[index])].tolist()), tuple(
        pairs.targets[int(pairs.target[index])].tolist()
    )


def links_of(pairs: PhrasePairs, index: int) -> tuple[tuple[int, int], ...]:
    return tuple(map(tuple, pairs.links[pairs.link_offsets[index] : pairs.link_offsets[index + 1]].tolist()))
