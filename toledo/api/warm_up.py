"""Compile kernels ahead, for servers and images."""

from __future__ import annotations

import logging
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import toledo
from toledo.sample.corpus import example_data
from toledo.settings import unknown_name

log = logging.getLogger(__name__)

SENTENCES, LINES = 300, 12
SEARCH = "beam:pop_limit=30"


class _Tiny:
    """Each verb on a few sentences; what it needs is imported and trained on first use."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data = example_data(train=SENTENCES, tune=LINES, test=LINES)
        self.dev = self.data.tune.sources, self.data.tune.references

    @cached_property
    def model(self) -> toledo.Model:
        text, output = self.data.train, self.directory / "model"
        toledo.train(text.sources, text.targets, tokenized=True, alignments=text.alignments, output=output)
        return toledo.load(output)  # maps arrays, as users do: kernels are compiled for that kind

    def align(self) -> None:
        toledo.align(self.data.train.sources, self.data.train.targets)

    def choose(self) -> None:
        for metric in ("chrf", "bleu", "ter"):
            toledo.choose(self.data.train.targets[:LINES], metric=metric)

    def evaluate(self) -> None:
        toledo.compare(self.data.tune.references, self.data.tune.targets, resamples=2)

    def translate(self) -> None:
        for rule in ("viterbi", "mbr", "consensus", "lattice-mbr"):
            self.model.translate(self.data.test.sources, rule=rule)

    def sample(self) -> None:
        self.model.translate(self.data.test.sources, rule="mbr", search="gibbs:chains=1,iterations=50,burn_in=5")

    def tune(self) -> None:
        for objective in ("mert", "cobleu", "corpus-expected-bleu", "mira"):
            toledo.tune(self.model, *self.dev, objective=objective, rounds=1, search=SEARCH)

    def refine(self) -> None:
        text, dev = self.data.train, self.dev
        settings = toledo.RefineSettings("phrase", folds=2, nbest=20, search=SEARCH, tune_every=0, keep_weights=True)
        toledo.refine(
            self.model,
            text.sources,
            text.targets,
            tune=dev,
            dev=dev,
            settings=settings,
            alignments=text.alignments,
            output=self.directory / "refine",
        )

    def document(self) -> None:
        text, models = self.data.test, {"consistency": 1.0}
        self.model.translate_document(text.sources, document_ids=text.document_ids, document_models=models, steps=100)

    def combine(self) -> None:
        first, second = self.data.tune.references
        systems = {"one": first, "two": second, "three": [text.partition(" ")[2] for text in first]}
        toledo.Combination.tune(systems, self.data.tune.references, tokenized=True).run(systems)


VERBS = [name for name in vars(_Tiny) if not name.startswith("_") and name != "model"]


def warm_up(*verbs: str) -> None:
    """Compile kernels ahead by running verbs on a few sentences; without names, all of them.

    Verbs are align, choose, evaluate, translate, sample, tune, refine, document and combine. Compiled kernels are kept
    on disk, so that later calls start at once.
    """
    for verb in verbs:
        if verb not in VERBS:
            raise unknown_name("verb", verb, VERBS)
    with TemporaryDirectory(prefix="toledo-warm-up-") as directory:
        tiny = _Tiny(Path(directory))
        for verb in verbs or VERBS:
            log.info("compiling: %s", verb)
            getattr(tiny, verb)()
