"""From lattices and references to weights, in two stages (Rosti et al. 2011).

1. All lattices are expanded to bigrams, and weights are tuned there (xBLEU-2).
2. Edges that are hardly ever used with these weights are pruned, what is left is expanded to the order of BLEU and of
   the language model, and a second set of weights is tuned there (xBLEU-4). For latBLEU it is the 300 best paths of
   each segment that are left.

Both stages are tuned for each of several target entropies; the bigram lattices are the same for all of them.
`toledo.combination.selection` decides which of the weights found are used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from toledo.combination.alignment import Matcher
from toledo.combination.features import (
    LANGUAGE_MODEL,
    Feature,
    SparseNGramFeatures,
    expand_each,
    named_feature,
    pruned,
    with_features,
)
from toledo.combination.goals import NO_WORDS, Goal, WordIds, metrics_of
from toledo.combination.language_models import cut_order
from toledo.combination.lattice import FEATURES, SKELETONS, NetworkLattice
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuners import (
    LIST_SIZE,
    Ascent,
    Downhill,
    ListAscent,
    best_paths,
    entropy_within_reach,
    scale_for_entropy,
)
from toledo.combination.votes import (
    CombinationProblem,
    CombinationWeights,
    References,
    TunedStage,
    VotedForest,
    uniform,
    with_votes,
)
from toledo.consensus.decide import decide
from toledo.consensus.registry import make_search_rule
from toledo.consensus.rule import Rule
from toledo.errors import RunError
from toledo.forest.assemble import split
from toledo.forest.forest import Forest, edges_of_sentences
from toledo.forest.linear import SparseFeatures
from toledo.forest.ngrams import NGramForest, join_ngrams
from toledo.language_model.model import LanguageModel
from toledo.objectives.objective import match
from toledo.progress import Progress, silent
from toledo.runs.checkpoint import KIND, Checkpoint, digest
from toledo.weights import Weights

BIGRAMS = 2
COMBINATION = "combination"
START = {LANGUAGE_MODEL: 0.1, "novel": -1.0, "support": 1.0}  # by the first part of the name; others begin at 0
BEST_TEXTS = 100  # that a rule looks at
NOT_TUNED_WITH = ("synonyms", "rule", "scale", "folds", "select_by")  # the matcher has a signature of its own


@dataclass(frozen=True)
class TuningRun:
    """How tuning works: a directory for finished stages (None: they are not kept), threads, and progress.

    `documents` names the document of each segment; parts of the tuning set for cross-validation have whole documents.
    """

    directory: Path | None = None
    resume: bool = False
    threads: int | None = None
    progress: Progress = silent
    documents: Sequence[str] | None = None

    def require_new(self) -> None:
        """Refuse to begin where an interrupted tuning is, before any work is done."""
        if self.directory is not None and self.directory.exists() and not self.resume:
            raise RunError(
                f"{self.directory}: holds an unfinished run",
                remedy="continue it with `resume=True`, choose another directory, or remove this one",
            )

    def checkpoint(
        self, tuning: CombinationTuning, matcher: Matcher, entropy: float, part: str = ""
    ) -> Checkpoint | None:
        """Return where the stages for one entropy, language model and part of the tuning set are saved."""
        if self.directory is None:
            return None
        bias = tuning.expander.settings.bias
        name = f"entropy-{entropy:g}" if bias is None else f"entropy-{entropy:g}-bias-{bias:g}"
        given = {**configuration_of(tuning, matcher), "entropy": str(entropy)}
        return Checkpoint(self.directory / f"{name}{part}", given, self.resume)

    def remove(self) -> None:
        """Remove what was kept; other files in the directory stay."""
        if self.directory is None:
            return
        for one in self.directory.glob("entropy-*"):
            Checkpoint(one).remove()
        with suppress(OSError):
            self.directory.rmdir()


@dataclass(frozen=True, eq=False)
class Expander:
    """Makes the lattices of both stages: the same for tuning and for use."""

    settings: CombinationSettings
    model: LanguageModel | None
    features: tuple[Feature, ...] = ()
    threads: int | None = None
    progress: Progress = silent

    @cached_property
    def bigram_model(self) -> LanguageModel | None:
        """What scores the first stage; its tables are made once."""
        return None if self.model is None else cut_order(self.model, BIGRAMS)

    def to_bigrams(self, lattices: Sequence[NetworkLattice]) -> NGramForest:
        """Return the lattices of the first stage."""
        return join_ngrams(self.each_to_bigrams(lattices))

    def each_to_bigrams(self, lattices: Sequence[NetworkLattice]) -> list[NGramForest]:
        """Return the lattices of the first stage, not joined."""
        return self._expand([lattice.forest for lattice in lattices], lattices, BIGRAMS, self.bigram_model)

    def to_order(self, bigrams: VotedForest, lattices: Sequence[NetworkLattice], first: TunedStage) -> NGramForest:
        """Return what the weights of the first stage leave to the second: pruned lattices, or lists for latBLEU."""
        scores = bigrams.scores(covering(first.weights, bigrams.forest), self.threads, first.scale)
        if self.settings.objective == "lattice-bleu":
            forests = best_paths(with_features(bigrams.forest, FEATURES), scores, LIST_SIZE, self.threads)
        else:
            forests = pruned(bigrams.forest, scores, self.settings.threshold, FEATURES)
        return join_ngrams(self._expand(forests, lattices, self.settings.order, self.model))

    def decided(
        self, bigrams: VotedForest, lattices: Sequence[NetworkLattice], first: TunedStage, second: TunedStage
    ) -> list[Forest]:
        """Return the lattices of the second stage, segment by segment, with the votes as base scores."""
        return as_decided(self.to_order(bigrams, lattices, first), lattices, second)

    def _expand(
        self, forests: Sequence[Forest], lattices: Sequence[NetworkLattice], order: int, model: LanguageModel | None
    ) -> list[NGramForest]:
        features = (*map(named_feature, self.settings.features), *self.features)
        return expand_each(forests, lattices, order, model, features, self.threads, self.progress)


def as_decided(ngrams: NGramForest, lattices: Sequence[NetworkLattice], second: TunedStage) -> list[Forest]:
    """Return the lattices of the second stage one by one, with the votes as base scores."""
    voted = with_votes(ngrams.forest, lattices)
    return [part for part, _, _ in split(voted.decided(second.weights.sigma))]


class SavedStages(msgspec.Struct):
    """The stages of a saved tuning."""

    stages: list[dict[str, Any]]


def load_stages(checkpoint: Checkpoint | None) -> list[TunedStage]:
    """Return the stages done so far; none for a new tuning."""
    saved = checkpoint.load(COMBINATION, SavedStages) if checkpoint else None
    return [TunedStage.from_table(one, checkpoint.file) for one in saved.stages] if checkpoint and saved else []


def save_stages(checkpoint: Checkpoint | None, stages: list[TunedStage]) -> list[TunedStage]:
    """Save all stages so far, and return them."""
    if checkpoint is not None:
        checkpoint.save({KIND: COMBINATION, "stages": [stage.to_table() for stage in stages]})
    return stages


class TunedStages(NamedTuple):
    """The weights of both stages for an entropy."""

    entropy: float
    first: TunedStage
    second: TunedStage


@dataclass(frozen=True, eq=False)
class CombinationTuning:
    """The lattices of a tuning set beside their references, expanded to bigrams once for all entropies and parts.

    `lengths` is what the penalty for short texts asks for in each segment, if not the length of the references;
    `expanded` the lattices expanded to bigrams, if they are known.
    """

    lattices: Sequence[NetworkLattice]
    references: References
    systems: Sequence[str]
    expander: Expander
    lengths: NDArray[np.float64] | None = None
    expanded: Sequence[NGramForest] | None = None
    _kept: list[tuple[TunedStage, NGramForest]] = field(init=False, repr=False, default_factory=list)

    def part(self, segments: NDArray[np.int64]) -> CombinationTuning:
        """Return the problem for some of the segments."""
        lattices = [self.lattices[number] for number in segments]
        references = [self.references[number] for number in segments]
        lengths = None if self.lengths is None else self.lengths[segments]
        expanded = [self._expanded[number] for number in segments]
        return replace(self, lattices=lattices, references=references, lengths=lengths, expanded=expanded)

    def tune(self, entropy: float, checkpoint: Checkpoint | None = None) -> TunedStages:
        """Find the weights of both stages; those that a checkpoint has are not tuned again."""
        settings = self.expander.settings
        tuner = make_tuner(settings, self._within_reach(entropy), self.goal)
        stages = load_stages(checkpoint)
        if not stages:
            stages = save_stages(checkpoint, [tuner.tune(self.bigrams, BIGRAMS)])
        if len(stages) == 1:
            second = self._problem(self._to_order(stages[0]), stages[0].weights)
            stages = save_stages(checkpoint, [stages[0], tuner.tune(second, settings.order)])
        return TunedStages(entropy, stages[0], stages[1])

    def untuned(self, entropy: float) -> TunedStages:
        """Return the weights to begin with, and equal shares, at the scales that give them an entropy."""
        aim = self._within_reach(entropy)
        first = self._at_entropy(self.bigrams, aim)
        second = self._problem(self._to_order(first), first.weights)
        return TunedStages(entropy, first, self._at_entropy(second, aim))

    def _at_entropy(self, problem: CombinationProblem, entropy: float) -> TunedStage:
        return TunedStage(problem.start, scale_for_entropy(problem.voted, problem.start, entropy, problem.threads), 0.0)

    def texts(self, stages: TunedStages) -> list[WordIds]:
        """Return the combined text of each segment, by the rule of the settings."""
        settings, threads = self.expander.settings, self.expander.threads
        forests = as_decided(self._to_order(stages.first), self.lattices, stages.second)
        weights, scale = covering(stages.second.weights, forests[0]).features, settings.scale * stages.second.scale
        return [one.words for one in decide(rule_of(settings), forests, weights, scale, threads)]

    @cached_property
    def bigrams(self) -> CombinationProblem:
        """The problem of the first stage."""
        return self._problem(join_ngrams(self._expanded), None)

    @cached_property
    def _expanded(self) -> Sequence[NGramForest]:
        return self.expander.each_to_bigrams(self.lattices) if self.expanded is None else self.expanded

    @cached_property
    def goal(self) -> Goal:
        """What is tuned for."""
        return Goal(self.references, metrics_of(self.expander.settings.metrics), self.lengths)

    def outputs(self, system: int) -> list[WordIds]:
        """Return the best output of a system for each segment."""
        return [_best_output(lattice, system) for lattice in self.lattices]

    def _within_reach(self, entropy: float) -> float:
        return entropy_within_reach(self.bigrams.voted, entropy, self.expander.threads)

    def _to_order(self, first: TunedStage) -> NGramForest:
        """Return the lattices of the second stage; those made last are kept, since they are tuned and then decided."""
        if not self._kept or self._kept[0][0] is not first:
            self._kept[:] = [(first, self.expander.to_order(self.bigrams.voted, self.lattices, first))]
        return self._kept[0][1]

    def _problem(self, ngrams: NGramForest, before: CombinationWeights | None) -> CombinationProblem:
        settings = self.expander.settings
        features = _start(ngrams.forest, before.features if before else Weights({}), settings)
        start = replace(before, features=features) if before else uniform(self.systems, features)
        voted, matched = with_votes(ngrams.forest, self.lattices), match(ngrams, self.references)
        if self.lengths is not None:
            matched = replace(matched, reference_lengths=self.lengths[:, None])
        return CombinationProblem(voted, matched, start, self.expander.threads)


def rule_of(settings: CombinationSettings) -> Rule:
    """Return the rule that decides unless another is asked for; one by name looks at 100 texts."""
    return make_search_rule(settings.rule, size=BEST_TEXTS)


def make_tuner(settings: CombinationSettings, entropy: float, goal: Goal) -> Ascent | Downhill | ListAscent:
    """Return what finds the weights of each stage."""
    if settings.objective == "lattice-bleu":
        return Downhill(goal, entropy=entropy)
    ascent = Ascent(entropy, settings.l2, settings.steps, settings.rounds, sparse_l2=settings.sparse_l2)
    return ascent if settings.objective == "lattice-expected-bleu" else ListAscent(goal, ascent)


def _best_output(lattice: NetworkLattice, system: int) -> WordIds:
    """Return the words of the best output of a system, none if it has nothing to say."""
    texts = lattice.hypotheses.texts
    for text in np.flatnonzero(lattice.hypotheses.confidences[:, system] == 1.0).tolist():
        return np.asarray(texts.symbols[texts.offsets[text] : texts.offsets[text + 1]])
    return NO_WORDS


def covering(weights: CombinationWeights, forest: Forest) -> CombinationWeights:
    """Return the weights with 0 for dense features that no segment of the tuning set had."""
    missing = {name: 0.0 for name in forest.feature_names if name not in weights.features}
    return replace(weights, features=Weights({**weights.features, **missing})) if missing else weights


def configuration_of(tuning: CombinationTuning, matcher: Matcher) -> dict[str, Any]:
    """Return everything that the result of tuning depends on, as digests where it is long."""
    lattices, expander = tuning.lattices, tuning.expander
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
        **{name: str(value) for name, value in asdict(expander.settings).items() if name not in NOT_TUNED_WITH},
        "systems": " ".join(tuning.systems),
        "outputs": digest(outputs.hexdigest()),
        "references": digest(repr(tuning.references)),
        "lengths": digest(None if tuning.lengths is None else tuning.lengths.tolist()),
        "language model": digest(model.hexdigest()),
        "more features": " ".join(extra),
        "words match by": matcher.signature,
    }


def _start(forest: Forest, known: Weights, settings: CombinationSettings) -> Weights:
    """Return the weights to begin with, those of the stage before where it had them.

    Sparse features that few segments have get no weight. Those of skeletons are frozen unless they are asked for.
    """
    values = {name: known.get(name, START.get(name.split(".")[0], 0.0)) for name in forest.feature_names}
    if forest.sparse is None:
        return Weights(values)
    counts = segments_with(forest.sparse, edges_of_sentences(forest.shape)).tolist()
    for name, count in zip(forest.sparse.names, counts, strict=True):
        if name.startswith(SKELETONS) or count >= settings.min_segments:
            values[name] = known.get(name, 0.0)
    fixed = () if settings.skeleton_weights else (name for name in forest.sparse.names if name.startswith(SKELETONS))
    return Weights(values, frozen=frozenset(fixed))


def segments_with(sparse: SparseFeatures, segments: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many segments have each sparse feature; edge h of segment i: `segments[i] <= h < segments[i + 1]`."""
    owner = np.repeat(np.arange(segments.size - 1), np.diff(sparse.arrays.offsets[segments]))
    pairs = np.unique(owner * len(sparse.names) + sparse.arrays.ids)
    return np.bincount(pairs % max(len(sparse.names), 1), minlength=len(sparse.names))
