"""From a corpus to its word alignments in one call, and from a trained aligner to the alignments of new text.

The eflomal aligner (Östling and Tiedemann 2016), a Gibbs sampler, is an optional extra. It draws its own random numbers
and cannot be seeded: two runs differ a little.

In new text, the probability of a pair of words is the trained one. A pair that training never saw together has none,
except for new words: these are explained by new words of the other side (NEW_PAIR), or else by any word or NULL
(NEW_WORD), so that the jumps of the HMM decide.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.errors import InputError, ToledoError
from toledo.phrases.lexicon import NULL, Lexicon, Lexicons, check_lexicon
from toledo.phrases.settings import Decoding, Symmetrization
from toledo.phrases.table import WordLinks
from toledo.phrases.word_alignment import hmm
from toledo.phrases.word_alignment.direction import (
    Cells,
    Direction,
    blocks,
    cooccurrences,
    fill,
    make_direction,
    matrix,
    over_sentences,
)
from toledo.phrases.word_alignment.hmm import WEIGHTS, Transitions, viterbi
from toledo.phrases.word_alignment.symmetrize import OneWay, symmetrize
from toledo.phrases.word_alignment.training import infer_ibm1, initial_hmm, train_ibm1, train_together
from toledo.progress import Advance, Progress, silent
from toledo.text.corpus import ParallelCorpus, Sentences

log = logging.getLogger(__name__)

AlignmentModel = Literal["ibm1", "hmm", "eflomal"]

LONGEST = 1000  # the cells of a sentence pair are kept at once: 4 MB for 1000 words on both sides
NEW_PAIR, NEW_WORD, NEVER = np.float32(0.1), np.float32(0.001), np.float32(1e-30)
SIDES = ("forward", "backward")


@dataclass(frozen=True)
class AlignmentTraining:
    """Settings of alignment. Iterations of the HMM follow those of IBM Model 1; `decoding` is for the HMM."""

    model: AlignmentModel = "hmm"
    iterations_ibm1: int = 5
    iterations_hmm: int = 5
    symmetrization: Symmetrization = "grow-diag-final-and"
    decoding: Decoding = "posterior"

    def __post_init__(self) -> None:
        if self.iterations_ibm1 < 1 or self.iterations_hmm < 0:
            raise ValueError("IBM Model 1 needs at least one iteration, the HMM none or more")


class OneWayModel(NamedTuple):
    """The model that chooses the links of one direction: p(word | given word), and jumps unless it is IBM Model 1."""

    lexicon: Lexicon
    transitions: Transitions | None = None


BothModels = tuple[OneWayModel, OneWayModel]
Directions = tuple[Direction, Direction]  # p(target | source) and p(source | target)
Links = NDArray[np.int32]  # the position that each word is linked to, −1 for none
Sizes = tuple[int, int]  # of the vocabularies of source and target in training


@dataclass(frozen=True)
class AlignmentResult:
    """Alignments of all sentence pairs, the lexicons of IBM Model 1, and log-likelihoods before each iteration.

    `models` can align other sentence pairs (`align_new`); those of eflomal are of IBM Model 1.
    """

    alignments: WordLinks
    lexicons: Lexicons
    forward_likelihoods: tuple[float, ...]
    backward_likelihoods: tuple[float, ...]
    models: BothModels


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
    _warn_of_long_pairs(corpus)
    keep, kept = _usable(corpus)
    sweeps = config.iterations_ibm1 + (config.iterations_hmm if config.model == "hmm" else 0) + 1
    with progress("aligning words", total=2 * sweeps * len(kept)) as advance:
        directions = _both_directions(kept)
        trained = [
            train_ibm1(direction, cooccurrences(direction, threads), config.iterations_ibm1, threads, advance)
            for direction in directions
        ]
        lexicons = Lexicons(trained[0][0], trained[1][0])
        likelihoods = [tuple(history) for _, history in trained]
        _report("IBM Model 1", likelihoods)
        models = OneWayModel(lexicons.forward), OneWayModel(lexicons.backward)
        if config.model == "hmm":
            start = initial_hmm(directions[0], lexicons.forward), initial_hmm(directions[1], lexicons.backward)
            one, other = train_together(start, config.iterations_hmm, threads, advance)
            _report("HMM", [one.likelihoods, other.likelihoods])
            shares = 100 * one.transitions.null, 100 * other.transitions.null
            log.info("words that NULL explains: %.1f%% forward, %.1f%% backward", *shares)
            likelihoods = [likelihoods[0] + one.likelihoods, likelihoods[1] + other.likelihoods]
            models = OneWayModel(one.lexicon, one.transitions), OneWayModel(other.lexicon, other.transitions)
        if config.model == "eflomal":
            links = align_with_eflomal(kept)
        else:
            links = _one_way_links(directions, models, config, threads, advance)
    alignments = _symmetrized(kept, keep, links, config, threads)
    return AlignmentResult(alignments, lexicons, likelihoods[0], likelihoods[1], models)


def align_new(
    corpus: ParallelCorpus, models: BothModels, sizes: Sizes, config: AlignmentTraining, threads: int | None = None
) -> WordLinks:
    """Align sentence pairs whose first words are numbered as in training; those of the training text get its links."""
    keep, kept = _usable(corpus)
    directions = _both_directions(kept)
    adapted = (
        _for_text(models[0], directions[0], *sizes, threads),
        _for_text(models[1], directions[1], *sizes[::-1], threads),
    )
    return _symmetrized(kept, keep, _one_way_links(directions, adapted, config, threads), config, threads)


def _usable(corpus: ParallelCorpus) -> tuple[NDArray[np.bool_], ParallelCorpus]:
    keep = corpus.usable(LONGEST)
    return keep, corpus if keep.all() else corpus.select(keep)


def _both_directions(corpus: ParallelCorpus) -> Directions:
    source, target = len(corpus.source_vocabulary), len(corpus.target_vocabulary)
    return (
        make_direction(corpus.source, corpus.target, source, target),
        make_direction(corpus.target, corpus.source, target, source),
    )


def _symmetrized(
    kept: ParallelCorpus,
    keep: NDArray[np.bool_],
    links: tuple[Links, Links],
    config: AlignmentTraining,
    threads: int | None,
) -> WordLinks:
    """Join the links of both directions; sentence pairs that were left out get none."""
    found = symmetrize(OneWay(kept.source.offsets, kept.target.offsets, *links), config.symmetrization, threads)
    counts = np.zeros(keep.size, np.int64)
    counts[keep] = found.lengths
    return WordLinks.from_lengths(found.links, counts)


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


def _one_way_links(
    directions: Directions,
    models: BothModels,
    config: AlignmentTraining,
    threads: int | None,
    advance: Advance = lambda steps: None,
) -> tuple[Links, Links]:
    """Return the source position of each target word and the target position of each source word."""
    viterbi_links = config.decoding == "viterbi"
    forward, backward = (
        _links(direction, model, viterbi_links, threads, advance)
        for direction, model in zip(directions, models, strict=True)
    )
    return forward, backward


def _links(
    direction: Direction, model: OneWayModel, viterbi_links: bool, threads: int | None, advance: Advance
) -> Links:
    parts = [np.empty(0, np.int32)]
    for cells in blocks(direction):
        fill(cells, direction, model.lexicon, threads)
        if model.transitions is None:
            infer_ibm1(cells, direction, threads)
            parts += most_probable(cells, direction, threads)
        elif viterbi_links:
            parts += viterbi(cells, direction, model.transitions, threads)
        else:
            hmm.infer(cells, direction, model.transitions, threads)
            parts += most_probable(cells, direction, threads)
        advance(cells.last - cells.first)
    return np.concatenate(parts)


def most_probable(cells: Cells, direction: Direction, threads: int | None) -> list[Links]:
    """Return for each word the given position of the highest posterior, from 0, or −1 where that of NULL is higher."""
    return over_sentences(lambda first, last: _most_probable(cells, direction, first, last), cells, threads)


@kernel
def _most_probable(cells: Cells, direction: Direction, first: int, last: int) -> NDArray[np.int32]:
    best = np.empty(direction.word_offsets[last] - direction.word_offsets[first], np.int32)
    word = 0
    for sentence in range(first, last):
        values = matrix(cells, direction, sentence)
        for j in range(values.shape[1]):
            best[word] = np.argmax(values[1:, j])
            if values[0, j] > values[1 + best[word], j]:
                best[word] = -1
            word += 1
    return best


def require_eflomal() -> None:
    """Raise an error with the remedy if eflomal is not installed."""
    if find_spec("eflomal") is None:
        raise InputError(
            "the aligner eflomal is not installed",
            remedy='install it with: pip install "toledo-mt[eflomal]", or use the model hmm',
        )


def align_with_eflomal(corpus: ParallelCorpus) -> tuple[Links, Links]:
    """Return the source position of each target word and the target position of each source word."""
    from eflomal import Aligner

    with TemporaryDirectory() as folder:
        forward, backward = Path(folder) / "forward", Path(folder) / "backward"
        Aligner().align(
            _lines(corpus.source),
            _lines(corpus.target),
            links_filename_fwd=str(forward),
            links_filename_rev=str(backward),
        )
        return _read_links(forward, corpus.target, column=1), _read_links(backward, corpus.source, column=0)


def _lines(sentences: Sentences) -> Iterator[str]:
    """Yield numbers instead of words: eflomal lower-cases words and joins those that are then the same."""
    return (" ".join(map(str, sentence.tolist())) + "\n" for sentence in sentences)


def _read_links(path: Path, linked: Sentences, column: int) -> Links:
    """Read the links of each word of `linked`, whose positions are in that column of a link `source-target`."""
    result = np.full(linked.words.size, -1, np.int32)
    lines = path.read_text(encoding="ascii").splitlines()
    if len(lines) != len(linked):
        raise ToledoError(f"eflomal aligned {len(lines)} sentence pairs of {len(linked)}")
    for offset, line in zip(linked.offsets.tolist(), lines, strict=False):
        for text in line.split():
            link = tuple(map(int, text.split("-")))
            result[offset + link[column]] = link[1 - column]
    return result


def to_arrays(lexicons: Lexicons, models: BothModels) -> dict[str, NDArray[Any]]:
    """Return lexicons of IBM Model 1 and models of both directions as named arrays."""
    arrays: dict[str, NDArray[Any]] = {}
    for side, lexicon, model in zip(SIDES, lexicons, models, strict=True):
        arrays |= {f"{side}.ibm1.{key}": array for key, array in lexicon._asdict().items()}
        arrays |= {f"{side}.{key}": array for key, array in model.lexicon._asdict().items()}
        if model.transitions is not None:
            arrays[f"{side}.jumps"] = model.transitions.weights
            arrays[f"{side}.null"] = np.array([model.transitions.null])
    return arrays


def from_arrays(arrays: Mapping[str, NDArray[Any]], sizes: Sizes) -> tuple[Lexicons, BothModels]:
    """Return what `to_arrays` was given; arrays that kernels could not read safely are a KeyError or a ValueError."""
    ibm1 = Lexicons(_lexicon(arrays, "forward.ibm1", *sizes), _lexicon(arrays, "backward.ibm1", *sizes[::-1]))
    return ibm1, (_model(arrays, "forward", *sizes), _model(arrays, "backward", *sizes[::-1]))


def _lexicon(arrays: Mapping[str, NDArray[Any]], name: str, given: int, words: int) -> Lexicon:
    lexicon = Lexicon(*(arrays[f"{name}.{key}"] for key in Lexicon._fields))
    check_lexicon(lexicon, given, words)
    return lexicon


def _model(arrays: Mapping[str, NDArray[Any]], side: str, given: int, words: int) -> OneWayModel:
    lexicon = _lexicon(arrays, side, given, words)
    if f"{side}.jumps" not in arrays:
        return OneWayModel(lexicon)
    weights, null = arrays[f"{side}.jumps"], float(arrays[f"{side}.null"][0])
    if weights.shape != (2, WEIGHTS) or not (weights > 0.0).all() or not 0.0 <= null <= 1.0:
        raise ValueError("jumps of another model")
    return OneWayModel(lexicon, Transitions(weights, null))


def _for_text(model: OneWayModel, direction: Direction, given: int, words: int, threads: int | None) -> OneWayModel:
    """Return the model with the lexicon that the words of a text need; `given` and `words` were known in training."""
    needed = cooccurrences(direction, threads)
    probabilities = _probabilities(model.lexicon, needed, given, words)
    return model._replace(lexicon=needed._replace(probabilities=probabilities))


@kernel
def _probabilities(trained: Lexicon, needed: Lexicon, given_words: int, words: int) -> NDArray[np.float32]:
    """Look up the pairs of one lexicon in another; the words of a row are sorted in both."""
    result = np.zeros(needed.words.size, np.float32)
    for given in range(needed.offsets.size - 1):
        known = given + 1 < trained.offsets.size
        place, end = (trained.offsets[given], trained.offsets[given + 1]) if known else (0, 0)
        for entry in range(needed.offsets[given], needed.offsets[given + 1]):
            word = needed.words[entry]
            while place < end and trained.words[place] < word:
                place += 1
            if word >= words:
                result[entry] = NEW_PAIR if given >= given_words else NEW_WORD
            elif place < end and trained.words[place] == word:
                result[entry] = trained.probabilities[place]
            if given == NULL and result[entry] == 0.0:  # some word must explain it
                result[entry] = NEVER
    return result
