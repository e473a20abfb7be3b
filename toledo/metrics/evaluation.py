"""Scores of one or several systems as one reports them: tokenised and signed by sacreBLEU, counted here.

The statistics come from this package, which the tests show to be those of sacreBLEU; tokenisation and signatures come
from sacreBLEU itself, so the numbers can be compared with everybody else's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import bleu as sacrebleu_bleu
from sacrebleu.metrics import chrf as sacrebleu_chrf
from sacrebleu.metrics import ter as sacrebleu_ter

from toledo.compiled.ragged import check_shape
from toledo.errors import InputError
from toledo.metrics.bleu import BLEU, brevity_penalty
from toledo.metrics.chrf import ChrF
from toledo.metrics.metric import Metric
from toledo.metrics.significance import SEED, Interval, approximate_randomisation, confidence_interval, paired_bootstrap
from toledo.metrics.ter import TER

METRICS = ("bleu", "chrf", "chrf++", "ter")
TESTS = {"bootstrap": (paired_bootstrap, "bs"), "randomisation": (approximate_randomisation, "ar")}


@dataclass(frozen=True)
class Settings:
    """How to count: names of metrics, tokeniser of BLEU (one of sacreBLEU's), case, and the significance test."""

    metrics: tuple[str, ...] = ("bleu", "chrf", "ter")
    tokenize: str = "13a"
    lowercase: bool = False
    test: str = "bootstrap"
    samples: int = 1000
    seed: int = SEED
    threads: int | None = None

    def __post_init__(self) -> None:
        if not self.metrics:
            raise InputError("no metric is named", remedy=f"choose from {', '.join(METRICS)}")
        _require_known("metric", self.metrics, METRICS)
        _require_known("significance test", [self.test], ["none", *TESTS])
        _require_known("tokeniser", [self.tokenize], list(sacrebleu_bleu.BLEU.TOKENIZERS))


@dataclass(frozen=True)
class Score:
    """A score in per cent; its 95 % interval if resampled; p of its difference from the baseline if compared."""

    value: float
    interval: Interval | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class System:
    """The scores of one system by metric, and its length in words as BLEU counts them."""

    name: str
    scores: dict[str, Score]
    words: int
    reference_words: int

    @property
    def length_ratio(self) -> float:
        """Words of the system for each word of the reference; 0 without a reference."""
        return self.words / self.reference_words if self.reference_words else 0.0

    @property
    def brevity_penalty(self) -> float:
        """The brevity penalty of BLEU."""
        return brevity_penalty(float(self.words), float(self.reference_words))


@dataclass(frozen=True)
class Evaluation:
    """Systems in the order given, the first is the baseline; signatures by the name of the metric."""

    systems: list[System]
    signatures: dict[str, str]


@dataclass(frozen=True)
class _Counter:
    """One metric: its preparation of a line, its statistics, and sacreBLEU's object for the signature."""

    metric: Metric
    prepare: Callable[[str], Any]
    peer: Any

    def statistics(
        self, lines: Sequence[str], references: Sequence[Sequence[Any]], threads: int | None
    ) -> NDArray[np.float64]:
        return self.metric.corpus_statistics([self.prepare(line) for line in lines], references, threads)


def evaluate(
    systems: Mapping[str, Sequence[str]], references: Sequence[Sequence[str]], settings: Settings | None = None
) -> Evaluation:
    """Score the lines of each system; `references[i]` are the references of line i."""
    settings = settings or Settings()
    if not systems or not references:
        raise InputError("nothing to evaluate", remedy="give at least one system and one line")
    for lines in systems.values():
        check_shape(lines, references)
    scores: dict[str, dict[str, Score]] = {name: {} for name in systems}
    lengths: dict[str, tuple[int, int]] = {}
    signatures = {}
    for kind in dict.fromkeys((*settings.metrics, "bleu")):  # BLEU counts the lengths in any case
        counter = _counter(kind, settings)
        prepared = [[counter.prepare(line) for line in group] for group in references]
        statistics = {name: counter.statistics(lines, prepared, settings.threads) for name, lines in systems.items()}
        if kind == "bleu":
            lengths = {name: (int(rows[:, 0].sum()), int(rows[:, 1].sum())) for name, rows in statistics.items()}
        if kind in settings.metrics:
            for name, score in _scores(counter.metric, statistics, settings).items():
                scores[name][counter.metric.name] = score
            signatures[counter.metric.name] = _signature(counter.peer, references, settings)
    return Evaluation([System(name, scores[name], *lengths[name]) for name in systems], signatures)


def _counter(kind: str, settings: Settings) -> _Counter:
    cased = str.lower if settings.lowercase else str
    if kind == "bleu":
        bleu = _sacrebleu(settings)
        return _Counter(BLEU(smoothing="exp"), lambda line: bleu.tokenizer(cased(line).rstrip()).split(), bleu)
    if kind == "ter":
        ter = sacrebleu_ter.TER()
        return _Counter(TER(), lambda line: ter.tokenizer(line.rstrip()).split(), ter)
    word_order = 2 if kind == "chrf++" else 0
    return _Counter(
        ChrF(word_order=word_order), cased, sacrebleu_chrf.CHRF(lowercase=settings.lowercase, word_order=word_order)
    )


def _sacrebleu(settings: Settings) -> sacrebleu_bleu.BLEU:
    try:
        return sacrebleu_bleu.BLEU(tokenize=settings.tokenize, lowercase=settings.lowercase, force=True)
    except (ImportError, RuntimeError) as error:
        raise InputError(
            f"the tokeniser {settings.tokenize} does not work: {error}", remedy="install what it needs"
        ) from error


def _scores(metric: Metric, statistics: Mapping[str, NDArray[np.float64]], settings: Settings) -> dict[str, Score]:
    """The first system is the baseline of the others."""
    values = {name: metric.score(rows.sum(axis=0)) for name, rows in statistics.items()}
    if settings.test == "none":
        return {name: Score(value) for name, value in values.items()}
    test, _ = TESTS[settings.test]
    baseline_name = next(iter(statistics))
    result = {}
    for name, rows in statistics.items():
        interval = confidence_interval(metric, rows, settings.samples, settings.seed)
        p_value = None
        if name != baseline_name:
            p_value = test(metric, rows, statistics[baseline_name], settings.samples, settings.seed).p_value
        result[name] = Score(values[name], interval, p_value)
    return result


def _signature(peer: Any, references: Sequence[Sequence[str]], settings: Settings) -> str:
    counts = {len(group) for group in references}
    peer.num_refs = counts.pop() if len(counts) == 1 else -1  # sacreBLEU writes "var" for −1
    signature = peer.get_signature()
    if settings.test != "none":
        signature.update("seed", settings.seed)
        signature.update("bs", settings.samples)  # also the intervals of the randomisation test are bootstrapped
        signature.update(TESTS[settings.test][1], settings.samples)
    return str(signature.format())


def _require_known(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"no {what} {name!r}", remedy=f"choose from {', '.join(known)}")
