"""Derivations of a phrase-based search as entries of n-best lists: features, score, phrases and word links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from toledo.forest import Derivation, Forest, k_best
from toledo.formats.hypotheses import Entry, NBestList, PhraseSpan, tidy
from toledo.phrases.table import PhraseTable
from toledo.search.steps import Step, steps_of, word_links

DIGITS = 6


def nbest_list(
    forest: Forest,
    weights: Mapping[str, float],
    size: int,
    segment: int = 0,
    *,
    distinct: bool = False,
    table: PhraseTable | None = None,
) -> NBestList:
    """The best derivations of a segment (with `distinct`, translations); with a table, also phrases and word links."""
    found = islice(k_best(forest, forest.scores(weights), distinct=distinct), size)
    return NBestList(segment, tuple(to_entry(one, weights, table) for one in found))


def to_entry(derivation: Derivation, weights: Mapping[str, float], table: PhraseTable | None = None) -> Entry:
    """An entry whose score is that of its features as they stand there."""
    features = {name: tidy(value) for name, value in derivation.features.items()}
    score = derivation.base + sum(weights.get(name, 0.0) * value for name, value in features.items())
    if table is None:
        return Entry(derivation.words, features, score=round(score, DIGITS))
    steps = steps_of(derivation)
    return Entry(
        derivation.words,
        features,
        score=round(score, DIGITS),
        phrases=phrase_spans(steps),
        links=word_links(table, steps),
    )


def phrase_spans(steps: Sequence[Step]) -> tuple[PhraseSpan, ...]:
    """Source and target positions of phrases in target order."""
    spans, place = [], 0
    for step in steps:
        spans.append(PhraseSpan(range(step.begin, step.end), range(place, place + len(step.words))))
        place += len(step.words)
    return tuple(spans)
