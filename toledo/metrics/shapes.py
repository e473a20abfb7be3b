"""References of any shape, which are never misread.

One text for each segment, a list for each segment (Hugging Face, NLTK), or a list for each set (sacreBLEU). Nested
lists are tried both ways against the number of hypotheses; where both fit and differ, the caller has to say which.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toledo.errors import InputError

Shape = Literal["per segment", "per set"]
Groups = list[tuple[str, ...]]  # the references of each segment


@dataclass(frozen=True)
class References:
    """References whose shape is known: `References.per_segment(x)` or `References.per_set(x)`."""

    texts: Sequence[Sequence[str | None]]
    shape: Shape

    @classmethod
    def per_segment(cls, texts: Iterable[Iterable[str | None]]) -> References:
        """Take `texts[i]` as the references of segment i."""
        return cls([list(group) for group in texts], "per segment")

    @classmethod
    def per_set(cls, texts: Iterable[Iterable[str | None]]) -> References:
        """Take `texts[k][i]` as reference k of segment i."""
        return cls([list(group) for group in texts], "per set")


def read_references(references: Any, segments: int, square: Shape | None = None) -> Groups:
    """Return the references of each segment; `square` says how to read a square, without it that is an error."""
    if isinstance(references, References):
        groups = _read_as(references.shape, references.texts, segments)
        if groups is None:
            raise _misfit(references.texts, segments, references.shape)
        return _checked(groups)
    if isinstance(references, str | bytes) or not isinstance(references, Iterable):
        raise TypeError(f"references is {_said(references)}, expected texts")
    items = list(references)
    if all(item is None or isinstance(item, str) for item in items):
        if len(items) != segments:
            raise length_error("hypotheses", segments, "references", len(items))
        return _checked([() if item is None else (item,) for item in items])
    nested = [_group(item, place) for place, item in enumerate(items)]
    by_segment, by_set = (_read_as(shape, nested, segments) for shape in ("per segment", "per set"))
    if by_segment is not None and by_set is not None and by_segment != by_set:
        if square is None:
            raise InputError(
                f"{len(nested)} × {segments} references can be read per segment or per set",
                argument="references",
                remedy="say which: References.per_segment(x) or References.per_set(x)",
            )
        return _checked(by_segment if square == "per segment" else by_set)
    found = by_segment if by_segment is not None else by_set
    if found is None:
        raise _misfit(nested, segments)
    return _checked(found)


def length_error(first: str, count: int, second: str, other: int, file: str = "") -> InputError:
    """Return the error for two arguments with different numbers of segments; the second may be a file."""
    return InputError(
        f"{first} has {count} segments, {second}{f' ({file})' if file else ''} {other}",
        argument=second,
        remedy="item i of each must belong together; look for lost or added lines",
    )


def _read_as(shape: str, nested: Sequence[Sequence[str | None]], segments: int) -> Groups | None:
    """Return the references of each segment, or None if they do not fit the number of segments."""
    if shape == "per set":
        if not nested or any(len(texts) != segments for texts in nested):
            return None
        return [tuple(one for one in group if one is not None) for group in zip(*nested, strict=True)]
    if len(nested) != segments:
        return None
    return [tuple(one for one in group if one is not None) for group in nested]


def _misfit(nested: Sequence[Sequence[object]], segments: int, shape: str = "") -> InputError:
    if not nested:
        return length_error("hypotheses", segments, "references", 0)
    sizes = sorted({len(group) for group in nested})
    described = f"{len(nested)} lists of {' to '.join(str(one) for one in dict.fromkeys((sizes[0], sizes[-1])))}"
    if not shape and len(nested) < segments and len(sizes) == 1 and sizes[0] > len(nested):
        return length_error("hypotheses", segments, "references", sizes[0])
    return InputError(
        f"hypotheses has {segments} segments, references are {described} texts" + (f", read {shape}" if shape else ""),
        argument="references",
        remedy="give one list for each segment, or one list for each set of references",
    )


def _checked(groups: Groups) -> Groups:
    for segment, group in enumerate(groups):
        if not group:
            raise InputError(f"segment {segment} has no reference", argument="references", segment=segment)
    return groups


def _group(item: Any, place: int) -> list[str | None]:
    if isinstance(item, str | bytes) or not isinstance(item, Iterable):
        raise TypeError(f"references[{place}] is {_said(item)}, expected a list of str as in the others")
    group = list(item)
    for number, text in enumerate(group):
        if text is not None and not isinstance(text, str):
            raise TypeError(f"references[{place}][{number}] is {_said(text)}, expected str")
    return group


def _said(value: object) -> str:
    return repr(value) if value is None or isinstance(value, int | float) else f"a {type(value).__name__}"
