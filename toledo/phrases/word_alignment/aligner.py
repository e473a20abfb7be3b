"""From a corpus to its word alignments, in one call.

The eflomal aligner (Östling and Tiedemann 2016), a Gibbs sampler, as an optional extra.

It draws its own random numbers and cannot be seeded: two runs differ a little.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError, ToledoError
from toledo.phrases.lexicon import Lexicon, Lexicons
from toledo.phrases.settings import Decoding, Symmetrization
from toledo.phrases.table import WordLinks
from toledo.phrases.word_alignment import hmm, training
from toledo.phrases.word_alignment.cells import Cells
from toledo.phrases.word_alignment.decode import decode, most_probable, viterbi
from toledo.phrases.word_alignment.direction import Direction, cooccurrences, make_direction
from toledo.phrases.word_alignment.hmm import Transitions
from toledo.phrases.word_alignment.symmetrize import OneWay, symmetrize
from toledo.phrases.word_alignment.training import Hmm, initial_hmm, train_ibm1, train_together
from toledo.progress import Advance, Progress, silent
from toledo.text.corpus import ParallelCorpus, Sentences


def require_eflomal() -> None:
    """Say what to do if eflomal is not installed."""
    if find_spec("eflomal") is None:
        raise InputError(
            "the aligner eflomal is not installed",
            remedy='install it with: pip install "toledo-mt[eflomal]", or use the model hmm',
        )


def align_with_eflomal(corpus: ParallelCorpus) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The source position of each target word and the target position of each source word, −1 for none."""
    from eflomal import Aligner

    with TemporaryDirectory() as folder:
        forward, backward = Path(folder) / "forward", Path(folder) / "backward"
        Aligner().align(
            _lines(corpus.source),
            _lines(corpus.target),
            links_filename_fwd=str(forward),
            links_filename_rev=str(backward),
        )
        return (
            _read(forward, corpus, linked=corpus.target, column=1),
            _read(backward, corpus, linked=corpus.source, column=0),
        )


def _lines(sentences: Sentences) -> Iterator[str]:
    """Numbers instead of words: eflomal lower-cases words and joins those that are then the same."""
    return (" ".join(map(str, sentence.tolist())) + "\n" for sentence in sentences)


def _read(path: Path, corpus: ParallelCorpus, linked: Sentences, column: int) -> NDArray[np.int32]:
    """One-way links for each word of `linked`, whose positions are in that column of a link `source-target`."""
    result = np.full(linked.words.size, -1, np.int32)
    lines = path.read_text(encoding="ascii").splitlines()
    if len(lines) != len(corpus):
        raise ToledoError(f"eflomal aligned {len(lines)} sentence pairs of {len(corpus)}")
    for offset, line in zip(linked.offsets.tolist(), lines, strict=False):
        for link in _links(line.split()):
            result[offset + link[column]] = link[1 - column]
    return result


def _links(texts: Iterable[str]) -> Iterator[tuple[int, int]]:
    for text in texts:
        source, _, target = text.partition("-")
        yield int(source), int(target)


log = logging.getLogger(__name__)

AlignmentModel = Literal["ibm1", "hmm", "eflomal"]

LONGEST = 1000  # the cells of a sentence pair are kept at once: 4 MB for 1000 words on both sides


@dataclass(frozen=True)
class AlignmentTraining:
    """How to align. Iterations of the HMM follow those of IBM Model 1; `decoding` is for the HMM."""

    model: AlignmentModel = "hmm"
    iterations_ibm1: int = 5
    iterations_hmm: int = 5
    symmetrization: Symmetrization = "grow-diag-final-and"
    decoding: Decoding = "posterior"

    def __post_init__(self) -> None:
        if self.iterations_ibm1 < 1 or self.iterations_hmm < 0:
            raise ValueError("IBM Model 1 needs at least one iteration, the HMM none or more")


class OneWayModel(NamedTuple):
    """What chooses the links of one direction: p(word | given word), and jumps unless it is IBM Model 1."""

    lexicon: Lexicon
    transitions: Transitions | None = None


@dataclass(frozen=True)
class AlignmentResult:
    """Alignments of all sentence pairs, the lexicons of IBM Model 1, and log-likelihoods before each iteration.

    `models` can align other sentence pairs (`toledo.phrases.word_alignment.new_text`).
    """

    alignments: WordLinks
    lexicons: Lexicons
    forward_likelihoods: tuple[float, ...]
    backward_likelihoods: tuple[float, ...]
    models: tuple[OneWayModel, OneWayModel]  # those that chose the links; of IBM Model 1 for eflomal


def align(
    corpus: ParallelCorpus,
    config: AlignmentTraining = AlignmentTraining(),
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> AlignmentResult:
    """Align the words of all sentence pairs; the result does not depend on the number of threads.

    A pair with an empty side, or with a side of more than LONGEST words, has no links.
    """
    if config.model == "eflomal":
        require_eflomal()
    keep = corpus.usable(LONGEST)
    _warn_of_long_pairs(corpus)
    kept = corpus if keep.all() else corpus.select(keep)
    sweeps = config.iterations_ibm1 + (config.iterations_hmm if config.model == "hmm" else 0) + 1
    with progress("aligning words", total=2 * sweeps * len(kept)) as advance:
        work = AlignmentWork(threads, advance)
        directions = both_directions(kept)
        lexicons, likelihoods = _train_ibm1(directions, config.iterations_ibm1, work)
        models = OneWayModel(lexicons.forward), OneWayModel(lexicons.backward)
        if config.model == "hmm":
            trained = _train_hmm(directions, lexicons, config.iterations_hmm, work)
            likelihoods = [a + list(model.likelihoods) for a, model in zip(likelihoods, trained, strict=True)]
            one, other = trained
            models = OneWayModel(one.lexicon, one.transitions), OneWayModel(other.lexicon, other.transitions)
        links = (
            align_with_eflomal(kept) if config.model == "eflomal" else one_way_links(directions, models, config, work)
        )
    alignments = symmetrize(OneWay(kept.source.offsets, kept.target.offsets, *links), config.symmetrization, threads)
    return AlignmentResult(
        alignments if kept is corpus else with_gaps(alignments, keep),
        lexicons,
        tuple(likelihoods[0]),
        tuple(likelihoods[1]),
        models,
    )


@dataclass(frozen=True)
class AlignmentWork:
    """Who does the work, and who hears of it."""

    threads: int | None
    advance: Advance


def both_directions(corpus: ParallelCorpus) -> tuple[Direction, Direction]:
    """p(target | source) and p(source | target)."""
    source, target = len(corpus.source_vocabulary), len(corpus.target_vocabulary)
    return (
        make_direction(corpus.source, corpus.target, source, target),
        make_direction(corpus.target, corpus.source, target, source),
    )


def _train_ibm1(
    directions: tuple[Direction, Direction], iterations: int, work: AlignmentWork
) -> tuple[Lexicons, list[list[float]]]:
    trained = [
        train_ibm1(direction, cooccurrences(direction, work.threads), iterations, work.threads, work.advance)
        for direction in directions
    ]
    likelihoods = [history for _, history in trained]
    _report("IBM Model 1", likelihoods)
    return Lexicons(trained[0][0], trained[1][0]), likelihoods


def _train_hmm(
    directions: tuple[Direction, Direction], lexicons: Lexicons, iterations: int, work: AlignmentWork
) -> tuple[Hmm, Hmm]:
    start = initial_hmm(directions[0], lexicons.forward), initial_hmm(directions[1], lexicons.backward)
    models = train_together(start, iterations, work.threads, work.advance)
    _report("HMM", [model.likelihoods for model in models])
    log.info("words that NULL explains: %.1f%% forward, %.1f%% backward", *(100 * m.transitions.null for m in models))
    return models


def one_way_links(
    directions: tuple[Direction, Direction],
    models: tuple[OneWayModel, OneWayModel],
    config: AlignmentTraining,
    work: AlignmentWork,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the source position of each target word and the target position of each source word, −1 for none."""

    def one_way(direction: Direction, model: OneWayModel) -> NDArray[np.int32]:
        def links(cells: Cells) -> list[NDArray[np.int32]]:
            if model.transitions is None:
                training.infer_ibm1(cells, direction, work.threads)
            elif config.decoding == "viterbi":
                return viterbi(cells, direction, model.transitions, work.threads)
            else:
                hmm.infer(cells, direction, model.transitions, work.threads)
            return most_probable(cells, direction, work.threads)

        return decode(direction, model.lexicon, links, work.threads, work.advance)

    return one_way(directions[0], models[0]), one_way(directions[1], models[1])


def _report(model: str, likelihoods: Sequence[Sequence[float]]) -> None:
    for number, (forward, backward) in enumerate(zip(*likelihoods, strict=True), start=1):
        log.info("%s, iteration %d: log-likelihood %.0f forward, %.0f backward", model, number, forward, backward)


def _warn_of_long_pairs(corpus: ParallelCorpus) -> None:
    long = np.flatnonzero(np.maximum(corpus.source.lengths, corpus.target.lengths) > LONGEST)
    if long.size:
        log.warning(
            "%d sentence pairs with more than %d words are not aligned, the first one in line %d",
            *(long.size, LONGEST, corpus.lines[long[0]]),
        )


def with_gaps(alignments: WordLinks, keep: NDArray[np.bool_]) -> WordLinks:
    """Alignments of the pairs where `keep` is true, and none for the others."""
    counts = np.zeros(keep.size, np.int64)
    counts[keep] = alignments.lengths
    return WordLinks.from_lengths(alignments.links, counts)
