"""Compile kernels ahead, for images and clusters."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import toledo
from toledo.api.demo import COOLING, REFINING
from toledo.api.files import export_moses
from toledo.api.forests import show_forests
from toledo.compiled.kernels import compilation_seconds, compiled_kernels, small_kernels
from toledo.progress import Progress, silent
from toledo.results import TableResult, table
from toledo.sample.corpus import example_data
from toledo.search.document.models.semantic import SemanticSpace
from toledo.settings import unknown_name

log = logging.getLogger(__name__)

SENTENCES, LINES = 300, 12
SEARCH = "beam:pop_limit=30"
GIBBS = "gibbs:chains=1,iterations=50,burn_in=5"
OBJECTIVES = (  # "gradient" is what those of expected BLEU are made of
    "mert", "pro", "mira", "mmi", "regression", "simplex", "expected-bleu", "corpus-expected-bleu", "xbleu", "cobleu",
    "linear-bleu", "gleu", "expected",
)  # fmt: skip
DOCUMENT_OBJECTIVES = "corpus-expected-bleu", "expected-bleu", "pro"
RULES = (
    "mbr", "consensus", "forest-consensus", "lattice-mbr", "variational", "max-translation", "max-derivation",
    "viterbi",
)  # fmt: skip
LIST_RULES = (  # those that choose from lists
    "consensus", "map", "aggregate-mbr", "elimination-mbr", "pruning-mbr", "halving-mbr", "low-rank-mbr", "proxy-mbr",
    "budget-mbr",
)  # fmt: skip
DOCUMENT_MODELS = {
    "parity": 1.0, "type-token": 1.0, "ovix": 1.0, "lix": -0.1, "consistency": 1.0, "clusters": 1.0, "cache": 1.0,
    "topic": 1.0, "semantic": 1.0,
}  # fmt: skip


@dataclass(frozen=True)
class CompiledRow:
    """How many kernels a command compiled, and in how many seconds of CPU time."""

    command: str
    kernels: int
    seconds: float


@dataclass(frozen=True)
class WarmUp(TableResult):
    """What was compiled for each command; a kernel that several commands need counts for the first of them."""

    rows: tuple[CompiledRow, ...]

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary for each command."""
        return [vars(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as JSON-ready values."""
        return {"commands": self.rows_as_dicts()}

    def __str__(self) -> str:
        kernels, seconds = sum(row.kernels for row in self.rows), sum(row.seconds for row in self.rows)
        cells = [[row.command, f"{row.kernels}", f"{row.seconds:.1f}"] for row in self.rows]
        lines = table([["command", "kernels compiled", "CPU s"], *cells, ["all", f"{kernels}", f"{seconds:.1f}"]], [0])
        return "\n".join(lines)


class _Tiny:
    """Each command on a few sentences, from files and into files as in the shell; models are trained on first use."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data = example_data(train=SENTENCES, tune=LINES, test=LINES)
        self.data.save(directory / "data")
        self.text = directory / "data" / "train.src", directory / "data" / "train.trg"
        self.test = directory / "data" / "test.src"
        self.references = [directory / "data" / f"tune.trg.{number}" for number in range(2)]
        self.dev = directory / "data" / "tune.src", self.references
        first, second = self.data.tune.references
        self.systems = {"one": first, "two": second, "three": [text.partition(" ")[2] for text in first]}

    def choose(self) -> None:
        lists = self.directory / "lists.jsonl"
        toledo.write_lists(lists, [[text, text.upper(), text[1:]] for text in self.data.test.targets])
        for metric in ("chrf", "chrf++", "bleu", "ter"):
            toledo.choose_many(lists, metric=metric)
        for rule in LIST_RULES:
            toledo.choose_many(lists, rule=rule)
        toledo.choose_many(self.systems)

    def tune_votes(self) -> None:
        toledo.tune_votes(self.systems, self.references)

    def evaluate(self) -> None:
        toledo.evaluate(self.references[0], self.references, resamples=2, tokenize="none")

    def compare(self) -> None:
        toledo.compare(self.systems, self.references, resamples=2, tokenize="none")

    def combine(self) -> None:
        for tokenized in (True, False):
            combination = toledo.Combination.tune(self.systems, self.references, tokenized=tokenized)
            combination.run(self.systems)
            combination.explain(self.systems)

    def train(self) -> None:
        toledo.train(*self.text, tokenized=True, output=self.directory / "model")

    @cached_property
    def model(self) -> toledo.Model:
        if not (self.directory / "model").exists():
            self.train()
        return toledo.load(self.directory / "model")  # maps arrays, as users do: kernels are compiled for that kind

    def build(self) -> None:
        text = self.data.train
        held_out = text.sources[:24], text.targets[:24]
        toledo.build(
            text.sources, text.targets, dev=held_out, test=held_out, tokenized=True, output=self.directory / "built"
        )

    def tune(self) -> None:
        for objective in OBJECTIVES:
            metric = "chrf" if objective == "expected" else "bleu"
            toledo.tune(self.model, *self.dev, objective=objective, metric=metric, rounds=1, search=SEARCH)

    def rerank(self) -> None:
        toledo.rerank(self.model, *self.text, tune=self.dev)

    def tune_rule(self) -> None:
        toledo.tune_rule(self.model, self.references, sources=self.dev[0], rules=RULES, scales=[1.0])

    def refine(self) -> None:
        for parameters in ("phrase", "lexicon"):
            settings = toledo.RefineSettings(
                parameters, folds=2, nbest=20, search=SEARCH, tune_every=0, keep_weights=True
            )
            toledo.refine(
                self.model,
                *self.text,
                tune=self.dev,
                dev=self.dev,
                settings=settings,
                alignments=self.data.train.alignments,
                output=self.directory / parameters,
            )

    def translate(self) -> None:
        for rule in RULES:
            self.model.translate(self.test, rule=rule)
        self.model.translate(self.test, search="itg")
        self.model.nbest(self.test, 3)

    def sample(self) -> None:
        for rule in ("mbr", "max-translation"):
            self.model.translate(self.test, rule=rule, search=GIBBS)

    def document(self) -> None:
        ids, targets = self.directory / "data" / "test.docids", self.references
        space = SemanticSpace.train(self.text[1], document_ids=self.directory / "data" / "train.docids", dimensions=5)
        self.model.translate_document(
            self.test, document_ids=ids, document_models=DOCUMENT_MODELS, semantic_space=space, steps=100
        )
        toledo.oracle(self.model, self.dev[0], targets, steps=100)
        for objective in DOCUMENT_OBJECTIVES:
            toledo.tune_documents(self.model, *self.dev, document_models={"lix": -0.1}, objective=objective, rounds=1)

    def model_(self) -> None:
        other, both = toledo.train(self.dev[0], self.references[0], tokenized=True), self.directory / "both"
        texts = self.dev[0], self.references[0]
        self.model.add(phrase_tables=[other], combine_tables="linear", interpolate_on=texts)
        self.model.add(phrase_tables=[other], language_models=[other]).save(both)
        toledo.load(both).translate(self.test)

    def export(self) -> None:
        if not (moses := self.directory / "moses").exists():
            export_moses(self.model.phrase_model, moses)

    def import_(self) -> None:
        self.export()
        toledo.Model.from_moses(self.directory / "moses" / "moses.ini")

    def align(self) -> None:
        for aligner in ("hmm", "ibm1"):
            found = toledo.align(*self.text, aligner=aligner)
            found.aligner.align(*self.text)

    def lm(self) -> None:
        file = self.directory / "lm.arpa"
        toledo.LanguageModel.train(self.text[1], order=3).save(file)
        model = toledo.LanguageModel.load(file)
        model.perplexity(self.references[0])
        toledo.LanguageModel.mix([model, model], self.references[0])

    def forest(self) -> None:
        forests = self.model.forest(self.test)
        for name in ("forests.jsonl", "forests.slf", "forests.plf"):
            toledo.write_forests(self.directory / name, forests, nbest=5, weights=self.model.weights)
            show_forests(self.directory / name)

    def demo(self) -> None:
        """Compile what the last steps of the demo need, and no more: it does so while its first steps run."""
        self.model.translate(self.test, rule="mbr", search=GIBBS)
        self.model.translate_document(
            self.data.test.sources, document_ids=self.data.test.document_ids, document_models={"consistency": 1.0},
            references=self.data.test.references, accept=COOLING, record="logarithmic", steps=100,
        )  # fmt: skip
        text, dev = self.data.train, (self.data.tune.sources, self.data.tune.references)
        toledo.refine(
            self.model, text.sources, text.targets, tune=dev, dev=dev, settings=REFINING, alignments=text.alignments,
            output=self.directory / "refined",
        )  # fmt: skip


COMMANDS = {
    name.rstrip("_").replace("_", "-"): name
    for name, value in vars(_Tiny).items()
    if callable(value) and not name.startswith("_")
}


def warm_up(*commands: str, progress: Progress = silent) -> WarmUp:
    """Compile kernels ahead by running commands on a few sentences; without names, all of them.

    Names are those of the command line, and "sample" for translation by Gibbs sampling. Compiled kernels are kept on
    disk, so that later calls start at once.
    """
    for command in commands:
        if command not in COMMANDS:
            raise unknown_name("command", command, list(COMMANDS))
    wanted: Sequence[str] = commands or list(COMMANDS)
    with (
        TemporaryDirectory(prefix="toledo-warm-up-") as directory,
        small_kernels("machine"),
        progress("compiling", len(wanted)) as advance,
    ):
        tiny, rows = _Tiny(Path(directory)), []
        for command in wanted:
            log.info("compiling: %s", command)
            kernels, seconds = compiled_kernels(), compilation_seconds()
            getattr(tiny, COMMANDS[command])()
            rows.append(CompiledRow(command, compiled_kernels() - kernels, compilation_seconds() - seconds))
            advance(1)
    return WarmUp(tuple(rows))
