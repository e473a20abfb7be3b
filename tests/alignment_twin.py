"""Slow, readable twins of word alignment, and small corpora for it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from toledo.phrases.word_alignment.direction import Direction, make_direction
from toledo.phrases.word_alignment.hmm import FIRST, LATER, REACH, WEIGHTS, Transitions
from toledo.text.corpus import ParallelCorpus, Sentences
from toledo.text.vocabulary import RESERVED, Vocabulary

NULL = 0
WORDS = 4  # few words, so that pairs repeat
Pairs = list[tuple[list[int], list[int]]]
Link = tuple[int, int]

_side = st.lists(st.integers(len(RESERVED), len(RESERVED) + WORDS - 1), min_size=1, max_size=5)
corpora = st.lists(st.tuples(_side, _side), min_size=1, max_size=8)


def encode(pairs: Pairs, words: int = WORDS) -> ParallelCorpus:
    """The pairs as a corpus; word 3 is named `w0`."""
    sides = [
        Sentences.from_lengths(
            np.array([word for pair in pairs for word in pair[side]], np.int32),
            np.array([len(pair[side]) for pair in pairs], np.int64),
        )
        for side in (0, 1)
    ]
    names = [f"w{number}" for number in range(words)]
    return ParallelCorpus(*sides, Vocabulary(names), Vocabulary(names), np.arange(1, len(pairs) + 1))


def direction_of(pairs: Pairs, words: int = WORDS) -> Direction:
    corpus, types = encode(pairs, words), len(RESERVED) + words
    return make_direction(corpus.source, corpus.target, types, types)


def ibm1(pairs: Pairs, types: int, iterations: int) -> tuple[dict[tuple[int, int], float], list[float]]:
    """Expectation–maximization with dictionaries: t[given, word], and the log-likelihood before each iteration."""
    table: dict[tuple[int, int], float] = defaultdict(lambda: 1 / types)
    likelihoods = []
    for _ in range(iterations):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        totals: dict[int, float] = defaultdict(float)
        likelihood = 0.0
        for given, words in pairs:
            for word in words:
                together = sum(table[g, word] for g in [NULL, *given])
                likelihood += math.log(together / (len(given) + 1))
                for g in [NULL, *given]:
                    counts[g, word] += table[g, word] / together
                    totals[g] += table[g, word] / together
        table = {(g, word): count / totals[g] for (g, word), count in counts.items()}
        likelihoods.append(likelihood)
    return table, likelihoods


class HmmTwin:
    """Sums over all alignments of one sentence pair; `values[i, j]` is p(word j | given word i), i = 0 for NULL."""

    def __init__(self, values: NDArray[np.float32], transitions: Transitions) -> None:
        self.values, self.transitions = values.astype(float), transitions
        self.size, self.length = values.shape[0] - 1, values.shape[1]
        self.total = 0.0
        self.posteriors = np.zeros(values.shape)
        self.taken, self.chances = np.zeros((2, WEIGHTS)), np.zeros((2, WEIGHTS))
        for alignment in product(range(self.size + 1), repeat=self.length):
            self._add(alignment, self.probability(alignment))
        for sums in (self.posteriors, self.taken, self.chances):
            sums /= self.total

    def probability(self, alignment: tuple[int, ...]) -> float:
        """Of the words and an alignment that gives each the number of its given word, 0 for NULL."""
        result = 1.0
        for j, i in enumerate(alignment):
            result *= self.values[i, j] * (self.transitions.null if i == 0 else 1 - self.transitions.null)
        for row, origin, place in self._jumps(alignment):
            result *= self._weight(row, place - origin) / self._normalizer(row, origin)
        return result

    def _add(self, alignment: tuple[int, ...], probability: float) -> None:
        self.total += probability
        for j, i in enumerate(alignment):
            self.posteriors[i, j] += probability
        for row, origin, place in self._jumps(alignment):
            self.taken[row, self._column(place - origin)] += probability
            for other in range(self.size + 1):
                self.chances[row, self._column(other - origin)] += probability / self._normalizer(row, origin)

    def _jumps(self, alignment: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
        """(row of the weights, place before, place after), from −1 to the end."""
        places = [-1, *(i - 1 for i in alignment if i > 0), self.size]
        for number, (origin, place) in enumerate(pairwise(places)):
            yield (FIRST if number == 0 else LATER), origin, place

    def _normalizer(self, row: int, origin: int) -> float:
        return sum(self._weight(row, place - origin) for place in range(self.size + 1))

    def _weight(self, row: int, jump: int) -> float:
        return float(self.transitions.weights[row, self._column(jump)])

    @staticmethod
    def _column(jump: int) -> int:
        return max(-REACH, min(REACH, jump)) + REACH


def symmetrize(forward: list[int], backward: list[int], method: str) -> set[Link]:
    """Moses' symal with sets of points (target, source), visited in order while they grow; gives (source, target)."""
    from_forward = {(target, source) for target, source in enumerate(forward) if source >= 0}
    from_backward = {(target, source) for source, target in enumerate(backward) if target >= 0}
    union = from_forward | from_backward
    points = from_forward & from_backward
    if method == "union":
        points = union
    if method.startswith("grow"):
        _grow(points, union, diagonal="diag" in method)
    if "final" in method:
        needed = 2 if method.endswith("and") else 1
        for remaining in (from_forward - from_backward, from_backward - from_forward):
            for point in sorted(remaining - points):
                if _uncovered(points, point) >= needed:
                    points.add(point)
    return {(source, target) for target, source in points}


def _grow(points: set[Link], union: set[Link], diagonal: bool) -> None:
    steps = [(-1, 0), (0, -1), (1, 0), (0, 1)]
    if diagonal:
        steps += [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    added = True
    while added:
        added = False
        visited: set[Link] = set()
        while waiting := [point for point in sorted(points) if not visited or point > max(visited)]:
            target, source = waiting[0]
            visited.add(waiting[0])
            for step in steps:
                point = (target + step[0], source + step[1])
                if point in union and _uncovered(points, point):
                    points.add(point)
                    added = True


def _uncovered(points: set[Link], point: Link) -> int:
    """How many of the two words of a point have no link yet."""
    return int(all(target != point[0] for target, _ in points)) + int(all(source != point[1] for _, source in points))
