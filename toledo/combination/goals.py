"""What texts are tuned and chosen for: a weighted sum of metrics, and the length that is asked of them.

    goal = Goal(references, metrics_of(("bleu", "0.5*ter")))       BLEU − TER / 2
    goal.prepare(vocabulary).value(texts)

With one reference BLEU asks for its length. Where all systems are shorter, tuning can gain by padding alone: no
precision grows, the penalty for short texts is just no longer paid. So the penalty may ask for the length of the
*consensus* instead: that of the output that is closest to all outputs of a segment (MBR with equal weights).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.combination.lattice import NetworkLattice
from toledo.combination.settings import parse_part
from toledo.combination.votes import References
from toledo.compiled.ragged import offsets_of
from toledo.consensus.decide import NOTHING, decide
from toledo.consensus.mbr import MBR
from toledo.consensus.rule import Decision
from toledo.forest.assemble import from_edges, list_edges
from toledo.forest.forest import Forest, Yields
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.metrics.references import Counter
from toledo.metrics.registry import METRICS
from toledo.metrics.ter import TER
from toledo.objectives.lists import sign
from toledo.text.vocabulary import Vocabulary

WordIds = NDArray[np.int32]
WeightedMetrics = tuple[tuple[float, Metric], ...]
REFERENCE_LENGTH = 1  # its column in the statistics of BLEU
WHOLE_ORDER = 4
NO_WORDS = np.empty(0, np.int32)


class TextScores(NamedTuple):
    """BLEU and TER of texts, and their length as a part of that of the references."""

    bleu: float
    ter: float
    length: float


def metrics_of(parts: Sequence[str]) -> WeightedMetrics:
    """Return the metrics of a goal with their factors, those of error rates negative; BLEU is not smoothed."""
    found = []
    for part in parts:
        factor, name = parse_part(part)
        metric = METRICS.make(name)
        found.append((factor * sign(metric), _unsmoothed(metric)))
    return tuple(found)


def _unsmoothed(metric: Metric, order: int = WHOLE_ORDER) -> Metric:
    if not isinstance(metric, BLEU):
        return metric
    return replace(metric, smooth_method="none", max_ngram_order=min(order, metric.max_ngram_order))


BLEU_ALONE = metrics_of(("bleu",))


@dataclass(frozen=True, eq=False)
class PreparedGoal:
    """A goal, ready to score texts of word ids; each part has its factor, its metric and its references."""

    parts: tuple[tuple[float, Metric, Counter], ...]
    lengths: NDArray[np.float64] | None = None

    def statistics(self, texts: Sequence[WordIds], segments: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Return the statistics of texts for each part."""
        offsets, words = offsets_of([text.size for text in texts]), np.concatenate([NO_WORDS, *texts])
        found = [counter.statistics(words, offsets, segments, threads=1) for _, _, counter in self.parts]
        if self.lengths is not None:
            for (_, metric, _), rows in zip(self.parts, found, strict=True):
                if isinstance(metric, BLEU):
                    rows[:, REFERENCE_LENGTH] = self.lengths[segments]
        return found

    def value(self, texts: Sequence[WordIds]) -> float:
        """Return the goal of one text for each segment."""
        return self._total([rows.sum(axis=0) for rows in self.statistics(texts, np.arange(len(texts)))])

    def noise(self, one: Sequence[WordIds], other: Sequence[WordIds], documents: Sequence[str]) -> float:
        """Return the standard error of the difference between two sets of texts, by leaving out documents in turn."""
        numbers = {one: number for number, one in enumerate(dict.fromkeys(documents))}
        owner = np.array([numbers[one] for one in documents], np.int64)
        left_out = [self._without(texts, owner) for texts in (one, other)]
        gaps = np.array([first - second for first, second in zip(*left_out, strict=True)])
        return math.sqrt((gaps.size - 1) * float(np.var(gaps)))

    def _without(self, texts: Sequence[WordIds], owner: NDArray[np.int64]) -> list[float]:
        """Return the goal without each of the documents."""
        sums = []
        for rows in self.statistics(texts, np.arange(len(texts))):
            own = np.zeros((owner.max() + 1, rows.shape[1]))
            np.add.at(own, owner, rows)
            sums.append(own.sum(axis=0) - own)
        return [self._total(own) for own in zip(*sums, strict=True)]

    def _total(self, sums: Sequence[NDArray[np.float64]]) -> float:
        return sum(factor * metric.score(own) for (factor, metric, _), own in zip(self.parts, sums, strict=True))


@dataclass(frozen=True, eq=False)
class Goal:
    """References, metrics with factors, and the length to ask for in each segment (None: that of the references)."""

    references: References
    metrics: WeightedMetrics = BLEU_ALONE
    lengths: NDArray[np.float64] | None = None

    def prepare(self, vocabulary: Vocabulary, order: int = WHOLE_ORDER) -> PreparedGoal:
        """Return the goal for word ids; BLEU looks at n-grams up to an order."""
        metrics = ((factor, _unsmoothed(metric, order)) for factor, metric in self.metrics)
        parts = ((factor, metric, metric.prepare(self.references, vocabulary)) for factor, metric in metrics)
        return PreparedGoal(tuple(parts), self.lengths)


def consensus_choice(lattices: Sequence[NetworkLattice], threads: int | None = None) -> list[Decision]:
    """Return for each segment the best output of a system that is closest to those of all systems, by BLEU."""
    chosen = [number for number, lattice in enumerate(lattices) if len(lattice.hypotheses)]
    forests = [_best_outputs(lattices[number]) for number in chosen]
    found = [NOTHING] * len(lattices)
    for number, decision in zip(chosen, decide(MBR("bleu"), forests, {}, threads=threads), strict=True):
        found[number] = decision
    return found


def _best_outputs(lattice: NetworkLattice) -> Forest:
    """Return the distinct best outputs with the logarithm of the number of systems that have them."""
    texts, best = lattice.hypotheses.texts, lattice.hypotheses.best
    counts = (lattice.hypotheses.confidences[:best] == 1.0).sum(axis=1)
    offsets = texts.offsets[: best + 1].astype(np.int32)
    edges = list_edges(Yields(offsets, texts.symbols[: offsets[-1]]), np.empty((best, 0), np.float32))
    return from_edges(edges._replace(base=np.log(counts)), 0, (), lattice.forest.vocabulary)


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores texts of word ids beside references."""

    references: References
    vocabulary: Vocabulary

    def __call__(self, texts: Sequence[WordIds]) -> TextScores:
        """Return BLEU, TER and length."""
        words = [self.vocabulary.words(text.tolist()) for text in texts]
        bleu, ter = BLEU(smooth_method="none"), TER()
        rows = bleu.corpus_statistics(words, self.references, threads=1).sum(axis=0)
        errors = ter.corpus_statistics(words, self.references, threads=1).sum(axis=0)
        length = float(rows[0] / rows[REFERENCE_LENGTH]) if rows[REFERENCE_LENGTH] else 0.0
        return TextScores(bleu.score(rows), ter.score(errors), length)


def as_tables(scores: Mapping[str, TextScores]) -> dict[str, dict[str, float]]:
    """Return scores for a TOML file."""
    return {name: one._asdict() for name, one in scores.items()}


def from_tables(tables: Mapping[str, Mapping[str, float]]) -> dict[str, TextScores]:
    """Read what `as_tables` returned."""
    return {str(name): TextScores(*(float(one[field]) for field in TextScores._fields)) for name, one in tables.items()}
