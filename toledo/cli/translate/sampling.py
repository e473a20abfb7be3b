"""The Gibbs sampler for `toledo translate`: its options, and what it tells about its chains."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toledo.errors import InputError
from toledo.files import atomic_writer, require_output

if TYPE_CHECKING:
    from toledo.model import Model
    from toledo.search.gibbs.diagnostics import ObservedGibbs

log = logging.getLogger(__name__)

SAMPLING = "Sampling (--search gibbs)"
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

    def search(self, model: Model, scale: float | None) -> ObservedGibbs:
        """The sampler of the distribution ∝ exp(scale · score)."""
        from toledo.search.gibbs.diagnostics import ObservedGibbs
        from toledo.search.settings import Gibbs

        settings = Gibbs(self.chains, self.iterations, self.burn_in, scale=scale)
        return ObservedGibbs(model, settings, self.seed, complete=self.diagnostics is not None)

    def report(self, search: ObservedGibbs) -> None:
        """Write how well a sampler sampled, and say it in brief."""
        _warn_of_disagreement(search.r_hats, search.settings.iterations)
        if self.diagnostics is None:
            return
        if self.diagnostics.suffix == ".html":
            from toledo.reports.sampling import write_report

            write_report(self.diagnostics, search.notes)
            return
        from toledo.reports.sampling import summary

        content = {"summary": summary(search.notes), "segments": [note.to_json() for note in search.notes]}
        with atomic_writer(self.diagnostics) as stream:
            stream.write(json.dumps(content, indent=1) + "\n")


def _warn_of_disagreement(r_hats: Sequence[float], iterations: int) -> None:
    from toledo.search.gibbs.diagnostics import STUCK, SUSPICIOUS

    longer = f"try --iterations {LONGER * iterations}"
    if any(isnan(one) for one in r_hats):
        log.warning("no R-hat: chains are too short to tell whether they agree; %s", longer)
        return
    bad, stuck = (sum(one > limit for one in r_hats) for limit in (SUSPICIOUS, STUCK))
    told = f"R-hat above {SUSPICIOUS:g}: {bad} of {len(r_hats)} segments"
    if not bad:
        log.info("%s", told)
        return
    log.warning("%s%s: their chains disagree; %s", told, f", {stuck} of them stuck" if stuck else "", longer)
