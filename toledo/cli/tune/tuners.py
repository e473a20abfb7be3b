"""Tuners by the names that `toledo tune --objective` has for them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from toledo.errors import InputError

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


class OnName(StrEnum):
    """What a tuner looks at."""

    lists = "lists"
    forests = "forests"


class OptimiserName(StrEnum):
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
GRADIENT = OF_NGRAMS | OF_LISTS
TAKES = {
    "on": {ObjectiveName.mert, ObjectiveName.mira, *OF_NGRAMS},
    "restarts": {ObjectiveName.mert},
    "l2": {ObjectiveName.pro, ObjectiveName.regression, ObjectiveName.mmi, *GRADIENT},
    "optimiser": GRADIENT,
    "annealing": GRADIENT,
    "steps": GRADIENT,
    "batch": GRADIENT,
}


@dataclass(frozen=True)
class TunerOptions:
    """What may be said about tuners; None leaves it to the tuner."""

    on: OnName | None = None
    restarts: int | None = None
    l2: float | None = None
    optimiser: OptimiserName | None = None
    annealing: Literal[True] | None = None
    steps: int | None = None
    batch: int | None = None
    density: float | None = None  # also of the loop, for all that look at lattices

    def given(self, name: ObjectiveName) -> dict[str, Any]:
        """The options that were given; one that the tuner does not have is an error."""
        options = {key: value for key in TAKES if (value := getattr(self, key)) is not None}
        for key in options:
            if name not in TAKES[key]:
                listed = ", ".join(sorted(one.value for one in TAKES[key]))
                raise InputError(f"{name.value} has no option --{key}", remedy=f"leave it out; it belongs to {listed}")
        return {key: value.value if isinstance(value, StrEnum) else value for key, value in options.items()}


def named_tuner(name: ObjectiveName, options: TunerOptions = TunerOptions()) -> Tuner:
    """The tuner of a name. Compiled code is imported only here: `--help` should be quick."""
    given = options.given(name)
    if name in GRADIENT:
        if options.density is not None and name in OF_NGRAMS:
            given["density"] = options.density
        return _gradient_tuner(name, given)
    match name:
        case ObjectiveName.mert:
            from toledo.tuning.tuners.mert import MERT

            return MERT(**given)
        case ObjectiveName.pro:
            from toledo.tuning.tuners.pro import PRO

            return PRO(**given)
        case ObjectiveName.mira:
            from toledo.tuning.tuners.mira import MIRA

            return MIRA(**given)
        case ObjectiveName.mmi:
            from toledo.tuning.tuners.mmi import MMI

            return MMI(**given)
        case ObjectiveName.regression:
            from toledo.tuning.tuners.pro import Regression

            return Regression(**given)
        case _:
            from toledo.tuning.tuners.simplex import Simplex

            return Simplex(**given)


def _gradient_tuner(name: ObjectiveName, given: dict[str, Any]) -> Tuner:
    from toledo.tuning.maximise import Annealing
    from toledo.tuning.tuners.gradient import GradientTuner

    if "optimiser" in given and "batch" in given:
        raise InputError(
            "--optimiser is for all segments at once, and --batch makes small steps of its own",
            remedy="leave one of both out",
        )
    if "annealing" in given:
        given["annealing"] = Annealing()
    if name in OF_LISTS:
        given["on"] = "lists"
    objective: Any = name.value
    return GradientTuner(objective=objective, **given)


def named_metric(name: MetricName, objective: ObjectiveName, on: OnName | None = None) -> Metric:
    """The metric of a name; expected n-grams and MIRA on forests know BLEU alone."""
    from toledo.metrics.bleu import BLEU
    from toledo.metrics.chrf import CHRF
    from toledo.metrics.ter import TER

    if name is MetricName.bleu:
        return BLEU(smooth_method="none")
    mira_on_forests = objective is ObjectiveName.mira and on is OnName.forests
    if objective in OF_NGRAMS or mira_on_forests:
        raise InputError(
            f"{objective.value}{' on forests' if mira_on_forests else ''} tunes for BLEU, not for {name.value}",
            remedy="leave --metric out, or choose an objective on lists, such as mert, mira or expected-bleu",
        )
    return TER() if name is MetricName.ter else CHRF()
