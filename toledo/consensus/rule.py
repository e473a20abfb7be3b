"""What a decision rule is: from the distribution over the translations of a segment to one translation.

    decide(Viterbi(), forests, weights)
    decide(LatticeMBR(), forests, weights, scale=0.5)

A scale multiplies all scores before they become probabilities, p(d) ∝ exp(scale · score(d)): small ones make the
distribution flat, large ones sharp. Which is best depends on the rule; `toledo.consensus.scale` finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

from toledo.errors import InputError
from toledo.metrics.metric import METRICS, Metric
from toledo.settings import Named, Preset, Registry, parse_named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from toledo.consensus.choice import Choice
    from toledo.consensus.choosing import TextProblem
    from toledo.forest.forest import Forest, Scores

FOREST_TEXTS, SAMPLED_TEXTS, ALL_TEXTS = 200, 1000, 1_000_000_000
SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100  # beyond them, products with scores are 0 or no numbers


@dataclass(frozen=True, eq=False)
class Decision:
    """The chosen words, as ids of the forest's vocabulary, and what they are worth to the rule that chose them.

    Where nothing is possible, there are no words and the value is −inf.
    """

    words: NDArray[np.int32]
    value: float


class Rule:
    """A way to choose the translation of a segment, from texts or from a forest."""

    has_confidence = False
    has_scale = True
    forest_scale = 1.0  # rules that see all of a forest want a sharper distribution than those that see a list

    @property
    def name(self) -> str:
        """The registered name."""
        raise NotImplementedError

    def decide(self, forest: Forest, scores: Scores) -> Decision:
        """Return the translation of a one-segment forest for scores of its edges, which have been scaled."""
        raise NotImplementedError

    def values(self, problem: TextProblem) -> NDArray[np.float64]:
        """Return what each text of a segment is worth; −inf for one that must not be chosen."""
        raise NotImplementedError

    def metric_for_texts(self) -> Metric | None:
        """Return the metric that the values are those of, if there is one."""
        return None

    def choose(
        self,
        samples: Sequence[Any],
        references: Sequence[Any] | None = None,
        *,
        source: str | None = None,
        logprobs: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        scale: float = 1.0,
    ) -> Choice:
        """Choose one of several texts for one segment."""
        from toledo.consensus.choosing import SampleWeights, choose_each

        evidence = SampleWeights(logprobs=logprobs, weights=weights, scale=scale)
        return next(choose_each(self, [samples], None if references is None else [references], [source], [evidence]))


def check_scale(scale: float) -> None:
    """Refuse scales that make no distribution of scores, or turn it round."""
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        limits = f"a positive number from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"
        raise InputError(f"scale is {scale:g}, expected {limits}", argument="scale")


def make_gain(named: Named[Metric]) -> Metric:
    """Return a metric as rules use it: for single texts, so that BLEU leaves out orders longer than the text."""
    if isinstance(named, str) and parse_named(named)[0] in GAINS:
        return GAINS.make(named)
    return METRICS.make(named)


def make_rule(named: Named[Rule], metric: Named[Metric] | None = None) -> Rule:
    """Return a rule; a metric is refused by rules that have none."""
    rule = RULES.make(named)
    if metric is None:
        return rule
    if not hasattr(rule, "metric"):
        raise InputError(f"rule {rule.name!r} has no metric", argument="metric", remedy="use `rule=mbr`")
    return cast(Rule, replace(cast(Any, rule), metric=metric))


def make_search_rule(
    named: Named[Rule], metric: Named[Metric] | None = None, *, samples: bool = False, size: int = FOREST_TEXTS
) -> Rule:
    """Return a rule for what a search found; a named rule without a size looks at 200 texts, or 1000 sampled ones.

    MBR compares them with as many texts, or with all samples.
    """
    rule = make_rule(named, metric)
    if not isinstance(named, str):
        return rule
    given = parse_named(named)[1]
    size = given.get("size", SAMPLED_TEXTS if samples else size)
    defaults = {"size": size, "reference_size": ALL_TEXTS if samples else size, "likeliest": samples}
    known = {one.name for one in fields(cast(Any, rule))}
    return cast(Rule, replace(cast(Any, rule), **{n: v for n, v in defaults.items() if n in known and n not in given}))


def rule_text(rule: Named[Rule]) -> str:
    """Return a rule as a name with settings, which `make_rule` reads; one with a function cannot be written."""
    if isinstance(rule, str):
        return rule
    if not isinstance(rule, Rule) or rule.name not in RULES:
        raise InputError("a function as a rule cannot be saved", argument="rule", remedy="give the rule by name")
    settings = []
    for one in fields(cast(Any, rule)):
        value = getattr(rule, one.name)
        if value == one.default:
            continue
        if not isinstance(value, str | int | float):
            raise InputError(
                f"{one.name} of rule {rule.name!r} cannot be saved", argument="rule", remedy="give the rule by name"
            )
        settings.append(f"{one.name}={str(value).lower() if isinstance(value, bool) else value}")
    return f"{rule.name}:{','.join(settings)}" if settings else rule.name


def _adapted(function: Callable[..., Any]) -> Rule:
    from toledo.consensus.choosing import FunctionRule

    return FunctionRule(function)


_BLEU = "toledo.metrics.bleu:BLEU"
GAINS: Registry[Metric] = Registry(
    "metric",
    {
        "bleu": Preset(_BLEU, {"effective_order": True}),
        "bleu+1": Preset(_BLEU, {"smooth_method": "add-k", "smooth_value": 1.0}),
        "bleu+0.01": Preset(_BLEU, {"smooth_method": "add-k", "smooth_value": 0.01}),  # Arun, Haddow and Koehn 2010
        "chrf": "toledo.metrics.chrf:CHRF",
        "ter": "toledo.metrics.ter:TER",
    },
)
RULES: Registry[Rule] = Registry(
    "rule",
    {
        "mbr": "toledo.consensus.mbr:MBR",
        "consensus": "toledo.consensus.fast_consensus:Consensus",
        "forest-consensus": Preset("consensus", {"whole_forest": True}),
        "lattice-mbr": "toledo.consensus.lattice_mbr:LatticeMBR",
        "max-translation": "toledo.consensus.decide:MaxTranslation",
        "max-derivation": "toledo.consensus.decide:MaxDerivation",
        "viterbi": "toledo.consensus.decide:Viterbi",
        "map": Preset("viterbi", {}),
    },
    adapt=_adapted,
)
