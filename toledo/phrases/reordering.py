"""Lexicalised reordering: how likely a phrase pair is to follow its neighbours monotonically, swapped or otherwise.

Tillmann (2004) and Koehn et al. (2005), the word-based variant that Moses calls wbe-msd-bidirectional-fe: the
orientation to the previous phrase is read off the links of the word before the target phrase. It is *monotone* if that
word is linked to the source word just before the phrase, a *swap* if to the one just after it, *discontinuous* if to
neither or both; likewise with the word after the target phrase. Both sentences count as linked at their two ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.phrases.spans import AlignedText, SpanPairs

MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2
ORIENTATIONS = 3
SMOOTHING = 0.5


@kernel
def reordering_scores(counts: NDArray[np.int32], smoothing: float = SMOOTHING) -> NDArray[np.float32]:
    """Logarithms of six probabilities per phrase pair from its six counts (previous, next × orientation).

    `smoothing` is added to each count.
    """
    scores = np.empty(counts.shape, np.float32)
    for p in range(counts.shape[0]):
        for first in range(0, counts.shape[1], ORIENTATIONS):
            total = ORIENTATIONS * smoothing
            for kind in range(first, first + ORIENTATIONS):
                total += counts[p, kind]
            for kind in range(first, first + ORIENTATIONS):
                scores[p, kind] = np.log((counts[p, kind] + smoothing) / total)
    return scores


@kernel
def orientation(text: AlignedText, sentence: int, spans: SpanPairs, index: int) -> int:
    """Both orientations of a pair of spans in one number: ORIENTATIONS · previous + next."""
    before_source, after_source = spans.source_first[index] - 1, spans.source_last[index] + 1
    before_target, after_target = spans.target_first[index] - 1, spans.target_last[index] + 1
    previous = _kind(
        _linked(text, sentence, before_source, before_target), _linked(text, sentence, after_source, before_target)
    )
    following = _kind(
        _linked(text, sentence, after_source, after_target), _linked(text, sentence, before_source, after_target)
    )
    return ORIENTATIONS * previous + following


@kernel
def _kind(straight: bool, crossed: bool) -> int:
    if straight == crossed:
        return DISCONTINUOUS
    return MONOTONE if straight else SWAP


@kernel
def _linked(text: AlignedText, sentence: int, source: int, target: int) -> bool:
    """Whether two positions are linked; the places just outside both sentences are, on the same side."""
    before: bool = source < text.source_offsets[sentence]
    after: bool = source >= text.source_offsets[sentence + 1]
    if target < text.target_offsets[sentence]:
        return before
    if target >= text.target_offsets[sentence + 1]:
        return after
    if before or after:
        return False
    found = False
    for k in range(text.bounds[source], text.bounds[source + 1]):
        found |= text.linked[k] == target
    return found
