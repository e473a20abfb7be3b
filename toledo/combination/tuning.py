"""From lattices and references to weights, in two stages (Rosti et al. 2011).

1. All lattices are expanded to bigrams, and weights are tuned there (xBLEU-2).
2. Edges that are hardly ever used with these weights are pruned, what is left is expanded to the order of BLEU and of
   the language model, and a second set of weights is tuned there (xBLEU-4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from toledo.combination.alignment import Matcher
from toledo.combination.features import LANGUAGE_MODEL, Feature, SparseNGramFeatures, expand, named_feature, pruned
from toledo.combination.language_models import ORDER, cut_order
from toledo.combination.lattice import FEATURES, Lattice
from toledo.combination.stages import TunedStage, load_stages, save_stages
from toledo.combination.tuners import Ascent, Downhill, ListAscent
from toledo.combination.votes import CombinationWeights, Problem, References, VotedForest, uniform, with_votes
from toledo.errors import InputError
from toledo.forest.forest import Forest
from toledo.forest.ngrams import NGramForest
from toledo.language_model.model import LanguageModel
from toledo.objectives.objective import match
from toledo.progress import Progress, silent
from toledo.runs.checkpoint import Checkpoint, digest
from toledo.weights import Weights

Method = Literal["lattice-expected-bleu", "list-expected-bleu", "lattice-bleu"]
BIGRAMS = 2
START = {LANGUAGE_MODEL: 0.1, "novel": -1.0, "support": 1.0}  # by the first part of the name; others begin at 0
SKELETONS = "skeleton."


@dataclass(frozen=True)
class Settings:
    """How outputs are combined.

    `language` is that of stems, `skeletons` how many outputs become skeletons (all, if None), `features` those of
    n-grams, of which each stage uses the ones of its order. Weights for each system as a skeleton are only tuned if
    `skeleton_weights`. `threshold` is the posterior below which edges are pruned after the first stage. `bias` is the
    weight of a language model of the outputs, of order `lm_order`, in the mixture that scores lattices, and `raw` the
    code of the language of raw text, empty if lines are tokenised (`toledo.combination.lines` sees to both).
    """

    method: Method = "lattice-expected-bleu"
    language: str = "english"
    synonyms: bool = True
    skeletons: int | None = None
    skeleton_weights: bool = False
    features: tuple[str, ...] = ("novel.bigram",)
    order: int = 4
    threshold: float = 1e-3
    entropy: float = 3.0
    l2: float = 1e-4
    steps: int = 25
    rounds: int = 1
    bias: float = 0.0
    lm_order: int = ORDER
    raw: str = ""

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise InputError(f"no method {self.method!r}", remedy=f"choose from {', '.join(get_args(Method))}")
        if not (
            0.0 < self.threshold < 1.0 and self.order >= BIGRAMS and (self.skeletons is None or self.skeletons > 0)
        ):
            raise InputError(
                "a threshold, an order or a number of skeletons of no use", remedy="the threshold is between 0 and 1"
            )
        for feature in map(named_feature, self.features):
            if feature.order > self.order:
                raise InputError(f"{feature.name}, but n-grams have {self.order} words at most", remedy="leave it out")
        _ = self.ascent

    @property
    def ascent(self) -> Ascent:
        """How to follow gradients."""
        return Ascent(self.entropy, self.l2, self.steps, self.rounds)

    def tuner(self, references: References) -> Ascent | Downhill | ListAscent:
        """What finds weights in each stage."""
        if self.method == "lattice-bleu":
            return Downhill(references, entropy=self.entropy)
        return self.ascent if self.method == "lattice-expected-bleu" else ListAscent(references, self.ascent)


@dataclass(frozen=True, eq=False)
class Expander:
    """Makes the lattices of both stages: the same for tuning and for use."""

    settings: Settings
    model: LanguageModel | None
    features: tuple[Feature, ...] = ()
    threads: int | None = None
    progress: Progress = silent

    @cached_property
    def bigram_model(self) -> LanguageModel | None:
        """What scores the first stage; its tables are made once."""
        return None if self.model is None else cut_order(self.model, BIGRAMS)

    def to_bigrams(self, lattices: Sequence[Lattice]) -> NGramForest:
        """The first stage."""
        return self._expand([lattice.forest for lattice in lattices], lattices, BIGRAMS, self.bigram_model)

    def to_order(self, bigrams: VotedForest, lattices: Sequence[Lattice], first: TunedStage) -> NGramForest:
        """The second stage: what the weights of the first one leave."""
        scores = first.scale * bigrams.scores(covering(first.weights, bigrams.forest), self.threads)
        forests = pruned(bigrams.forest, scores, self.settings.threshold, FEATURES)
        return self._expand(forests, lattices, self.settings.order, self.model)

    def _expand(
        self, forests: Sequence[Forest], lattices: Sequence[Lattice], order: int, model: LanguageModel | None
    ) -> NGramForest:
        features = (*map(named_feature, self.settings.features), *self.features)
        return expand(forests, lattices, order, model, features, self.threads, self.progress)


def tune_stages(
    lattices: Sequence[Lattice],
    references: References,
    systems: Sequence[str],
    expander: Expander,
    checkpoint: Checkpoint | None = None,
) -> tuple[TunedStage, TunedStage]:
    """The weights of both stages; those that a checkpoint has are not tuned again."""
    settings, threads = expander.settings, expander.threads
    tuner = settings.tuner(references)
    stages = load_stages(checkpoint)
    bigrams = expander.to_bigrams(lattices)
    voted = with_votes(bigrams.forest, lattices)
    if not stages:
        start = uniform(systems, _start(bigrams.forest, Weights({}), settings))
        stages = save_stages(
            checkpoint, [tuner.tune(Problem(voted, match(bigrams, references), start, threads), BIGRAMS)]
        )
    if len(stages) == 1:
        ngrams = expander.to_order(voted, lattices, stages[0])
        second = with_votes(ngrams.forest, lattices)
        start = replace(stages[0].weights, features=_start(ngrams.forest, stages[0].weights.features, settings))
        found = tuner.tune(Problem(second, match(ngrams, references), start, threads), settings.order)
        stages = save_stages(checkpoint, [stages[0], found])
    return stages[0], stages[1]


def covering(weights: CombinationWeights, forest: Forest) -> CombinationWeights:
    """The weights with 0 for dense features that they do not have: those that no segment of the tuning set had."""
    missing = {name: 0.0 for name in forest.feature_names if name not in weights.features}
    return replace(weights, features=Weights({**weights.features, **missing})) if missing else weights


def configuration_of(
    settings: Settings, systems: Sequence[str], lattices: Sequence[Lattice], references: References, expander: Expander
) -> dict[str, Any]:
    """All that the result of tuning depends on, in short."""
    outputs = hashlib.sha256()
    for lattice in lattices:
        words = lattice.forest.vocabulary.words(lattice.hypotheses.texts.symbols.tolist())
        outputs.update("\n".join([*words, str(lattice.hypotheses.texts.offsets.tolist())]).encode())
        outputs.update(lattice.hypotheses.confidences.tobytes())
    model = hashlib.sha256()
    for array in expander.model.to_arrays().values() if expander.model else ():
        model.update(np.ascontiguousarray(array).tobytes())
    extra = [
        one.name if not isinstance(one, SparseNGramFeatures) else f"sparse.{one.order}" for one in expander.features
    ]
    return {
        **{name: str(value) for name, value in asdict(settings).items()},
        "systems": " ".join(systems),
        "outputs": digest(outputs.hexdigest()),
        "references": digest(repr(references)),
        "language model": digest(model.hexdigest()),
        "more features": " ".join(extra),
        "words match by": Matcher(settings.language, settings.synonyms).signature,
    }


def _start(forest: Forest, known: Weights, settings: Settings) -> Weights:
    """Weights to begin with, those of the stage before where it had them."""
    sparse = forest.sparse.names if forest.sparse else ()
    values = {name: known.get(name, START.get(name.split(".")[0], 0.0)) for name in forest.feature_names}
    values |= {name: known.get(name, 0.0) for name in sparse}
    fixed = () if settings.skeleton_weights else (name for name in sparse if name.startswith(SKELETONS))
    return Weights(values, frozen=frozenset(fixed))
