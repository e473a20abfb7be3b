"""Settings of tuning at document level, by the names of objectives; nothing compiled is imported before use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from toledo.errors import InputError
from toledo.search.document.settings import LOGARITHMIC, STARTS
from toledo.settings import Meta, Preset, Registry, Settings, unknown_name

Which = Literal["consecutive", "all"]
Decoding = Literal["model", "bleu"]
Positive = Annotated[float, Meta(gt=0, le=1e300)]
NotNegative = Annotated[float, Meta(ge=0, le=1e300)]


@dataclass(frozen=True)
class DocumentPRO(Settings):
    """Ranking of recorded states (Smith 2015). A round searches with the weights of the round before."""

    pairs: Annotated[
        Which, Meta(description="Compare each recorded state with the next one (consecutive), or with all later ones.")
    ] = "all"
    decoding: Annotated[Decoding, Meta(description="Record the states of a search by the model, or for BLEU.")] = (
        "model"
    )
    positive: Annotated[bool, Meta(description="Set negative weights to 0, except for penalties.")] = True
    record: Annotated[
        Annotated[int, Meta(ge=1)] | str,
        Meta(description="When to record states: logarithmic (0, 256, 512, …) or a number of steps."),
    ] = LOGARITHMIC
    rounds: Annotated[int, Meta(ge=1, description="Number of rounds.")] = 1
    steps: Annotated[int, Meta(ge=1, description="Number of search steps for each document.")] = 100_000
    start: Annotated[str, Meta(description="First state of each search: beam or random.")] = "random"
    l2: Annotated[NotNegative, Meta(description="L2 penalty.")] = 1.0
    seed: Annotated[int, Meta(ge=0, description="Random seed.")] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start not in STARTS:
            raise unknown_name("start", self.start, list(STARTS))
        if isinstance(self.record, str) and self.record != LOGARITHMIC:
            raise InputError(f"record is {self.record!r}", remedy=f"write {LOGARITHMIC}, or a number of steps")


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


DocumentMethod = DocumentPRO | DocumentGradient
DOCUMENT_OBJECTIVES: Registry[DocumentMethod] = Registry(
    "document objective",
    {
        "corpus-expected-bleu": f"{__name__}:DocumentGradient",
        "expected-bleu": Preset("corpus-expected-bleu", {"objective": "expected-bleu"}),
        "pro": f"{__name__}:DocumentPRO",
    },
)
