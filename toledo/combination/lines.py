"""Combine lines of text: what several systems wrote becomes one line.

    combiner = tune_lines(segments, references, ["A", "B", "C"], CombinationSettings(language="en"))
    for line in combine_texts(combiner, segments): print(line.text)  # toledo.combination.streaming

`segments` has for each segment the texts of each system, best first (`read_hypotheses` reads them from a file). Raw
lines are tokenized and combined in lower case; the result gets its case and its blanks back from the outputs
(`toledo.combination.written_text`). Tokenized lines are combined as they are. The language model of a set is
that of the combiner, mixed with a model of the outputs of this set (`toledo.combination.language_models`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from toledo.combination.combiner import Combiner
from toledo.combination.features import Feature
from toledo.combination.language_models import BiasedModels, add_bias, estimate_model, likely_bias, mix_components
from toledo.combination.selection import CHOICE, RESULT
from toledo.combination.settings import CombinationSettings
from toledo.combination.spelling import Written
from toledo.combination.tuning import TuningRun
from toledo.combination.written_text import LatticeTruecaser, RawText
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, is_stream, read_lines, system_name
from toledo.formats.list_files import TEXT, ListFiles, format_of_beginning, guess_list_format, read_list
from toledo.language_model.model import LanguageModel, read_language_model
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import BEGIN, END, RESERVED, Vocabulary, split_words

log = logging.getLogger(__name__)

T = TypeVar("T")

SegmentTexts = Sequence[Sequence[str]]  # what each system says to a segment, best first
Outputs = Sequence[Sequence[Written]]  # the same, read
SHOWN = 60  # characters of a line in a message
TOO_GOOD = 95.0  # BLEU of a system


@dataclass(frozen=True)
class LineFormat:
    """Reads and writes lines; `language` is the code of raw text, empty for tokenized text."""

    language: str = ""

    @cached_property
    def _raw(self) -> RawText | None:
        return RawText(self.language) if self.language else None

    def read(self, line: str) -> Written:
        """Return the words of a line and how they were written."""
        if self._raw:
            return self._raw.read(line)
        words = tuple(split_words(line))
        if reserved := {RESERVED[BEGIN], RESERVED[END]}.intersection(words):
            raise InputError(
                f"the reserved word {min(reserved)} stands in the line {line[:SHOWN]!r}",
                remedy="remove or escape it (toledo text escape)",
            )
        return Written(words)

    def read_all(self, segment: SegmentTexts) -> Outputs:
        """Read what the systems wrote for a segment: one line or several of each system."""
        return [[self.read(line) for line in own] for own in segment]

    def words(self, one: Written) -> tuple[str, ...]:
        """Return the words that are combined."""
        return one.lower if self.language else one.words

    def write(self, words: Sequence[str], outputs: Outputs, truecaser: LatticeTruecaser | None) -> str:
        """Return the line of combined words, as the systems would write it."""
        if self._raw is None or truecaser is None:
            return " ".join(words)
        written = [one for own in outputs for one in own]
        weights = [1.0 / (1 + rank) for own in outputs for rank in range(len(own))]
        return self._raw.write(truecaser.restore(words, [one.words for one in written], weights), written, weights)


class ModelSources(NamedTuple):
    """What the general language model is made of: models, or their files, and texts."""

    models: Sequence[LanguageModel | str | Path] = ()
    texts: Sequence[Iterable[str]] = ()


def tune_lines(
    segments: Sequence[SegmentTexts],
    references: Sequence[Sequence[str]],
    systems: Sequence[str],
    settings: CombinationSettings,
    sources: ModelSources = ModelSources(),  # noqa: B008 (immutable)
    run: TuningRun = TuningRun(),  # noqa: B008 (frozen)
    features: Sequence[Feature] = (),
) -> Combiner:
    """Tune a combiner on segments with references (one or several for each segment)."""
    lines, vocabulary = LineFormat(settings.raw_language), Vocabulary()
    outputs = [lines.read_all(texts) for texts in segments]
    best = best_lines(outputs)
    if not best:
        raise InputError("the outputs are empty", remedy="give texts with a line for each segment")
    apart = [one for one in best if one.blanks and one.words[-1] == "." and one.blanks[-1]]
    if lines.language and len(apart) > len(best) / 4:
        log.warning("the outputs look tokenized: set `tokenized` to combine their words as they are")
    known = [[lines.words(lines.read(line)) for line in own] for own in references]
    if not any(text for own in known for text in own):
        raise InputError("the references are empty", argument="references", remedy="give texts to compare with")
    sentences = as_sentences([text for texts in known for text in texts], vocabulary)
    general = _general_model(lines, sources, settings.lm_order, sentences, vocabulary)
    biased = model_of_outputs(lines, best, vocabulary, settings.lm_order if general is None else general.order)
    model, settings = choose_model(general, biased, sentences, settings)
    words = [output_words(lines, one) for one in outputs]
    combiner = Combiner.tune(words, known, systems, vocabulary, model, settings, features, run)
    log.info("language model: weight %.1f for the outputs", combiner.settings.bias)
    warn_if_useless(combiner.bleu)
    return replace(combiner, model=general)


def output_words(lines: LineFormat, outputs: Outputs) -> list[list[tuple[str, ...]]]:
    """Return the words of all outputs, as a combiner takes them."""
    return [[lines.words(one) for one in own] for own in outputs]


def best_lines(segments: Iterable[Outputs]) -> list[Written]:
    """Return the best output of each system for each segment, as far as it has words."""
    return [own[0] for outputs in segments for own in outputs if own and own[0].words]


def model_of_outputs(lines: LineFormat, best: Sequence[Written], vocabulary: Vocabulary, order: int) -> LanguageModel:
    """Return a language model of the best outputs of all systems."""
    return estimate_model([as_sentences([lines.words(one) for one in best], vocabulary)], order)


def as_sentences(texts: Sequence[Sequence[str]], vocabulary: Vocabulary) -> Sentences:
    """Return texts as word ids; new words join the vocabulary."""
    words = np.array([vocabulary.add(word) for text in texts for word in text], np.int32)
    return Sentences.from_lengths(words, np.array([len(text) for text in texts], np.int64))


def choose_model(
    general: LanguageModel | None, biased: LanguageModel, references: Sentences, settings: CombinationSettings
) -> tuple[LanguageModel | BiasedModels | None, CombinationSettings]:
    """Return the mixture to tune with, or both models if BLEU is to choose, and settings that say how it was made.

    A bias of 0 leaves out the model of the outputs; then there is no language model unless a `general` one is given.
    """
    settings = replace(settings, lm_order=biased.order)
    if general is not None and settings.bias is None and settings.bias_by == "bleu":
        return BiasedModels(general, biased), settings
    weight = settings.bias
    if general is None:
        weight = 0.0 if weight == 0.0 else 1.0
    elif weight is None:
        weight = likely_bias(general, biased, references)
    return _mixture(general, biased, weight), replace(settings, bias=weight)


def _mixture(general: LanguageModel | None, biased: LanguageModel, weight: float) -> LanguageModel | None:
    if weight == 0.0:
        return general
    return biased if general is None or weight == 1.0 else add_bias(general, biased, weight)


def model_for(combiner: Combiner, lines: LineFormat, best: Sequence[Written]) -> LanguageModel | None:
    """Return the language model for a set: that of tuning, with these outputs in place of those of the tuning set."""
    settings, general = combiner.settings, combiner.model
    if not settings.bias:
        return general
    biased = model_of_outputs(lines, best, combiner.vocabulary, settings.lm_order)
    return _mixture(general, biased, settings.bias)


def _general_model(
    lines: LineFormat, sources: ModelSources, order: int, known: Sentences, vocabulary: Vocabulary
) -> LanguageModel | None:
    """Return the mixture of all given language models; None if there are none."""
    components = [
        one.with_vocabulary(vocabulary) if isinstance(one, LanguageModel) else read_language_model(one, vocabulary)
        for one in sources.models
    ]
    for text in sources.texts:
        words = [lines.words(lines.read(line)) for line in text]
        components.append(estimate_model([as_sentences([one for one in words if one], vocabulary)], order))
    return mix_components(components, known) if components else None


def warn_if_useless(bleu: Mapping[str, float]) -> None:
    """Warn of a combination that is not better than one of its systems."""
    systems = [name for name in bleu if name not in (RESULT, CHOICE)]
    best = max(systems, key=bleu.__getitem__)
    if bleu[best] > TOO_GOOD:
        log.warning("%s has a BLEU of %.1f: is it a reference?", best, bleu[best])
    elif bleu[RESULT] <= bleu[best] and len(systems) > 1:
        log.warning(
            "the combination does not beat %s alone on the tuning set: try other systems, more segments to tune on,"
            " more text for the language model",
            best,
        )


def named_systems(given: Sequence[str]) -> dict[str, Path]:
    """Return files by the names of their systems: NAME=FILE, or the name of the file without its ending."""
    if not given:
        raise InputError("no system is given", argument="systems", remedy="name a file of outputs for each system")
    named = [_named(one) for one in given]
    names = [name for name, _ in named]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two systems have the name {', '.join(twice)}", remedy="give names: first=A.en second=B.en")
    if [str(file) for _, file in named].count(STANDARD_STREAM) > 1:
        raise InputError("standard input can be read only once", remedy="name files, and - at most once")
    if missing := next((file for _, file in named if str(file) != STANDARD_STREAM and not file.exists()), None):
        raise InputError("no such file", file=missing, remedy="check the name")
    return dict(named)


def _named(one: str) -> tuple[str, Path]:
    name, sign, file = one.partition("=")
    return (name, Path(file)) if sign and name and not Path(one).exists() else (system_name(one), Path(one))


def in_order(systems: Mapping[str, T], known: Sequence[str]) -> list[T | None]:
    """Return what there is of each system that was tuned with, None for those that are missing."""
    for name in systems:
        if name not in known:
            raise InputError(
                f"system {name!r} was not tuned with ({', '.join(known)})",
                argument="systems",
                remedy="give these names, or tune again",
            )
    if missing := [name for name in known if name not in systems]:
        log.warning("no output of %s: the others decide alone", ", ".join(missing))
    return [systems.get(name) for name in known]


def read_hypotheses(file: str | Path) -> Iterator[list[str]]:
    """Read the texts for each segment, best first: one line, or a list (Moses' or JSONL); an empty line is none.

    A pipe is opened once, so it may have lines only.
    """
    is_pipe = is_stream(file) and str(file) != STANDARD_STREAM
    form = TEXT if is_pipe else guess_list_format(file)
    if form == TEXT:
        for number, line in enumerate(read_lines(file)):
            if is_pipe and not number and format_of_beginning(line.encode() + b"\n", file) != TEXT:
                raise InputError("lists cannot be read from a pipe", file=file, remedy="write them to a file first")
            yield [line] if line.strip() else []
    else:
        for some in read_list(file, ListFiles(form)):
            texts = [" ".join(entry.words) for entry in some.entries]
            yield [text for text in best_first(texts, [entry.score for entry in some.entries]) if text]


def best_first(texts: Sequence[str], scores: Sequence[float | None]) -> list[str]:
    """Sort texts by scores, best first, if all have one; otherwise keep their order."""
    known = {place: score for place, score in enumerate(scores) if score is not None}
    places = range(len(texts)) if len(known) < len(texts) else sorted(known, key=lambda place: -known[place])
    return [texts[place] for place in places]
