"""Minimum Bayes risk with few calls of an expensive metric: rules that look at some pairs of texts only.

The value of a text is its expected gain as far as it is known: exact where all its pairs were asked for, an estimate
otherwise, −inf where it was given up. References are taken in a random order, likely ones first. With S those that were
asked for, p their shares, and x the gains of a hypothesis, the estimate is

    Σ_{r ∈ S} p_r x_r + Σ_{r ∉ S} p_r (a + b · proxy_r),    a = mean over S of x − b · proxy

The proxy is a cheap metric, known for all pairs: a control variate. Its factor b is one for all hypotheses, fitted to
what they deviate from each other. Elimination compares each hypothesis with the best: the difference d of their
estimates has the variance

    (Σ_{r ∉ S} p_r)² · s² · (1 / |S| + 1 / n),    n = (Σ_{r ∉ S} p_r)² / Σ_{r ∉ S} p_r²

with s² that of the residuals of the difference, drawn towards its mean over all hypotheses, since |S| is small. A
hypothesis is given up where d + z · deviation < 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.aggregate import can_average
from toledo.consensus.asking import AVERAGE, Asking, Compared, Places, TextPairs, ask, ask_together, gains_of
from toledo.consensus.gains import make_gain
from toledo.consensus.mbr import DIGITS, MBR, best_first, expected
from toledo.consensus.rule import Decision
from toledo.consensus.texts import WeightedTexts
from toledo.errors import InputError
from toledo.forest.forest import Forest, Scores
from toledo.metrics.metric import Metric
from toledo.settings import Meta

if TYPE_CHECKING:
    from toledo.consensus.choosing import TextProblem

Floats = NDArray[np.float64]
RESAMPLES = 500  # of the references, for confidence pruning
PRIOR_REFERENCES = 8  # how many references the mean variance of all hypotheses counts for
SHORTLIST = 3  # texts to begin with, for each that a budget could compare with all references
SWEEPS, RIDGE = 20, 1.0  # of alternating least squares

Proxy = Annotated[str | Metric | Callable[..., Any], Meta(description="Cheap metric that is computed for all pairs.")]
Top = Annotated[int, Meta(ge=0, description="Number of best texts to score exactly; 0 scores none.")]
Share = Annotated[float, Meta(gt=0, le=1, description="Largest share of all pairs to ask for.")]


@dataclass(frozen=True)
class FewerCalls(MBR):
    """Base of rules that ask for some pairs; they choose among texts."""

    compares_all = False

    def values(self, problem: TextProblem) -> Floats:
        """Return the expected gain of each text as far as it is known; −inf for one that was given up."""
        return ask_together(self, self.metric_for_texts(), [problem])[0].values

    def _ranked(
        self, forest: Forest, scores: Scores, evidence: WeightedTexts | None, *, only_best: bool
    ) -> list[Decision]:
        raise InputError(f"rule {self.name!r} chooses among texts, not in forests", remedy="use rule='mbr'")


@dataclass(frozen=True)
class AggregateMBR(FewerCalls):
    """The text with the best score against the average reference; with `top`, the best few are scored exactly."""

    top: Top = 0

    name = "aggregate-mbr"

    def asking(self, compared: Compared, random: np.random.Generator) -> Asking:
        """Ask for the scores against the average, then for all pairs of the best."""
        return (yield from best_of_average(compared, self.top))


@dataclass(frozen=True)
class ProxyMBR(FewerCalls):
    """The best by exact scores among the few that are best by a cheap metric."""

    proxy: Proxy = "chrf"
    top: Annotated[int, Meta(ge=1, description="Number of best texts to score exactly.")] = 10

    name = "proxy-mbr"

    def asking(self, compared: Compared, random: np.random.Generator) -> Asking:
        """Ask for all pairs of the texts that the proxy prefers."""
        proxy = make_gain(self.proxy)
        values = proxy.expected_scores(compared.hypotheses, compared.references, compared.source, compared.shares)
        return (yield from best_few(values if proxy.higher_is_better else -values, compared.shares, self.top))


@dataclass(frozen=True)
class EliminationMBR(FewerCalls):
    """Give up texts that are worse than the best by `z` standard errors; a proxy makes the errors small."""

    proxy: Proxy = "chrf"
    z: Annotated[float, Meta(gt=0, description="Standard errors by which a text must be worse.")] = 3.0
    first: Annotated[int, Meta(ge=2, description="Number of references that all texts are compared with.")] = 6

    name = "elimination-mbr"

    def asking(self, compared: Compared, random: np.random.Generator) -> Asking:
        """Ask for more and more references of fewer and fewer texts."""
        known = proxy_scores(self.proxy, compared)
        return (yield from eliminate(known, compared.shares, random, self.z, self.first))


@dataclass(frozen=True)
class PruningMBR(FewerCalls):
    """Give up texts that lose against the best in most resamples of the references (Cheng and Vlachos 2023)."""

    confidence: Annotated[float, Meta(gt=0, lt=1, description="Share of resamples in which a text must lose.")] = 0.99
    first: Annotated[int, Meta(ge=2, description="Number of references that all texts are compared with.")] = 8

    name = "pruning-mbr"

    def asking(self, compared: Compared, random: np.random.Generator) -> Asking:
        """Ask for twice as many references in each round."""
        order, alive = random_order(compared.shares, random), np.arange(len(compared.hypotheses))
        scores, seen = np.full((alive.size, order.size), np.nan), 0
        while True:
            new = order[seen : seen + max(seen, self.first)]
            scores[np.ix_(alive, new)] = yield from ask(alive, new)
            seen += new.size
            values = estimates(scores[alive], compared.shares, order[:seen])
            if seen == order.size:
                break
            drawn = random.multinomial(seen, np.full(seen, 1.0 / seen), RESAMPLES)
            means = np.round(np.einsum("bj,ij->bi", drawn, scores[np.ix_(alive, order[:seen])]) / seen, DIGITS)
            lost = np.mean(means < means[:, [int(np.argmax(values))]], axis=0)
            alive, values = alive[lost < self.confidence], values[lost < self.confidence]
            if alive.size == 1:
                break
        return spread(values, alive, len(compared.hypotheses))


@dataclass(frozen=True)
class HalvingMBR(FewerCalls):
    """Sequential halving: the calls are split evenly between rounds, each of which keeps the better half."""

    share: Share = 0.25

    name = "halving-mbr"

    def asking(self, compared: Compared, random: np.random.Generator) -> Asking:
        """Ask for as many references in each round as its part of the calls allows."""
        order, alive = random_order(compared.shares, random), np.arange(len(compared.hypotheses))
        scores, seen = np.full((alive.size, order.size), np.nan), 0
        rounds = max(1, math.ceil(math.log2(max(alive.size, 2))))
        calls = self.share * scores.size / rounds
        while True:
            new = order[seen : seen + max(1, int(calls / alive.size))]
            scores[np.ix_(alive, new)] = yield from ask(alive, new)
            seen += new.size
            values = estimates(scores[alive], compared.shares, order[:seen])
            if alive.size <= 2 or seen == order.size:
                return spread(values, alive, len(compared.hypotheses))
            alive = np.sort(alive[best_first(values)[: (alive.size + 1) // 2]])


@dataclass(frozen=True)
class LowRankMBR(FewerCalls):
    """Ask for random pairs and complete the matrix by one of low rank (Trabelsi et al. 2024)."""

    share: Share = 0.25
    factors: Annotated[int, Meta(ge=1, description="Rank of the matrix beyond the means of rows and columns.")] = 1

    name = "low-rank-mbr"

    def asking(self, compared: Compared, random: np.random.Generator) -> Asking:
        """Ask for as many references of each text, drawn for it alone."""
        size, width = len(compared.hypotheses), len(compared.references)
        each = min(width, max(2, round(self.share * width)))
        columns = np.array([random_order(compared.shares, random)[:each] for _ in range(size)])
        pairs = TextPairs(np.repeat(np.arange(size), each), columns.ravel())
        scores = np.full((size, width), np.nan)
        scores[pairs] = yield pairs
        return expected(completed(scores, self.factors, random), compared.shares)


@dataclass(frozen=True)
class BudgetMBR(FewerCalls):
    """The best way for a number of calls: exact, the average reference and the best few, or elimination."""

    budget: Annotated[int, Meta(ge=1, description="Largest number of calls of the metric for a segment.")] = 1000
    proxy: Proxy = "chrf"

    name = "budget-mbr"

    def asking(self, compared: Compared, random: np.random.Generator) -> Asking:
        """Ask for all pairs if they are few, else as the metric allows."""
        size, width = len(compared.hypotheses), len(compared.references)
        if size * width <= self.budget:
            return (yield from super().asking(compared, random))
        if size <= self.budget and not compared.from_matrix and can_average(self.metric_for_texts()):
            return (yield from best_of_average(compared, (self.budget - size) // width))
        known, elimination = proxy_scores(self.proxy, compared), EliminationMBR()
        return (yield from eliminate(known, compared.shares, random, elimination.z, elimination.first, self.budget))


def best_of_average(compared: Compared, top: int) -> Asking:
    """Score all hypotheses against the average reference, and the `top` best exactly."""
    everybody = np.arange(len(compared.hypotheses))
    values = yield TextPairs(everybody, np.full(everybody.size, AVERAGE))
    return (yield from best_few(values, compared.shares, top)) if top else values


def best_few(values: Floats, shares: Floats, top: int) -> Asking:
    """Ask for all pairs of the hypotheses with the best values."""
    best = np.sort(best_first(values)[:top])
    scores = yield from ask(best, np.arange(shares.size))
    return spread(expected(scores, shares), best, values.size)


def eliminate(
    proxy: Floats, shares: Floats, random: np.random.Generator, z: float, first: int, budget: int | None = None
) -> Asking:
    """Compare with more references in each round, half as many again; give up what cannot be the best.

    A budget is for the best by the proxy, three times as many as it could compare with all references. The estimates
    decide when it is spent.
    """
    order, alive = random_order(shares, random), np.arange(proxy.shape[0])
    left = proxy.size if budget is None else budget
    if budget is not None:
        affordable = min(SHORTLIST * budget // order.size, budget // first)
        alive = np.sort(best_first(expected(proxy, shares))[: max(1, affordable)])
    scores, seen = np.full(proxy.shape, np.nan), 0
    while True:
        new = order[seen : seen + min(max(seen // 2, 2) if seen else first, left // alive.size)]
        if not new.size:
            break
        scores[np.ix_(alive, new)] = yield from ask(alive, new)
        seen, left = seen + new.size, left - alive.size * new.size
        values = estimates(scores[alive], shares, order[:seen], proxy[alive])
        kept = values - values.max() + z * _deviations(scores[alive], shares, order, seen, proxy[alive], values) >= 0.0
        alive, values = alive[kept], values[kept]
        if alive.size == 1:
            break
    return spread(values, alive, proxy.shape[0])


def proxy_scores(named: str | Metric | Callable[..., Any], compared: Compared) -> Floats:
    """Return the scores of all pairs by a cheap metric, with a minus sign for error rates."""
    proxy = make_gain(named)
    return gains_of(proxy, proxy.pairwise_scores(compared.hypotheses, compared.references, compared.source))


def random_order(shares: Floats, random: np.random.Generator) -> Places:
    """Return references in a random order, each next one with a probability ∝ its share."""
    return np.argsort(random.exponential(size=shares.size) / shares, kind="stable")


def spread(values: Floats, places: Places, size: int) -> Floats:
    """Return values at their places, −inf at all others."""
    found = np.full(size, -np.inf)
    found[places] = values
    return found


def estimates(scores: Floats, shares: Floats, seen: Places, proxy: Floats | None = None) -> Floats:
    """Return the expected gain of each row, from the references seen and, for the others, the proxy."""
    rest = np.ones(shares.size, np.bool_)
    rest[seen] = False
    known, unknown = expected(scores[:, seen], shares[seen]), float(shares[rest].sum())
    if proxy is None:
        return np.asarray(known + unknown * scores[:, seen].mean(axis=1), np.float64)
    factor = _factor(scores[:, seen], proxy[:, seen])
    offsets = (scores[:, seen] - factor * proxy[:, seen]).mean(axis=1)
    others = expected(proxy[:, rest], shares[rest])
    return np.asarray(known + unknown * offsets + factor * others, np.float64)


def _factor(scores: Floats, proxy: Floats) -> float:
    """Return the least-squares factor of the proxy, with means of rows and of columns taken away."""
    said, cheap = _centered(scores), _centered(proxy)
    squares = float((cheap**2).sum())
    return float((said * cheap).sum()) / squares if squares > 0.0 else 0.0


def _centered(matrix: Floats) -> Floats:
    return np.asarray(matrix - matrix.mean(axis=0) - matrix.mean(axis=1, keepdims=True) + matrix.mean())


def _deviations(scores: Floats, shares: Floats, order: Places, seen: int, proxy: Floats, values: Floats) -> Floats:
    """Return the standard error of the difference of each row to the best."""
    rest = shares[order[seen:]]
    if not rest.size:
        return np.zeros(values.size)
    known = order[:seen]
    residuals = scores[:, known] - _factor(scores[:, known], proxy[:, known]) * proxy[:, known]
    differences = residuals - residuals[int(np.argmax(values))]
    squares = differences.var(axis=1) * seen
    mean = squares.sum() / max(1, (values.size - 1) * (seen - 1))
    variances = (squares + PRIOR_REFERENCES * mean) / (seen - 1 + PRIOR_REFERENCES)
    return np.asarray(np.sqrt(variances * (rest.sum() ** 2 / seen + (rest**2).sum())), np.float64)


def completed(scores: Floats, rank: int, random: np.random.Generator) -> Floats:
    """Return a matrix with its unknown entries (nan) filled in: effects of rows and columns, and a low rank."""
    known = ~np.isnan(scores)
    mean = scores[known].mean()
    rest = np.where(known, scores - mean, 0.0)
    right, columns = random.normal(size=(scores.shape[1], rank)), np.zeros(scores.shape[1])
    for _ in range(SWEEPS):
        left, rows = _solved(rest - known * columns, known, right)
        right, columns = _solved((rest - known * rows[:, None]).T, known.T, left)
    return np.where(known, scores, mean + rows[:, None] + columns + left @ right.T)


def _solved(values: Floats, known: NDArray[np.bool_], factors: Floats) -> tuple[Floats, Floats]:
    """Return factors and effects of the rows by ridge regression on the factors of the columns."""
    design = np.hstack((factors, np.ones((factors.shape[0], 1))))
    squares = np.einsum("ij,jk,jl->ikl", known.astype(np.float64), design, design)
    found = np.linalg.solve(squares + RIDGE * np.eye(design.shape[1]), (values @ design)[:, :, None])[:, :, 0]
    return found[:, :-1], found[:, -1]
