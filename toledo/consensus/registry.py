"""Decision rules by name, imported when they are used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, cast

from toledo.consensus.rule import SAMPLED_TEXTS, Rule
from toledo.errors import InputError
from toledo.metrics.metric import Metric
from toledo.settings import Named, Preset, Registry, parse_named

FOREST_TEXTS, ALL_TEXTS = 200, 1_000_000_000


def make_rule(named: Named[Rule] | Sequence[Named[Rule]], metric: Named[Metric] | None = None) -> Rule:
    """Return a rule, or several that narrow step by step; a metric is that of the last, and refused if it has none."""
    if isinstance(named, list | tuple) and len(named) == 1:
        return make_rule(named[0], metric)
    if isinstance(named, list | tuple):
        from toledo.consensus.rerank import RuleList

        if not named:
            raise InputError("rule is an empty list", argument="rule", remedy="give at least one")
        return RuleList((*(make_rule(one) for one in named[:-1]), make_rule(named[-1], metric)))
    rule = RULES.make(cast(Named[Rule], named))
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
        if isinstance(value, tuple):
            value = list(value)
        elif not isinstance(value, str | int | float):
            raise InputError(
                f"{one.name} of rule {rule.name!r} cannot be saved", argument="rule", remedy="give the rule by name"
            )
        settings.append(f"{one.name}={str(value).lower() if isinstance(value, bool) else value}")
    return f"{rule.name}:{','.join(settings)}" if settings else rule.name


def _adapted(function: Callable[..., Any]) -> Rule:
    from toledo.consensus.choosing import FunctionRule

    return FunctionRule(function)


RULES: Registry[Rule] = Registry(
    "rule",
    {
        "mbr": "toledo.consensus.mbr:MBR",
        "consensus": "toledo.consensus.fast_consensus:Consensus",
        "forest-consensus": Preset("consensus", {"whole_forest": True}),
        "lattice-mbr": "toledo.consensus.lattice_mbr:LatticeMBR",
        "variational": "toledo.consensus.variational:Variational",
        "max-translation": "toledo.consensus.decide:MaxTranslation",
        "max-derivation": "toledo.consensus.decide:MaxDerivation",
        "viterbi": "toledo.consensus.decide:Viterbi",
        "map": Preset("viterbi", {}),
        "aggregate-mbr": "toledo.consensus.fewer_calls:AggregateMBR",
        "proxy-mbr": "toledo.consensus.fewer_calls:ProxyMBR",
        "elimination-mbr": "toledo.consensus.fewer_calls:EliminationMBR",
        "pruning-mbr": "toledo.consensus.fewer_calls:PruningMBR",
        "halving-mbr": "toledo.consensus.fewer_calls:HalvingMBR",
        "low-rank-mbr": "toledo.consensus.fewer_calls:LowRankMBR",
        "budget-mbr": "toledo.consensus.fewer_calls:BudgetMBR",
        "rerank": "toledo.consensus.rerank:Rerank",
    },
    adapt=_adapted,
)
