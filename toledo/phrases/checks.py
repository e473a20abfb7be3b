"""Checks of phrase arrays before compiled code sees them: types, shapes, and every index within its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from toledo.phrases.pairs import PhrasePairs, Phrases

LONGEST_PHRASE = 255  # positions in a phrase are stored in one byte


def require_array(name: str, array: NDArray[Any], dtype: DTypeLike, shape: tuple[int, ...]) -> None:
    """Type and shape as said; kernels are compiled for contiguous arrays."""
    if array.dtype != np.dtype(dtype) or array.shape != shape or not array.flags.c_contiguous:
        raise ValueError(
            f"{name} must be a contiguous {np.dtype(dtype)}{list(shape)}, not {array.dtype}{list(array.shape)}"
        )


def check_phrases(name: str, phrases: Phrases, vocabulary_size: int) -> None:
    """Every phrase has 1 to LONGEST_PHRASE words, and every word is known."""
    require_array(f"{name} offsets", phrases.offsets, np.int64, (phrases.offsets.size,))
    require_array(f"{name} words", phrases.words, np.int32, (phrases.words.size,))
    _check_offsets(name, phrases.offsets, phrases.words.size)
    lengths = np.diff(phrases.offsets)
    if np.any((lengths < 1) | (lengths > LONGEST_PHRASE)):
        raise ValueError(f"a {name} phrase must have 1 to {LONGEST_PHRASE} words")
    if np.any((phrases.words < 0) | (phrases.words >= vocabulary_size)):
        raise ValueError(f"a {name} phrase has a word that is not in the vocabulary")


def check_pairs(pairs: PhrasePairs) -> None:
    """Pairs are sorted and distinct, name phrases that exist, and link positions that exist."""
    count = len(pairs)
    require_array("source", pairs.source, np.int32, (count,))
    require_array("target", pairs.target, np.int32, (count,))
    require_array("joint_counts", pairs.joint_counts, np.float32, (count,))
    require_array("link_offsets", pairs.link_offsets, np.int64, (count + 1,))
    require_array("links", pairs.links, np.uint8, (len(pairs.links), 2))
    _check_numbers("source", pairs.source, len(pairs.sources))
    _check_numbers("target", pairs.target, len(pairs.targets))
    same = pairs.source[1:] == pairs.source[:-1]
    if np.any(pairs.source[1:] < pairs.source[:-1]) or np.any(same & (pairs.target[1:] <= pairs.target[:-1])):
        raise ValueError("phrase pairs must be distinct and sorted by source and target phrase")
    _check_offsets("links", pairs.link_offsets, len(pairs.links))
    _check_links(pairs)


def _check_links(pairs: PhrasePairs) -> None:
    counts = np.diff(pairs.link_offsets)
    for side, (phrases, chosen) in enumerate(((pairs.sources, pairs.source), (pairs.targets, pairs.target))):
        lengths = np.diff(phrases.offsets).astype(np.uint8)  # check_phrases has seen that they fit
        if np.any(pairs.links[:, side] >= np.repeat(lengths[chosen], counts)):
            raise ValueError("a link lies outside its phrases")


def _check_numbers(name: str, numbers: NDArray[np.int32], count: int) -> None:
    if np.any((numbers < 0) | (numbers >= count)):
        raise ValueError(f"a pair names a {name} phrase that does not exist")


def _check_offsets(name: str, offsets: NDArray[np.int64], total: int) -> None:
    if not offsets.size or offsets[0] != 0 or offsets[-1] != total or np.any(offsets[1:] < offsets[:-1]):
        raise ValueError(f"the offsets of the {name} must rise from 0 to {total}")
