"""Learn from sentence pairs how to rewrite rare words of the source: which rules give words with the right meaning.

Every rule is tried on words of the training text that are rare themselves. The pairs tell whether it was right: a
translation of each part must stand on the other side (the second step of Koehn and Knight 2003). What a rule, a linking
element or a change of endings is worth is the share of pairs where it does, beyond what chance would give. So a
language without compounds has no rule for compounds, and nothing is said about any language here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from toledo.text.corpus import ParallelCorpus
from toledo.text.rare_words import RareWords, Rates
from toledo.text.settings import RareWordSettings
from toledo.text.vocabulary import RESERVED
from toledo.text.word_variants import (
    SEEN_AS_PART,
    SHORTEST_PART,
    UNCHANGED,
    Change,
    Changes,
    Variant,
    Variants,
    common_changes,
    size,
)

LEARNED_FROM = 10  # times seen, at most: words like those that the rules are for
MOST_LEARNED_FROM = 20_000  # words
MOST_CHANGES, MOST_BEGINNINGS, MOST_LINKS = 150, 40, 12
LONGEST_LINK = 2
TRUSTED_LINK, TRUSTED_HEAD = 0.35, 0.5  # the share of pairs that must agree
FEW = 5.0  # observations that a rule's own value counts as
OWN_FEW = 2.0
COMMON = 0.25  # share of pairs with a target word that says nothing
UNLIKELY = 0.05  # a translation
MOST_TRANSLATIONS = 4


Translations = Sequence[frozenset[int]]


def likely_translations(
    offsets: NDArray[np.int64], words: NDArray[np.int32], probabilities: NDArray[np.float32], pairs: ParallelCorpus
) -> Translations:
    """Return the likely translations of each source word by the rows of a lexicon, without common words."""
    common = _shares(pairs) > COMMON
    found = []
    for begin, end in pairwise(offsets.tolist()):
        order = np.argsort(-probabilities[begin:end], kind="stable")[:MOST_TRANSLATIONS] + begin
        likely = order[(probabilities[order] >= UNLIKELY) & (words[order] >= len(RESERVED))]
        found.append(frozenset(words[likely][~common[words[likely]]].tolist()))
    return found


def _shares(pairs: ParallelCorpus) -> NDArray[np.float64]:
    """Return the share of pairs in which each target word occurs."""
    lines = np.repeat(np.arange(len(pairs)), pairs.target.lengths)
    seen = np.unique(np.stack([lines, pairs.target.words]), axis=1)[1]
    return np.bincount(seen, minlength=len(pairs.target_vocabulary)) / max(len(pairs), 1)


@dataclass
class _Tally:
    """Sums over variants of what was seen beyond chance, and of what could have been."""

    seen: float = 0.0
    possible: float = 0.0

    def add(self, seen: float, chance: float) -> None:
        self.seen += seen - chance
        self.possible += 1 - chance

    def rate(self, prior: float) -> float:
        return max((self.seen + FEW * prior) / (self.possible + FEW), 0.0)


@dataclass
class Evidence:
    """What pairs say about variants of words: how often the translations of all parts stand on the other side."""

    pairs: ParallelCorpus
    translations: Translations
    _targets: dict[int, frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        words = self.pairs.source.words
        self.counts = np.bincount(words, minlength=len(self.pairs.source_vocabulary))
        self._order = np.argsort(words, kind="stable")
        self._begin = np.concatenate([[0], np.cumsum(self.counts)])
        self._line = np.repeat(np.arange(len(self.pairs)), self.pairs.source.lengths)
        self._shares = _shares(self.pairs)
        self._ids = {word: number for number, word in enumerate(self.pairs.source_vocabulary)}

    def translatable(self, word: str) -> bool:
        """Return whether a word has translations that say something."""
        return bool(self._translations(word))

    def of(self, word: str, parts: Sequence[str]) -> tuple[float, float] | None:
        """Return in which share of a word's pairs all parts are translated, and in which by chance."""
        known = [self._translations(part) for part in parts]
        if not all(known):
            return None
        chance = float(np.prod([1 - np.prod([1 - self._shares[one] for one in own]) for own in known]))
        lines = self._lines(self._ids[word])
        hits = sum(all(not own.isdisjoint(self._target(line)) for own in known) for line in lines)
        return hits / len(lines), chance

    def _translations(self, word: str) -> frozenset[int]:
        number = self._ids.get(word)
        return self.translations[number] if number is not None and number < len(self.translations) else frozenset()

    def _lines(self, word: int) -> list[int]:
        return self._line[self._order[self._begin[word] : self._begin[word + 1]]].tolist()

    def _target(self, line: int) -> frozenset[int]:
        if line not in self._targets:
            self._targets[line] = frozenset(self.pairs.target[line].tolist())
        return self._targets[line]


def learn_rare_words(pairs: ParallelCorpus, translations: Translations, settings: RareWordSettings) -> RareWords | None:
    """Return how to rewrite rare and unknown source words; nothing if no rule is worth it."""
    evidence = Evidence(pairs, translations)
    counts = {
        word: int(evidence.counts[number])
        for number, word in enumerate(pairs.source_vocabulary)
        if number >= len(RESERVED) and evidence.counts[number]
    }
    parts = frozenset(word for word, n in counts.items() if n >= SEEN_AS_PART and evidence.translatable(word))
    examples = _examples(counts)
    changes = _learn_changes(examples, Variants(counts, parts), evidence)
    variants = Variants(counts, parts, changes)
    rates = _learn_rates(examples, variants, evidence)
    return RareWords(variants, rates, settings, {}).decided(_Own(evidence))


def _examples(counts: dict[str, int]) -> list[str]:
    """Return rare words to try rules on, spread evenly over the vocabulary."""
    rare = sorted(word for word, n in counts.items() if n <= LEARNED_FROM and size(word) > SHORTEST_PART)
    return rare[:: max(-(-len(rare) // MOST_LEARNED_FROM), 1)]


def _learn_changes(examples: list[str], variants: Variants, evidence: Evidence) -> Changes:
    endings = tuple(common_changes(variants.known_forms, MOST_CHANGES))
    beginnings = tuple(common_changes((word[::-1] for word in variants.known_forms), MOST_BEGINNINGS))
    links = _learn_links(examples, variants, evidence, [one.other for one in endings if not one.ending])
    tried = Variants(variants.counts, variants.parts, Changes(endings, beginnings))
    rates = _learn_rates(examples, tried, evidence, rules=("form",))
    heads = tuple(change for change in endings if rates.of(f"form:{change}") >= TRUSTED_HEAD)
    return Changes(endings, beginnings, links, (UNCHANGED, *heads))


def _learn_links(
    examples: list[str], variants: Variants, evidence: Evidence, endings: Iterable[str]
) -> tuple[Change, ...]:
    """Return how first parts of compounds change, by words of two parts whose translations go together."""
    known, tallies = variants.known_parts, defaultdict[Change, _Tally](_Tally)
    added = [Change("", ending) for ending in endings][:MOST_LINKS]
    for word in examples:
        lower = word.lower()
        for cut in range(SHORTEST_PART - 1, len(lower) - SHORTEST_PART + 2):
            if (head := known.get(lower[cut:])) is None:
                continue
            dropped = (Change(lower[cut - n : cut], "") for n in range(min(LONGEST_LINK, cut) + 1))
            for change in (*dropped, *added):
                first = known.get(lower[: cut - len(change.ending)] + change.other)
                if first and first[0] != word and (found := evidence.of(word, (first[0], head[0]))):
                    tallies[change].add(*found)
    rates = {change: tally.rate(0.0) for change, tally in tallies.items() if tally.possible >= FEW}
    trusted = [change for change, rate in rates.items() if rate >= TRUSTED_LINK]
    return tuple(sorted(trusted, key=lambda change: (-tallies[change].seen, change))[:MOST_LINKS])


def _learn_rates(
    examples: list[str], variants: Variants, evidence: Evidence, rules: tuple[str, ...] = ()
) -> Rates:
    """Return what each kind of variant is worth; of kinds with few examples, mostly what their rule is."""
    by_rule, by_kind = defaultdict[str, _Tally](_Tally), defaultdict[str, _Tally](_Tally)
    for word in examples:
        for variant in variants.of(word):
            if (not rules or variant.rule in rules) and (found := evidence.of(word, variant.parts)):
                by_rule[variant.rule].add(*found)
                by_kind[variant.kind].add(*found)
    of_rules = {rule: tally.rate(0.0) for rule, tally in by_rule.items()}
    of_kinds = {kind: tally.rate(of_rules[kind.partition(":")[0]]) for kind, tally in by_kind.items()}
    return Rates(of_rules, of_kinds)


@dataclass(frozen=True)
class _Own:
    """What a variant of a word that was seen is worth: by its rule, and by the word's own pairs."""

    evidence: Evidence

    def __call__(self, word: str, variant: Variant, rate: float) -> float:
        found = self.evidence.of(word, variant.parts)
        if found is None:
            return 0.0
        tally = _Tally()
        lines = self.evidence.counts[self.evidence._ids[word]]
        tally.seen, tally.possible = lines * (found[0] - found[1]), lines * (1 - found[1])
        return max((tally.seen + OWN_FEW * rate) / (tally.possible + OWN_FEW), 0.0)
