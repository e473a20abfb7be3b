"""Blocks of lines to blocks of translations: by search, by a decision rule, or forced."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from toledo.cli.rules import RuleName, RuleSettings, named_rule
from toledo.cli.translate.searches import Search
from toledo.consensus.decide import decide
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, display_name, read_blocks, read_lines
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.progress import Progress, silent
from toledo.search.beam.forced import ForcedDecoder
from toledo.search.beam.search import SearchResult
from toledo.search.steps import Step, steps_of
from toledo.search.weighted_model import as_given
from toledo.text.vocabulary import UNKNOWN, split_words

log = logging.getLogger(__name__)

BYTES_AT_ONCE = 1 << 20
LINES_AT_ONCE = 10_000
FORESTS_AT_ONCE = 256  # they need far more memory than text
MOST_REASONS = 10
FEW_WORDS = 20  # too few to say anything of a text


@dataclass(frozen=True)
class Found:
    """What is known of one segment: `line` is the result, `steps` the phrases of the best derivation."""

    source: Sequence[str]
    line: str
    steps: tuple[Step, ...]
    forest: Forest | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """How to choose from a forest."""

    rule: RuleName = RuleName.viterbi
    settings: RuleSettings = RuleSettings()  # noqa: RUF009 (frozen)
    scale: float = 1.0
    samples: bool = False


class Translator:
    """Reads lines as they come, and gives what was found, in order and without holding anything back."""

    def __init__(
        self,
        search: Search,
        choice: Choice,
        targets: str | None,
        threads: int,
        progress: Progress,
        forests: bool,
    ) -> None:
        self.model, self.choice, self.threads = search.model, choice, threads
        self.progress = progress
        self.targets = targets
        self.forests = forests or choice.rule is not RuleName.viterbi or targets is not None
        self.failed = self._words = self._unknown = 0
        if targets is not None and choice.rule is not RuleName.viterbi:
            raise InputError("--force scores translations, --decide chooses them", remedy="choose one of both")
        self._given = None if targets is None else read_lines(targets)
        self._forced = None if targets is None else ForcedDecoder(search.model)
        self._search = search

    def blocks(self, source: str) -> Iterator[list[Found]]:
        """What was found, in blocks of the lines that were there."""
        if source == self.targets == STANDARD_STREAM:
            raise InputError("text and translations cannot both come from standard input", remedy="name a file")
        interactive = source == STANDARD_STREAM and sys.stdin.isatty()
        self.progress = silent if interactive else self.progress
        size, lines = FORESTS_AT_ONCE if self.forests else LINES_AT_ONCE, 0
        for block in read_blocks(source, size=BYTES_AT_ONCE, prompt=True):
            texts = _lines(block)
            for begin in range(0, len(texts), size):
                yield self._translate([split_words(line) for line in texts[begin : begin + size]], lines + begin)
            lines += len(texts)
        if self._given is not None and self.targets is not None and next(self._given, None) is not None:
            raise InputError(f"more than the {lines} lines of the text", file=display_name(self.targets), remedy=PAIRS)

    def lines(self, sentences: Sequence[list[str]]) -> list[str]:
        """The translations of sentences that are all there."""
        size = FORESTS_AT_ONCE if self.forests else LINES_AT_ONCE
        parts = (
            self._translate(list(sentences[first : first + size]), first) for first in range(0, len(sentences), size)
        )
        return [found.line for part in parts for found in part]

    def report(self) -> None:
        """Say how many segments have no translation, and whether this is the text that the model knows."""
        if self._words >= FEW_WORDS and self._unknown > self._words / 2:
            log.warning(
                "%d of %d words are unknown to the model: is this its source language, tokenised in the same way?",
                self._unknown,
                self._words,
            )
        if self.failed:
            log.warning("%d segments have no translation%s", self.failed, "" if self._forced is None else " as given")

    def _translate(self, sentences: list[list[str]], first: int) -> list[Found]:
        for words in sentences:
            self._words += len(words)
            self._unknown += int((self.model.source_vocabulary.ids(words) == UNKNOWN).sum())
        if self._forced is not None:
            return self._force(self._forced, sentences, first)
        if not self.forests:
            best = self._search.translate(sentences, self.threads, self.progress)
            self._count([one.score for one in best])
            return [
                Found(words, as_given(str(one), words), one.steps) for words, one in zip(sentences, best, strict=True)
            ]
        results = self._search.results(sentences, self.threads, self.progress)
        self._count([one.translation.score for one in results])
        lines = self._decided([one.forest for one in results]) or [str(one.translation) for one in results]
        return [
            Found(words, as_given(line, words), one.translation.steps, one.forest, _counts(one))
            for words, line, one in zip(sentences, lines, results, strict=True)
        ]

    def _decided(self, forests: list[Forest]) -> list[str]:
        choice = self.choice
        if choice.rule is RuleName.viterbi:
            return []
        rule = named_rule(choice.rule, choice.settings, samples=choice.samples)
        chosen = decide(rule, forests, self.model.weights, choice.scale, self.threads, self.progress)
        vocabulary = self.model.target_vocabulary
        return [" ".join(vocabulary.words(one.words.tolist())) for one in chosen]

    def _force(self, forced: ForcedDecoder, sentences: list[list[str]], first: int) -> list[Found]:
        targets = [self._target(first + place) for place in range(len(sentences))]
        forests = forced.forests(sentences, targets, self.threads, self.progress)
        found = []
        for number, (words, target, forest) in enumerate(zip(sentences, targets, forests, strict=True), start=first):
            (best,) = viterbi(forest, forest.scores(self.model.weights))
            counts = {"nodes": forest.nodes, "edges": forest.edges}
            if best is None:
                found.append(Found(words, "-inf", (), forest, counts))
                if self.failed < MOST_REASONS:
                    log.warning("segment %d: %s", number, forced.why_not(words, target))
            else:
                found.append(Found(words, f"{best.score:.6f}", steps_of(best), forest, counts))
            self._count([-math.inf if best is None else best.score])
        return found

    def _target(self, number: int) -> list[str]:
        line = None if self._given is None else next(self._given, None)
        if line is None:
            raise InputError(
                f"{number} lines, fewer than the text", file=display_name(self.targets or ""), remedy=PAIRS
            )
        return split_words(line)

    def _count(self, scores: Sequence[float]) -> None:
        self.failed += sum(score == -math.inf for score in scores)


PAIRS = "give one translation for each line of the text"


def _lines(block: bytes) -> list[str]:
    """The lines of a block that ends with a line end, or with the file."""
    return [line.rstrip("\r") for line in block.decode("utf-8").removesuffix("\n").split("\n")]


def _counts(result: SearchResult) -> dict[str, int]:
    return {
        "options": result.options,
        "steps tried": result.pops,
        "hypotheses": result.nodes,
        "edges kept": result.forest.edges,
    }
