"""Compile kernels ahead, for servers and images."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from toledo.sample.corpus import ExampleData, generate
from toledo.settings import unknown_name

if TYPE_CHECKING:
    from toledo.api.model import Model

log = logging.getLogger(__name__)

SENTENCES, LINES = 300, 12
SEARCH = "beam:pop_limit=30"


class _Tiny:
    """Each verb on a few sentences."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @cached_property
    def data(self) -> ExampleData:
        return generate(1, SENTENCES, LINES, LINES)

    @cached_property
    def dev(self) -> tuple[list[str], tuple[list[str], ...]]:
        return self.data.tune.sources, self.data.tune.references

    @cached_property
    def model_directory(self) -> Path:
        from toledo.api.train import train

        text, output = self.data.train, self.directory / "model"
        train(text.sources, text.targets, alignments=text.alignments, output=output)
        return output

    @cached_property
    def model(self) -> Model:
        from toledo.api.model import Model

        return Model.load(self.model_directory)

    def choose(self) -> None:
        from toledo.api.choose import choose

        for metric in ("chrf", "bleu", "ter"):
            choose(self.data.train.targets[:LINES], metric=metric)

    def evaluate(self) -> None:
        from toledo.api.compare import compare

        compare(self.data.tune.references, self.data.tune.targets, resamples=2)

    def align(self) -> None:
        from toledo.api.align import align

        align(self.data.train.sources, self.data.train.targets)

    def translate(self) -> None:
        for rule in ("viterbi", "mbr", "consensus", "lattice-mbr"):
            self.model.translate(self.data.test.sources, rule=rule)

    def sample(self) -> None:
        self.model.translate(self.data.test.sources, rule="mbr", search="gibbs:chains=1,iterations=50,burn_in=5")

    def tune(self) -> None:
        from toledo.api.tune import tune

        for objective in ("mert", "cobleu", "corpus-expected-bleu", "mira"):
            tune(self.model_directory, *self.dev, objective=objective, rounds=1, search=SEARCH)

    def refine(self) -> None:
        from toledo.api.refine import refine
        from toledo.refinement.settings import RefineSettings

        text, output = self.data.train, self.directory / "refine"
        settings = RefineSettings("phrase", folds=2, nbest=20, search=SEARCH, tune_every=0, keep_weights=True)
        refine(
            self.model_directory,
            text.sources,
            text.targets,
            tune=self.dev,
            dev=self.dev,
            settings=settings,
            alignments=text.alignments,
            output=output,
        )

    def document(self) -> None:
        text = self.data.test
        self.model.translate_document(
            text.sources, document_ids=text.document_ids, document_models={"consistency": 1.0}, steps=100
        )

    def combine(self) -> None:
        from toledo.api.combination import Combination

        first, second = self.data.tune.references
        systems = {"one": first, "two": second, "three": [text.partition(" ")[2] for text in first]}
        Combination.tune(systems, self.data.tune.references, tokenized=True).run(systems)


VERBS = ("align", "choose", "evaluate", "translate", "sample", "tune", "refine", "document", "combine")


def warm_up(*verbs: str) -> None:
    """Compile kernels ahead by running verbs on a few sentences; without names, all of them.

    Verbs are align, choose, evaluate, translate, sample, tune, refine, document and combine. What has been compiled is
    kept on disk, so that later calls start at once.
    """
    for verb in verbs:
        if verb not in VERBS:
            raise unknown_name("verb", verb, list(VERBS))
    with TemporaryDirectory(prefix="toledo-warm-up-") as directory:
        tiny = _Tiny(Path(directory))
        for verb in verbs or VERBS:
            log.info("compiling: %s", verb)
            run: Callable[[], None] = getattr(tiny, verb)
            run()
