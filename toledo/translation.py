"""Blocks of lines to blocks of translations: by a search, by a decision rule on what it finds, or as given."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toledo.consensus.decide import Viterbi, decide
from toledo.consensus.rule import Rule
from toledo.consensus.scale import ScaleTable, choose_sampled_scale, scales_for
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, display_name, read_blocks, read_lines
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.progress import Progress, silent
from toledo.search.beam.forced import ForcedDecoder
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.search import Search
from toledo.search.steps import Step, steps_of
from toledo.search.weighted_model import EncodedSentence, as_given
from toledo.text.vocabulary import split_words

log = logging.getLogger(__name__)

BYTES_AT_ONCE = 1 << 20
LINES_AT_ONCE = 10_000
FORESTS_AT_ONCE = 256  # they need far more memory than text
MOST_REASONS = 10
FEW_WORDS = 20  # too few to say anything of a text
ONE_EACH = "give one translation for each line of the text"


@dataclass(frozen=True)
class TranslatedLine:
    """What is known of one segment: `line` is the result, `steps` are the phrases of the best derivation."""

    source: Sequence[str]
    line: str
    steps: tuple[Step, ...]
    forest: Forest | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


class Translator:
    """Translates lines as they come, in order and without holding anything back.

    Without a rule, the result is the best derivation that the search finds. The rule decides on its forests, whose
    scores are multiplied by `scale`. Forests are part of the results if `forests` says so, or if a rule needs them.
    """

    def __init__(
        self,
        search: Search[Any],
        rule: Rule | None = None,
        scale: float = 1.0,
        *,
        forests: bool = False,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> None:
        self.search, self.model, self.rule, self.scale = search, search.model, rule, scale
        self.forests, self.threads, self.progress = forests or rule is not None, threads, progress
        self.failed = self.words = self.unknown = 0

    def blocks(self, source: str) -> Iterator[list[TranslatedLine]]:
        """Translate a file block by block, as its lines are there."""
        interactive = source == STANDARD_STREAM and sys.stdin.isatty()
        self.progress = silent if interactive else self.progress
        lines = 0
        for block in read_blocks(source, size=BYTES_AT_ONCE, prompt=True):
            texts = _lines(block)
            yield from self._parts([split_words(line) for line in texts], lines)
            lines += len(texts)

    def lines(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        """Translate sentences that are all there."""
        return [found.line for part in self._parts(sentences, 0) for found in part]

    def report(self) -> None:
        """Log how many segments have no translation, and whether this is the text that the model knows."""
        if self.words >= FEW_WORDS and self.unknown > self.words / 2:
            log.warning(
                "%d of %d words are unknown to the model: is this its source language, tokenised in the same way?",
                self.unknown,
                self.words,
            )
        if self.failed:
            log.warning("%d segments have no translation", self.failed)

    def _parts(self, sentences: Sequence[Sequence[str]], first: int) -> Iterator[list[TranslatedLine]]:
        size = FORESTS_AT_ONCE if self.forests else LINES_AT_ONCE
        for begin in range(0, len(sentences), size):
            encoded = self.search.encode(sentences[begin : begin + size])
            self.words += sum(len(sentence.words) for sentence in encoded)
            self.unknown += sum(sentence.unknown for sentence in encoded)
            yield self._translate(encoded, first + begin)

    def _translate(self, sentences: list[EncodedSentence], first: int) -> list[TranslatedLine]:
        if not self.forests:
            best = self.search.translate(sentences, self.threads, self.progress)
            self.failed += sum(one.score == -math.inf for one in best)
            return [
                TranslatedLine(one.words, as_given(str(found), one.words), found.steps)
                for one, found in zip(sentences, best, strict=True)
            ]
        results = self.search.results(sentences, self.threads, self.progress)
        self.failed += sum(one.translation.score == -math.inf for one in results)
        lines = self._decide([one.forest for one in results]) or [str(one.translation) for one in results]
        found = []
        for sentence, line, one in zip(sentences, lines, results, strict=True):
            work = {"options": one.options, "steps tried": one.pops, "hypotheses": one.nodes}
            counts = {**work, "edges kept": one.forest.edges}
            text = as_given(line, sentence.words)
            found.append(TranslatedLine(sentence.words, text, one.translation.steps, one.forest, counts))
        return found

    def _decide(self, forests: list[Forest]) -> list[str]:
        if self.rule is None:
            return []
        chosen = decide(self.rule, forests, self.model.weights, self.scale, self.threads, self.progress)
        vocabulary = self.model.target_vocabulary
        return [" ".join(vocabulary.words(one.words.tolist())) for one in chosen]


class ForcedTranslator(Translator):
    """Scores given translations instead of searching; the result of a line is the score of its best derivation."""

    def __init__(
        self, search: Search[Any], targets: str, *, threads: int | None = None, progress: Progress = silent
    ) -> None:
        super().__init__(search, forests=True, threads=threads, progress=progress)
        self.targets = targets
        self._forced, self._given = ForcedDecoder(search.model), read_lines(targets)

    def blocks(self, source: str) -> Iterator[list[TranslatedLine]]:
        """Score the translations of a file block by block."""
        if source == self.targets == STANDARD_STREAM:
            raise InputError("text and translations cannot both come from standard input", remedy="name a file")
        lines = 0
        for block in super().blocks(source):
            lines += len(block)
            yield block
        if next(self._given, None) is not None:
            raise InputError(
                f"more than the {lines} lines of the text", file=display_name(self.targets), remedy=ONE_EACH
            )

    def report(self) -> None:
        """Log how many translations cannot be made by the model."""
        failed, self.failed = self.failed, 0
        super().report()
        self.failed = failed
        if failed:
            log.warning("%d segments have no translation as given", failed)

    def _translate(self, sentences: list[EncodedSentence], first: int) -> list[TranslatedLine]:
        targets = [self._target(first + place) for place in range(len(sentences))]
        forests = self._forced.forests(sentences, targets, self.threads, self.progress)
        found = []
        for number, (sentence, target, forest) in enumerate(zip(sentences, targets, forests, strict=True), start=first):
            (best,) = viterbi(forest, forest.scores(self.model.weights))
            counts = {"nodes": forest.nodes, "edges": forest.edges}
            if best is None:
                found.append(TranslatedLine(sentence.words, "-inf", (), forest, counts))
                if self.failed < MOST_REASONS:
                    log.warning("segment %d: %s", number, self._forced.why_not(sentence.words, target))
                self.failed += 1
            else:
                found.append(TranslatedLine(sentence.words, f"{best.score:.6f}", steps_of(best), forest, counts))
        return found

    def _target(self, number: int) -> list[str]:
        line = next(self._given, None)
        if line is None:
            raise InputError(f"{number} lines, fewer than the text", file=display_name(self.targets), remedy=ONE_EACH)
        return split_words(line)


def sampled_scale_table(
    search: GibbsSearch,
    rule: Rule | None,
    sentences: Sequence[Sequence[str]],
    references: Sequence[Sequence[Sequence[str]]],
    scales: Sequence[float] | None = None,
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> ScaleTable:
    """Score a rule at several scales, with samples of their own for each; by default scales that fit the weights."""
    numbers = scales_for(search.model.weights, search.model.feature_names) if scales is None else scales

    def translate(scale: float) -> list[Sequence[str]]:
        log.info("sampling at scale %g", scale)
        sampler = GibbsSearch(search.model, replace(search.settings, scale=scale), search.seed)
        translator = Translator(sampler, rule, scale, threads=threads, progress=progress)
        return [split_words(line) for line in translator.lines(sentences)]

    return choose_sampled_scale(rule or Viterbi(), translate, numbers, references, threads=threads)


def _lines(block: bytes) -> list[str]:
    """Return the lines of a block that ends with a line end, or with the file."""
    return [line.rstrip("\r") for line in block.decode("utf-8").removesuffix("\n").split("\n")]
