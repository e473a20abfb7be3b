"""Settings of `toledo.build`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from toledo.settings import Meta, Settings

Effort = Literal["quick", "standard", "thorough"]
OptionalStage = Literal["refine", "rerank", "rule"]  # stages that can be left out
MOST_TO_REFINE = 100_000  # pairs, at effort "standard"
OBJECTIVE = "corpus-expected-bleu:l2=1e-4"  # with the default of 1e-5, weights fit the tuning set too closely


@dataclass(frozen=True)
class BuildSettings(Settings):
    """How much work goes into a model."""

    effort: Annotated[
        Effort,
        Meta(
            description="quick trains and tunes; standard adds reordering, a 5-gram model, refining (up to 100,000 "
            "pairs), reranking and a decision rule; thorough always refines, and reranks by three networks."
        ),
    ] = "standard"
    skip: Annotated[
        tuple[OptionalStage, ...], Meta(description="Stages to leave out; refine takes most of the time.")
    ] = ()

    @property
    def training(self) -> dict[str, Any]:
        """Arguments of `train`."""
        if self.effort == "quick":
            return {}
        return {"reordering": True, "lexical": "model1", "lm_order": 5}

    @property
    def tuning(self) -> dict[str, Any]:
        """Arguments of `tune`."""
        if self.effort == "quick":
            return {"objective": "mira", "rounds": 5}
        return {"objective": OBJECTIVE}

    @property
    def networks(self) -> int:
        """Number of networks of the reranker."""
        return 3 if self.effort == "thorough" else 1

    def refines(self, pairs: int) -> bool:
        """Whether as many pairs are refined."""
        enough = self.effort == "thorough" or (self.effort == "standard" and pairs <= MOST_TO_REFINE)
        return enough and self.does("refine")

    def does(self, stage: OptionalStage) -> bool:
        """Whether a stage that can be left out is done."""
        return self.effort != "quick" and stage not in self.skip
