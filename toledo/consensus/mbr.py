"""Minimum Bayes risk on lists (Kumar and Byrne 2004): the hypothesis with the highest expected gain.

    argmax_e Σ_e' P(e') G(e; e')

The hypotheses e and the evidence e' may be the same list or not. The gain G is sentence BLEU, chrF or
max(0, 100 − TER), with the same values as in `toledo.metrics`: G(e; e') is that of e with e' as its reference.

    decide(MBR("bleu"), forests, weights, scale=0.5)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import Sequences
from toledo.consensus.asking import Asking, Compared, ForestTexts, ShownTexts, ask, ask_for_forests
from toledo.consensus.decide import NOTHING
from toledo.consensus.gains import make_gain
from toledo.consensus.rule import Decision, Rule
from toledo.consensus.texts import WeightedTexts, best_texts, sampled_texts
from toledo.forest.forest import Forest, Scores
from toledo.metrics.expected import expected_gains
from toledo.metrics.metric import Metric
from toledo.settings import Meta, Settings
from toledo.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from toledo.consensus.choosing import TextProblem

DIGITS = 9  # of gains in per cent: what lies below is rounding


def mbr(
    hypotheses: Sequences, evidence: Sequences, probabilities: NDArray[np.float64], metric: Metric
) -> tuple[int, float]:
    """Return the place of the best hypothesis, of equal ones the first, and its expected gain."""
    if not len(hypotheses):
        raise ValueError("there is no hypothesis to choose")
    values = expected_gains(hypotheses, evidence, probabilities, metric, only_best=True)
    best = int(best_first(values)[0])
    return best, float(values[best])


@dataclass(frozen=True)
class MBR(Settings, Rule):
    """The text with the highest expected metric; the value is that gain (100 minus the score of an error rate).

    Hypotheses are the `size` best texts (those with the best derivations; if `likeliest`, the most probable of all that
    are seen), references the `reference_size` best texts, with the probabilities of their derivations. With
    `num_samples` the references are that many draws from the whole distribution instead. Of equal hypotheses that with
    the best score is chosen. Without a metric, texts are compared by chrF and forests by BLEU.
    """

    metric: Annotated[
        str | Metric | Callable[..., Any] | None, Meta(description="Metric; chrF for texts, BLEU for forests.")
    ] = None
    size: Annotated[int, Meta(ge=1, description="Number of best texts to choose from.")] = 1000
    reference_size: Annotated[int, Meta(ge=1, description="Number of best texts to compare with.")] = 1000
    num_samples: Annotated[int, Meta(ge=0, description="Number of references drawn from a forest.")] = 0
    seed: Annotated[int, Meta(description="Random seed of these draws.")] = 1
    likeliest: Annotated[bool, Meta(description="Choose from the most probable texts, not the best.")] = False
    keep: Annotated[int | None, Meta(ge=1, description="Number of best texts for the next rule of a list.")] = None

    name = "mbr"
    has_confidence = True
    compares_all = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.metric, str):
            make_gain(self.metric)

    def metric_for_texts(self) -> Metric:
        """Return the metric, by default chrF."""
        return self._text_gain

    @cached_property
    def _text_gain(self) -> Metric:
        return make_gain("chrf" if self.metric is None else self.metric)

    @cached_property
    def _forest_gain(self) -> Metric:
        return make_gain("bleu" if self.metric is None else self.metric)

    @property
    def asks_for_pairs(self) -> bool:  # type: ignore[override]
        """Whether the metric compares texts only pair by pair, such as a function."""
        return self.metric is not None and not self._forest_gain.compares_symbols

    def compared(self, problem: TextProblem) -> Compared:
        """Return the hypotheses and references of a segment; references without any probability are left out."""
        chosen = problem.likeliest_texts(self.size)
        known = np.argsort(-problem.probabilities, kind="stable")[: self.reference_size]
        known = known[problem.probabilities[known] > 0.0]
        shares = problem.probabilities[known] / problem.probabilities[known].sum()
        texts = [problem.texts[place] for place in chosen.tolist()]
        references = [problem.references[place] for place in known.tolist()]
        return Compared(chosen, known, texts, references, shares, problem.source, problem.matrix is not None)

    def asking(self, compared: Compared, random: np.random.Generator) -> Asking:
        """Ask for all pairs, and return the expected gain of each hypothesis."""
        scores = yield from ask(np.arange(len(compared.hypotheses)), np.arange(len(compared.references)))
        return expected(scores, compared.shares)

    def values(self, problem: TextProblem) -> NDArray[np.float64]:
        """Return the expected score of each text, with a minus sign for error rates; −inf if it is not kept."""
        metric, compared = self.metric_for_texts(), self.compared(problem)
        if problem.matrix is not None:
            rows = problem.matrix[np.ix_(compared.hypothesis_places, compared.reference_places)]
            found = expected(rows, compared.shares)
        else:
            found = metric.expected_scores(compared.hypotheses, compared.references, problem.source, compared.shares)
        values = np.full(len(problem.texts), -np.inf)
        values[compared.hypothesis_places] = found if metric.higher_is_better else -found
        return self.kept(values)

    def kept(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of the texts that the next rule may choose from, −inf for the others."""
        return keep_best(values, self.keep)

    def decide(self, forest: Forest, scores: Scores, evidence: WeightedTexts | None = None) -> Decision:
        """Return the best text of a segment, by its own distribution or by other texts in the same vocabulary."""
        return next(iter(self._ranked(forest, scores, evidence, only_best=True)), NOTHING)

    def rank(self, forest: Forest, scores: Scores, evidence: WeightedTexts | None = None) -> list[Decision]:
        """Return all hypotheses, best first."""
        return self._ranked(forest, scores, evidence, only_best=False)

    def expected(
        self, hypotheses: Sequences, evidence: WeightedTexts, vocabulary: Vocabulary, *, only_best: bool = False
    ) -> NDArray[np.float64]:
        """Return the expected gain of each of some texts of words."""
        metric = self._forest_gain
        known = metric.encode_words(evidence.texts, vocabulary)
        asked = known if hypotheses is evidence.texts else metric.encode_words(hypotheses, vocabulary)
        return expected_gains(asked, known, evidence.probabilities, metric, only_best=only_best)

    def forest_texts(self, forest: Forest, scores: Scores, evidence: WeightedTexts | None = None) -> ForestTexts:
        """Return the texts of a segment to choose from, and those to compare them with."""
        found = best_texts(forest, scores, max(self.size, self.reference_size))
        if evidence is None and self.num_samples and len(found):
            evidence = sampled_texts(forest, scores, self.num_samples, self.seed)
        elif evidence is None:
            evidence = found.first(self.reference_size)
        hypotheses = found.likeliest(self.size) if self.likeliest and len(found) else found.first(self.size)
        return ForestTexts(hypotheses.texts, evidence, forest.vocabulary)

    def decide_together(self, found: Sequence[ForestTexts], shown: ShownTexts) -> list[Decision]:
        """Return the best text of each segment by a metric that asks for pairs: all segments in each call."""
        values = ask_for_forests(self, found, shown)
        return [next(iter(_decisions(one.hypotheses, own, 1)), NOTHING) for one, own in zip(found, values, strict=True)]

    def _ranked(
        self, forest: Forest, scores: Scores, evidence: WeightedTexts | None, *, only_best: bool
    ) -> list[Decision]:
        found = self.forest_texts(forest, scores, evidence)
        if not len(found.hypotheses):
            return []
        if self.asks_for_pairs:
            (values,) = ask_for_forests(self, [found], ShownTexts())
        else:
            values = self.expected(found.hypotheses, found.references, forest.vocabulary, only_best=only_best)
        return _decisions(found.hypotheses, values, 1 if only_best else None)


def _decisions(texts: Sequences, values: NDArray[np.float64], number: int | None) -> list[Decision]:
    """Return the best texts with their values, best first."""
    bounds, symbols = texts.offsets.tolist(), texts.symbols
    order = best_first(values)[:number].tolist()
    return [Decision(symbols[bounds[i] : bounds[i + 1]], float(values[i])) for i in order]


def expected(scores: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each row, weighted by shares; its bits do not depend on threads, as those of `@` may."""
    return np.asarray(np.einsum("ij,j->i", scores, shares), np.float64)


def best_first(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return places by falling value; values that differ by rounding alone are equal, and stay in order."""
    return np.argsort(-np.round(values, DIGITS), kind="stable")


def keep_best(values: NDArray[np.float64], keep: int | None) -> NDArray[np.float64]:
    """Return values with −inf for all but the best."""
    if keep is None or keep >= values.size:
        return values
    kept = best_first(values)[:keep]
    found = np.full(values.size, -np.inf)
    found[kept] = values[kept]
    return found
