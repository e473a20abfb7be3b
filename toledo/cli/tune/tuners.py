"""Tuners by the names that `toledo tune --objective` has for them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from toledo.errors import InputError
from toledo.settings import describe

if TYPE_CHECKING:
    from toledo.metrics.metric import Metric
    from toledo.tuning.tuner import Tuner


class ObjectiveName(StrEnum):
    """What to tune for, or by which tuner."""

    mert = "mert"
    pro = "pro"
    mira = "mira"
    mmi = "mmi"
    regression = "regression"
    simplex = "simplex"
    cobleu = "cobleu"
    xbleu = "xbleu"
    expected_bleu = "expected-bleu"
    corpus_expected_bleu = "corpus-expected-bleu"
    linear_bleu = "linear-bleu"
    gleu = "gleu"
    expected = "expected"


class OnName(StrEnum):
    """What a tuner looks at."""

    lists = "lists"
    forests = "forests"


class OptimizerName(StrEnum):
    """How to climb a gradient."""

    lbfgs = "lbfgs"
    ascent = "ascent"


class MetricName(StrEnum):
    """What is scored."""

    bleu = "bleu"
    ter = "ter"
    chrf = "chrf"


OF_NGRAMS = {ObjectiveName.cobleu, ObjectiveName.xbleu, ObjectiveName.linear_bleu, ObjectiveName.gleu}
OF_LISTS = {ObjectiveName.expected_bleu, ObjectiveName.corpus_expected_bleu}


@dataclass(frozen=True)
class TunerOptions:
    """What may be said about tuners; None leaves it to the tuner."""

    on: OnName | None = None
    restarts: int | None = None
    l2: float | None = None
    optimizer: OptimizerName | None = None
    annealing: Literal[True] | None = None
    steps: int | None = None
    batch: int | None = None
    density: float | None = None  # also of the loop, for all that look at lattices

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, but for `density`."""
        options = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "density"}
        return {
            key: value.value if isinstance(value, StrEnum) else value
            for key, value in options.items()
            if value is not None
        }


def named_tuner(name: ObjectiveName, options: TunerOptions = TunerOptions()) -> Tuner:
    """Return the tuner of a name; options that it does not have are refused."""
    from toledo.tuning.settings import TUNERS

    known, density = describe(TUNERS.get(name.value)), {}
    if unknown := [key for key in options.given if key not in known]:
        raise InputError(f"{name.value} has no option --{unknown[0]}", remedy="leave it out")
    if options.density is not None and name in OF_NGRAMS:
        density["density"] = options.density
    return TUNERS.make(name.value, **options.given, **density)


def named_metric(name: MetricName, tuner: Tuner) -> Metric:
    """Return the metric of a name, if the tuner can use it."""
    from toledo.metrics.bleu import BLEU
    from toledo.metrics.chrf import CHRF
    from toledo.metrics.ter import TER

    metric: Metric = {MetricName.bleu: BLEU, MetricName.ter: TER, MetricName.chrf: CHRF}[name]()
    tuner.check_metric(metric)
    return metric
