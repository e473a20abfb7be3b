"""Settings of tuning, of sentences and of documents; tuners by name, with a gradient tuner for each objective.

Nothing compiled is imported before a tuner is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from toledo.errors import InputError
from toledo.objectives.registry import OBJECTIVES
from toledo.search.document.settings import ACCEPTANCES, LOGARITHMIC, STARTS
from toledo.settings import Meta, Preset, Registry, Settings, parse_named, unknown_name

if TYPE_CHECKING:
    from toledo.tuning.tuner import Tuner

    Name = Any
else:
    Name = str  # or, in Python, a thing of the kind that the name stands for


class _TunerRegistry(Registry["Tuner"]):
    """Tuners by name; an objective (its name, itself, or a function of expected counts) makes a gradient tuner."""

    def names(self) -> list[str]:
        """Return the names of tuners, then those of objectives."""
        return [*super().names(), *OBJECTIVES.names()]

    def __contains__(self, name: str) -> bool:
        return super().__contains__(name) or name in OBJECTIVES

    def make(self, named: Any, **overrides: Any) -> Tuner:
        """Return the tuner that `named` stands for; `overrides` are settings on top of its own."""
        if not isinstance(named, str) and self.is_gradient(named):
            return super().make("gradient", objective=named, **overrides)
        return super().make(named, **overrides)

    def is_gradient(self, named: Any) -> bool:
        """Return whether a gradient tuner is made of this: of an objective, but of no other tuner."""
        if not isinstance(named, str):
            return not isinstance(named, type) and not hasattr(named, "tune")
        return parse_named(named)[0] in OBJECTIVES

    def _entry(self, name: str) -> Any:
        if not super().__contains__(name) and name in OBJECTIVES:
            return Preset("gradient", {"objective": name})
        return super()._entry(name)


TUNERS = _TunerRegistry(
    "objective",
    {
        "mert": "toledo.tuning.tuners.mert:MERT",
        "pro": "toledo.tuning.tuners.pro:PRO",
        "mira": "toledo.tuning.tuners.mira:MIRA",
        "mmi": "toledo.tuning.tuners.mmi:MMI",
        "regression": "toledo.tuning.tuners.pro:Regression",
        "simplex": "toledo.tuning.tuners.simplex:Simplex",
        "gradient": "toledo.tuning.tuners.gradient:Gradient",
    },
)

Count = Annotated[int, Meta(ge=1)]


@dataclass(frozen=True)
class TuneSettings(Settings):
    """How to tune; None stands for the default in brackets, and for settings that the chosen search does not use."""

    objective: Annotated[
        Name, Meta(description="Tuner or objective, as NAME or NAME:key=value,… (see `toledo list objectives`).")
    ] = "mert"
    metric: Annotated[Name, Meta(description="Metric to tune for, as NAME or NAME:key=value,….")] = "bleu"
    rule: Annotated[
        Name | None, Meta(description="Decision rule whose choices are scored. [default: viterbi; gibbs: mbr]")
    ] = None
    scale: Annotated[float | None, Meta(description="Factor applied to scores for that rule. [default: 1]")] = None
    search: Annotated[
        Name,
        Meta(description="Search; here beam:pop_limit=200, itg:beam=50 or gibbs:chains=1,iterations=200,burn_in=50."),
    ] = "beam"
    rounds: Annotated[
        Count | None, Meta(description="Maximum number of rounds. [default: 10; gibbs with annealing: until it ends]")
    ] = None
    patience: Annotated[
        Count | None, Meta(description="Stop after this many rounds without a better score. [default: 4]")
    ] = None
    runs: Annotated[int, Meta(ge=1, description="Number of runs with consecutive seeds; the best is kept.")] = 1
    initial: Annotated[
        Name, Meta(description="Weights to start from: model, default, docent, zero, or a weights file.")
    ] = "model"
    max_features: Annotated[
        Count | None, Meta(description="Maximum number of sparse features of each kind. [default: 20,000]")
    ] = None
    nbest: Annotated[Count | None, Meta(description="Number of texts in each n-best list. [default: 100]")] = None
    density: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        Meta(description="Edges per word in each lattice. [default: 50; gradient tuners use 30]"),
    ] = None
    on: Annotated[
        Literal["lists", "forests"] | None,
        Meta(description="Tune on n-best lists or on lattices. [default: by objective]"),
    ] = None


Which = Literal["consecutive", "all"]
Decoding = Literal["model", "bleu", "model+bleu"]
BLEU_WEIGHT = 10.0  # in 500 words one that matches adds 0.1 points or more: with this, about as much as the model says
Positive = Annotated[float, Meta(gt=0, le=1e300)]
NotNegative = Annotated[float, Meta(ge=0, le=1e300)]
First = Annotated[str, Meta(description="First state of each search: beam or random.")]


@dataclass(frozen=True)
class DocumentPRO(Settings):
    """Ranking of recorded states (Smith 2015). A round searches with the weights of the round before."""

    pairs: Annotated[
        Which, Meta(description="Compare each recorded state with the next (consecutive) or with all later states.")
    ] = "all"
    decoding: Annotated[
        Decoding,
        Meta(description="Record states of a search for the model score, for BLEU, or for their weighted sum."),
    ] = "model"
    positive: Annotated[bool, Meta(description="Set negative weights to 0, except for penalties.")] = True
    record: Annotated[
        Annotated[int, Meta(ge=1)] | str,
        Meta(description="When to record states: logarithmic (0, 256, 512, …), or every N steps."),
    ] = LOGARITHMIC
    bleu_weight: Annotated[Positive, Meta(description="Weight of BLEU (0 to 100) in a search for model+bleu.")] = (
        BLEU_WEIGHT
    )
    max_states: Annotated[
        Annotated[int, Meta(ge=2)] | None,
        Meta(
            description="Number of recorded states of each document to use: the first, and others drawn in proportion "
            "to the change of BLEU since the state before. [default: all]"
        ),
    ] = None
    falling_share: Annotated[
        float,
        Meta(
            ge=0,
            le=0.9,
            description="Smallest share of pairs in which BLEU falls while the model score rises: more of them are "
            "added, or they are repeated.",
        ),
    ] = 0.0
    rounds: Annotated[int, Meta(ge=1, description="Number of rounds.")] = 1
    steps: Annotated[int, Meta(ge=1, description="Number of search steps for each document.")] = 100_000
    start: First = "random"
    l2: Annotated[NotNegative, Meta(description="L2 penalty.")] = 1.0
    seed: Annotated[int, Meta(ge=0, description="Random seed.")] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start not in STARTS:
            raise unknown_name("start", self.start, list(STARTS))
        if isinstance(self.record, str) and self.record != LOGARITHMIC:
            raise InputError(f"record is {self.record!r}", remedy=f"write {LOGARITHMIC}, or a number of steps")
        if self.bleu_weight != BLEU_WEIGHT and self.decoding != "model+bleu":
            raise InputError(f"decoding {self.decoding} does not use bleu_weight", remedy="choose model+bleu")


@dataclass(frozen=True)
class DocumentGradient(Settings):
    """Stochastic gradients of expected BLEU, from samples of document chains."""

    objective: Literal["expected-bleu", "corpus-expected-bleu"] = "corpus-expected-bleu"
    rounds: Annotated[int, Meta(ge=1, description="Number of rounds.")] = 12
    batch: Annotated[int, Meta(ge=1, description="Number of documents for each gradient step.")] = 15
    gradient_steps: Annotated[int, Meta(ge=1, description="Number of gradient steps in a round.")] = 8
    initial_factor: Annotated[Positive, Meta(description="Multiply the initial weights by this factor.")] = 3.0
    num_samples: Annotated[int, Meta(ge=2, description="Number of samples of each document for a step.")] = 20
    every: Annotated[Positive, Meta(description="Steps of the sampler per source word between samples.")] = 1.0
    burn_in: Annotated[NotNegative, Meta(description="Steps of the sampler per source word before samples.")] = 5.0
    l2: Annotated[
        NotNegative | None, Meta(description="L2 penalty; by default 0.0001 with sparse features, else 0.")
    ] = None
    annealing: Annotated[bool, Meta(description="Lower the temperature from step to step.")] = False
    coupled: Annotated[bool, Meta(description="Use covariances over whole documents: exact, but noisy.")] = False
    match_length: Annotated[
        bool, Meta(description="After training, adjust the word penalty until output length matches the references.")
    ] = True


ListTuner = Literal["mert", "mira", "pro", "regression", "simplex"]


@dataclass(frozen=True)
class _SampledStates(Settings):
    """Which states of a search are kept, beside the last one."""

    rounds: Annotated[int, Meta(ge=1, description="Number of rounds.")] = 5
    steps: Annotated[int, Meta(ge=1, description="Number of search steps for each document.")] = 20_000
    sample_from: Annotated[int, Meta(ge=0, description="Search step from which states are sampled.")] = 2_000
    sample_every: Annotated[int, Meta(ge=1, description="Search steps between two sampled states.")] = 200
    start: First = "random"
    accept: Annotated[
        str, Meta(description="Changes to accept while states are sampled: hill-climbing, annealing or sampling.")
    ] = "hill-climbing"
    seed: Annotated[int, Meta(ge=0, description="Random seed.")] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start not in STARTS:
            raise unknown_name("start", self.start, list(STARTS))
        ACCEPTANCES.make(self.accept)


@dataclass(frozen=True)
class DocumentLists(_SampledStates):
    """A tuner of sentences on lists of document states (Stymne et al. 2013); lists of all rounds are united."""

    tuner: Annotated[ListTuner, Meta(description="Tuner on lists of states.")] = "mert"


@dataclass(frozen=True)
class OnlineMIRA(_SampledStates):
    """Online MIRA (Watanabe et al. 2007): a step after the search of each document, with the weights of that moment."""

    largest_step: Annotated[Positive, Meta(description="Maximum step of the weights for a document (C).")] = 0.01
    decay: Annotated[float, Meta(ge=0, lt=1, description="Decay of the pseudo-corpus with each document.")] = 0.999


DocumentMethod = DocumentPRO | DocumentGradient | DocumentLists | OnlineMIRA
DOCUMENT_OBJECTIVES: Registry[DocumentMethod] = Registry(
    "document objective",
    {
        "corpus-expected-bleu": f"{__name__}:DocumentGradient",
        "expected-bleu": Preset("corpus-expected-bleu", {"objective": "expected-bleu"}),
        "pro": f"{__name__}:DocumentPRO",
        "mert": f"{__name__}:DocumentLists",
        "mira": Preset("mert", {"tuner": "mira"}),
        "online-mira": f"{__name__}:OnlineMIRA",
    },
)
