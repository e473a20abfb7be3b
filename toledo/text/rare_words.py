"""Rare and unknown words of the source, rewritten into words that a model knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from toledo.text.settings import RareWordSettings
from toledo.text.word_variants import Variant, Variants


@dataclass(frozen=True)
class Rates:
    """What rules are worth, and kinds of variants: rules with their details."""

    rules: Mapping[str, float]
    kinds: Mapping[str, float]

    def of(self, kind: str) -> float:
        """Return what a kind of variants is worth; that of its rule if no example was seen."""
        return self.kinds.get(kind, self.rules.get(kind.partition(":")[0], 0.0))


@dataclass(frozen=True, eq=False)
class RareWords:
    variants: Variants
    rates: Rates
    settings: RareWordSettings
    decisions: Mapping[str, tuple[str, ...]]
    _known: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def decided(self, worth: Callable[[str, Variant, float], float]) -> RareWords:
        found = {}
        for word, n in self.variants.counts.items():
            if n < self.settings.rare_below:
                parts = self._pieces(word, worth, self.settings.seen_worth, self.settings.seen_rules)
                if parts != (word,):
                    found[word] = parts
        final = {}
        for word, parts in found.items():
            final[word] = tuple(one for part in parts for one in found.get(part, (part,)))
        return replace(self, decisions=final, _known={})

    def of(self, word: str) -> tuple[str, ...]:
        if word in self.decisions:
            return self.decisions[word]
        if word in self.variants.counts:
            return (word,)
        if word not in self._known:
            parts = self._pieces(word, lambda word, variant, rate: rate, self.settings.unknown_worth, ())
            self._known[word] = tuple(one for part in parts for one in self.decisions.get(part, (part,)))
        return self._known[word]

    def _pieces(self, word, worth, least, rules):
        pieces = self.variants.pieces(word)
        if len(pieces) == 1:
            return self._best(word, worth, least, rules)
        found = []
        for piece in pieces:
            found += [piece] if piece in self.variants.counts else self._best(piece, lambda w, v, rate: rate, least, ())
        return tuple(found)

    def _best(self, word, worth, least, rules) -> tuple[str, ...]:
        best, value = (word,), 0.0
        for variant in self.variants.of(word):
            if rules and variant.rule not in rules:
                continue
            rate = worth(word, variant, self.rates.of(variant.kind))
            if rate >= least and rate * variant.share > value:
                best, value = variant.parts, rate * variant.share
        return best
