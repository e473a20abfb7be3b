"""Scores of pairs of texts, asked for step by step: what rules need that do not compare all pairs.

A rule is a generator for each segment: it yields pairs of a hypothesis and a reference, is sent their scores, and
returns what the hypotheses are worth. Some segments are asked together, so that an expensive metric is called with
large batches. Everything runs in the calling thread, and each segment has its own random numbers, given by the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.metrics.metric import Metric, Triple, require_inputs
from toledo.metrics.ter import TER

if TYPE_CHECKING:
    from toledo.compiled.ragged import Sequences
    from toledo.consensus.choosing import TextProblem
    from toledo.consensus.mbr import MBR
    from toledo.consensus.texts import WeightedTexts
    from toledo.text.vocabulary import Vocabulary

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
AVERAGE = -1  # as a reference: the average of all


class TextPairs(NamedTuple):
    """Hypotheses and references by their places, a pair each."""

    hypotheses: Places
    references: Places


Asking: TypeAlias = Generator[TextPairs, Floats, Floats]


class Compared(NamedTuple):
    """Texts of a segment to compare, their places among all, and the shares of the references, which add up to 1."""

    hypothesis_places: Places
    reference_places: Places
    hypotheses: list[str]
    references: list[str]
    shares: Floats
    source: str | None
    from_matrix: bool  # scores are given, not computed


@dataclass(frozen=True, eq=False)
class Valued:
    """What texts are worth, the scores [text, reference] that were asked for (nan: not asked), and their number."""

    values: Floats
    scores: Floats | None
    num_calls: int


def ask(hypotheses: Places, references: Places) -> Generator[TextPairs, Floats, Floats]:
    """Ask for all pairs of some hypotheses and references; return a row for each hypothesis."""
    found = yield TextPairs(np.repeat(hypotheses, references.size), np.tile(references, hypotheses.size))
    return found.reshape(hypotheses.size, references.size)


def ask_together(rule: MBR, metric: Metric, problems: Sequence[TextProblem]) -> list[Valued]:
    """Return what the texts of some segments are worth, with the questions of all segments in each call."""
    for problem in problems:
        if problem.matrix is None:
            require_inputs(metric, True, problem.source)
    desks = [_Desk(rule, metric, problem) for problem in problems]
    while waiting := [desk for desk in desks if not desk.done]:
        triples = [triple for desk in waiting for triple in desk.triples()]
        answers, place = metric.pair_scores(triples) if triples else np.empty(0), 0
        for desk in waiting:
            place += desk.answer(answers[place:])
    return [desk.result() for desk in desks]


@dataclass(frozen=True)
class ShownTexts:
    """How texts of words are shown to a metric that asks for pairs: as `write` writes those of segment i, with sources.

    Segments are those of one call, counted from 0.
    """

    sources: Sequence[str] | None = None
    write: Callable[[int, Sequence[str]], str] = lambda _, words: " ".join(words)


class ForestTexts(NamedTuple):
    """What a rule compares in the forest of a segment: hypotheses, best first, and references with probabilities."""

    hypotheses: Sequences
    references: WeightedTexts
    vocabulary: Vocabulary


def ask_for_forests(rule: MBR, found: Sequence[ForestTexts], shown: ShownTexts) -> list[Floats]:
    """Return what the hypotheses of some segments are worth, with the questions of all segments in each call."""
    from toledo.consensus.choosing import TextProblem

    problems = []
    for segment, (hypotheses, references, vocabulary) in enumerate(found):
        known, asked = (
            [shown.write(segment, vocabulary.words(words.tolist())) for words in texts]
            for texts in (references.texts, hypotheses)
        )
        source = None if shown.sources is None else shown.sources[segment]
        counts, places = np.ones(len(asked), np.int64), list(range(len(asked)))
        problem = TextProblem(asked, places, counts, known, references.probabilities, source=source, segment=segment)
        problems.append(problem)
    work = [problem for problem in problems if problem.texts]
    valued = ask_together(rule, rule.metric_for_texts(), work)
    values = {problem.segment: one.values for problem, one in zip(work, valued, strict=True)}
    return [values.get(segment, np.empty(0)) for segment in range(len(found))]


def gains_of(metric: Metric, scores: Floats) -> Floats:
    """Return scores that are higher for better texts; TER above 100 counts as 100."""
    if metric.higher_is_better:
        return scores
    return -np.minimum(scores, 100.0) if isinstance(metric, TER) else -scores


class _Desk:
    """The questions of one segment, and the answers so far."""

    def __init__(self, rule: MBR, metric: Metric, problem: TextProblem) -> None:
        self.rule, self.metric, self.problem, self.compared = rule, metric, problem, rule.compared(problem)
        self.scores = np.full((len(problem.texts), len(problem.references)), np.nan)
        self.values = np.full(len(problem.texts), -np.inf)
        self.num_calls = 0
        self.asking = rule.asking(self.compared, np.random.default_rng([rule.seed, problem.segment]))
        self.wanted, self.done = TextPairs(np.empty(0, np.int64), np.empty(0, np.int64)), False
        self._send(None)

    def triples(self) -> list[Triple]:
        """Return the pairs that the metric must compare now."""
        if self.problem.matrix is not None or self._wants_average():
            return []
        rows, columns = self._places()
        problem = self.problem
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        return [(problem.texts[row], problem.references[column], problem.source) for row, column in pairs]

    def answer(self, answers: Floats) -> int:
        """Take the first of some answers for the triples; return their number."""
        size = self.wanted.hypotheses.size
        self.num_calls += size
        if self._wants_average():
            self._send(gains_of(self.metric, self._average()))
            return 0
        rows, columns = self._places()
        found = answers[:size] if self.problem.matrix is None else self.problem.matrix[rows, columns]
        if np.any(np.isnan(found)):
            sample = self.problem.indices[int(rows[np.flatnonzero(np.isnan(found))[0]])]
            raise InputError(
                f"metric {self.metric.name!r} returned nan for sample {sample} of segment {self.problem.segment}",
                argument="metric",
                segment=self.problem.segment,
            )
        self.scores[rows, columns] = found
        self._send(gains_of(self.metric, found))
        return size if self.problem.matrix is None else 0

    def result(self) -> Valued:
        """Return what was found."""
        return Valued(self.rule.kept(self.values), self.scores, self.num_calls)

    def _places(self) -> tuple[Places, Places]:
        """Return the texts and references wanted, among all of the segment."""
        hypotheses, references = self.wanted
        return self.compared.hypothesis_places[hypotheses], self.compared.reference_places[references]

    def _wants_average(self) -> bool:
        return bool(np.any(self.wanted.references == AVERAGE))

    def _average(self) -> Floats:
        if self.problem.matrix is not None:
            raise InputError("a matrix has no average reference", argument="matrix", remedy="give a metric")
        from toledo.consensus.aggregate import average_scores  # imports much

        known = self.compared
        return average_scores(self.metric, known.hypotheses, known.references, known.shares, known.source)

    def _send(self, gains: Floats | None) -> None:
        try:
            self.wanted = next(self.asking) if gains is None else self.asking.send(gains)
        except StopIteration as done:
            self.done = True
            self.values[self.compared.hypothesis_places] = done.value
