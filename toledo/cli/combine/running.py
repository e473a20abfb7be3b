"""What `toledo combine` does between files and pages: read, tune, combine, and tell."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toledo.cli.combine.system_outputs import RESULT, in_order, named_systems, read_systems
from toledo.combination.combiner import Combiner
from toledo.combination.language_models import estimate_model, mix_components
from toledo.combination.lines import (
    CombinedLine,
    Lines,
    Outputs,
    any_words,
    as_sentences,
    combine_lines,
    model_for,
    read_outputs,
    train_truecaser,
)
from toledo.combination.network import best_path
from toledo.combination.tuning import Settings
from toledo.consensus.rule import Rule
from toledo.errors import InputError
from toledo.files import display_name, read_lines, read_segment_lines
from toledo.formats.arpa import read_arpa
from toledo.language_model.model import LanguageModel
from toledo.metrics.bleu import BLEU
from toledo.progress import Progress
from toledo.reports.networks import ShownSegment, columns_of
from toledo.runs.checkpoint import Checkpoint
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import Vocabulary

log = logging.getLogger(__name__)

TOO_GOOD = 95.0  # BLEU of a system


@dataclass(frozen=True)
class Work:
    """Where tuning keeps what it has, and how it works."""

    directory: Path
    resume: bool
    threads: int
    progress: Progress

    def place(self, entropy: float) -> Path:
        """The stages of one tuning."""
        return self.directory / f"entropy-{entropy:g}"

    def require_new(self) -> None:
        """Refuse to begin where an interrupted tuning is, before any work is done."""
        if self.resume and not self.directory.exists():
            log.warning("nothing to go on with in %s: tuning begins anew", self.directory)
        if self.directory.exists() and not self.resume:
            raise InputError(
                "holds an interrupted tuning", file=self.directory, remedy="go on with --resume, or remove it"
            )

    def remove(self) -> None:
        """All is done."""
        for place in self.directory.glob("entropy-*"):
            Checkpoint(place).remove()
        with suppress(OSError):  # somebody keeps other things there
            self.directory.rmdir()


def read_segments(lines: Lines, files: Sequence[str | None]) -> list[Outputs]:
    """What all systems say, to all segments."""
    segments = list(read_outputs(lines, read_systems(files)))
    if not any_words(segments):
        raise InputError("the outputs are empty", remedy="give files with a line for each segment")
    return segments


def combined_segments(
    directory: Path, given: Sequence[str], rule: Rule, scale: float, threads: int, wanted: Container[int] | None = None
) -> tuple[Combiner, Iterator[CombinedLine]]:
    """A combiner, and what it makes of files: as they are read, unless words must be learnt from all of them first.

    Only segments that are `wanted`, by number from 0, are combined.
    """
    combiner = Combiner.load(directory)
    files = in_order(named_systems(given), combiner.systems)
    lines = Lines(combiner.settings.raw)
    segments = read_outputs(lines, read_systems(files))
    model, truecaser = combiner.model, None
    if combiner.settings.bias or lines.language:
        everything = list(segments)
        segments = iter(everything)
        if any_words(everything):
            model = model_for(combiner, lines, everything)
            truecaser = train_truecaser(everything) if lines.language else None
    chosen = (one for number, one in enumerate(segments) if wanted is None or number in wanted)
    return combiner, combine_lines(combiner, chosen, rule, scale, model=model, truecaser=truecaser, threads=threads)


def reference_words(
    lines: Lines, files: Sequence[str], segments: int, source: str | None
) -> list[list[tuple[str, ...]]]:
    """The words of all references of each segment."""
    texts = [read_segment_lines(file, segments) for file in files]
    if source is not None:
        read_segment_lines(source, segments)
    references = [[lines.words(lines.read(line)) for line in own] for own in zip(*texts, strict=True)]
    if not any(text for own in references for text in own):
        raise InputError("the references are empty", file=display_name(files[0]), remedy="give texts to compare with")
    return references


def general_model(
    lines: Lines, models: Sequence[str], texts: Sequence[str], order: int, known: Sentences, vocabulary: Vocabulary
) -> LanguageModel | None:
    """The mixture of all given language models; None if there are none."""
    components = [read_arpa(file, vocabulary) for file in models]
    for file in texts:
        words = [lines.words(lines.read(line)) for line in read_lines(file)]
        components.append(estimate_model([as_sentences([one for one in words if one], vocabulary)], order))
    return mix_components(components, known).model if components else None


def tune_each(
    words: Sequence[Any],
    references: Sequence[Any],
    systems: Sequence[str],
    vocabulary: Vocabulary,
    model: LanguageModel | None,
    settings: Settings,
    entropies: Sequence[float],
    work: Work,
) -> dict[Combiner, float]:
    """A combiner for each entropy, and its BLEU on the tuning set."""
    found = {}
    for entropy in dict.fromkeys(entropies):
        own = replace(settings, entropy=entropy)
        combiner = Combiner.tune(
            words, references, systems, vocabulary, model, own,
            work=work.place(entropy), resume=work.resume, threads=work.threads, progress=work.progress,
        )  # fmt: skip
        found[combiner] = _bleu(
            [one.words for one in combiner.run(words, threads=work.threads)], references, work.threads
        )
        log.info("entropy %g: BLEU %.2f", entropy, found[combiner])
    return found


def _bleu(texts: Sequence[Sequence[str]], references: Sequence[Any], threads: int) -> float:
    return BLEU(smooth_method="none").score(
        BLEU(smooth_method="none").corpus_statistics(texts, references, threads=threads).sum(axis=0)
    )


def system_scores(
    words: Sequence[Any], references: Sequence[Any], systems: Sequence[str], threads: int
) -> dict[str, float]:
    """BLEU of each system on the tuning set."""
    best = [[own[0] if own else () for own in segment] for segment in words]
    return {
        name: _bleu([segment[number] for segment in best], references, threads) for number, name in enumerate(systems)
    }


def warn_of_tokens(segments: Sequence[Outputs], lines: Lines) -> None:
    """Raw text that ends in a blank and a full stop is none."""
    best = [own[0] for outputs in segments for own in outputs if own and own[0].words]
    apart = [one for one in best if one.blanks and one.words[-1] == "." and one.blanks[-1]]
    if lines.language and len(apart) > len(best) / 4:
        log.warning("the outputs look tokenised: with --tokenised their words are taken as they are")


def warn_if_useless(scores: dict[str, float]) -> None:
    """A combination that is no better than one system is of no use."""
    best = max((name for name in scores if name != RESULT), key=scores.__getitem__)
    if scores[best] > TOO_GOOD:
        log.warning("%s has a BLEU of %.1f: is it a reference?", best, scores[best])
        return
    if scores[RESULT] <= scores[best] and len(scores) > 2:
        log.warning(
            "the combination is no better than %s alone on the tuning set: try other systems, more segments to tune on,"
            " more text for the language model (--lm-text)",
            best,
        )


def lines_beside(source: str | None, references: Sequence[str]) -> list[list[str]]:
    """Lines to show: those of the source (or none), then those of each reference."""
    return [list(read_lines(source)) if source else [], *(list(read_lines(file)) for file in references)]


def shown_segment(combiner: Combiner, number: int, line: CombinedLine, beside: Sequence[Sequence[str]]) -> ShownSegment:
    """A segment for the page."""
    shares = combiner.second.weights.sigma
    words = [combiner.vocabulary.add(word) for word in line.combined.words]
    path = best_path(line.combined.lattice.networks, words, shares)
    columns = columns_of(path, combiner.vocabulary, shares.tolist()) if path else []
    outputs = {
        name: " ".join(own[0].words) if own else "" for name, own in zip(combiner.systems, line.outputs, strict=True)
    }
    source, *references = ([*text[number : number + 1], ""][0] for text in beside)
    return ShownSegment(number, line.text, columns, outputs, references, source)
