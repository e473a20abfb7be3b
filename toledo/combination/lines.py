"""From the lines that systems wrote to the line that they agree on.

Raw lines are tokenised and combined in lower case; the result gets its case and its blanks back from the outputs
(`truecasing`, `raw_text`). Tokenised lines are combined as they are. The language model of a set is the combiner's own,
mixed with one of the outputs of this very set (`language_models`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from toledo.combination.combiner import Combined, Combiner
from toledo.combination.language_models import add_bias, estimate_model, likely_bias
from toledo.combination.tuning import Settings
from toledo.combination.written_text import LatticeTruecaser, RawText, Written
from toledo.consensus.decide import Viterbi
from toledo.consensus.rule import Rule
from toledo.errors import InputError
from toledo.language_model.model import LanguageModel
from toledo.text.corpus import Sentences, sentences_from
from toledo.text.vocabulary import BEGIN, END, RESERVED, Vocabulary, split_words

Outputs = Sequence[Sequence[Written]]  # of each system for a segment, best first
SHOWN = 60  # characters of a line in a message


class CombinedLine(NamedTuple):
    """The text for a segment, and what it was made of."""

    text: str
    combined: Combined
    outputs: Outputs


@dataclass(frozen=True)
class Lines:
    """Reads and writes lines; `language` is the code of raw text, empty for tokenised text."""

    language: str = ""

    @cached_property
    def _raw(self) -> RawText | None:
        return RawText(self.language) if self.language else None

    def read(self, line: str) -> Written:
        """The words of a line and how they were written."""
        if self._raw:
            return self._raw.read(line)
        words = tuple(split_words(line))
        if reserved := {RESERVED[BEGIN], RESERVED[END]}.intersection(words):
            raise InputError(
                f"the reserved word {min(reserved)} stands in the line {line[:SHOWN]!r}",
                remedy="remove or escape it (toledo text escape)",
            )
        return Written(words, None)

    def words(self, one: Written) -> tuple[str, ...]:
        """The words that are combined."""
        return one.lower if self.language else one.words

    def write(self, words: Sequence[str], outputs: Outputs, truecaser: LatticeTruecaser | None) -> str:
        """The line of combined words, as the systems would write it."""
        if self._raw is None or truecaser is None:
            return " ".join(words)
        best = [own[0] for own in outputs if own]
        return self._raw.write(truecaser.restore(words, [one.words for one in best]), best)


def read_outputs(lines: Lines, segments: Iterable[Sequence[Sequence[str]]]) -> Iterator[Outputs]:
    """What systems wrote for each segment: one line or several of each system."""
    for systems in segments:
        yield [[lines.read(line) for line in own] for own in systems]


def output_words(lines: Lines, outputs: Outputs) -> list[list[tuple[str, ...]]]:
    """The words of all outputs, as a combiner takes them."""
    return [[lines.words(one) for one in own] for own in outputs]


def any_words(segments: Sequence[Outputs]) -> bool:
    """Whether any system says anything."""
    return any(one.words for outputs in segments for own in outputs for one in own[:1])


def model_of_outputs(lines: Lines, segments: Sequence[Outputs], vocabulary: Vocabulary, order: int) -> LanguageModel:
    """A language model of the best outputs of all systems."""
    texts = [lines.words(own[0]) for outputs in segments for own in outputs if own and own[0].words]
    return estimate_model([as_sentences(texts, vocabulary)], order)


def as_sentences(texts: Sequence[Sequence[str]], vocabulary: Vocabulary) -> Sentences:
    """Texts as word ids; new words join the vocabulary."""
    words = np.array([vocabulary.add(word) for text in texts for word in text], np.int32)
    return sentences_from(words, np.array([len(text) for text in texts], np.int64))


def choose_model(
    general: LanguageModel | None,
    biased: LanguageModel,
    references: Sentences,
    settings: Settings,
    bias: float | None,
) -> tuple[LanguageModel | None, Settings]:
    """The mixture to tune with, and settings that say how it was made; without a `bias` perplexity chooses it.

    A bias of 0 is without the model of the outputs; then there is no language model unless a `general` one is given.
    """
    if general is None:
        weight = 0.0 if bias == 0.0 else 1.0
    else:
        weight = likely_bias(general, biased, references) if bias is None else bias
    return _mixture(general, biased, weight), replace(settings, bias=weight, lm_order=biased.order)


def _mixture(general: LanguageModel | None, biased: LanguageModel, weight: float) -> LanguageModel | None:
    if weight == 0.0:
        return general
    return biased if general is None or weight == 1.0 else add_bias(general, biased, weight)


def model_for(combiner: Combiner, lines: Lines, segments: Sequence[Outputs]) -> LanguageModel | None:
    """The language model for a set: what tuning had, with these outputs in place of those of the tuning set."""
    bias, general = combiner.settings.bias, combiner.model
    if not bias:
        return general
    biased = model_of_outputs(lines, segments, combiner.vocabulary, combiner.settings.lm_order)
    return _mixture(general, biased, bias)


def train_truecaser(segments: Sequence[Outputs]) -> LatticeTruecaser:
    """How the systems write words in this set."""
    return LatticeTruecaser.train([own[0].words for outputs in segments for own in outputs if own and own[0].words])


def combine_lines(
    combiner: Combiner,
    segments: Iterable[Outputs],
    rule: Rule = Viterbi(),  # noqa: B008 (frozen)
    scale: float = 1.0,
    *,
    model: LanguageModel | None = None,
    truecaser: LatticeTruecaser | None = None,
    threads: int | None = None,
) -> Iterator[CombinedLine]:
    """Combine segment by segment, as they come."""
    lines = Lines(combiner.settings.raw)
    waiting: deque[Outputs] = deque()

    def fed() -> Iterator[list[list[tuple[str, ...]]]]:
        for outputs in segments:
            waiting.append(outputs)
            yield output_words(lines, outputs)

    for combined in combiner.run(fed(), rule, scale, model=model, threads=threads):
        outputs = waiting.popleft()
        yield CombinedLine(lines.write(combined.words, outputs, truecaser), combined, outputs)
