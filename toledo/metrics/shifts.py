"""Shifts of blocks of words, as TER tries them: which come into question, and the words after one of them."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel

Number = TypeVar("Number", np.int32, np.int64)


class Shift(NamedTuple):
    """Move `length` words from `start` before `target`; an order of tuples is the order of preference."""

    gain: int
    length: int
    minus_start: int
    minus_target: int


class Places(NamedTuple):
    """How words stand beside the places of a reference or a network.

    `matches[i, j − i + d]` tells whether word i belongs at place j, for places up to d away. `words` at the places, or
    else the last ones before them, are −1 where there is none. Words may be wrong where they are, and places unmatched.
    """

    matches: NDArray[np.bool_]
    words: NDArray[np.int64]
    wrong: NDArray[np.bool_]
    unmatched: NDArray[np.bool_]


@kernel
def shift_candidates(places: Places, longest: int, most: int) -> NDArray[np.int64]:
    """Start, length and target of the shifts to try, about `most` of them, of blocks of up to `longest` words.

    A block must match places word by word; some word of it must be wrong where it is, and some of the places unmatched.
    It goes before or into the words that stand at these places now.
    """
    words, width, distance = places.wrong.size, places.unmatched.size, places.matches.shape[1] // 2
    found, count = np.empty((most + longest + 1, 3), np.int64), 0
    for start in range(words):
        for goal in range(max(0, start - distance), min(width, start + distance + 1)):
            any_wrong, any_unmatched = False, False
            for length in range(1, min(longest, words - start, width - goal) + 1):
                word, place = start + length - 1, goal + length - 1
                if not places.matches[word, goal - start + distance]:
                    break
                any_wrong |= places.wrong[word]
                any_unmatched |= places.unmatched[place]
                if not (any_wrong and any_unmatched) or start <= places.words[goal] < start + length:
                    continue
                previous = -1
                for offset in range(-1, length):
                    target = 0 if goal + offset < 0 else places.words[goal + offset] + 1
                    if target != previous:
                        found[count, 0], found[count, 1], found[count, 2] = start, length, target
                        previous = target
                        count += 1
                if count >= most:
                    return found[:count]
    return found[:count]


@kernel
def shift_bounds(words: int, start: int, length: int, target: int) -> tuple[int, int, int]:
    """A shift swaps two neighbouring blocks, from the first to the second and from the second to the third number.

    A target inside the block is counted from its end.
    """
    if target < start:
        return target, start, start + length
    end = target if target > start + length else min(length + target, words)
    return start, start + length, end


@kernel
def shifted(words: NDArray[Number], start: int, length: int, target: int) -> NDArray[Number]:
    """The words, or their numbers, with a block moved."""
    first, middle, last = shift_bounds(words.size, start, length, target)
    result = words.copy()
    result[first : first + last - middle] = words[middle:last]
    result[first + last - middle : last] = words[first:middle]
    return result
