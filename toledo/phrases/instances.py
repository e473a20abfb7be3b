"""Occurrences of phrase pairs in a corpus: which substrings, linked how, oriented how."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel, map_chunks
from toledo.phrases.matrices import SMALL, encode_links
from toledo.phrases.reordering import orientation
from toledo.phrases.spans import AlignedText, consistent_spans, count_spans
from toledo.phrases.substrings import Substrings
from toledo.progress import Progress, silent

SENTENCES_AT_ONCE = 4096


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


def find_all_instances(
    text: AlignedText,
    sources: Substrings,
    targets: Substrings,
    max_length: int,
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> Instances:
    """All occurrences in a corpus: counted first, then written where they belong, so that memory is taken once."""
    sentences = text.source_offsets.size - 1
    counts = map_chunks(
        lambda begin, end: count_spans(text, begin, end, max_length),
        sentences,
        chunk=SENTENCES_AT_ONCE,
        threads=threads,
    )
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
    instances = empty_instances(int(offsets[-1]))

    def find(begin: int, end: int) -> None:
        chunk = begin // SENTENCES_AT_ONCE
        room = select(instances, slice(offsets[chunk], offsets[chunk + 1]))
        _find(text, sources, targets, begin, end, max_length, room)

    map_chunks(find, sentences, chunk=SENTENCES_AT_ONCE, threads=threads, progress=progress, label="extracting phrases")
    return instances


@kernel
def _find(
    text: AlignedText, sources: Substrings, targets: Substrings, begin: int, end: int, max_length: int, room: Instances
) -> None:
    """Write the phrase pairs of the sentence pairs `begin` to `end`."""
    spans = consistent_spans(text, begin, end, max_length, room.source.size)
    sentence = begin
    for i in range(spans.source_first.size):
        first, last, target_first = spans.source_first[i], spans.source_last[i], spans.target_first[i]
        while first >= text.source_offsets[sentence + 1]:
            sentence += 1
        room.source[i] = sources.numbers[last - first, first]
        room.target[i] = targets.numbers[spans.target_last[i] - target_first, target_first]
        room.links[i] = encode_links(text, first, last, target_first, max_length <= SMALL)
        room.orientation[i] = orientation(text, sentence, spans, i)
