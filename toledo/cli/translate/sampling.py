"""The Gibbs sampler for `toledo translate`: its options, and what it tells about its chains."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toledo.errors import InputError
from toledo.files import atomic_writer, require_output
from toledo.progress import Progress, silent

if TYPE_CHECKING:
    from toledo.forest.forest import Forest
    from toledo.model import Model
    from toledo.search.beam.search import SearchResult, Translation
    from toledo.search.gibbs.diagnostics import Diagnostics
    from toledo.search.gibbs.samples import Samples
    from toledo.search.gibbs.search import GibbsSearch

log = logging.getLogger(__name__)

SAMPLING = "Sampling (--search gibbs)"
SHARPNESS = 4.0  # scale × norm of the weights: docs/sampling.md
LONGER = 5  # times as many iterations are worth a try where chains disagree

Chains = Annotated[int, typer.Option(metavar="N", help="Runs of the sampler.", min=1, rich_help_panel=SAMPLING)]
Iterations = Annotated[int, typer.Option(metavar="N", help="Samples per run.", min=1, rich_help_panel=SAMPLING)]
BurnIn = Annotated[int, typer.Option(metavar="N", help="Iterations before that.", min=0, rich_help_panel=SAMPLING)]
Seed = Annotated[int, typer.Option(metavar="N", help="Of random numbers.", min=0, rich_help_panel=SAMPLING)]
DiagnosticsFile = Annotated[
    Path | None,
    typer.Option(
        "--diagnostics", metavar="FILE", help="How well it sampled: .json or .html.", rich_help_panel=SAMPLING
    ),
]


def default_scale(model: Model) -> float:
    """The scale for weights of any norm: twice the weights at half the scale are the same distribution."""
    from toledo.consensus.scale import norm_of

    norm = norm_of(model.weights, model.feature_names)
    scale = float(f"{SHARPNESS / norm:.3g}") if norm else SHARPNESS
    log.info("sampling at scale %g: %g over the norm of the weights, %.3g", scale, SHARPNESS, norm)
    return scale


@dataclass(frozen=True)
class SamplingChoice:
    """How to sample, and where to write how it went."""

    chains: int
    iterations: int
    burn_in: int
    seed: int
    diagnostics: Path | None

    def check(self) -> None:
        """Refuse a file that cannot be written, before any work is done."""
        if self.diagnostics is not None:
            if self.diagnostics.suffix not in (".json", ".html"):
                raise InputError("is no name for diagnostics", file=self.diagnostics, remedy="name it .json or .html")
            require_output(self.diagnostics)

    def search(self, model: Model, scale: float) -> ObservedSearch:
        """The sampler of the distribution ∝ exp(scale · score)."""
        from toledo.search.gibbs.search import GibbsSearch, GibbsSettings

        settings = GibbsSettings(self.iterations, self.chains, self.burn_in, scale=scale, seed=self.seed)
        return ObservedSearch(GibbsSearch(model, settings), self.diagnostics)


@dataclass
class ObservedSearch:
    """A sampler that takes notes of all it finds: R-hats, and everything if there is a file for it."""

    sampler: GibbsSearch
    path: Path | None
    notes: list[Diagnostics] = field(default_factory=list)
    r_hats: list[float] = field(default_factory=list)

    @property
    def model(self) -> Model:
        """The model."""
        return self.sampler.model

    @model.setter
    def model(self, model: Model) -> None:
        raise AttributeError("a sampler has one model")

    def translate(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Translation]:
        """The sampled derivation with the best model score."""
        return [found.translation(found.best) for found in self._samples(sentences, threads, progress)]

    def results(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[SearchResult]:
        """The same with all samples."""
        from toledo.search.gibbs.search import result_of

        return [result_of(found) for found in self._samples(sentences, threads, progress)]

    def forests(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Forest]:
        """All samples."""
        return [found.forest for found in self._samples(sentences, threads, progress)]

    def report(self) -> None:
        """Write the notes, and say in brief what they are."""
        self._tell()
        if self.path is None:
            return
        if self.path.suffix == ".html":
            from toledo.reports.sampling import write_report

            write_report(self.path, self.notes)
            return
        from toledo.reports.sampling import summary

        content = {"summary": summary(self.notes), "segments": [note.to_json() for note in self.notes]}
        with atomic_writer(self.path) as stream:
            stream.write(json.dumps(content, indent=1) + "\n")

    def _tell(self) -> None:
        from toledo.search.gibbs.diagnostics import STUCK, SUSPICIOUS

        longer = f"try --iterations {LONGER * self.sampler.settings.iterations}"
        if any(isnan(one) for one in self.r_hats):
            log.warning("no R-hat: chains are too short to tell whether they agree; %s", longer)
            return
        bad, stuck = (sum(one > limit for one in self.r_hats) for limit in (SUSPICIOUS, STUCK))
        told = f"R-hat above {SUSPICIOUS:g}: {bad} of {len(self.r_hats)} segments"
        if not bad:
            log.info("%s", told)
            return
        log.warning("%s%s: their chains disagree; %s", told, f", {stuck} of them stuck" if stuck else "", longer)

    def _samples(self, sentences: Sequence[Sequence[str]], threads: int | None, progress: Progress) -> list[Samples]:
        from toledo.search.gibbs.diagnostics import diagnose, split_r_hat

        found = self.sampler.samples(sentences, threads, progress)
        self.r_hats += [split_r_hat(samples.trace) for samples in found]
        if self.path is not None:
            self.notes += [diagnose(samples) for samples in found]
        return found
