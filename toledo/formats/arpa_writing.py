"""Compiled parts of writing ARPA files: lines of n-grams, numbers with as few digits as keep them the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel
from toledo.language_model import BackoffModel
from toledo.vocabulary import Vocabulary

LINES_AT_ONCE = 50_000
TAB, NEW_LINE, BLANK, MINUS, POINT, ZERO, SMALL_E = 9, 10, 32, 45, 46, 48, 101
NUMBER_BYTES = 32  # more than any number takes
LEAST_DIGITS, MOST_DIGITS = 6, 9  # nine significant digits tell all numbers of single precision apart
SMALLEST = 1e-13  # what is closer to 0 is written as 0
FIRST_EXPONENT = 7  # from 9.…e-7 on numbers are written with an exponent, as lmplz does
MOST_DECIMALS = 22  # 10^22 is the largest power of ten that double precision has exactly
POWERS = tuple(float(10**exponent) for exponent in range(MOST_DECIMALS + 1))


def ngram_lines(model: BackoffModel, order: int, vocabulary: Vocabulary) -> Iterator[tuple[int, str]]:
    """The lines of an order in portions: how many they are, and their text."""
    arrays: dict[str, Any] = {**vocabulary.to_arrays()}
    spelling, offsets = arrays["bytes"], arrays["offsets"]
    ngrams = model.orders[order - 1]
    for begin in range(0, len(ngrams), LINES_AT_ONCE):
        part = slice(begin, min(begin + LINES_AT_ONCE, len(ngrams)))
        words = model.words_of(order, part)
        room = int(np.diff(offsets)[words].sum()) + len(words) * (order + 2 * NUMBER_BYTES)
        text = _format(spelling, offsets, words, ngrams.scores[part], ngrams.backoffs[part], np.array(POWERS), room)
        yield len(words), text.tobytes().decode("utf-8")


@kernel
def _format(
    spelling: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    words: NDArray[np.int32],
    scores: NDArray[np.float32],
    backoffs: NDArray[np.float32],
    powers: NDArray[np.float64],
    room: int,
) -> NDArray[np.uint8]:
    out = np.empty(room, np.uint8)
    place = 0
    for line in range(words.shape[0]):
        place = _write_number(out, place, scores[line], powers)
        for i in range(words.shape[1]):
            out[place] = TAB if i == 0 else BLANK
            place += 1
            for j in range(offsets[words[line, i]], offsets[words[line, i] + 1]):
                out[place] = spelling[j]
                place += 1
        if backoffs.size:
            out[place] = TAB
            place = _write_number(out, place + 1, backoffs[line], powers)
        out[place] = NEW_LINE
        place += 1
    return out[:place]


@kernel
def _write_number(out: NDArray[np.uint8], place: int, value: np.float32, powers: NDArray[np.float64]) -> int:
    size = abs(np.float64(value))
    if size < SMALLEST:
        out[place] = ZERO
        return place + 1
    if value < 0:
        out[place] = MINUS
        place += 1
    mantissa, decimals = _shortest(size, powers)
    digits = 1
    while mantissa >= powers[digits]:
        digits += 1
    exponent = decimals - digits + 1
    if exponent < FIRST_EXPONENT:
        return _write_digits(out, place, mantissa, decimals)
    place = _write_digits(out, place, mantissa, digits - 1)
    out[place], out[place + 1] = SMALL_E, MINUS
    return _write_digits(out, place + 2, exponent, 0)


@kernel
def _write_digits(out: NDArray[np.uint8], place: int, number: int, decimals: int) -> int:
    """Write a whole number with a point before its last digits."""
    digits, rest = 1, number // 10
    while rest > 0 or digits <= decimals:
        digits, rest = digits + 1, rest // 10
    end = place + digits + (decimals > 0)
    for i in range(digits):  # from the last to the first
        if i == decimals and i > 0:
            out[end - 1 - i] = POINT
        out[end - 1 - i - (i >= decimals > 0)] = ZERO + number % 10
        number //= 10
    return end


@kernel
def _shortest(size: float, powers: NDArray[np.float64]) -> tuple[int, int]:
    """A whole number and how many of its digits are decimals, so that it is the given number in single precision."""
    magnitude = int(np.floor(np.log10(size)))
    mantissa, decimals = 0, 0
    for digits in range(LEAST_DIGITS, MOST_DIGITS + 1):
        decimals = min(max(digits - 1 - magnitude, 0), MOST_DECIMALS)
        mantissa = int(np.rint(size * powers[decimals]))
        if np.float32(mantissa / powers[decimals]) == np.float32(size):
            break
    while decimals > 0 and mantissa % 10 == 0:
        mantissa //= 10
        decimals -= 1
    return mantissa, decimals
