"""What experiments share: texts, models of language pairs, and runs kept line by line beside their translations.

A run is a dictionary; those of `key` fields are found again, so that an experiment may be stopped and started at will.
"""

from __future__ import annotations

import json
import logging
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stored import Stored

from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.text.corpus import read_parallel
from toledo.training import train
from toledo.view.plots import Plot
from toledo.view.svg import grid, svg_file

Lines = list[list[str]]
Run = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Text:
    """A text to translate, and the references of each segment."""

    source: Lines
    references: list[tuple[list[str], ...]]

    @classmethod
    def read(cls, source: Path, references: Sequence[Path]) -> Text:
        """From files with a segment per line."""
        return cls(read_lines(source), list(zip(*map(read_lines, references), strict=True)))

    def up_to(self, longest: int | None) -> Text:
        """Only segments of at most so many words to translate; None keeps all."""
        if longest is None:
            return self
        kept = [number for number, words in enumerate(self.source) if len(words) <= longest]
        return Text([self.source[number] for number in kept], [self.references[number] for number in kept])

    def first(self, number: int | None) -> Text:
        """Only the first segments; None keeps all."""
        return Text(self.source[:number], self.references[:number])

    def statistics(self, translations: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """The BLEU statistics of each segment."""
        return BLEU(smooth_method="none").corpus_statistics(translations, self.references, threads=1)


@dataclass(frozen=True)
class Size:
    """How large runs are: the first sentences of each text, at most so many iterations, the first lines of the training
    text, and iterations of a sampler; None stands for all.
    """

    sentences: int | None = None
    iterations: int | None = None
    lines: int | None = None
    samples: int | None = None

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        """Options for it."""
        parser.add_argument("--sentences", type=int, help="tune on and test the first ones of each text [default: all]")
        parser.add_argument(
            "--iterations", type=int, help="at most so many in each training [default: those of the paper]"
        )

    @classmethod
    def of(cls, options: Namespace) -> Size:
        """By options."""
        return cls(**{name: getattr(options, name, None) for name in ("sentences", "iterations", "lines", "samples")})

    def __str__(self) -> str:
        given = {"sentences": self.sentences, "iterations": self.iterations}
        given |= {"lines to train on": self.lines, "samples": self.samples}
        return ", ".join(f"{value} {name}" for name, value in given.items() if value is not None) or "full"

    def rounds(self, usual: int) -> int:
        """How many of the usual ones to run."""
        return usual if self.iterations is None else min(usual, self.iterations)


def size_shown(runs: Iterable[Run]) -> str:
    """The size of the runs of a table: full where there are such runs, otherwise the one that most have."""
    sizes = Counter(run["key"].get("size", "full") for run in runs)
    return "full" if "full" in sizes or not sizes else sizes.most_common(1)[0][0]


def caption(size: str) -> str:
    """A line under a table of smaller runs."""
    return "" if size == "full" else f"\nSize of each run: {size}.\n"


class Runs:
    """The runs of a directory: `runs.jsonl` and one file for each translation."""

    def __init__(self, work: Path, key: Sequence[str]) -> None:
        self.work, self.key = work, tuple(key)
        work.mkdir(parents=True, exist_ok=True)

    def all(self) -> dict[tuple[Any, ...], Run]:
        """The last line of each run; later ones know more."""
        file = self.work / "runs.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return {tuple(run[name] for name in self.key): run for run in map(json.loads, lines)}

    def add(self, run: Run) -> None:
        """Keep a run."""
        with (self.work / "runs.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(run, ensure_ascii=False) + "\n")

    def write_text(self, name: str, translations: Sequence[Sequence[str]]) -> None:
        """Keep a translation."""
        lines = "".join(" ".join(words) + "\n" for words in translations)
        (self.work / file_name(name)).write_text(lines, encoding="utf-8")


def trained_model(folder: Path, language: str, work: Path, threads: int) -> PhraseModel:
    """The model of a set, trained once: with a trigram language model of the English side."""
    if not (work / "model").exists():
        logging.info("%s: training", folder.name)
        train(read_parallel(folder / f"train.{language}", folder / "train.en"), threads=threads).save(work / "model")
    return PhraseModel.load(work / "model")


class PairBench:
    """One pair of languages of an experiment: where its files are, and its runs."""

    def __init__(self, name: str, folder: Path, work: Path, stored: Stored, size: Size) -> None:
        self.name, self.folder, self.stored, self.size = name, folder, stored, size
        self._given_work = work

    @cached_property
    def work(self) -> Path:
        """Where files on the way are kept that runs of all sizes share."""
        place = self.stored.work(self._given_work) / self.name
        place.mkdir(exist_ok=True)
        return place

    @property
    def place(self) -> Path:
        """Where those of this size are kept."""
        place = self.work / file_name(str(self.size))
        place.mkdir(exist_ok=True)
        return place

    @cached_property
    def runs(self) -> Runs:
        """Weights that were found."""
        return Runs(self.place, ("condition", "seed"))


def save_figure(rows: Sequence[Sequence[tuple[str, Plot]]], path: Path, width: int = 420) -> None:
    """Plots with their titles, in rows, to an .svg file that has the same bytes whenever it has the same picture."""
    drawn = [[(title, plot.draw(width)) for title, plot in row] for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg_file(grid(drawn, path.stem)), encoding="utf-8")


def file_name(name: str) -> str:
    """A name of words as a name of a file."""
    return name.replace(", ", "-").replace(" ", "-").replace("→", "-")


def read_lines(file: Path) -> Lines:
    """Lines of words."""
    return [line.split() for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
