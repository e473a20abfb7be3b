"""Rare and unknown words of the source, rewritten as words that a model knows.

A `RareWords` belongs to the text of a model. It has the words of the training text with their counts, how the rare ones
of them were rewritten, and what each rule for unknown words is worth (see `toledo.text.word_variants`). It is learned
by `toledo.phrases.rare_words`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import offsets_of
from toledo.text.corpus import ParallelCorpus, Sentences
from toledo.text.vocabulary import RESERVED, Vocabulary, split_words
from toledo.text.word_variants import EndingChange, EndingChanges, Variant, Variants

LEAST_WORTH = 0.4  # of a rule for unknown words: below, they are copied; chosen on tuning data
REMEMBERED = 1 << 16  # unknown words
LONGEST_CHANGE = 4

Parts = tuple[str, ...]
Links = tuple[tuple[int, int], ...]
Bytes = dict[str, NDArray[np.uint8]]


class RewrittenWords(list[str]):
    """The words of a sentence as a model knows them.

    `given` are the words that they come from, and `places` says from which of these each one comes.
    """

    given: Sequence[str]
    places: Sequence[int]


def given_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a sentence as they were given."""
    return words.given if isinstance(words, RewrittenWords) else words


def given_span(words: Sequence[str], begin: int, end: int) -> tuple[int, int]:
    """Return the first of the given words that some words of a model come from, and the last one plus 1."""
    return (words.places[begin], words.places[end - 1] + 1) if isinstance(words, RewrittenWords) else (begin, end)


def given_links(words: Sequence[str], links: Links) -> Links:
    """Return links (source position, target position) of words of a model as links of the given words, each once."""
    if not isinstance(words, RewrittenWords):
        return links
    return tuple(dict.fromkeys((words.places[source], target) for source, target in links))


@dataclass(frozen=True)
class RareWords:
    """How rare and unknown words are rewritten.

    `variants` knows the words of the training text, `rates` has what rules and kinds of variants are worth, `rewritten`
    what stands for rare words that were seen.
    """

    variants: Variants
    rates: Mapping[str, float]
    rewritten: Mapping[str, Parts]

    def __post_init__(self) -> None:
        known = self.variants.counts
        for word, parts in self.rewritten.items():
            if word not in known or not parts or any(one not in known or one in self.rewritten for one in parts):
                raise ValueError(f"the rare word {word!r} is rewritten as words that are not known")

    def __contains__(self, word: str) -> bool:
        return word in self.variants.counts

    def of(self, word: str) -> Parts:
        """Return the words that are written for a word: itself, if it is frequent or nothing else is known for it."""
        if (parts := self.rewritten.get(word)) is not None:
            return parts
        return (word,) if word in self else self._unknown(word)

    def rewrite(self, words: Sequence[str]) -> RewrittenWords:
        """Return the words of a sentence as the model knows them."""
        parts = [self.of(word) for word in words]
        found = RewrittenWords(one for own in parts for one in own)
        found.given = tuple(words)
        found.places = tuple(place for place, own in enumerate(parts) for _ in own)
        return found

    def knowing(self, words: Iterable[str]) -> RareWords:
        """Return the same with words that are known from elsewhere, and not rewritten any more."""
        known = set(words)
        counts = {**self.variants.counts, **{word: 1 for word in sorted(known) if word not in self.variants.counts}}
        rewritten = {word: parts for word, parts in self.rewritten.items() if word not in known}
        return RareWords(replace(self.variants, counts=counts), self.rates, rewritten)

    def rate(self, kind: str) -> float:
        """Return what a kind of variants is worth; that of its rule if no example was seen."""
        return self.rates.get(kind, self.rates.get(kind.partition(":")[0], 0.0))

    @cached_property
    def _unknown(self) -> Callable[[str], Parts]:
        return lru_cache(REMEMBERED)(self._rewrite_unknown)

    def _rewrite_unknown(self, word: str) -> Parts:
        variant = best_variant(self.variants.of(word), LEAST_WORTH, lambda one: self.rate(one.kind))
        if variant is None:
            return (word,)
        parts = tuple(one for part in variant.parts for one in self.of(part))
        return parts if any(part in self for part in parts) else (word,)

    def to_arrays(self) -> Bytes:
        """Return everything as lines of text, for saving."""
        variants, changes = self.variants, self.variants.changes
        words = (f"{word}\t{n}\t{int(word in variants.parts)}" for word, n in variants.counts.items())
        rewritten = (f"{word}\t{' '.join(parts)}" for word, parts in self.rewritten.items())
        kinds = (("ending", changes.endings), ("link", changes.links), ("head", changes.heads))
        own = (f"{name}\t{one.ending}\t{one.other}" for name, some in kinds for one in some)
        rates = (f"rate\t{kind}\t{rate!r}" for kind, rate in self.rates.items())
        return {"known": _bytes(words), "rewritten": _bytes(rewritten), "rules": _bytes([*own, *rates])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.uint8]]) -> RareWords:
        """Return what `to_arrays` gave; anything else is refused."""
        counts, parts = dict[str, int](), set[str]()
        for word, count, is_part in _rows(arrays["known"], 3):
            if word in counts or split_words(word) != [word] or word in RESERVED or not _is_count(count):
                raise ValueError(f"{word!r} is not a word with a count, or it is there twice")
            counts[word] = int(count)
            parts.update([word] if is_part == "1" else [])
        changes: dict[str, list[EndingChange]] = {"ending": [], "link": [], "head": []}
        rates = {}
        for name, first, second in _rows(arrays["rules"], 3):
            if name == "rate":
                rates[first] = _rate(second)
            elif name not in changes or max(len(first), len(second)) > LONGEST_CHANGE:
                raise ValueError(f"{name} {first!r} {second!r} is not a rule for rare words")
            else:
                changes[name].append(EndingChange(first, second))
        known = EndingChanges(*(tuple(changes[name]) for name in ("ending", "link", "head")))
        rewritten = {word: tuple(split_words(text)) for word, text in _rows(arrays["rewritten"], 2)}
        return cls(Variants(counts, frozenset(parts), known), rates, rewritten)


def best_variant(variants: Iterable[Variant], least: float, worth: Callable[[Variant], float]) -> Variant | None:
    """Return the variant of the highest worth times its share of letters, if it is worth enough."""
    best, value = None, 0.0
    for variant in variants:
        rate = worth(variant)
        if rate >= least and rate * variant.share > value:
            best, value = variant, rate * variant.share
    return best


def rewrite_sources(corpus: ParallelCorpus, rare: RareWords, vocabulary: Vocabulary | None = None) -> ParallelCorpus:
    """Return pairs with their rare source words rewritten; a `vocabulary` that is given grows by new words.

    Words are numbered as if the rewritten text had been read. Each distinct word is rewritten once.
    """
    vocabulary = Vocabulary() if vocabulary is None else vocabulary
    words = list(corpus.source_vocabulary)
    used = np.zeros(len(words), np.bool_)
    used[corpus.source.words] = True
    parts = [
        [vocabulary.add(one) for one in rare.of(word)] if seen else [] for word, seen in zip(words, used, strict=True)
    ]
    of_word = offsets_of([len(own) for own in parts])
    flat = np.array([one for own in parts for one in own], np.int32)
    lengths = np.diff(of_word)[corpus.source.words]
    begins, ends = of_word[corpus.source.words], offsets_of(lengths)
    new = flat[np.arange(ends[-1]) + np.repeat(begins - ends[:-1], lengths)]
    offsets = ends[corpus.source.offsets]
    return ParallelCorpus(Sentences(new, offsets), corpus.target, vocabulary, corpus.target_vocabulary, corpus.lines)


def _bytes(lines: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode(), np.uint8)


def _rows(data: NDArray[np.uint8], columns: int) -> list[list[str]]:
    text = data.tobytes().decode("utf-8")
    rows = [line.split("\t") for line in text.split("\n")] if text else []
    if any(len(row) != columns for row in rows):
        raise ValueError(f"a table of rare words has a line without {columns} columns")
    return rows


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text[:20]) < 1 << 62


def _rate(text: str) -> float:
    rate = float(text)
    if not 0 <= rate <= 1 or math.isnan(rate):
        raise ValueError(f"a rule for rare words is worth {text}, expected a number from 0 to 1")
    return rate
