"""`toledo.tune_rule`: which rule, at which scale, scores best on a development set."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import tomli_w

from toledo.api.choose import choose_many
from toledo.api.inputs import Lists, ReferenceTexts, Texts, make_metrics, read_groups, read_lists, read_texts
from toledo.api.model import Decoding, Model
from toledo.consensus.registry import make_rule, make_search_rule, rule_text
from toledo.consensus.rule import Rule
from toledo.consensus.scale import SCALES, Candidate, decide_candidates, scales_for
from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.metrics.metric import Metric
from toledo.metrics.registry import METRICS
from toledo.metrics.shapes import Groups
from toledo.progress import Progress, silent
from toledo.results import Result, TableResult, table
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.settings import SearchKind
from toledo.settings import Named
from toledo.text.corpus import WrittenWords
from toledo.text.vocabulary import split_words
from toledo.translation import Translator
from toledo.tuning.examples import statistics_of

log = logging.getLogger(__name__)

PASSES = 3  # over all settings


@dataclass(frozen=True)
class RuleRow(Result):
    """The score of a rule at a scale."""

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
        """Return how the scores were computed."""
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
    tokenized: bool = False,
    feature_weights: Mapping[str, float] | None = None,
    num_samples: int | None = None,
    settings: bool = False,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress = silent,
) -> RuleTuning:
    """Try rules and scales on a development set and return the table and the best.

    Without `scales`, twelve are tried that fit the norm of the weights, or from 0.1 to 10 without weights. A model
    translates `sources` by `search`, by default beam search. Raw text of a model that translates raw text is scored as
    users see it; else, and if texts are `tokenized`, words are compared as they are. With `settings`, other values of
    the settings of each rule are tried, too, one setting after the other from the best so far.
    """
    if not rules:
        raise InputError("nothing to choose from", argument="rules")
    texts = None if sources is None else read_texts(sources, "sources")
    if not isinstance(model_or_lists, Model):
        if search is not None:
            raise InputError("lists need no search", argument="search", remedy="leave `search` out")
        samples = [list(one) for one in read_lists(model_or_lists, "lists", num_samples)]
        if not samples:
            raise InputError("nothing to choose from", argument="lists")
        groups, judge = read_groups(references, samples, "lists"), METRICS.make(metric)
        if scales is None:
            scales = SCALES if feature_weights is None else scales_for(feature_weights, list(feature_weights))
        how: dict[str, Any] = {"sources": texts, "feature_weights": feature_weights, "threads": threads}

        def choices(candidates: Sequence[Candidate]) -> Iterator[Any]:
            for one in candidates:
                chosen = choose_many(samples, rule=one.rule, scale=one.scale, **how).texts
                yield judge.corpus_statistics(chosen, groups, threads, texts).sum(axis=0)

        trial = RuleTrial(judge, choices, scales, settings=settings)
        return trial.tuning(rules, [make_rule(named) for named in rules], groups)
    if texts is None:
        raise InputError("a model needs `sources` to translate", argument="sources")
    for name, value in (("feature_weights", feature_weights), ("num_samples", num_samples)):
        if value is not None:
            raise InputError(f"`{name}` is for lists, not for a model", argument=name, remedy=f"leave `{name}` out")
    groups = read_groups(references, texts, "sources")
    how_searched = Decoding(
        "viterbi", search=search or "beam", seed=seed, threads=threads, progress=progress, tokenized=tokenized
    )
    translator = model_or_lists.translator(how_searched)
    made = translator.search
    (judge,) = make_metrics([metric], None if translator.text.raw else "none", False).values()
    sampled = isinstance(made, GibbsSearch)
    numbers = scales or scales_for(translator.weights, translator.feature_names)
    searched = [make_search_rule(named, samples=sampled) for named in rules]
    translated = partial(ModelTranslations(translator, translator.sentences(texts)).statistics, judge, groups)
    trial = RuleTrial(judge, translated, numbers, every=sampled, settings=settings)
    tuning = trial.tuning(rules, searched, groups)
    best = next(rule for row, rule in trial.tried if row is tuning.best)
    named = next((named for named, rule in zip(rules, searched, strict=True) if rule is best), best)
    return replace(tuning, model=model_or_lists.with_rule(named, tuning.best.scale))


@dataclass(frozen=True)
class RuleTrial:
    """Rules tried on a development set: what judges, the summed statistics of what candidates choose, and the scales.

    A rule without a scale is tried once, unless `every` scale matters to it.
    """

    judge: Metric
    statistics: Callable[[Sequence[Candidate]], Iterable[Any]]
    scales: Sequence[float]
    every: bool = False
    settings: bool = False
    tried: list[tuple[RuleRow, Rule]] = field(default_factory=list)

    def tuning(self, named: Sequence[Named[Rule]], rules: Sequence[Rule], groups: Groups) -> RuleTuning:
        """Try all rules at all scales, and then their settings if these are to be tried."""
        tried = [
            (_label(name), Candidate(rule, scale))
            for name, rule in zip(named, rules, strict=True)
            for scale in self._scales_of(rule)
        ]
        rows = self._scored(tried)
        if self.settings:
            for rule in rules:
                own = [row for row, (_, one) in zip(rows, tried, strict=False) if one.rule is rule]
                rows += self._climb(rule, self._best(own))
        return RuleTuning(
            tuple(rows), self.judge.name, self._best(rows), sign=self.judge.get_signature(max(map(len, groups)))
        )

    def _climb(self, rule: Rule, start: RuleRow) -> list[RuleRow]:
        """Try other values of one setting after the other, then other scales, until nothing is better."""
        rows, best, seen = list[RuleRow](), (rule, start), {(rule, scale) for scale in self._scales_of(rule)}
        for _ in range(PASSES):
            before = best
            for name, values in (*rule.worth_trying.items(), ("scale", self._scales_of(rule))):
                rule_now, row = best
                others = [
                    Candidate(rule_now, value)
                    if name == "scale"
                    else Candidate(replace(cast(Any, rule_now), **{name: value}), row.scale)
                    for value in values
                ]
                others = [one for one in others if (one.rule, one.scale) not in seen]
                seen |= {(one.rule, one.scale) for one in others}
                found = self._scored([(_label(one.rule), one) for one in others])
                rows += found
                candidates = [(rule_now, row), *((one.rule, new) for one, new in zip(others, found, strict=True))]
                best = max(candidates, key=lambda pair: self._rank(pair[1]))
            if best == before:
                break
        return rows

    def _scored(self, tried: Sequence[tuple[str, Candidate]]) -> list[RuleRow]:
        totals = self.statistics([one for _, one in tried])
        rows = [
            RuleRow(label, one.scale, self.judge.score(sums)) for (label, one), sums in zip(tried, totals, strict=True)
        ]
        self.tried.extend((row, one.rule) for row, (_, one) in zip(rows, tried, strict=True))
        return rows

    def _scales_of(self, rule: Rule) -> Sequence[float]:
        return self.scales if self.every or rule.has_scale else [1.0]

    def _best(self, rows: Sequence[RuleRow]) -> RuleRow:
        return max(rows, key=self._rank)

    def _rank(self, row: RuleRow) -> tuple[float, float]:
        """Return what is higher for better rows; of equal ones for that with the scale nearest to 1."""
        return (row.score if self.judge.higher_is_better else -row.score), -abs(math.log(row.scale))


@dataclass(frozen=True)
class ModelTranslations:
    """What candidates choose; forests are made once, but a sampler draws other samples at each scale."""

    translator: Translator
    sentences: Sequence[Sequence[str]]

    @cached_property
    def forests(self) -> Sequence[Any]:
        """Return the forests of all sentences."""
        return self.translator.forests_for_rules(self.translator.search.encode(self.sentences))

    def statistics(self, judge: Metric, groups: Groups, candidates: Sequence[Candidate]) -> Iterator[Any]:
        """Yield the summed statistics of what each candidate chooses."""
        text = self.translator.text
        known = [[WrittenWords(split_words(one), one) for one in group] for group in groups]
        write = text.target.write if text.raw else None
        return (statistics_of(judge, one, known, self.translator.threads, write) for one in self.of(candidates))

    def of(self, candidates: Sequence[Candidate]) -> Iterator[Sequence[Sequence[str]]]:
        """Yield what each candidate chooses."""
        search, threads, progress = self.translator.search, self.translator.threads, self.translator.progress
        if not isinstance(search, GibbsSearch):
            weights = self.translator.weights
            for decisions in decide_candidates(candidates, self.forests, weights, threads, progress):
                pairs = zip(self.forests, decisions, strict=True)
                yield [forest.vocabulary.words(decision.words.tolist()) for forest, decision in pairs]
            return
        for rule, scale in ((one.rule, one.scale) for one in candidates):
            log.info("sampling at scale %g", scale)
            sampler = GibbsSearch(search.model, replace(search.settings, scale=scale), search.seed)
            chosen = None if rule.name == "viterbi" else rule
            translator = Translator(sampler, chosen, scale, threads=threads, progress=progress)
            yield [split_words(line) for line in translator.lines(self.sentences)]


def _label(rule: Named[Rule]) -> str:
    if isinstance(rule, str):
        return rule
    try:
        return rule_text(rule)
    except InputError:  # with a function
        return make_rule(rule).name
