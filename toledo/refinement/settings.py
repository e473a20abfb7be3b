"""Settings of refinement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from toledo.errors import InputError
from toledo.settings import Meta, Settings, parse_named

LEXICON_PART = 10.0  # of tau with ratios


@dataclass(frozen=True)
class RefineSettings(Settings):
    """What to train, how, and how far; None stands for the default of the method or distance (see `resolved`)."""

    parameters: Annotated[
        Literal["phrase", "lexicon", "both", "two-stage"],
        Meta(description="Train phrase models, lexicons, both at once, or one after the other."),
    ] = "two-stage"
    method: Annotated[
        Literal["lbfgs", "growth", "he-deng"],
        Meta(
            description="Optimize by gradients, by growth transforms, or by the whole procedure of He and Deng (2012)."
        ),
    ] = "lbfgs"
    tau: Annotated[
        float | None, Meta(description="Strength of the penalty on the distance to the model. [default: 0.2; kl: 1e-5]")
    ] = None
    lexicon_tau: Annotated[
        float | None, Meta(description="The same for lexicons. [default: a tenth of tau; kl: tau]")
    ] = None
    distance: Annotated[
        Literal["ratios", "kl"] | None,
        Meta(description="Distance to the model: squared log ratios, or KL divergence. [default: ratios; growth: kl]"),
    ] = None
    level: Annotated[
        Literal["corpus", "sentence"] | None,
        Meta(description="Expected BLEU of the corpus or of sentences. [default: corpus; growth: sentence]"),
    ] = None
    sharpness: Annotated[
        float | None, Meta(description="Sum of absolute weights in posteriors. [default: 20; growth: 5; he-deng: 1]")
    ] = None
    steps: Annotated[int | None, Meta(description="Number of L-BFGS steps in an iteration. [default: 20]")] = None
    iterations: Annotated[
        int | None, Meta(description="Maximum number of iterations in a stage. [default: 1; growth: 10]")
    ] = None
    patience: Annotated[
        int, Meta(ge=1, description="End a stage after this many iterations without a better score.")
    ] = 3
    folds: Annotated[
        int | None,
        Meta(
            description="Number of folds, each translated by a model trained without it; 1 uses the model itself. "
            "[default: 10; he-deng: 1]"
        ),
    ] = None
    on: Annotated[
        Literal["lists", "forests", "samples"], Meta(description="Train on n-best lists, lattices, or samples.")
    ] = "lists"
    nbest: Annotated[int, Meta(ge=1, description="Number of texts in each n-best list.")] = 100
    density: Annotated[float, Meta(ge=1, description="Edges per word in each lattice.")] = 10.0
    num_samples: Annotated[int, Meta(ge=2, description="Number of samples of each sentence.")] = 40
    search: Annotated[str, Meta(description="Search used for all translations.")] = "beam:pop_limit=100"
    objective: Annotated[
        str | None,
        Meta(description="Objective to tune the weights for. [default: corpus-expected-bleu; he-deng: mert]"),
    ] = None
    rounds: Annotated[int, Meta(ge=1, description="Number of tuning rounds before the first iteration.")] = 10
    rounds_again: Annotated[int, Meta(ge=1, description="Number of tuning rounds after an iteration.")] = 2
    tune_every: Annotated[int, Meta(ge=0, description="Tune weights after every N-th iteration; 0 for never.")] = 1
    keep_weights: Annotated[bool, Meta(description="Do not tune the weights before the first iteration.")] = False
    processes: Annotated[int, Meta(ge=1, description="Number of worker processes for translation.")] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("tau", 0.0), ("lexicon_tau", 0.0), ("steps", 1), ("iterations", 1), ("folds", 1)):
            value = getattr(self, name)
            if value is not None and not least <= value < float("inf"):
                raise InputError(f"{name} is {value}: expected a number of at least {least}", argument=name)
        if self.sharpness is not None and not 0.0 < self.sharpness < float("inf"):
            raise InputError(f"sharpness is {self.sharpness}: expected a positive number", argument="sharpness")
        if self.method != "lbfgs" and self.distance == "ratios":
            raise InputError("growth transforms support KL only", argument="distance", remedy="use 'kl'")
        if self.on == "forests" and self.level == "sentence":
            raise InputError("lattices know BLEU of the corpus only", argument="level", remedy="use 'corpus', or lists")
        _ = self.pop_limit

    def resolved(self) -> RefineSettings:
        """Return the settings with all defaults filled in."""
        growth, paper = self.method != "lbfgs", self.method == "he-deng"
        distance = self.distance or ("kl" if growth else "ratios")
        tau = self.tau if self.tau is not None else (0.2 if distance == "ratios" else 1e-5)
        lexicon_tau = tau / LEXICON_PART if distance == "ratios" else tau
        return replace(
            self,
            distance=distance,
            tau=tau,
            lexicon_tau=lexicon_tau if self.lexicon_tau is None else self.lexicon_tau,
            level=self.level or ("sentence" if growth and self.on != "forests" else "corpus"),
            sharpness=self.sharpness or (1.0 if paper else 5.0 if growth else 20.0),
            steps=self.steps or 20,
            iterations=self.iterations or (10 if growth else 1),
            folds=self.num_folds,
            objective=self.tuning_objective,
        )

    @property
    def num_folds(self) -> int:
        """Return the number of folds; He and Deng let the model translate its own training text."""
        return self.folds or (1 if self.method == "he-deng" else 10)

    @property
    def tuning_objective(self) -> str:
        """Return what the weights are tuned for."""
        return self.objective or ("mert" if self.method == "he-deng" else "corpus-expected-bleu")

    @property
    def pop_limit(self) -> int:
        """Return the pop limit of the search, which must be a beam search."""
        name, given = parse_named(self.search)
        limit = given.pop("pop_limit", 100)
        if name != "beam" or given or not isinstance(limit, int) or limit < 1:
            raise InputError(f"search is {self.search!r}", argument="search", remedy="use 'beam:pop_limit=100'")
        return limit
