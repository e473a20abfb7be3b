"""Whether a sampler has run long enough: entropy, move rates, R-hat and effective sample size.

R-hat compares halves of chains: the square root of the variance of all samples over that within halves (Gelman et al.
2013, section 11.4); it is near 1 if all of them agree. The effective sample size is the number of independent
samples whose mean would be as certain, from autocorrelations as long as their sums over pairs are positive
(Geyer 1992). Both are about the model score, which sees every part of a derivation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.model import PhraseModel
from toledo.progress import Progress
from toledo.search.chain import MOVED, OPEN
from toledo.search.gibbs.samples import Samples
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.search import Sentences
from toledo.search.settings import OPERATORS, Gibbs

MOST_POINTS = 400  # of a chain in a plot
SUSPICIOUS = 1.05  # an R-hat above it says that the chains disagree
STUCK = 10.0  # above it, each half has stayed where it was, and how large R-hat is says nothing more

Result = TypeVar("Result")


@dataclass(frozen=True)
class OperatorRate:
    """Draws with more than one possibility, and the share of them that changed the derivation."""

    draws: int
    moved: float


@dataclass(frozen=True)
class Diagnostics:
    """About the samples of one sentence; entropies are in nats, `trace` has model scores of each chain, thinned."""

    chains: int
    samples: int
    derivations: int
    translations: int
    entropy: float
    translation_entropy: float
    mean_score: float
    best_score: float
    r_hat: float
    effective_size: float
    operators: dict[str, OperatorRate]
    trace: tuple[tuple[float, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values, without the trace; None for undefined numbers, and "stuck" for a huge R-hat."""
        found = asdict(self)
        del found["trace"]
        return {**{name: _plain(value) for name, value in found.items()}, "r_hat": shown_r_hat(self.r_hat)}


class ObservedGibbs(GibbsSearch):
    """A sampler that keeps diagnostics: the R-hat of each sentence and, if `complete`, the other diagnostics."""

    def __init__(self, model: PhraseModel, settings: Gibbs, seed: int = 1, complete: bool = False) -> None:
        super().__init__(model, settings, seed)
        self.complete = complete
        self.r_hats: list[float] = []
        self.notes: list[Diagnostics] = []

    def _run(
        self, sentences: Sentences, threads: int | None, progress: Progress, finish: Callable[[Samples], Result]
    ) -> list[Result]:
        def observe(samples: Samples) -> tuple[Result, float, Diagnostics | None]:
            return finish(samples), split_r_hat(samples.trace), diagnose(samples) if self.complete else None

        found = super()._run(sentences, threads, progress, observe)
        self.r_hats += [r_hat for _, r_hat, _ in found]
        self.notes += [note for _, _, note in found if note is not None]
        return [result for result, _, _ in found]


def diagnose(samples: Samples) -> Diagnostics:
    """Return everything about the samples of a sentence."""
    trace, counts, forest = samples.trace, samples.counts, samples.forest
    texts: dict[bytes, int] = {}
    bounds = forest.yields.offsets.tolist()
    for edge, count in enumerate(counts.tolist()):
        text = forest.yields.words[bounds[edge] : bounds[edge + 1]].tobytes()
        texts[text] = texts.get(text, 0) + count
    step = -(-trace.shape[1] // MOST_POINTS)
    return Diagnostics(
        chains=trace.shape[0],
        samples=samples.size,
        derivations=len(samples),
        translations=len(texts),
        entropy=_entropy(counts),
        translation_entropy=_entropy(np.array(list(texts.values()))),
        mean_score=float(trace.mean()),
        best_score=float(samples.scores.max()),
        r_hat=split_r_hat(trace),
        effective_size=effective_size(trace),
        operators={name: _rate(samples.tally[number]) for number, name in enumerate(OPERATORS)},
        trace=tuple(tuple(row) for row in np.round(trace[:, ::step], 4).tolist()),
    )


def split_r_hat(trace: NDArray[np.float64]) -> float:
    """Return R-hat of chains (one in each row), split into halves; 1 if nothing ever changes, NaN if they are short."""
    half = trace.shape[1] // 2
    if half < 2:
        return float("nan")
    halves = np.concatenate([trace[:, :half], trace[:, -half:]])
    within = float(halves.var(axis=1, ddof=1).mean())
    between = float(halves.mean(axis=1).var(ddof=1))
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt((half - 1) / half + between / within))


def shown_r_hat(value: float) -> float | str | None:
    """Return an R-hat to show: "stuck" if it is huge, None if it is undefined."""
    return "stuck" if value > STUCK else _plain(value)


def effective_size(trace: NDArray[np.float64]) -> float:
    """Return the effective sample size of chains (one in each row); never more than there are samples."""
    chains, length = trace.shape
    if length < 4:
        return float("nan")
    covariances = _autocovariances(trace).mean(axis=0)
    within = covariances[0] * length / (length - 1)
    total = covariances[0] + (trace.mean(axis=1).var(ddof=1) if chains > 1 else 0.0)
    if total == 0.0:
        return float(trace.size)
    correlations = 1.0 - (within - covariances) / total
    correlations[0] = 1.0
    pairs = correlations[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    pairs = np.minimum.accumulate(pairs[: ends[0]] if ends.size else pairs)
    return float(min(trace.size / max(2.0 * pairs.sum() - 1.0, 1e-9), trace.size))


def _autocovariances(trace: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return autocovariances by lag, for each chain, by Fourier transform."""
    length = trace.shape[1]
    centered = trace - trace.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centered, 2 * length, axis=1)) ** 2
    found: NDArray[np.float64] = np.fft.irfft(power, 2 * length, axis=1)[:, :length] / length
    return found


def _entropy(counts: NDArray[np.int64]) -> float:
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum()) + 0.0


def _rate(row: NDArray[np.int64]) -> OperatorRate:
    draws = int(row[OPEN])
    return OperatorRate(draws, float(row[MOVED]) / draws if draws else 0.0)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6) if np.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value
