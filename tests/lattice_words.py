"""Readable views of small forests for tests of formats, and small random lattices and lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import oracle
from hypothesis import strategies as st

from toledo.forest.constructors import Arc, from_lattice
from toledo.forest.forest import Forest
from toledo.formats.hypotheses import Entry, NBestList, PhraseSpan
from toledo.text.vocabulary import Vocabulary

Texts = Counter[tuple[str, tuple[tuple[str, float], ...]]]

WORDS = st.sampled_from(["a", "b", "das", "häuser", "家", "it's", 'q"', "\\", "#", "x=y", "|", "a\u00a0b", "'"])
NUMBERS = st.floats(-50, 50, width=32)


def texts(forest: Forest) -> Texts:
    """Every derivation as its text, features and base score, counted."""
    found: Texts = Counter()
    for tree in oracle.derivations(forest):
        edges = list(tree.edges)
        totals = forest.features[edges].sum(axis=0, dtype=np.float64)
        features = dict(zip(forest.feature_names, totals.tolist(), strict=True))
        if forest.sparse is not None:
            offsets, ids, values = forest.sparse.arrays
            for edge in edges:
                for place in range(offsets[edge], offsets[edge + 1]):
                    name = forest.sparse.names[ids[place]]
                    features[name] = features.get(name, 0.0) + float(values[place])
        if forest.base is not None:
            features["base"] = float(forest.base[edges].sum())
        kept = tuple(sorted((name, round(value, 3)) for name, value in features.items() if round(value, 3)))
        found[" ".join(forest.vocabulary.words(tree.words)), kept] += 1
    return found


def in_single_precision(lists: Iterable[NBestList]) -> list[NBestList]:
    """What is left of numbers after a way through single precision, which is what files promise to keep."""
    return [
        NBestList(
            some.segment,
            tuple(
                replace(
                    entry,
                    words=list(entry.words),
                    features={name: float(np.float32(value)) for name, value in entry.features.items()},
                    score=None if entry.score is None else float(np.float32(entry.score)),
                )
                for entry in some.entries
            ),
        )
        for some in lists
    ]


@st.composite
def lattices(draw: st.DrawFn) -> Forest:
    """Arcs with no, one or two words over a few states, with features, sparse ones and base scores."""
    states = draw(st.integers(2, 5))
    arcs = [Arc(0, states - 1, draw(st.lists(WORDS, max_size=2)), {"f": draw(NUMBERS)})]
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, states - 2))
        features = {"f": draw(NUMBERS), "g": draw(NUMBERS)} | ({"rare": draw(NUMBERS)} if draw(st.booleans()) else {})
        base = draw(st.sampled_from([0.0, 0.0, -1.5]))
        words = draw(st.lists(WORDS, max_size=2))
        arcs.append(Arc(start, draw(st.integers(start + 1, states - 1)), words, features, base))
    return from_lattice(arcs, 0, [states - 1], ["f", "g"], Vocabulary())


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    """Hypotheses with everything that a file can hold."""
    words = draw(st.lists(WORDS, max_size=4))
    names = st.sampled_from(["lm", "TM_1", "TM_2", "TM_3", "pair=a-b", "Rule:x", "d:"])
    features = draw(st.dictionaries(names, st.floats(-1e6, 1e6), max_size=4))
    position = st.integers(0, 9)
    spans = st.builds(lambda a, n, b, m: PhraseSpan(range(a, a + n), range(b, b + m)),
                      position, st.integers(1, 3), position, st.integers(1, 3))  # fmt: skip
    return Entry(
        words,
        features,
        score=draw(st.none() | st.floats(-1e6, 1e6)),
        phrases=tuple(draw(st.lists(spans, max_size=2))),
        links=tuple(draw(st.lists(st.tuples(position, position), max_size=2))),
    )
