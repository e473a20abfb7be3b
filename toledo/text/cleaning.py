"""Which sentence pairs are fit for training, and a report of those that are not."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from typing import Any

from toledo.text.characters import main_script, scripts
from toledo.text.settings import Cleaning
from toledo.text.vocabulary import RESERVED, split_words

SAMPLE = 1000  # pairs that say which scripts a text is written in
EXAMPLES, SHOWN = 3, 80  # for each reason, characters of a side
FEW_LETTERS = 3  # say nothing about a language

REASONS = {  # in the order in which they are looked for
    "empty": "too short",
    "long": "too long",
    "ratio": "of very unequal length",
    "reserved": "with a reserved word",
    "script": "in another script",
    "duplicate": "repeated",
}

TextPair = tuple[str, str]


@dataclass(frozen=True)
class CleaningReport:
    """How many sentence pairs were left out for which reason, with examples by line, from 1."""

    settings: Cleaning
    pairs: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, tuple[tuple[int, str, str], ...]] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """Return the number of pairs that stayed."""
        return self.pairs - sum(self.dropped.values())

    def to_table(self) -> dict[str, Any]:
        """Return settings, counts and examples as TOML has them."""
        examples = {reason: [list(one) for one in some] for reason, some in self.examples.items()}
        counts = {"pairs": self.pairs, "kept": self.kept, "dropped": dict(self.dropped)}
        return {**counts, "examples": examples, "settings": asdict(self.settings)}

    def __str__(self) -> str:
        reasons = ", ".join(f"{count:,} {REASONS[reason]}" for reason, count in self.dropped.items())
        lines = [f"cleaning: kept {self.kept:,} of {self.pairs:,} sentence pairs{f' ({reasons})' if reasons else ''}"]
        for reason, ((line, source, target), *_) in self.examples.items():
            lines.append(f"  {REASONS[reason]}, line {line}: {source} ||| {target}")
        return "\n".join(lines)


class Cleaner:
    """Says of one pair after the other why it is not fit for training; `report` sums that up."""

    def __init__(self, settings: Cleaning) -> None:
        self.settings = settings
        self._scripts: tuple[str, ...] = ()
        self._seen: set[bytes] = set()
        self._pairs = 0
        self._dropped: Counter[str] = Counter()
        self._examples: dict[str, list[tuple[int, str, str]]] = {}

    def clean(self, pairs: Iterable[tuple[TextPair, TextPair]]) -> Iterator[bool]:
        """Yield for each pair whether it is kept; each has a text and its tokens for both sides: (texts, tokens)."""
        rest = iter(pairs)
        first = list(islice(rest, SAMPLE))
        self._scripts = tuple(main_script(texts[side] for texts, _ in first) for side in (0, 1))
        for texts, tokens in chain(first, rest):
            self._pairs += 1
            reason = self._reason(texts, tokens)
            if reason:
                self._dropped[reason] += 1
                if self._dropped[reason] <= EXAMPLES:
                    shown = (self._pairs, texts[0][:SHOWN], texts[1][:SHOWN])
                    self._examples.setdefault(reason, []).append(shown)
            yield not reason

    @property
    def report(self) -> CleaningReport:
        """Return the report about the pairs so far, the first reasons first."""
        dropped = {reason: self._dropped[reason] for reason in REASONS if self._dropped[reason]}
        examples = {reason: tuple(self._examples[reason]) for reason in dropped}
        return CleaningReport(self.settings, self._pairs, dropped, examples)

    def _reason(self, texts: TextPair, tokens: TextPair) -> str:
        settings = self.settings
        if reason := unfit(*tokens, settings):
            return reason
        if not settings.any_script and any(map(_is_other, texts, self._scripts)):
            return "script"
        if settings.keep_duplicates:
            return ""
        key = hashlib.blake2b("\n".join(tokens).encode(), digest_size=16).digest()
        if key in self._seen:
            return "duplicate"
        self._seen.add(key)
        return ""


def unfit(source: str, target: str, settings: Cleaning) -> str:
    """Return why tokenized sentences are not fit for training by themselves, nothing if they are."""
    sides = split_words(source), split_words(target)
    shorter, longer = sorted(map(len, sides))
    if shorter < settings.min_length:
        return "empty"
    if longer > settings.max_length:
        return "long"
    if longer > settings.ratio * max(shorter, 1):
        return "ratio"
    return "reserved" if any(word in RESERVED for words in sides for word in words) else ""


def _is_other(text: str, script: str) -> bool:
    """Return whether most letters of a text are of another script."""
    if text.isascii() and script == "LATIN":
        return False
    letters = scripts([text])
    return letters.total() > FEW_LETTERS and 2 * letters[script] < letters.total()
