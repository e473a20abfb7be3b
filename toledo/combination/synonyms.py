"""Sets of words that mean the same, from WordNet's database files or from a plain list.

    read_synonyms("/usr/share/wordnet")     data.noun, data.verb, data.adj and data.adv, as wndb(5WN) describes them
    read_synonyms("synonyms.txt")           one set per line, words separated by blanks or commas

WordNet lists base forms. Those of other words are found as WordNet's morphy(7WN) finds them: in the lists of exceptions
(noun.exc, …, if they are there), or else by the first ending whose removal leaves a word of WordNet. Words of a plain
list match as they stand. Case is ignored. WordNet's expressions (`motor_vehicle`) are left out, since outputs are
aligned word by word.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.files import file_error, read_lines

ENDINGS = {
    "noun": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
             ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip
LETTERS = {"noun": "n", "verb": "v", "adj": "as", "adv": "r"}  # of the sets in each data file
LIST = "list"  # instead of a part of speech
EXCEPTION = "!"  # before the part of speech of an irregular form
SYNSET = re.compile(r"(\d{8}) \d\d ([nvasr]) ([0-9a-f]{2}) (\S.*)")
MARKER = re.compile(r"\((?:a|p|ip)\)$")  # where an adjective may stand
SEPARATORS = re.compile(r"[,\s]+")
WNDB = "give WordNet's own files, as wndb(5WN) describes them"

Entry = tuple[str, tuple[str, ...]]  # a part of speech, and the words of a set, or an irregular form and its base forms


@dataclass(frozen=True)
class Synonyms:
    """Sets of words, in lower case, and irregular forms, each with its base forms.

    A set of one word is of use, too: its forms match each other, and no other word is taken for its base form.
    """

    sets: tuple[Entry, ...]
    irregular: tuple[Entry, ...] = ()

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], list[int]]:
        """The numbers of the sets of each part of speech and word."""
        found = defaultdict(list)
        for number, (part, words) in enumerate(self.sets):
            for word in words:
                found[part, word].append(number)
        return dict(found)

    @cached_property
    def _bases(self) -> dict[tuple[str, str], list[str]]:
        """The base forms of irregular forms; several lines may have the same form."""
        found = defaultdict(list)
        for part, (form, *bases) in self.irregular:
            found[part, form].extend(bases)
        return dict(found)

    @cached_property
    def _parts(self) -> list[str]:
        return list(dict.fromkeys(part for part, _ in self.sets))

    @property
    def signature(self) -> str:
        """A digest of all words."""
        return "synonyms." + hashlib.sha256(self.to_array().tobytes()).hexdigest()[:16]

    def of(self, word: str) -> set[int]:
        """Return the numbers of the sets that a word, or a base form of it, belongs to."""
        lower = word.lower()
        return {
            number
            for part in self._parts
            for base in (lower, *self._base_forms(part, lower))
            for number in self._numbers.get((part, base), ())
        }

    def _base_forms(self, part: str, word: str) -> Sequence[str]:
        """Return the base forms of a word that is not one itself."""
        if part == LIST:
            return ()
        if bases := self._bases.get((part, word)):
            return bases
        if part == "noun" and (len(word) <= 2 or word.endswith("ss")):
            return ()
        cut = (word.removesuffix(end) + instead for end, instead in ENDINGS[part] if word.endswith(end))
        return [base for base in cut if (part, base) in self._numbers][:1]

    def to_array(self) -> NDArray[np.uint8]:
        """Return everything as lines of bytes."""
        entries = [*self.sets, *((EXCEPTION + part, words) for part, words in self.irregular)]
        return np.frombuffer("\n".join(" ".join([part, *words]) for part, words in entries).encode(), np.uint8)

    @classmethod
    def from_array(cls, array: NDArray[np.uint8], file: str | Path) -> Synonyms:
        """Read what `to_array` returned; errors name the file."""
        sets: list[Entry] = []
        irregular: list[Entry] = []
        for line in bytes(array).decode("utf-8", errors="replace").split("\n"):
            kind, *words = line.split(" ")
            part = kind.removeprefix(EXCEPTION)
            if part not in (*ENDINGS, LIST) or not words:
                raise InputError("the synonyms are damaged", file=file, remedy="tune again")
            (irregular if kind != part else sets).append((part, tuple(words)))
        return cls(tuple(sets), tuple(irregular))


def read_synonyms(path: str | Path) -> Synonyms:
    """Read a directory of WordNet's files, or a file with a set of synonyms on each line."""
    path = Path(path)
    found = _read_wordnet(path) if path.is_dir() else Synonyms(tuple(_read_list(path)))
    if all(len(words) == 1 for _, words in found.sets):
        raise InputError("has no set of two words", file=path, remedy="check the path")
    return found


def _read_list(file: Path) -> Iterator[Entry]:
    for number, line in enumerate(read_lines(file), start=1):
        words = _distinct(filter(None, SEPARATORS.split(line)))
        if len(words) == 1:
            remedy = "write the words of a set on one line, separated by blanks or commas"
            raise file_error(file, number, f"the set of {words[0]!r} has no other word", remedy)
        if words:
            yield LIST, words


def _read_wordnet(directory: Path) -> Synonyms:
    present = [part for part in ENDINGS if (directory / f"data.{part}").exists()]
    if not present:
        raise InputError("there is no data.noun, data.verb, data.adj or data.adv", file=directory, remedy=WNDB)
    sets = tuple(entry for part in present for entry in _read_data(directory / f"data.{part}", part))
    listed = [part for part in present if (directory / f"{part}.exc").exists()]
    return Synonyms(
        sets, tuple(entry for part in listed for entry in _read_exceptions(directory / f"{part}.exc", part))
    )


def _read_data(file: Path, part: str) -> Iterator[Entry]:
    """Yield the single words of each set of a data file; lines that begin with a blank are the licence."""
    for number, line in enumerate(read_lines(file), start=1):
        if line.startswith(" "):
            continue
        found = SYNSET.match(line)
        if found is None or found[2] not in LETTERS[part]:
            message = f"expected a set of {part}s: offset, file number, type, number of words, words"
            raise file_error(file, number, message, WNDB)
        size, fields = int(found[3], 16), found[4].partition(" | ")[0].split()
        marks, pointers = fields[1 : 2 * size : 2], fields[2 * size : 2 * size + 1]
        if not size or not all(re.fullmatch("[0-9a-f]", mark) for mark in marks) or not _is_count(pointers):
            raise file_error(file, number, f"the line does not have {size} words as it says", WNDB)
        words = _distinct(MARKER.sub("", word) for word in fields[0 : 2 * size : 2] if "_" not in word)
        if words:
            yield part, words


def _is_count(field: Sequence[str]) -> bool:
    """Return whether there is a number of pointers where it must be: behind the last word."""
    return len(field) == 1 and re.fullmatch(r"\d{3}", field[0]) is not None


def _read_exceptions(file: Path, part: str) -> Iterator[Entry]:
    for number, line in enumerate(read_lines(file), start=1):
        words = tuple(line.lower().split())
        if len(words) < 2:
            raise file_error(file, number, "expected an irregular form and its base forms", WNDB)
        if "_" not in line:
            yield part, words


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.lower() for word in words))
