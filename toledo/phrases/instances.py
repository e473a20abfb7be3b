"""Occurrences of phrase pairs in a corpus: which substrings, linked how, standing where, oriented how."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.hashing import HALF, MULTIPLIER
from toledo.kernels import kernel
from toledo.phrases.reordering import orientation
from toledo.phrases.spans import AlignedText, consistent_spans
from toledo.phrases.substrings import Substrings

ROW = 8  # a matrix of links of up to 8 × 8 words is kept exactly, as 64 bits


class Instances(NamedTuple):
    """Each occurrence: the numbers of both substrings, a code of the links, its first words, its orientation.

    Occurrences of one phrase pair have the same code if and only if they have the same links (with phrases of more
    than 8 words: but for a chance of 2⁻⁶⁴).
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    code: NDArray[np.uint64]
    source_first: NDArray[np.int32]
    target_first: NDArray[np.int32]
    orientation: NDArray[np.uint8]


def concatenate(parts: list[Instances]) -> Instances:
    """Several lists of occurrences as one."""
    columns: list[Any] = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Instances(*columns)


def select(instances: Instances, chosen: NDArray[np.int32]) -> Instances:
    """Some occurrences, as copies."""
    columns: list[Any] = [column[chosen] for column in instances]
    return Instances(*columns)


@kernel
def find_instances(
    text: AlignedText, sources: Substrings, targets: Substrings, begin: int, end: int, max_length: int
) -> Instances:
    """The phrase pairs in the sentence pairs `begin` to `end`."""
    spans = consistent_spans(text, begin, end, max_length)
    size = spans.source_first.size
    source, target = np.empty(size, np.int32), np.empty(size, np.int32)
    code, orientations = np.empty(size, np.uint64), np.empty(size, np.uint8)
    sentence = begin
    for i in range(size):
        first, last = spans.source_first[i], spans.source_last[i]
        while first >= text.source_offsets[sentence + 1]:
            sentence += 1
        source[i] = sources.numbers[last - first, first]
        target[i] = targets.numbers[spans.target_last[i] - spans.target_first[i], spans.target_first[i]]
        code[i] = link_code(text, first, last, spans.target_first[i], max_length <= ROW)
        orientations[i] = orientation(text, sentence, spans, i)
    return Instances(source, target, code, spans.source_first, spans.target_first, orientations)


@kernel
def link_code(text: AlignedText, first: int, last: int, target_first: int, exact: bool) -> np.uint64:
    """A number for the links of a span: the matrix itself where it fits, otherwise a mix of them."""
    code = np.uint64(0)
    for i in range(first, last + 1):
        for k in range(text.bounds[i], text.bounds[i + 1]):
            target = text.linked[k] - target_first
            if exact:
                code |= np.uint64(1) << np.uint64((i - first) * ROW + target)
            else:
                code = (code ^ (code >> HALF) ^ np.uint64((i - first) << 8 | target + 1)) * MULTIPLIER
    return code ^ (code >> HALF) if not exact else code
