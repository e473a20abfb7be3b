"""N-best lists as read from files, converted to forests, and made from forests and derivations.

A list has one `Entry` for each hypothesis: a `ListEntry` of `toledo.forest` with what else a file may contain. The
model score is kept apart as `score`: it is the score of the features under the weights of the system that wrote the
list, so a forest has either the features (to be scored with other weights) or the score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toledo.errors import InputError
from toledo.files import display_name, file_error
from toledo.forest.constructors import FeatureValues, ListEntry, from_nbest
from toledo.forest.derivations import Derivation
from toledo.forest.forest import Forest, Scores
from toledo.forest.kbest import k_best
from toledo.formats.fields import BASE, dense_names, fill_gaps, without_base
from toledo.phrases.table import PhraseTable
from toledo.results import Hypothesis, SampleList
from toledo.search.steps import Step, steps_of, word_links
from toledo.text.rare_words import given_links, given_span
from toledo.text.vocabulary import Vocabulary

DIGITS = 6  # of scores
SegmentId = int | str
Extra = Mapping[str, Any]


class PhraseSpan(NamedTuple):
    """A phrase pair of a hypothesis: positions of source words and of target words."""

    source: range
    target: range


@dataclass(frozen=True)
class Entry(ListEntry):
    """A hypothesis; phrases and links (source position, target position) are empty where unknown.

    `raw_text` is the text exactly as the file has it, if that can differ from the words with single spaces.
    """

    score: float | None = None
    phrases: tuple[PhraseSpan, ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    logprob: float | None = None
    num_tokens: int | None = None
    system: str | None = None
    raw_text: str | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """Return the text as given, or else the words with single spaces."""
        return " ".join(self.words) if self.raw_text is None else self.raw_text

    @property
    def all_features(self) -> FeatureValues:
        """Return the features as files have them: with the base score as one of them."""
        if not self.base:
            return self.features
        return {**self.features, BASE: self.features.get(BASE, 0.0) + self.base}

    def hypothesis(self) -> Hypothesis:
        """Return the hypothesis as functions of the package return it."""
        links = self.links or None
        return Hypothesis(
            self.text, self.score, dict(self.features), self.logprob,
            alignment=links, num_tokens=self.num_tokens, system=self.system,
        )  # fmt: skip


@dataclass(frozen=True)
class NBestList:
    """The hypotheses of one segment, in the order of the file, with the id and the other keys that it has there.

    The id is a key if it names the segment, so that lists of several files can be joined by it. `failed` are the
    places of samples that are left out.
    """

    segment: int
    entries: tuple[Entry, ...]
    id: SegmentId | None = None
    is_key: bool = False
    extra: Extra = field(default_factory=dict, compare=False)
    failed: tuple[int, ...] = ()

    def samples(self) -> SampleList:
        """Return the list as functions of the package return it."""
        return SampleList((entry.hypothesis() for entry in self.entries), self.id, self.extra, self.failed)


def in_lists(entries: Iterable[tuple[int, int, Entry]], file: str | Path) -> Iterator[NBestList]:
    """Return a list for each segment from 0, empty for segments without a line, from (line, segment, entry)."""
    return fill_gaps(_runs(entries, file), lambda segment: NBestList(segment, ()), display_name(file))


def _runs(entries: Iterable[tuple[int, int, Entry]], file: str | Path) -> Iterator[tuple[int, NBestList]]:
    last = -1
    for segment, run in groupby(entries, key=itemgetter(1)):
        numbered = list(run)
        if segment < last:
            remedy = "sort the lists by segment: sort -s -n -k 1,1"
            raise file_error(file, numbered[0][0], f"segment {segment} follows segment {last}", remedy)
        yield segment, NBestList(segment, tuple(entry for _, _, entry in numbered))
        last = segment


def feature_names(lists: Iterable[NBestList]) -> tuple[str, ...]:
    """Return the features to keep dense: the union over all lists, unless it is large (see `dense_names`)."""
    return dense_names(entry.features for some in lists for entry in some.entries)


def to_forest(
    entries: Sequence[ListEntry], feature_names: Sequence[str], vocabulary: Vocabulary, *, use_scores: bool = False
) -> Forest:
    """Return the forest of one list: scored by features, or (`use_scores`) by the model scores of the file.

    Features that are not among `feature_names` are sparse. With scores, all are, so that no weight is needed.
    """
    if use_scores:
        return from_nbest([_with_score(rank, entry) for rank, entry in enumerate(entries)], (), vocabulary)
    return from_nbest([_with_base(entry) for entry in entries], feature_names, vocabulary)


def _with_base(entry: ListEntry) -> ListEntry:
    features, base = without_base(entry.features)
    return ListEntry(entry.words, features, entry.base + base) if BASE in entry.features else entry


def _with_score(rank: int, entry: ListEntry) -> ListEntry:
    score = entry.score if isinstance(entry, Entry) else None
    if score is None:
        raise InputError(f"hypothesis {rank} has no model score", remedy="give weights to score its features")
    return ListEntry(entry.words, entry.features, score)


def from_forest(forest: Forest, scores: Scores, size: int, segment: int = 0, *, distinct: bool = False) -> NBestList:
    """Return the best derivations of a segment (with `distinct`, translations) with their features and scores.

    The base score is a feature beside the others; if there are no others, the score of the entry is enough.
    """
    has_features = bool(forest.feature_names or forest.sparse)
    entries = []
    for one in islice(k_best(forest, scores, distinct=distinct), size):
        features = one.stored_features
        if one.base and has_features:
            features[BASE] = float(np.float32(one.base))
        entries.append(Entry(one.words, features, score=float(np.float32(one.score))))
    return NBestList(segment, tuple(entries))


def nbest_list(
    forest: Forest,
    weights: Mapping[str, float],
    size: int,
    segment: int = 0,
    *,
    distinct: bool = False,
    table: PhraseTable | None = None,
    source: Sequence[str] = (),
) -> NBestList:
    """Return the best derivations of a search (with `distinct`, translations); with a table, also phrases and links.

    Where rare words of the `source` were rewritten, positions are those of the given words.
    """
    best = islice(k_best(forest, forest.scores(weights), distinct=distinct), size)
    return NBestList(segment, tuple(to_entry(one, weights, table, source) for one in best))


def to_entry(
    derivation: Derivation, weights: Mapping[str, float], table: PhraseTable | None = None, source: Sequence[str] = ()
) -> Entry:
    """Return an entry whose score is that of its rounded features."""
    features = derivation.stored_features
    score = derivation.base + sum(weights.get(name, 0.0) * value for name, value in features.items())
    if derivation.base and features:
        features[BASE] = float(np.float32(derivation.base))
    steps = [] if table is None else steps_of(derivation)
    links = () if table is None else given_links(source, word_links(table, steps))
    phrases = phrase_spans(steps, source)
    return Entry(derivation.words, features, score=round(score, DIGITS), phrases=phrases, links=links)


def phrase_spans(steps: Sequence[Step], source: Sequence[str] = ()) -> tuple[PhraseSpan, ...]:
    """Return source and target positions of phrases in target order; where `source` was rewritten, as it was given."""
    spans, place = [], 0
    for step in steps:
        spans.append(
            PhraseSpan(range(*given_span(source, step.begin, step.end)), range(place, place + len(step.words)))
        )
        place += len(step.words)
    return tuple(spans)
