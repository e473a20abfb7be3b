"""Sentence pairs that a trained aligner has not seen.

The probability of a pair of words is the trained one; a pair that training never saw together has none, but for words
that are new: they are explained by new words of the other side (NEW_PAIR), or else by any word or NULL (NEW_WORD), so
that the jumps of the HMM decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.phrases.lexicon import NULL, Lexicon, Lexicons, check_lexicon
from toledo.phrases.table import WordLinks
from toledo.phrases.word_alignment.aligner import (
    LONGEST,
    AlignmentTraining,
    AlignmentWork,
    OneWayModel,
    both_directions,
    one_way_links,
    with_gaps,
)
from toledo.phrases.word_alignment.direction import Direction, cooccurrences
from toledo.phrases.word_alignment.hmm import WEIGHTS, Transitions
from toledo.phrases.word_alignment.symmetrize import OneWay, symmetrize
from toledo.text.corpus import ParallelCorpus

NEW_PAIR, NEW_WORD, NEVER = np.float32(0.1), np.float32(0.001), np.float32(1e-30)
SIDES = ("forward", "backward")

BothModels = tuple[OneWayModel, OneWayModel]
Sizes = tuple[int, int]  # of the vocabularies of source and target in training


def align_new(
    corpus: ParallelCorpus, models: BothModels, sizes: Sizes, config: AlignmentTraining, threads: int | None = None
) -> WordLinks:
    """Align sentence pairs whose first words are numbered as in training; those of the training text get its links."""
    keep = corpus.usable(LONGEST)
    kept = corpus if keep.all() else corpus.select(keep)
    directions = both_directions(kept)
    own = (
        _for_text(models[0], directions[0], *sizes, threads),
        _for_text(models[1], directions[1], *sizes[::-1], threads),
    )
    links = one_way_links(directions, own, config, AlignmentWork(threads, lambda steps: None))
    found = symmetrize(OneWay(kept.source.offsets, kept.target.offsets, *links), config.symmetrization, threads)
    return found if kept is corpus else with_gaps(found, keep)


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
