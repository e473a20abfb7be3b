"""Minimum Bayes risk on lists (Kumar and Byrne 2004): the hypothesis with the highest expected gain.

    argmax_e Σ_e' P(e') G(e; e')

The hypotheses e and the evidence e' may be the same list or not. The gain G is sentence BLEU, chrF or 100 − TER, with
the same values as in `toledo.metrics`: G(e; e') is the score of e with e' as its reference.

    decide(MBR("bleu"), forests, weights, scale=0.5)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.compiled.ragged import Sequences, checked_symbols
from toledo.consensus.gains import MOSES_BLEU, SAMPLER_BLEU, BLEUGain, ChrFGain, TERGain
from toledo.consensus.rule import NOTHING, SEGMENTS_AT_ONCE, Decision, check_scale
from toledo.consensus.texts import WeightedTexts, best_texts, number_texts, sampled_texts, select_texts
from toledo.forest.forest import Forest, Scores, check_offsets
from toledo.progress import Progress, silent
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

DIGITS = 9  # of gains in per cent: what lies below is rounding


class Gain(Protocol):
    """How good a hypothesis is if another text is right."""

    @property
    def name(self) -> str:
        """What the command line calls it."""
        ...

    def prepare(self, texts: Sequences, vocabulary: Vocabulary) -> Sequences:
        """What it compares, from word ids: words or characters."""
        ...

    def expected(
        self, texts: Sequences, hypotheses: int, probabilities: NDArray[np.float64], *, only_best: bool = False
    ) -> NDArray[np.float64]:
        """The expected gain of the first texts; `probabilities[t]` is that of text t, 0 if it is no evidence.

        With `only_best`, −inf may stand for the gain of a text that cannot be the best.
        """
        ...


GAINS: dict[str, Gain] = {
    "bleu": BLEUGain(),
    "bleu+1": BLEUGain(MOSES_BLEU),
    "bleu+0.01": BLEUGain(SAMPLER_BLEU),
    "chrf": ChrFGain(),
    "ter": TERGain(),
}


def expected_gains(
    hypotheses: Sequences,
    evidence: Sequences,
    probabilities: NDArray[np.float64],
    gain: Gain,
    *,
    only_best: bool = False,
) -> NDArray[np.float64]:
    """The expected gain of each hypothesis: symbols are word ids for BLEU and TER, characters for chrF.

    Equal texts are compared once. Probabilities need not add up to 1. With `only_best`, −inf may stand for the gain of
    a hypothesis that cannot be the best, which saves much time with TER.
    """
    _check(hypotheses, evidence, probabilities)
    if not len(hypotheses):
        return np.empty(0)
    symbols = np.concatenate((hypotheses.symbols, evidence.symbols))
    offsets = np.concatenate((hypotheses.offsets, hypotheses.offsets[-1] + evidence.offsets[1:]))
    numbers, firsts = number_texts(checked_symbols(symbols), offsets)
    size = len(hypotheses)
    weights = np.bincount(numbers[size:], probabilities, firsts.size).astype(np.float64)
    texts = select_texts(symbols, offsets, firsts)
    distinct = int(numbers[:size].max()) + 1  # numbers rise: hypotheses come first
    values = gain.expected(texts, distinct, weights, only_best=only_best)
    return values[numbers[:size]]


def mbr(
    hypotheses: Sequences, evidence: Sequences, probabilities: NDArray[np.float64], gain: Gain
) -> tuple[int, float]:
    """The place of the best hypothesis, of equal ones the first, and its expected gain."""
    if not len(hypotheses):
        raise ValueError("there is no hypothesis to choose")
    values = expected_gains(hypotheses, evidence, probabilities, gain, only_best=True)
    best = int(_best_first(values)[0])
    return best, float(values[best])


@dataclass(frozen=True)
class MBR:
    """The text with the highest expected gain; the value is that gain.

    Hypotheses are the `size` best texts (those with the best derivations; if `likeliest`, the most probable of all that
    are seen), evidence the `evidence` best texts, with the probabilities of their derivations. With `samples` the
    evidence is so many draws from the whole distribution instead. Of equal hypotheses the one with the best score is
    chosen.
    """

    gain: str | Gain = "bleu"
    size: int = 1000
    evidence: int = 1000
    samples: int = 0
    seed: int = 1
    likeliest: bool = False

    name = "mbr"

    def __post_init__(self) -> None:
        if isinstance(self.gain, str) and self.gain not in GAINS:
            raise ValueError(f"no gain {self.gain!r}: choose from {', '.join(GAINS)}")
        if min(self.size, self.evidence) < 1 or self.samples < 0:
            raise ValueError("MBR needs at least one hypothesis and one text as evidence")

    def choose(self, forest: Forest, scores: Scores, evidence: WeightedTexts | None = None) -> Decision:
        """The best text of a segment, by its own distribution or by other evidence in the same vocabulary."""
        return next(iter(self._ranked(forest, scores, evidence, only_best=True)), NOTHING)

    def rank(self, forest: Forest, scores: Scores, evidence: WeightedTexts | None = None) -> list[Decision]:
        """All hypotheses, best first."""
        return self._ranked(forest, scores, evidence, only_best=False)

    def expected(
        self, hypotheses: Sequences, evidence: WeightedTexts, vocabulary: Vocabulary, *, only_best: bool = False
    ) -> NDArray[np.float64]:
        """The expected gain of each of some texts of words."""
        gain = GAINS[self.gain] if isinstance(self.gain, str) else self.gain
        known = gain.prepare(evidence.texts, vocabulary)
        asked = known if hypotheses is evidence.texts else gain.prepare(hypotheses, vocabulary)
        return expected_gains(asked, known, evidence.probabilities, gain, only_best=only_best)

    def _ranked(
        self, forest: Forest, scores: Scores, evidence: WeightedTexts | None, *, only_best: bool
    ) -> list[Decision]:
        found = best_texts(forest, scores, max(self.size, self.evidence))
        if not len(found):
            return []
        if evidence is None and self.samples:
            evidence = sampled_texts(forest, scores, self.samples, self.seed)
        elif evidence is None:
            evidence = found.first(self.evidence)
        hypotheses = (found.likeliest(self.size) if self.likeliest else found.first(self.size)).texts
        values = self.expected(hypotheses, evidence, forest.vocabulary, only_best=only_best)
        order = _best_first(values)[: 1 if only_best else None].tolist()
        bounds, symbols = hypotheses.offsets.tolist(), hypotheses.symbols
        return [Decision(symbols[bounds[i] : bounds[i + 1]], float(values[i])) for i in order]


def rank_all(
    rule: MBR,
    forests: Sequence[Forest],
    weights: Weights | Mapping[str, float],
    scale: float = 1.0,
    evidence: Sequence[Forest] | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> list[list[Decision]]:
    """The hypotheses of each segment, best first, by forests of their own as evidence if they are given."""
    check_scale(scale)
    if evidence is not None and len(evidence) != len(forests):
        raise ValueError(f"{len(forests)} segments, but evidence for {len(evidence)}")
    named = weights if isinstance(weights, Weights) else Weights(weights)

    def scaled(forest: Forest) -> Scores:
        return scale * forest.scores(named, threads=1)

    def one(segment: int) -> list[Decision]:
        given = None
        if evidence is not None:
            given = best_texts(evidence[segment], scaled(evidence[segment]), rule.evidence)
        return rule.rank(forests[segment], scaled(forests[segment]), given)

    parts = map_chunks(
        lambda first, last: [one(segment) for segment in range(first, last)],
        len(forests),
        chunk=SEGMENTS_AT_ONCE,
        threads=threads,
        progress=progress,
        label="deciding",
    )
    return [ranking for part in parts for ranking in part]


def _best_first(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Places by falling value; what differs by rounding alone is equal, and stays in order."""
    return np.argsort(-np.round(values, DIGITS), kind="stable")


def _check(hypotheses: Sequences, evidence: Sequences, probabilities: NDArray[np.float64]) -> None:
    for name, texts in (("hypotheses", hypotheses), ("evidence", evidence)):
        check_offsets(name, texts.offsets, texts.symbols.size)
    if probabilities.shape != (len(evidence),):
        raise ValueError(f"probabilities of shape {probabilities.shape} for {len(evidence)} texts as evidence")
    if not np.all((probabilities >= 0.0) & (probabilities < np.inf)):
        raise ValueError("probabilities are not negative and finite")
