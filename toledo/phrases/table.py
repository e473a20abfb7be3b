"""The phrase table: phrase pairs with their scores, and the look-up of all phrases of a sentence.

Scores are natural logarithms as in Moses, −100 for a probability of 0 (Koehn, Och and Marcu 2003; Koehn et al. 2007).

Checks of phrase arrays before compiled code sees them: types, shapes, and every index within its bounds.

Word alignments of a corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from toledo.compiled.hashing import PairIndex
from toledo.compiled.ragged import Ragged, are_offsets, gather_rows, offsets_of
from toledo.errors import InputError
from toledo.phrases.trie import OptionSpans, Phrases, PhraseTrie, build_trie, check_trie, find_spans
from toledo.text.corpus import ParallelCorpus
from toledo.text.vocabulary import Vocabulary

LONGEST_PHRASE = 255  # positions in a phrase are stored in one byte


@dataclass(frozen=True)
class PhrasePairs:
    """Distinct pairs, sorted by source phrase and then by target phrase.

    Pair i translates `sources[source[i]]` by `targets[target[i]]`. Its word alignment within the phrases (the most
    frequent one) is `links[link_offsets[i]:link_offsets[i + 1]]`: (source position, target position). Where several
    tables are united, `origin[i]` is the number of the table that has it: each of them may have the same two phrases.
    """

    sources: Phrases
    targets: Phrases
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    joint_counts: NDArray[np.float32]
    link_offsets: NDArray[np.int64]
    links: NDArray[np.uint8]
    origin: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return self.source.size

    @property
    def repeated(self) -> NDArray[np.bool_]:
        """Which pairs have the phrases of the pair before them, and come from a later table."""
        same = (self.source[1:] == self.source[:-1]) & (self.target[1:] == self.target[:-1])
        return np.concatenate([np.zeros(min(len(self), 1), np.bool_), same])

    def select(self, keep: NDArray[np.bool_]) -> PhrasePairs:
        """Return the pairs where `keep` is true; phrases that no pair uses stay listed."""
        links = Ragged(self.links, self.link_offsets).select(keep)
        return replace(
            self,
            source=self.source[keep],
            target=self.target[keep],
            joint_counts=self.joint_counts[keep],
            link_offsets=links.offsets,
            links=links.values,
            origin=None if self.origin is None else self.origin[keep],
        )


def require_array(name: str, array: NDArray[Any], dtype: DTypeLike, shape: tuple[int, ...]) -> None:
    """Type and shape as said; kernels are compiled for contiguous arrays."""
    if array.dtype != np.dtype(dtype) or array.shape != shape or not array.flags.c_contiguous:
        raise ValueError(
            f"{name} must be a contiguous {np.dtype(dtype)}{list(shape)}, not {array.dtype}{list(array.shape)}"
        )


def check_phrases(name: str, phrases: Phrases, vocabulary_size: int) -> None:
    """Every phrase has 1 to LONGEST_PHRASE words, and every word is known."""
    require_array(f"{name} offsets", phrases.offsets, np.int64, (phrases.offsets.size,))
    require_array(f"{name} words", phrases.words, np.int32, (phrases.words.size,))
    if np.any((phrases.lengths < 1) | (phrases.lengths > LONGEST_PHRASE)):
        raise ValueError(f"a {name} phrase must have 1 to {LONGEST_PHRASE} words")
    if np.any((phrases.words < 0) | (phrases.words >= vocabulary_size)):
        raise ValueError(f"a {name} phrase has a word that is not in the vocabulary")


def check_pairs(pairs: PhrasePairs) -> None:
    """Pairs are sorted and distinct, name phrases that exist, and link positions that exist."""
    count = len(pairs)
    require_array("source", pairs.source, np.int32, (count,))
    require_array("target", pairs.target, np.int32, (count,))
    require_array("joint_counts", pairs.joint_counts, np.float32, (count,))
    require_array("link_offsets", pairs.link_offsets, np.int64, (count + 1,))
    require_array("links", pairs.links, np.uint8, (len(pairs.links), 2))
    _check_numbers("source", pairs.source, len(pairs.sources))
    _check_numbers("target", pairs.target, len(pairs.targets))
    repeated = pairs.repeated
    if pairs.origin is not None:
        require_array("origin", pairs.origin, np.uint8, (count,))
        repeated[1:] &= pairs.origin[1:] <= pairs.origin[:-1]
    fallen = (pairs.source[1:] == pairs.source[:-1]) & (pairs.target[1:] < pairs.target[:-1])
    if np.any(pairs.source[1:] < pairs.source[:-1]) or np.any(fallen) or np.any(repeated):
        raise ValueError("phrase pairs must be distinct and sorted by source and target phrase")
    if not are_offsets(pairs.link_offsets, len(pairs.links)):
        raise ValueError(f"the offsets of the links must rise from 0 to {len(pairs.links)}")
    _check_links(pairs)


def _check_links(pairs: PhrasePairs) -> None:
    counts = np.diff(pairs.link_offsets)
    for side, (phrases, chosen) in enumerate(((pairs.sources, pairs.source), (pairs.targets, pairs.target))):
        lengths = phrases.lengths.astype(np.uint8)  # check_phrases has seen that they fit
        if np.any(pairs.links[:, side] >= np.repeat(lengths[chosen], counts)):
            raise ValueError("a link lies outside its phrases")


def _check_numbers(name: str, numbers: NDArray[np.int32], count: int) -> None:
    if np.any((numbers < 0) | (numbers >= count)):
        raise ValueError(f"a pair names a {name} phrase that does not exist")


def sort_links(
    links: NDArray[np.uint8], counts: NDArray[np.int64], order: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return offsets and links of pairs in another order; the two bytes of a link are moved as one number."""
    offsets, gathered = gather_rows(offsets_of(counts), links.view(np.uint16).ravel(), order)
    return offsets, gathered.view(np.uint8).reshape(-1, 2)


LOWEST_SCORE = -100.0  # the logarithm that stands for a probability of 0
SCORE_FEATURES = ("phrase.backward", "lexicon.backward", "phrase.forward", "lexicon.forward")  # Moses' columns
FILLED = "phrase.filled"  # .1, .2, …: 1 for the pairs that another table was filled up with
REORDERING_FEATURES = tuple(
    f"reordering.{side}.{orientation}"
    for side in ("previous", "following")
    for orientation in ("monotone", "swap", "discontinuous")
)


@dataclass(frozen=True)
class TablePart:
    """One of the tables that a table unites: the names of its scores, and for which source phrases it is used.

    With `back_off` n, that is phrases of up to n words that no table before it has; with 0, all.
    """

    feature_names: tuple[str, ...]
    back_off: int = 0

    def columns(self, number: int) -> tuple[str, ...]:
        """Return the names of its scores as table `number` of a model: `phrase.forward`, `phrase.forward.1`, …"""
        return tuple(f"{name}.{number}" if number else name for name in self.feature_names)


@dataclass(frozen=True)
class PhrasePair:
    """One entry to read: words, scores by feature name, links (source, target), and counts (0 where unknown)."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    scores: Mapping[str, float]
    alignment: tuple[tuple[int, int], ...]
    joint_count: float
    source_count: float
    target_count: float


@dataclass(frozen=True)
class Option:
    """One way to translate the words from `begin` up to `end` of a sentence."""

    begin: int
    end: int
    pair: PhrasePair


@dataclass(frozen=True, eq=False)
class PhraseTable:
    """Phrase pairs with `scores[pair, feature]`; `reordering[pair, 6]` if there is a reordering model.

    Counts are those of the training text, 0 where unknown. Make one with `create`, which builds the trie. `parts` are
    the tables that it unites, none if it is one by itself: their columns stand side by side, and a pair scores 0 in
    those of other tables than its own (`toledo.phrases.several`).
    """

    pairs: PhrasePairs
    scores: NDArray[np.float32]
    feature_names: tuple[str, ...]
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    source_counts: NDArray[np.float32]
    target_counts: NDArray[np.float32]
    reordering: NDArray[np.float32] | None
    trie: PhraseTrie
    parts: tuple[TablePart, ...] = ()

    @classmethod
    def create(
        cls,
        pairs: PhrasePairs,
        scores: NDArray[np.float32],
        source_vocabulary: Vocabulary,
        target_vocabulary: Vocabulary,
        feature_names: Sequence[str] = SCORE_FEATURES,
        source_counts: NDArray[np.float32] | None = None,
        target_counts: NDArray[np.float32] | None = None,
        reordering: NDArray[np.float32] | None = None,
    ) -> PhraseTable:
        """Return a table of some pairs; counts that are not given are unknown."""
        check_phrases("source", pairs.sources, len(source_vocabulary))
        return cls(
            pairs,
            scores,
            tuple(feature_names),
            source_vocabulary,
            target_vocabulary,
            np.zeros(len(pairs.sources), np.float32) if source_counts is None else source_counts,
            np.zeros(len(pairs.targets), np.float32) if target_counts is None else target_counts,
            reordering,
            build_trie(pairs.sources),
        )

    def __post_init__(self) -> None:
        check_phrases("source", self.pairs.sources, len(self.source_vocabulary))
        check_phrases("target", self.pairs.targets, len(self.target_vocabulary))
        check_pairs(self.pairs)
        if len(set(self.feature_names)) != len(self.feature_names):
            raise ValueError("two features have the same name")
        self._check_parts()
        count = len(self.pairs)
        require_array("scores", self.scores, np.float32, (count, len(self.feature_names)))
        require_array("source_counts", self.source_counts, np.float32, (len(self.pairs.sources),))
        require_array("target_counts", self.target_counts, np.float32, (len(self.pairs.targets),))
        numbers = [self.scores, self.source_counts, self.target_counts, self.pairs.joint_counts]
        if self.reordering is not None:
            require_array("reordering", self.reordering, np.float32, (count, len(REORDERING_FEATURES)))
            numbers.append(self.reordering)
        if not all(np.isfinite(array).all() for array in numbers):
            raise ValueError("a score or a count is not a finite number")
        check_trie(self.trie, self.pairs.sources)

    def _check_parts(self) -> None:
        origin, parts = self.pairs.origin, self.parts
        if (origin is None) != (len(parts) < 2) or len(parts) == 1:
            raise ValueError("a table unites two others or more, and knows from which of them each pair is")
        if origin is not None and origin.size and int(origin.max()) >= len(parts):
            raise ValueError("a pair comes from a table that is not there")
        if parts and self.feature_names != tuple(chain.from_iterable(p.columns(k) for k, p in enumerate(parts))):
            raise ValueError("the features are not those of the tables that are united")

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> PhrasePair:
        """Return an entry as an object to read."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        pairs, source, target = self.pairs, int(self.pairs.source[index]), int(self.pairs.target[index])
        links = pairs.links[pairs.link_offsets[index] : pairs.link_offsets[index + 1]]
        return PhrasePair(
            tuple(self.source_vocabulary.words(pairs.sources[source].tolist())),
            tuple(self.target_vocabulary.words(pairs.targets[target].tolist())),
            dict(zip(self.all_feature_names, self._values(index), strict=True)),
            tuple((first, second) for first, second in links.tolist()),
            float(pairs.joint_counts[index]),
            float(self.source_counts[source]),
            float(self.target_counts[target]),
        )

    def __iter__(self) -> Iterator[PhrasePair]:
        return (self[index] for index in range(len(self)))

    @property
    def all_feature_names(self) -> tuple[str, ...]:
        """The names of the scores, and of the reordering scores if there are any."""
        return self.feature_names + (() if self.reordering is None else REORDERING_FEATURES)

    @cached_property
    def option_offsets(self) -> NDArray[np.int32]:
        """The pairs of source phrase s are those from `option_offsets[s]` up to `option_offsets[s + 1]`."""
        numbers = np.arange(len(self.pairs.sources) + 1)
        return np.searchsorted(self.pairs.source, numbers).astype(np.int32)

    def of_part(self, number: int) -> NDArray[np.bool_]:
        """Return which pairs come from a table; all pairs where only one table is there."""
        origin = self.pairs.origin
        return np.full(len(self), number == 0) if origin is None else origin == number

    @cached_property
    def longest_source(self) -> int:
        """The number of words of the longest source phrase."""
        return int(self.pairs.sources.lengths.max(initial=0))

    def lookup(self, words: NDArray[np.int32]) -> OptionSpans:
        """Return the spans of an encoded sentence that have options, for compiled code."""
        if words.size and words.min() < 0:
            raise ValueError("word ids are not negative")
        words = np.ascontiguousarray(words, np.int32)
        return find_spans(self.trie, self.option_offsets, self.longest_source, words)

    def options(self, words: Sequence[str]) -> list[Option]:
        """Return all ways to translate the phrases of a sentence, by begin, end and pair."""
        spans = self.lookup(self.source_vocabulary.ids(words))
        ranges = zip(*(array.tolist() for array in spans[:4]), strict=True)
        return [Option(begin, end, self[i]) for begin, end, first, stop in ranges for i in range(first, stop)]

    def with_reordering(self, reordering: NDArray[np.float32]) -> PhraseTable:
        """Return the same table with these reordering scores."""
        return replace(self, reordering=reordering)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything but the vocabularies and the names of the features, for saving."""
        pairs = self.pairs
        arrays: dict[str, NDArray[Any]] = {
            "source_offsets": pairs.sources.offsets,
            "source_words": pairs.sources.words,
            "source_counts": self.source_counts,
            "target_offsets": pairs.targets.offsets,
            "target_words": pairs.targets.words,
            "target_counts": self.target_counts,
            "pair_source": pairs.source,
            "pair_target": pairs.target,
            "joint_counts": pairs.joint_counts,
            "link_offsets": pairs.link_offsets,
            "links": pairs.links,
            "scores": self.scores,
            "trie_keys": self.trie.children.keys,
            "trie_values": self.trie.children.values,
            "trie_phrase": self.trie.phrase,
        }
        more = {"reordering": self.reordering, "origin": pairs.origin}
        return {**arrays, **{name: array for name, array in more.items() if array is not None}}

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        source_vocabulary: Vocabulary,
        target_vocabulary: Vocabulary,
        feature_names: Sequence[str] = SCORE_FEATURES,
        parts: Sequence[TablePart] = (),
    ) -> PhraseTable:
        """Return what `to_arrays` gave, checked."""
        try:
            pairs = PhrasePairs(
                Phrases(arrays["source_words"], arrays["source_offsets"]),
                Phrases(arrays["target_words"], arrays["target_offsets"]),
                *(arrays[name] for name in ("pair_source", "pair_target", "joint_counts", "link_offsets", "links")),
            )
            return cls(
                replace(pairs, origin=arrays.get("origin")),
                arrays["scores"],
                tuple(feature_names),
                source_vocabulary,
                target_vocabulary,
                arrays["source_counts"],
                arrays["target_counts"],
                arrays.get("reordering"),
                PhraseTrie(PairIndex(arrays["trie_keys"], arrays["trie_values"]), arrays["trie_phrase"]),
                tuple(parts),
            )
        except KeyError as error:
            raise InputError(f"a stored phrase table lacks {error}", remedy="make it again") from None
        except ValueError as error:
            raise InputError(f"a stored phrase table is damaged: {error}", remedy="make it again") from None

    def _values(self, index: int) -> list[float]:
        values: list[float] = self.scores[index].tolist()
        return values if self.reordering is None else values + self.reordering[index].tolist()


class WordLinks(Ragged[np.int32]):
    """Links of each sentence pair: `links[offsets[i]:offsets[i + 1]]` are sorted (source, target) positions."""

    @property
    def links(self) -> NDArray[np.int32]:
        """The links of all sentence pairs."""
        return self.values

    def first_outside(self, corpus: ParallelCorpus) -> int | None:
        """Return the first sentence pair with a link outside its sentences, or None."""
        if len(self) != len(corpus):
            raise ValueError(f"{len(self)} alignments for {len(corpus)} sentence pairs")
        source, target = np.repeat(corpus.source.lengths, self.lengths), np.repeat(corpus.target.lengths, self.lengths)
        bad = (self.links < 0).any(axis=1) | (self.links[:, 0] >= source) | (self.links[:, 1] >= target)
        if not bad.any():
            return None
        return int(np.searchsorted(self.offsets, np.argmax(bad), side="right")) - 1
