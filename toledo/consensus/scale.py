"""Choose the rule and the scale that score best on held-out data.

    candidates = [Candidate(LatticeMBR(), scale) for scale in scales_for(weights, names)]
    best = choose_rule(candidates, forests, weights, references).best
    decide(best.rule, test_forests, weights, best.scale)

The scale matters as much as the rule. Work that does not depend on it is done once: k-best lists, the splitting by
n-grams. Scores become probabilities by p(d) ∝ exp(scale · w · f(d)): weights twice as large at half the scale are the
same distribution. Norms of tuned weights differ by factors of ten, so scales to choose from are relative to the norm.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, cast

import numpy as np

from toledo.consensus.decide import MaxTranslation, map_forests
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.consensus.rule import Decision, Rule, check_scale
from toledo.consensus.texts import best_derivations
from toledo.consensus.variational import Variational
from toledo.errors import InputError
from toledo.forest.assemble import from_edges, list_edges
from toledo.forest.forest import Forest, Scores, Yields
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.progress import Progress, silent
from toledo.weights import Weights

SCALES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)  # for scores without weights
SHARPNESS = (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0, 30.0)  # scale × norm


def norm_of(weights: Weights | Mapping[str, float], names: Collection[str]) -> float:
    """Return the L1 norm of the weights of these features, without frozen weights if there are others.

    Frozen features such as that of unknown words are the same for all translations of a sentence.
    """
    frozen = weights.frozen if isinstance(weights, Weights) else frozenset[str]()
    known = [name for name in names if name in weights]
    free = [name for name in known if name not in frozen]
    return sum(abs(weights[name]) for name in free or known)


def scales_for(weights: Weights | Mapping[str, float], names: Collection[str]) -> Sequence[float]:
    """Return scales worth trying for these (dense) features, from flat to sharp, in three digits."""
    norm = norm_of(weights, names)
    return [float(f"{one / norm:.3g}") for one in SHARPNESS] if norm else SCALES


References = Sequence[Sequence[Sequence[str]]]  # words of each reference of each segment


@dataclass(frozen=True)
class Candidate:
    """A rule at a scale."""

    rule: Rule
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_scale(self.scale)


@dataclass(frozen=True)
class Row(Candidate):
    """A rule at a scale and its score."""

    score: float = math.nan


@dataclass(frozen=True)
class ScaleTable:
    """The scores of some candidates, in the order given, and the best of them."""

    rows: tuple[Row, ...]
    higher_is_better: bool = True

    @property
    def best(self) -> Row:
        """The best row; of equal rows that with the scale nearest to 1, then the first."""
        sign = 1.0 if self.higher_is_better else -1.0
        return max(self.rows, key=lambda row: (sign * row.score, -abs(math.log(row.scale))))


def choose_rule(
    candidates: Sequence[Candidate],
    forests: Sequence[Forest],
    weights: Weights | Mapping[str, float],
    references: References,
    metric: Metric = BLEU(smooth_method="none"),  # noqa: B008 (frozen)
    threads: int | None = None,
    progress: Progress = silent,
) -> ScaleTable:
    """Score several rules, with several settings, at several scales."""
    if not candidates or not forests:
        raise InputError("nothing to choose from", remedy="give at least one rule, one scale and one segment")
    if len(references) != len(forests):
        raise InputError(f"{len(forests)} segments, but references for {len(references)}", remedy="give one set each")
    decisions = decide_candidates(candidates, forests, weights, threads, progress)
    rows = []
    for candidate, chosen in zip(candidates, decisions, strict=True):
        texts = [
            forest.vocabulary.words(decision.words.tolist()) for forest, decision in zip(forests, chosen, strict=True)
        ]
        rows.append(Row(candidate.rule, candidate.scale, _score(metric, texts, references, threads)))
    return ScaleTable(tuple(rows), metric.higher_is_better)


def decide_candidates(
    candidates: Sequence[Candidate],
    forests: Sequence[Forest],
    weights: Weights | Mapping[str, float],
    threads: int | None = None,
    progress: Progress = silent,
) -> list[list[Decision]]:
    """Return for each candidate its decisions for all segments, equal to those of `decide`."""
    decide_each = partial(_decide_one, candidates)
    by_segment = map_forests(decide_each, forests, weights, threads, progress, "choosing")
    return [[decisions[number] for decisions in by_segment] for number in range(len(candidates))]


def _best_list(forest: Forest, scores: Scores, size: int) -> tuple[Forest, Scores]:
    """Return the derivations behind the `size` best texts as a list, and their scores."""
    if not forest.shape.tails.size:
        return forest, scores
    texts, totals = best_derivations(forest, scores, size)
    yields = Yields(texts.offsets.astype(np.int32), texts.symbols)
    edges = list_edges(yields, np.empty((len(texts), 0), np.float32))
    return from_edges(edges, 0, (), forest.vocabulary), totals


def _decide_one(candidates: Sequence[Candidate], forest: Forest, scores: Scores) -> list[Decision]:
    """Return all decisions about one segment, with shared work done once."""
    lists = cache(lambda size: _best_list(forest, scores, size))
    decisions: dict[int, Decision] = {}
    sharing: dict[type, dict[int, tuple[Any, float]]] = {Consensus: {}, LatticeMBR: {}, Variational: {}}
    for number, (rule, scale) in enumerate((one.rule, one.scale) for one in candidates):
        if size := _texts_needed(rule):
            texts, totals = lists(size)
            decisions[number] = rule.decide(texts, scale * totals)
        elif type(rule) in sharing:
            sharing[type(rule)][number] = rule, scale
        else:
            decisions[number] = rule.decide(forest, scale * scores if rule.has_scale else scores)
    for kind, some in sharing.items():
        decisions.update(zip(some, cast(Any, kind).decide_each(forest, scores, list(some.values())), strict=True))
    return [decisions[number] for number in range(len(candidates))]


def _texts_needed(rule: Rule) -> int:
    """Return how many of the best texts a rule looks at; 0 if it looks at more than these."""
    match rule:
        case MBR(num_samples=0):
            return max(rule.size, rule.reference_size)
        case MaxTranslation() | Consensus(from_list=True):
            return rule.size
    return 0


def _score(metric: Metric, texts: Sequence[Sequence[str]], references: References, threads: int | None) -> float:
    return metric.score(metric.corpus_statistics(texts, references, threads).sum(axis=0))
