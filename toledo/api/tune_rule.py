"""`toledo.tune_rule`: which rule, at which scale, scores best on a development set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from pathlib import Path
from typing import Any

import tomli_w

from toledo.api.choose import choose_many
from toledo.api.decoding import Decoding
from toledo.api.inputs import Lists, ReferenceTexts, Texts, make_metrics, read_groups, read_lists, read_texts
from toledo.api.model import Model
from toledo.consensus.rule import Rule, make_rule, make_search_rule, rule_text
from toledo.consensus.scale import SCALES, Candidate, choose_rule, scales_for
from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.metrics.metric import METRICS, Metric
from toledo.metrics.shapes import Groups
from toledo.progress import Progress, silent
from toledo.results import Result, TableResult, table
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.settings import SearchKind
from toledo.settings import Named
from toledo.text.vocabulary import split_words
from toledo.translation import sampled_scale_table


@dataclass(frozen=True)
class RuleRow(Result):
    """What a rule scored at a scale."""

    rule: str
    scale: float
    score: float


@dataclass(frozen=True)
class RuleTuning(TableResult):
    """The scores of rules and scales on a development set, and the best of them.

    `model` is the model with the best rule, if a model was given.
    """

    rows: tuple[RuleRow, ...]
    metric: str
    best: RuleRow
    model: Model | None = field(default=None, repr=False)
    sign: str = field(default="", repr=False)

    @property
    def signature(self) -> str:  # type: ignore[override]
        """How the scores were computed."""
        return self.sign

    def to_dict(self) -> dict[str, Any]:
        """Return the rows and the best of them, ready for JSON."""
        found = {"rows": [one.to_dict() for one in self.rows], "metric": self.metric, "best": self.best.to_dict()}
        return {**found, "signature": self.signature}

    def save(self, path: str | Path) -> None:
        """Write the model with the best rule; without a model, a configuration for the command line of `choose`."""
        if self.model is not None:
            self.model.save(path)
            return
        with atomic_writer(path) as stream:
            stream.write(tomli_w.dumps({"choose": {"rule": self.best.rule, "scale": self.best.scale}}))

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each rule and scale."""
        return [{"rule": one.rule, "scale": one.scale, "score": one.score} for one in self.rows]

    def __str__(self) -> str:
        lines = [["rule", "scale", self.metric]]
        lines += [
            [one.rule, f"{one.scale:g}", f"{one.score:.2f}{' *' if one is self.best else '  '}"] for one in self.rows
        ]
        return "\n".join([*table(lines, left=[0]), f"best: {self.best.rule} at scale {self.best.scale:g}"])


def tune_rule(
    model_or_lists: Model | Lists,
    references: ReferenceTexts,
    *,
    sources: Texts | None = None,
    rules: Sequence[Named[Rule]] = ("mbr",),
    scales: Sequence[float] | None = None,
    metric: Named[Metric] = "bleu",
    search: Named[SearchKind] | None = None,
    feature_weights: Mapping[str, float] | None = None,
    num_samples: int | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress = silent,
) -> RuleTuning:
    """Try rules and scales on a development set and return the table and the best.

    Without `scales`, twelve are tried that fit the norm of the weights, or from 0.1 to 10 without weights. A model
    translates `sources` by `search`, by default beam search; its words are compared as they are.
    """
    if not rules:
        raise InputError("nothing to choose from", argument="rules")
    if isinstance(model_or_lists, Model):
        if sources is None:
            raise InputError("a model needs `sources` to translate", argument="sources")
        for name, value in (("feature_weights", feature_weights), ("num_samples", num_samples)):
            if value is not None:
                raise InputError(f"`{name}` is for lists, not for a model", argument=name, remedy=f"leave `{name}` out")
        texts = read_texts(sources, "sources")
        groups = read_groups(references, texts)
        (judge,) = make_metrics([metric], "none", False).values()
        how = Decoding(search=search or "beam", seed=seed)
        tuning = _ModelTuning(model_or_lists, texts, groups, judge, how, threads, progress)
        return tuning.run(rules, scales)
    if search is not None:
        raise InputError("lists need no search", argument="search", remedy="leave `search` out")
    samples = [list(one) for one in read_lists(model_or_lists, "lists", num_samples)]
    if not samples:
        raise InputError("nothing to choose from", argument="lists")
    groups = read_groups(references, [""] * len(samples))
    given = None if sources is None else read_texts(sources, "sources")
    judge = METRICS.make(metric)
    tried = list(scales) if scales is not None else list(_scales(feature_weights))
    rows = []
    for named in rules:
        rule = make_rule(named)
        for scale in tried if rule.has_scale else [1.0]:
            found = choose_many(
                samples, sources=given, rule=rule, scale=scale, feature_weights=feature_weights, threads=threads
            )
            statistics = judge.corpus_statistics(found.texts, groups, threads, given).sum(axis=0)
            rows.append(RuleRow(_label(named), scale, judge.score(statistics)))
    return _tuning(rows, judge, groups)


@dataclass(frozen=True)
class _ModelTuning:
    """A development set for a model, and how the model searches it."""

    model: Model
    texts: Sequence[str]
    groups: Groups
    judge: Metric
    how: Decoding
    threads: int | None
    progress: Progress

    def run(self, rules: Sequence[Named[Rule]], scales: Sequence[float] | None) -> RuleTuning:
        """Score all rules and scales; what does not depend on them is done once, but samples are drawn anew."""
        search = self.model.translator(replace(self.how, rule="viterbi")).search
        sentences = [split_words(text) for text in self.texts]
        references = [[split_words(text) for text in group if text is not None] for group in self.groups]
        sampled = isinstance(search, GibbsSearch)
        made = [make_search_rule(named, samples=sampled) for named in rules]
        tried = scales or scales_for(search.model.weights, search.model.feature_names)
        labels, rows = [_label(named) for named in rules], []
        if isinstance(search, GibbsSearch):
            for label, rule in zip(labels, made, strict=True):
                chosen = None if rule.name == "viterbi" else rule
                found = sampled_scale_table(
                    search, chosen, sentences, references, tried, self.judge, threads=self.threads,
                    progress=self.progress,
                )  # fmt: skip
                rows += [RuleRow(label, row.scale, row.score) for row in found.rows]
        else:
            forests = search.forests(sentences, self.threads, self.progress)
            pairs = [
                (label, Candidate(rule, scale))
                for label, rule in zip(labels, made, strict=True)
                for scale in (tried if rule.has_scale else [1.0])
            ]
            candidates = [one for _, one in pairs]
            found = choose_rule(
                candidates, forests, search.model.weights, references, self.judge, self.threads, self.progress
            )
            rows = [RuleRow(pair[0], row.scale, row.score) for pair, row in zip(pairs, found.rows, strict=True)]
        tuning = _tuning(rows, self.judge, self.groups)
        best = rules[labels.index(tuning.best.rule)]
        return replace(tuning, model=self.model.with_rule(best, tuning.best.scale))


def _label(rule: Named[Rule]) -> str:
    if isinstance(rule, str):
        return rule
    try:
        return rule_text(rule)
    except InputError:  # with a function
        return make_rule(rule).name


def _tuning(rows: Sequence[RuleRow], judge: Metric, groups: Groups) -> RuleTuning:
    sign = 1.0 if judge.higher_is_better else -1.0
    best = max(rows, key=lambda row: (sign * row.score, -abs(log(row.scale))))
    signature = judge.get_signature(max(len(group) for group in groups))
    return RuleTuning(tuple(rows), judge.name, best, sign=signature)


def _scales(feature_weights: Mapping[str, float] | None) -> Sequence[float]:
    return SCALES if feature_weights is None else scales_for(feature_weights, list(feature_weights))
