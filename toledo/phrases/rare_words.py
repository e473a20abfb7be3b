"""Learn from sentence pairs how to rewrite rare words of the source: which rules give words with the right meaning.

Every rule is tried on words of the training text that are rare themselves. The pairs tell whether it was right:
translations of the words that it gives must stand on the other side (the second step of Koehn and Knight 2003). What a
rule, a linking element or a change of endings is worth is the share of pairs where they do, beyond chance. So a
language without compounds has no rule for compounds, and nothing is said about any language here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import offsets_of
from toledo.phrases.lexicon import Lexicon
from toledo.phrases.word_alignment.direction import cooccurrences, make_direction
from toledo.phrases.word_alignment.training import train_ibm1
from toledo.text.corpus import ParallelCorpus, Sentences
from toledo.text.rare_words import LEAST_WORTH, Parts, RareWords, best_variant
from toledo.text.vocabulary import RESERVED, Vocabulary
from toledo.text.word_variants import (
    SEEN_AS_PART,
    SHORTEST_PART,
    UNCHANGED,
    EndingChange,
    EndingChanges,
    Variant,
    Variants,
    common_changes,
    size,
)

LEARNED_FROM = 10  # times seen, at most: words like those that the rules are for
MOST_LEARNED_FROM = 20_000  # words
MOST_CHANGES, MOST_LINKS = 150, 12
LONGEST_LINK = 2
TRUSTED_LINK, TRUSTED_HEAD = 0.45, 0.5  # a change in a compound must be worth this
SEEN_WORTH = 0.5  # of parts of a word that was seen, though rarely
FEW, FEW_PAIRS = 5.0, 2.0  # what is known of a rule weighs as much as this many examples, or pairs of one word
STEM = 5  # letters of a target word by which it is compared: "walk", "walks" and "walked" mean the same
COMMON = 0.25  # a target word of this share of pairs says nothing
UNLIKELY, MOST_TRANSLATIONS = 0.05, 4  # of a word
ITERATIONS = 5
LONGEST = 100  # words of a sentence that is learned from

Translations = Sequence[frozenset[int]]


def learn_rare_words(corpus: ParallelCorpus, below: int, threads: int | None = None) -> RareWords | None:
    """Return how to rewrite source words seen less than `below` times, and unknown ones; None if no rule is of use."""
    usable = corpus.usable(LONGEST)
    if not usable.any():
        return None
    pairs = _with_stems(corpus.select(usable))
    evidence = PairEvidence(pairs, _translations(pairs, threads))
    counts = _counts(corpus)
    parts = frozenset(word for word, n in counts.items() if n >= SEEN_AS_PART and evidence.translatable(word))
    examples = _examples(counts, evidence)
    changes = _learn_changes(examples, Variants(counts, parts), evidence)
    variants = Variants(counts, parts, changes)
    rare = RareWords(variants, _learn_rates(examples, variants.of, evidence), {})
    if not any(rate >= LEAST_WORTH for rate in rare.rates.values()):
        return None
    return _decided(rare, below, evidence)


def _with_stems(corpus: ParallelCorpus) -> ParallelCorpus:
    """Return pairs whose target words are cut to their first letters, and marked: none of them is a reserved word."""
    vocabulary = Vocabulary()
    words = enumerate(corpus.target_vocabulary)
    stems = [number if number < len(RESERVED) else vocabulary.add(f"~{word.lower()[:STEM]}") for number, word in words]
    target = Sentences(np.array(stems, np.int32)[corpus.target.words], corpus.target.offsets)
    return replace(corpus, target=target, target_vocabulary=vocabulary)


def _counts(corpus: ParallelCorpus) -> dict[str, int]:
    counts = np.bincount(corpus.source.words, minlength=len(corpus.source_vocabulary)).tolist()
    return {word: n for word, n in zip(corpus.source_vocabulary, counts, strict=True) if n}


def _translations(pairs: ParallelCorpus, threads: int | None) -> Translations:
    """Return the likely translations of each source word by IBM Model 1, without common words."""
    sizes = len(pairs.source_vocabulary), len(pairs.target_vocabulary)
    direction = make_direction(pairs.source, pairs.target, *sizes)
    lexicon, _ = train_ibm1(direction, cooccurrences(direction, threads), ITERATIONS, threads)
    return likely_translations(lexicon, _shares(pairs) > COMMON)


def likely_translations(lexicon: Lexicon, common: NDArray[np.bool_]) -> Translations:
    """Return the likely words of each row of a lexicon, without common ones."""
    found = []
    for begin, end in pairwise(lexicon.offsets.tolist()):
        order = np.argsort(-lexicon.probabilities[begin:end], kind="stable")[:MOST_TRANSLATIONS] + begin
        likely = lexicon.words[order[lexicon.probabilities[order] >= UNLIKELY]]
        found.append(frozenset(likely[~common[likely]].tolist()))
    return found


def _shares(pairs: ParallelCorpus) -> NDArray[np.float64]:
    """Return the share of pairs in which each target word occurs."""
    lines = np.repeat(np.arange(len(pairs)), pairs.target.lengths)
    types = len(pairs.target_vocabulary)
    seen = np.unique(lines * types + pairs.target.words) % types
    return np.bincount(seen, minlength=types) / max(len(pairs), 1)


@dataclass
class _Tally:
    """Sums over examples of what was seen beyond chance, and of what could have been."""

    seen: float = 0.0
    possible: float = 0.0

    def add(self, seen: float, chance: float, times: float = 1.0) -> None:
        self.seen += times * (seen - chance)
        self.possible += times * (1 - chance)

    def rate(self, prior: float, weight: float = FEW) -> float:
        return min(max((self.seen + weight * prior) / (self.possible + weight), 0.0), 1.0)


class PairEvidence:
    """What pairs say about variants of words: how often translations of their parts stand on the other side."""

    def __init__(self, pairs: ParallelCorpus, translations: Translations) -> None:
        words = pairs.source.words
        self.pairs, self.translations = pairs, translations
        self._order = np.argsort(words, kind="stable")
        self._begin = offsets_of(np.bincount(words, minlength=len(pairs.source_vocabulary)))
        self._line = np.repeat(np.arange(len(pairs)), pairs.source.lengths)
        shares = _shares(pairs).tolist()
        self._chances = [1 - math.prod(1 - shares[one] for one in own) for own in translations]
        self._ids = {word: number for number, word in enumerate(pairs.source_vocabulary)}
        self._others: tuple[str, list[frozenset[int]]] = ("", [])

    def translatable(self, word: str) -> bool:
        """Return whether a word has translations that say something."""
        return bool(self.translations[self._ids.get(word, 0)]) if word in self._ids else False

    def of(self, word: str, parts: Parts) -> tuple[float, float] | None:
        """Return in which share of a word's pairs its parts are translated, and in which by chance.

        Half of it is the share of all parts together, half the mean of those of each part. Parts without translations
        that say something do not count; there must be others.
        """
        numbers = [self._ids[part] for part in parts if self.translatable(part)]
        others = self.other_sides(word)
        if not numbers or not others:
            return None
        chances = [self._chances[number] for number in numbers]
        every = single = 0
        for target in others:
            hits = sum(not self.translations[number].isdisjoint(target) for number in numbers)
            every, single = every + (hits == len(numbers)), single + hits
        seen = (every + single / len(numbers)) / 2 / len(others)
        return seen, (math.prod(chances) + sum(chances) / len(chances)) / 2

    def other_sides(self, word: str) -> list[frozenset[int]]:
        """Return the target words of each occurrence of a word."""
        if self._others[0] != word:
            number = self._ids[word]
            lines = self._line[self._order[self._begin[number] : self._begin[number + 1]]].tolist()
            self._others = word, [frozenset(self.pairs.target[line].tolist()) for line in lines]
        return self._others[1]


def _examples(counts: dict[str, int], evidence: PairEvidence) -> list[str]:
    """Return rare words to try rules on, spread evenly over the vocabulary."""
    rare = sorted(word for word, n in counts.items() if n <= LEARNED_FROM and size(word) > SHORTEST_PART)
    return [word for word in rare[:: max(-(-len(rare) // MOST_LEARNED_FROM), 1)] if evidence.other_sides(word)]


def _learn_changes(examples: list[str], variants: Variants, evidence: PairEvidence) -> EndingChanges:
    endings = tuple(common_changes(variants.known_forms, MOST_CHANGES))
    links = _learn_links(examples, variants, evidence, [one.other for one in endings if not one.ending])
    tried = Variants(variants.counts, variants.parts, EndingChanges(endings))
    rates = _learn_rates(examples, tried.forms, evidence)
    heads = tuple(change for change in endings if rates.get(f"form:{change}", 0.0) >= TRUSTED_HEAD)
    return EndingChanges(endings, links, (UNCHANGED, *heads))


def _learn_links(
    examples: list[str], variants: Variants, evidence: PairEvidence, endings: Iterable[str]
) -> tuple[EndingChange, ...]:
    """Return how first parts of compounds change, by words of two parts whose translations go together."""
    known, tallies = variants.known_parts, defaultdict[EndingChange, _Tally](_Tally)
    added = [EndingChange("", ending) for ending in endings][:MOST_LINKS]
    for word in examples:
        lower = word.lower()
        for cut in range(SHORTEST_PART - 1, len(lower) - 1):
            if (head := known.get(lower[cut:])) is None:
                continue
            dropped = (EndingChange(lower[cut - n : cut], "") for n in range(min(LONGEST_LINK, cut) + 1))
            for change in (*dropped, *added):
                first = known.get(lower[: cut - len(change.ending)] + change.other)
                if first and first[0] != word and (found := evidence.of(word, (first[0], head[0]))):
                    tallies[change].add(*found)
    rates = {change: tally.rate(0.0) for change, tally in tallies.items()}
    trusted = [change for change, rate in rates.items() if rate >= TRUSTED_LINK]
    return tuple(sorted(trusted, key=lambda change: (-tallies[change].seen, change))[:MOST_LINKS])


def _learn_rates(
    examples: list[str], variants_of: Callable[[str], Iterable[Variant]], evidence: PairEvidence
) -> dict[str, float]:
    """Return what each rule and each kind of variants is worth; of a kind with few examples, as much as its rule."""
    by_rule, by_kind = defaultdict[str, _Tally](_Tally), defaultdict[str, _Tally](_Tally)
    for word in examples:
        for variant in variants_of(word):
            if found := evidence.of(word, variant.parts):
                by_rule[variant.rule].add(*found)
                by_kind[variant.kind].add(*found)
    rules = {rule: tally.rate(0.0) for rule, tally in by_rule.items()}
    kinds = {kind: tally.rate(rules[kind.partition(":")[0]]) for kind, tally in by_kind.items()}
    return {**rules, **kinds}


def _decided(rare: RareWords, below: int, evidence: PairEvidence) -> RareWords:
    """Return rare words with those that were seen rewritten, where their own pairs speak for it."""
    chosen: dict[str, Parts] = {}
    counts = dict(rare.variants.counts)
    for word, n in rare.variants.counts.items():
        if n < below and evidence.other_sides(word):
            variant = best_variant(rare.variants.splits(word), SEEN_WORTH, _worth(word, rare, evidence))
            if variant is not None:
                chosen[word] = tuple(one for part in variant.parts for one in _known(rare, part))
    rewritten = {word: _followed(word, chosen, {word}) for word in chosen}
    rewritten = {word: parts for word, parts in rewritten.items() if word not in parts}
    for word, parts in rewritten.items():
        for part in parts:
            counts[part] = counts.get(part, 0) + (rare.variants.counts[word] if part not in rare else 0)
    return RareWords(replace(rare.variants, counts=counts), rare.rates, rewritten)


def _worth(word: str, rare: RareWords, evidence: PairEvidence) -> Callable[[Variant], float]:
    """Return what a variant of a word that was seen is worth: by its rule, and by the word's own pairs."""
    times = len(evidence.other_sides(word))

    def worth(variant: Variant) -> float:
        found = evidence.of(word, variant.parts)
        if found is None:
            return 0.0
        tally = _Tally()
        tally.add(*found, times)
        return tally.rate(rare.rate(variant.kind), FEW_PAIRS)

    return worth


def _known(rare: RareWords, part: str) -> Parts:
    return (part,) if part in rare else rare.of(part)


def _followed(word: str, chosen: dict[str, Parts], above: set[str]) -> Parts:
    """Return the parts of a word, rare ones replaced by theirs."""
    found: list[str] = []
    for part in chosen[word]:
        known = part not in chosen or part in above
        found += [part] if known else _followed(part, chosen, {*above, part})
    return tuple(found)
