"""Multi30k German–English with a model of Moses: val to choose on, two tests that were seen, one to claim on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runs import Lines, Text, read_lines
from stored import Run, differences, mean_text

from toledo.formats.moses_model import import_model
from toledo.model import PhraseModel

SEEN, CLAIM = ("test2016", "test2017"), "test2017coco"
TESTS = (*SEEN, CLAIM)
MODEL = ("phrase-table.gz", "lm.3.arpa.gz", "weights.mert.ini")
ESCAPES = {
    "&": "&amp;",
    "|": "&#124;",
    "<": "&lt;",
    ">": "&gt;",
    "'": "&apos;",
    '"': "&quot;",
    "[": "&#91;",
    "]": "&#93;",
}


@dataclass(frozen=True)
class MosesSet:
    """The folder of Moses' files, and that of Multi30k, whose text Moses has not escaped."""

    moses: Path
    multi30k: Path

    def model(self) -> PhraseModel:
        """The model with the weights that Moses found."""
        table, lm, weights = (self.moses / name for name in MODEL)
        return import_model(table, [lm], moses_ini=weights)

    @property
    def files(self) -> list[Path]:
        """What results depend on."""
        texts = [self._folder(name) / f"{name}.{side}" for name in ("val", *TESTS) for side in ("de", "en")]
        return [*(self.moses / name for name in MODEL), *texts]

    @cached_property
    def texts(self) -> dict[str, Text]:
        """The tuning set and the tests, in words of the model."""
        return {name: self._text(name) for name in ("val", *TESTS)}

    def _folder(self, name: str) -> Path:
        return self.multi30k if name == CLAIM else self.moses

    def _text(self, name: str) -> Text:
        source, target = (read_lines(self._folder(name) / f"{name}.{side}") for side in ("de", "en"))
        if name == CLAIM:
            source, target = escaped(source), escaped(target)
        return Text(source, [(words,) for words in target])


def escaped(lines: Lines) -> Lines:
    """As Moses' tokenizer writes special characters."""
    table = str.maketrans(ESCAPES)
    return [[word.translate(table) for word in words] for words in lines]


def table_titles(base: str) -> list[str]:
    """Of the cells that `table_cells` gives."""
    return ["val", *TESTS, f"minus {base}: seen tests", f"minus {base}: {CLAIM}", "p"]


def table_cells(groups: Mapping[str, Sequence[Run]], base: str) -> dict[str, list[str]]:
    """For each group of runs BLEU of all texts, and differences: with p only where nobody has chosen anything."""
    seen, claimed = differences(groups, base, SEEN), differences(groups, base, [CLAIM])
    return {
        name: [
            *(mean_text([run["scores"][text] for run in runs]) for text in ("val", *TESTS)),
            seen[name].split(" | ")[0],
            claimed[name],
        ]
        for name, runs in groups.items()
    }
