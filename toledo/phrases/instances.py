"""Occurrences of phrase pairs in a corpus: which substrings, linked how, oriented how."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel
from toledo.phrases.matrices import SMALL, encode_links
from toledo.phrases.reordering import orientation
from toledo.phrases.spans import AlignedText, consistent_spans
from toledo.phrases.substrings import Substrings


class Instances(NamedTuple):
    """Each occurrence of a phrase pair: the numbers of both substrings, its links as a number, its orientation."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    links: NDArray[np.uint64]
    orientation: NDArray[np.uint8]


def empty_instances(size: int) -> Instances:
    """Room for some occurrences."""
    return Instances(
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint64), np.empty(size, np.uint8)
    )


def select(instances: Instances, chosen: NDArray[np.int32] | slice) -> Instances:
    """Some occurrences."""
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
    links, orientations = np.empty(size, np.uint64), np.empty(size, np.uint8)
    sentence = begin
    for i in range(size):
        first, last, target_first = spans.source_first[i], spans.source_last[i], spans.target_first[i]
        while first >= text.source_offsets[sentence + 1]:
            sentence += 1
        source[i] = sources.numbers[last - first, first]
        target[i] = targets.numbers[spans.target_last[i] - target_first, target_first]
        links[i] = encode_links(text, first, last, target_first, max_length <= SMALL)
        orientations[i] = orientation(text, sentence, spans, i)
    return Instances(source, target, links, orientations)
