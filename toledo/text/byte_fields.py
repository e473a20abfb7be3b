"""Compiled parts of reading Moses' tables: from the bytes of many lines to tokens, fields, numbers, links and words.

A line is fields with `|||` between them; a field is tokens with white space between them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel

NEW_LINE, BAR, POINT, PLUS, MINUS, ZERO, NINE = 10, 124, 46, 43, 45, 48, 57
SMALL_E, LARGE_E = 101, 69
BARS = 3
MOST_DIGITS = 18  # a mantissa of 18 digits fits into 63 bits; more digits do not change a double
MOST_EXPONENT = 9999  # far beyond the range of a double: larger ones need not be told apart
MOST_POSITION = 9999
NONE = -1


class Tokens(NamedTuple):
    """Token t is `data[begin[t]:end[t]]`; line l has the tokens from `offsets[l]` up to `offsets[l + 1]`."""

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    offsets: NDArray[np.int64]


class Fields(NamedTuple):
    """Fields of lines as ranges of tokens, one row for each field number; `per_line[l]` is their number in line l.

    `glued` is the first token with `|||` inside a longer word, or NONE.
    """

    first: NDArray[np.int64]
    stop: NDArray[np.int64]
    per_line: NDArray[np.int64]
    glued: int


@kernel
def split_tokens(data: NDArray[np.uint8]) -> Tokens:
    """Cut lines at ASCII white space."""
    begin, end = np.empty(data.size // 2 + 1, np.int64), np.empty(data.size // 2 + 1, np.int64)
    lines = 0
    for i in range(data.size):
        lines += data[i] == NEW_LINE
    lines += data.size > 0 and data[-1] != NEW_LINE
    offsets = np.zeros(lines + 1, np.int64)
    tokens, line, inside = 0, 0, False
    for i in range(data.size):
        space = data[i] == 32 or (9 <= data[i] <= 13)
        if not space and not inside:
            begin[tokens] = i
        elif space and inside:
            end[tokens] = i
            tokens += 1
        inside = not space
        if data[i] == NEW_LINE:
            line += 1
            offsets[line] = tokens
    if inside:
        end[tokens] = data.size
        tokens += 1
    offsets[lines] = tokens
    return Tokens(begin[:tokens].copy(), end[:tokens].copy(), offsets)


@kernel
def split_fields(data: NDArray[np.uint8], tokens: Tokens, most: int) -> Fields:
    """Cut lines at tokens `|||`; a field that a line does not have is empty, fields beyond `most` are only counted."""
    lines = tokens.offsets.size - 1
    first, stop = np.empty((most, lines), np.int64), np.empty((most, lines), np.int64)
    per_line = np.empty(lines, np.int64)
    glued = NONE
    for line in range(lines):
        field = 0
        start = tokens.offsets[line]
        for t in range(tokens.offsets[line], tokens.offsets[line + 1]):
            if not _has_bars(data, tokens.begin[t], tokens.end[t]):
                continue
            if tokens.end[t] - tokens.begin[t] > BARS:
                glued = t if glued == NONE else glued
                continue
            if field < most:
                first[field, line], stop[field, line] = start, t
            field += 1
            start = t + 1
        last = tokens.offsets[line + 1]
        for rest in range(field, most):
            first[rest, line], stop[rest, line] = start, last
            start = last
        per_line[line] = field + 1
    return Fields(first, stop, per_line, glued)


@kernel
def _has_bars(data: NDArray[np.uint8], begin: int, end: int) -> bool:
    run = 0
    for i in range(begin, end):
        run = run + 1 if data[i] == BAR else 0
        if run == BARS:
            return True
    return False


@kernel
def take_field(tokens: Tokens, first: NDArray[np.int64], stop: NDArray[np.int64]) -> Tokens:
    """Return the tokens of one field of each line."""
    offsets = np.zeros(first.size + 1, np.int64)
    for line in range(first.size):
        offsets[line + 1] = offsets[line] + stop[line] - first[line]
    begin, end = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int64)
    filled = 0
    for line in range(first.size):
        for t in range(first[line], stop[line]):
            begin[filled], end[filled] = tokens.begin[t], tokens.end[t]
            filled += 1
    return Tokens(begin, end, offsets)


@kernel
def parse_numbers(data: NDArray[np.uint8], tokens: Tokens) -> NDArray[np.float64]:
    """Return the value of each token, NaN if it is not a decimal number (`nan` and `inf` are not)."""
    values = np.empty(tokens.begin.size, np.float64)
    for t in range(values.size):
        values[t] = _parse_number(data, tokens.begin[t], tokens.end[t])
    return values


@kernel
def _digit(byte: np.uint8) -> int:
    return int(np.int64(byte)) - ZERO


@kernel
def _parse_number(data: NDArray[np.uint8], begin: int, end: int) -> float:
    negative = begin < end and data[begin] == MINUS
    i = begin + 1 if begin < end and (data[begin] == MINUS or data[begin] == PLUS) else begin
    mantissa, exponent, digits, significant, after_point = 0, 0, 0, 0, False
    while i < end and (ZERO <= data[i] <= NINE or (data[i] == POINT and not after_point)):
        if data[i] == POINT:
            after_point = True
        else:
            digits += 1
            if significant < MOST_DIGITS:
                mantissa = mantissa * 10 + _digit(data[i])
                significant += mantissa > 0
                exponent -= after_point
            else:
                exponent += not after_point
        i += 1
    if digits == 0:
        return np.nan
    if i < end:
        if data[i] != SMALL_E and data[i] != LARGE_E:
            return np.nan
        power = _parse_exponent(data, i + 1, end)
        if power > MOST_EXPONENT:
            return np.nan
        exponent += power
    value = _scale(float(mantissa), exponent)
    return -value if negative else value


@kernel
def _parse_exponent(data: NDArray[np.uint8], begin: int, end: int) -> int:
    """Return a whole number with a sign, at most MOST_EXPONENT in size; more than that if it is malformed."""
    i = begin + 1 if begin < end and (data[begin] == MINUS or data[begin] == PLUS) else begin
    if i == end:
        return MOST_EXPONENT + 1
    power = 0
    for j in range(i, end):
        if not ZERO <= data[j] <= NINE:
            return MOST_EXPONENT + 1
        power = min(power * 10 + _digit(data[j]), MOST_EXPONENT)
    return -power if data[begin] == MINUS else power


@kernel
def _scale(mantissa: float, exponent: int) -> float:
    """Give mantissa · 10^exponent. Division by an exact power of ten rounds once; very small powers go in two steps."""
    if mantissa == 0.0:
        return 0.0
    if exponent < -300:
        return mantissa / 1e300 / 10.0 ** min(-exponent - 300, 300)
    return mantissa / 10.0**-exponent if exponent < 0 else mantissa * 10.0**exponent


@kernel
def parse_links(data: NDArray[np.uint8], tokens: Tokens) -> NDArray[np.int32]:
    """Return the two positions of each token such as `0-1`; NONE for what is malformed or too large."""
    links = np.full((tokens.begin.size, 2), NONE, np.int32)
    for t in range(tokens.begin.size):
        side, value, digits, good = 0, 0, 0, True
        positions = np.zeros(2, np.int32)
        for i in range(tokens.begin[t], tokens.end[t]):
            if data[i] == MINUS and side == 0 and digits > 0:
                positions[0] = value
                side, value, digits = 1, 0, 0
            elif ZERO <= data[i] <= NINE:
                value = min(value * 10 + _digit(data[i]), MOST_POSITION)
                digits += 1
            else:
                good = False
        if good and side == 1 and digits > 0:
            links[t, 0], links[t, 1] = positions[0], value
    return links
