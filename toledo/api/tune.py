"""Tune the weights of a model, or of the features of given lists."""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast

from toledo.api.inputs import Lists, ReferenceTexts, Texts, read_groups, read_lists, read_texts, require_as_many
from toledo.api.model import Model
from toledo.api.runs import ModelOrPath, Pair, as_model, begin_run, digest_model, read_set, save_result
from toledo.consensus.choosing import as_hypotheses
from toledo.consensus.registry import make_search_rule
from toledo.consensus.rule import Rule, check_scale
from toledo.errors import InputError
from toledo.formats.hypotheses import Entry, NBestList, feature_names, to_forest
from toledo.formats.records import Reading, as_fields
from toledo.formats.responses import Fields
from toledo.metrics.given import ColumnMetric, SegmentReferences
from toledo.metrics.metric import Metric, require_inputs
from toledo.metrics.registry import METRICS
from toledo.metrics.utility import UtilityMetric
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.results import Hypothesis, TableResult, plain, table
from toledo.runs.checkpoint import KIND, digest
from toledo.runs.checkpoint import plain as plain_settings
from toledo.runs.history import History, Round, spread
from toledo.runs.rounds import ALL_DONE
from toledo.search.itg import itg_weights
from toledo.search.settings import ITG, SEARCHES, Gibbs, SearchKind
from toledo.settings import Named, parse_named, refuse_unused
from toledo.text.corpus import Segment
from toledo.text.vocabulary import Vocabulary, split_words
from toledo.tuning.initial import Initial, with_sparse
from toledo.tuning.loop import LoopSettings, TuningResult, TuningSet, TuningTask, configuration_of, digest_segments
from toledo.tuning.loop import tune as tune_weights
from toledo.tuning.minimum_risk.trainer import MinimumRisk, make_trainer
from toledo.tuning.minimum_risk.training import SegmentSource, train
from toledo.tuning.settings import TUNERS, TuneSettings
from toledo.tuning.tuner import Tuner
from toledo.weights import Weights

log = logging.getLogger(__name__)

WEIGHTS = "weights.toml"
ROUNDS, UNTIL_ANNEALED = 10, 1_000_000
PATIENCE, NBEST, DENSITY, MAX_FEATURES = 4, 100, 50.0, 20_000
SEARCH_DEFAULTS = {  # tuning searches often, so it searches less than translation
    "beam": {"pop_limit": 200},
    "itg": {"beam": 50},
    "gibbs": {"chains": 1, "iterations": 200, "burn_in": 50},
}

OWN_COLUMNS = ("score", "logprob")  # that hypotheses have beside their features

Segments = Sequence[Segment]


@dataclass(frozen=True)
class Tuning(TableResult):
    """Tuned weights and how they were found: `rounds` are those of the best run, its start first.

    `best_round` is the number of the round whose weights these are, `reason` why the run ended. `mean` and `deviation`
    (that of a sample) are those of the best scores of all `runs`. `model` has the weights; lists have none.
    """

    model: Model | None
    weights: Weights
    runs: tuple[History, ...]
    best: History

    @property
    def rounds(self) -> tuple[Round, ...]:
        """Return the start and all rounds of the best run."""
        return self.best.all_rounds

    @property
    def best_round(self) -> int:
        """Return the number of the round with the best score."""
        return self.best.best

    @property
    def reason(self) -> str:
        """Return why the best run ended."""
        return self.best.stopped

    @property
    def converged(self) -> bool:
        """Return whether the best run ended before all rounds were done."""
        return not self.reason.startswith(ALL_DONE)

    @property
    def mean(self) -> float:
        """Return the mean of the best scores of all runs."""
        return spread([one.best_score for one in self.runs]).mean

    @property
    def deviation(self) -> float:
        """Return the standard deviation of the best scores of all runs, 0 for one run."""
        return spread([one.best_score for one in self.runs]).deviation

    @property
    def signature(self) -> str:  # type: ignore[override]
        """Return how the weights were found."""
        seeds = f"runs:{len(self.runs)}|seed:{self.best.seed}"
        return f"objective:{self.best.tuner}|metric:{self.best.metric}|{seeds}|version:{version('toledo-mt')}"

    def to_dict(self) -> dict[str, Any]:
        """Return weights, rounds and runs as JSON-ready values."""
        runs = [
            {
                "seed": one.seed,
                "rounds": len(one.rounds),
                "best_round": one.best,
                "start": one.scores[0],
                "score": one.best_round.score,
                "dev_score": one.best_round.dev_score,
                "reason": one.stopped,
                "seconds": one.seconds,
            }
            for one in self.runs
        ]
        own = ("best_round", "converged", "reason", "mean", "deviation", "signature")
        found = {"weights": dict(self.weights), "rounds": self.rows_as_dicts(), "runs": runs}
        whole: dict[str, Any] = plain({**found, **{name: getattr(self, name) for name in own}})
        return whole

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each round of the best run."""
        names = ("number", "objective", "score", "dev_score", "hypotheses", "weights")
        return [{name: getattr(one, name) for name in names} for one in self.rounds]

    def __repr__(self) -> str:
        score = f"{self.best.best_score:.{self._decimals}f}"
        return f"Tuning({self.best.tuner!r}, {self.best.metric}={score}, round={self.best_round})"

    @property
    def _decimals(self) -> int:
        """How many decimals scores are shown with: more for those of a metric from 0 to 1."""
        return 4 if 0.0 < max(abs(one.score) for one in self.rounds) < 2.0 else 2

    def __str__(self) -> str:
        metric, one, digits = self.best.metric, self.best, self._decimals
        with_dev = one.start.dev_score is not None
        rows = [["round", "objective", metric, *([f"dev {metric}"] if with_dev else []), "hypotheses"]]
        for row in self.rounds:
            objective = "" if row.objective is None else f"{row.objective:.4f}"
            dev = [f"{row.dev_score:.{digits}f}"] if row.dev_score is not None else []
            hypotheses = f"{row.hypotheses:,}" if row.hypotheses else ""
            rows.append([str(row.number or "start"), objective, f"{row.score:.{digits}f}", *dev, hypotheses])
        lines = table(rows)
        marked = self.best_round + 1
        lines[marked] = f"{lines[marked][:5]} *{lines[marked][7:]}"
        count = len(one.rounds)
        reason = "" if one.stopped.startswith(ALL_DONE) else f" ({one.stopped})"
        ended = f"stopped after {count} round{'' if count == 1 else 's'}{reason}, {one.seconds:.1f} CPU s"
        lines.append(f"{one.tuner}, seed {one.seed}: {ended}")
        if len(self.runs) > 1:
            all_runs = spread([run.best_score for run in self.runs])
            limits = f"from {all_runs.minimum:.{digits}f} to {all_runs.maximum:.{digits}f}"
            mean = f"{all_runs.mean:.{digits}f} ± {all_runs.deviation:.{digits}f} (σ)"
            lines.append(f"{all_runs.runs} runs: {metric} {mean}, {limits}")
        return "\n".join(lines)


def tune(  # one argument for each setting
    model: ModelOrPath,
    sources: Texts,
    references: ReferenceTexts,
    *,
    dev: Pair | None = None,
    tokenized: bool = False,
    objective: Named[Tuner] = "mert",
    metric: Named[Metric] = "bleu",
    rounds: int | None = None,
    patience: int | None = None,
    search: Named[SearchKind] = "beam",
    rule: Named[Rule] | None = None,
    scale: float | None = None,
    initial: str | Path | Mapping[str, float] = "model",
    frozen: Sequence[str] | None = None,
    features: Sequence[str] = (),
    max_features: int | None = None,
    nbest: int | None = None,
    density: float | None = None,
    on: Literal["lists", "forests"] | None = None,
    runs: int = 1,
    output: str | Path | None = None,
    resume: bool = False,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress = silent,
) -> Tuning:
    """Find the weights with which the model translates best: search, tune, search again until nothing changes.

    The weights are those of the best round: by `dev` if it is given, else by the tuning set. Rounds are scored by what
    `rule` chooses, as users see it: tuners compare words, but scores are those of raw text if the model translates raw
    text and texts are not `tokenized`. With search `gibbs`, weights are trained on samples for `expected-bleu` or
    `corpus-expected-bleu`. `features` are templates of sparse features to add (pair, word, target). With `output`, the
    model with its new weights is saved there, and each round in its folder `run`.
    """
    start = Initial(_initial(initial), frozen)
    settings = TuneSettings(
        objective, metric, rule, scale, search, rounds, patience, runs, start.initial, max_features, nbest, density, on
    )
    run = begin_run(output, resume, model)
    if isinstance(made := METRICS.make(metric), ColumnMetric):
        remedy = "give a function, or tune lists that have this column"
        raise InputError(f"a search finds texts that have no column {made.key!r}", argument="metric", remedy=remedy)
    kind = _search(search)
    tuner = make_trainer(objective) if isinstance(kind, Gibbs) else _tuner(settings)
    loop = _loop_settings(settings, tuner, threads)
    _refuse_unused(settings, tuner, loop.rule, bool(features))
    loaded = with_sparse(as_model(model), list(features), max_features or MAX_FEATURES)
    text, known = loaded.preparation.of_words if tokenized else loaded.preparation, loaded.source_vocabulary
    loop = replace(loop, write=text.target.write if text.raw else None)
    tuning_set = read_set((sources, references), "", text, known)
    sets = tuning_set, None if dev is None else read_set(dev, "dev", text, known)
    task = _task(loaded, sets, tuner, loop, start, kind, progress)
    task.configuration["model"] = digest_model(model)
    results = task.run(range(seed, seed + runs), run, resume, progress)
    best = _best(results)
    summary = {**best.history.summary, "segments": len(tuning_set)}
    tuned = save_result(loaded.with_weights(best.weights), output, tuning=summary)
    return Tuning(tuned, best.weights, tuple(one.history for one in results), best.history)


def tune_lists(  # one argument for each setting
    lists: Lists,
    references: ReferenceTexts | None = None,
    *,
    sources: Texts | None = None,
    fields: Mapping[str, str | Sequence[str]] | None = None,
    objective: Named[Tuner] = "mert",
    metric: Named[Metric] = "bleu",
    rule: Named[Rule] | None = None,
    scale: float | None = None,
    initial: str | Path | Mapping[str, float] = "default",
    frozen: Sequence[str] | None = None,
    on: Literal["lists", "forests"] | None = None,
    runs: int = 1,
    output: str | Path | None = None,
    resume: bool = False,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress = silent,
) -> Tuning:
    """Tune the weights of features of given lists, from any system, in one round.

    The metric may be a function, which is asked for each pair once, or `column:NAME`: a feature, key or column of the
    hypotheses, such as a judge's score. What is maximized is then the mean of this column, which needs no references
    and has no weight. `sources` are for metrics that need them; `fields` names the keys or columns of a file or table,
    as in `read_lists`: those of features are `{"feature": ["lm", "judge"]}`.

    With `output`, the weights are saved there as `weights.toml`, and the run in its folder `run`.
    """
    run = begin_run(output, resume, marker=WEIGHTS)
    start = Initial(_initial(initial), frozen)
    settings = TuneSettings(objective, metric, rule, scale, runs=runs, initial=start.initial, on=on)
    tuner = _tuner(settings)
    loop = replace(_loop_settings(settings, tuner, threads), rounds=1)
    _refuse_scale(settings, loop.rule)
    require_inputs(loop.metric, references, sources)
    found = _ListsToTune.read(lists, references, sources, loop.metric, as_fields(fields))
    task = _task_of_lists(found, tuner, loop, start)
    results = task.run(range(seed, seed + runs), run, resume, progress)
    best = _best(results)
    if isinstance(loop.metric, UtilityMetric) and loop.metric.memory is not None:
        log.info("%s was asked for %d pairs", loop.metric.name, len(loop.metric.memory))
    if output is not None:
        best.weights.save(Path(output) / WEIGHTS)
    return Tuning(None, best.weights, tuple(one.history for one in results), best.history)


def _search(search: Named[SearchKind]) -> SearchKind:
    """Return the settings of a search; one that is given by name has the defaults of tuning."""
    name, given = parse_named(search) if isinstance(search, str) else ("", {})
    defaults = {key: value for key, value in SEARCH_DEFAULTS.get(name.lower(), {}).items() if key not in given}
    kind = SEARCHES.make(search, **defaults)
    if not isinstance(kind, Gibbs):
        return kind
    if kind.scale not in (None, 1.0):
        raise InputError("weights trained by samples have the scale 1", argument="search", remedy="leave scale out")
    return replace(kind, scale=1.0)


def _tuner(settings: TuneSettings) -> Tuner:
    """Return the tuner; the search space is one of its settings, the density one of gradient tuners."""
    given: dict[str, Any] = {"on": settings.on}
    if TUNERS.is_gradient(settings.objective):
        given["density"] = settings.density
    return TUNERS.make(settings.objective, **{name: value for name, value in given.items() if value is not None})


def _loop_settings(settings: TuneSettings, tuner: Tuner | MinimumRisk, threads: int | None) -> LoopSettings:
    sampled = isinstance(tuner, MinimumRisk)
    rounds = UNTIL_ANNEALED if isinstance(tuner, MinimumRisk) and tuner.annealing else ROUNDS
    metric = _metric(settings.metric)
    if not isinstance(tuner, MinimumRisk):
        tuner.check_metric(metric)
    scale = 1.0 if settings.scale is None else settings.scale
    check_scale(scale)
    nbest = settings.nbest or NBEST
    return LoopSettings(
        settings.rounds or rounds,
        nbest,
        settings.density or DENSITY,
        patience=settings.patience or PATIENCE,
        metric=metric,
        rule=make_search_rule(settings.rule or ("mbr" if sampled else "viterbi"), samples=sampled, size=nbest),
        scale=scale,
        threads=threads,
    )


def _metric(metric: Named[Metric]) -> Metric:
    """Return the metric; BLEU of a corpus to be tuned is not smoothed unless that is asked for."""
    if isinstance(metric, str) and parse_named(metric)[0].lower() == "bleu":
        return METRICS.make(metric, **{"smooth_method": "none", **parse_named(metric)[1]})
    made = METRICS.make(metric)
    return made.remembering() if isinstance(made, UtilityMetric) else made


def _refuse_unused(settings: TuneSettings, tuner: Tuner | MinimumRisk, rule: Rule, with_features: bool) -> None:
    """Refuse settings that would change nothing."""
    if isinstance(tuner, MinimumRisk):
        refuse_unused(settings, "not for `search=gibbs`", "nbest", "density", "on")
        refuse_unused(settings, "weights trained by samples have the scale 1", "scale")
        if tuner.annealing:
            refuse_unused(settings, "training by samples continues until annealing has finished", "patience")
    elif tuner.wants == "lists":
        refuse_unused(settings, f"objective {tuner.name!r} looks at lists, not at lattices", "density")
    elif not rule.has_scale:
        refuse_unused(settings, f"objective {tuner.name!r} looks at lattices, not at lists", "nbest")
    _refuse_scale(settings, rule)
    if not with_features:
        refuse_unused(settings, "there are no `features` to count", "max_features")


def _refuse_scale(settings: TuneSettings, rule: Rule) -> None:
    if not rule.has_scale:
        refuse_unused(settings, f"rule {rule.name!r} has no scale", "scale")


def _initial(initial: str | Path | Mapping[str, float]) -> str | Path | Weights:
    return initial if isinstance(initial, str | Path | Weights) else Weights(dict(initial))


def _task(
    model: PhraseModel,
    sets: tuple[Segments, Segments | None],
    tuner: Tuner | MinimumRisk,
    settings: LoopSettings,
    start: Initial,
    kind: SearchKind,
    progress: Progress,
) -> TuningTask:
    """Return the tuning of a model by a search, or by samples."""
    name, sparse = type(kind).__name__.lower(), model.sparse.names if model.sparse else ()
    weights = start.weights(model.feature_names, model.weights, partial(_complete, model, kind), sparse)
    configuration = {
        "model": "",
        "features": digest(sparse),
        "search": {**plain_settings(kind), KIND: name},
        **digest_segments(sets[0], written=settings.write is not None),
        **(digest_segments(sets[1], "dev_", written=settings.write is not None) if sets[1] else {}),
        **configuration_of(tuner, settings, weights),
    }
    if isinstance(tuner, MinimumRisk):
        gibbs = cast(Gibbs, kind)
        source = SegmentSource.gibbs(model, sets[0], gibbs, sets[1], threads=settings.threads, progress=progress)
        return TuningTask(partial(train, tuner, weights, source), settings, configuration)
    if isinstance(kind, ITG) and model.table.reordering is not None:
        log.warning("ITG search does not use the reordering table of the model, nor the weights of its features")
    how = ", ".join(f"{key}={value}" for key, value in vars(kind).items())

    def searched(segments: Segments) -> TuningSet:
        return TuningSet.searched(
            segments, lambda own: kind.search(model, own), f"search {name}: {how}", settings.threads, progress
        )

    dev = None if sets[1] is None else searched(sets[1])
    return TuningTask(partial(tune_weights, tuner, weights, searched(sets[0]), held_out=dev), settings, configuration)


def _complete(model: PhraseModel, kind: SearchKind, weights: Weights) -> Weights:
    """Return the weights with those of features that only the search has."""
    return itg_weights(model.with_weights(weights)) if isinstance(kind, ITG) else weights


@dataclass(frozen=True)
class _ListsToTune:
    """Lists with the names of their features, and what they are compared with."""

    lists: Sequence[NBestList]
    names: tuple[str, ...]
    references: Sequence[SegmentReferences]

    @classmethod
    def read(
        cls, lists: Lists, references: ReferenceTexts | None, sources: Texts | None, metric: Metric, fields: Fields
    ) -> _ListsToTune:
        """Read lists; the column that a metric is made of is no feature."""
        column = metric.key if isinstance(metric, ColumnMetric) else None
        file = lists if isinstance(lists, str | Path) else None
        more = () if column in (None, *OWN_COLUMNS, *fields.get("feature", ())) else (str(column),)
        features = (*fields.get("feature", ()), *more)
        reading = Reading({**fields, "feature": features} if features else fields)
        read = read_lists(lists, "lists", reading=reading)
        samples = [as_hypotheses(some, f"lists[{place}]") for place, some in enumerate(read)]
        given = [NBestList(place, tuple(_entry(one, column) for one in some)) for place, some in enumerate(samples)]
        names = feature_names(given)
        if not names:
            raise InputError(
                f"the lists have no features to weigh{'' if column is None else f' beside {column!r}'}",
                file=file,
                argument="lists",
                remedy='write {"text": "…", "features": {"lm": -3.5}} in JSON, 0 ||| text ||| lm= -3.5 in n-best lists',
            )
        groups = [()] * len(given) if references is None else read_groups(references, given, "lists")
        texts = [None] * len(given) if sources is None else read_texts(sources, "sources")
        if sources is not None:
            require_as_many("lists", given, "sources", texts)
        scores = [
            None if column is None else _column_scores(some, column, place, file) for place, some in enumerate(samples)
        ]
        known = [
            SegmentReferences([tuple(split_words(one)) for one in group], source, own)
            for group, source, own in zip(groups, texts, scores, strict=True)
        ]
        return cls(given, names, known)

    def digests(self) -> dict[str, str]:
        """Return digests of all that a result depends on."""
        content = [[(entry.words, dict(entry.features)) for entry in some.entries] for some in self.lists]
        more = {
            "sources": [one.source for one in self.references if one.source is not None],
            "scores": [sorted(one.scores.items()) for one in self.references if one.scores is not None],
        }
        found = {"lists": digest(content), "references": digest([tuple(one) for one in self.references])}
        return found | {name: digest(value) for name, value in more.items() if value}


def _task_of_lists(given: _ListsToTune, tuner: Tuner, settings: LoopSettings, start: Initial) -> TuningTask:
    """Return the tuning of given lists: a search that always finds the same."""
    vocabulary = Vocabulary()
    forests = [to_forest(some.entries, given.names, vocabulary) for some in given.lists]
    weights = start.weights(given.names, None)
    tuning = TuningSet(lambda _: forests, given.references)
    configuration = {**configuration_of(tuner, settings, weights), **given.digests()}
    return TuningTask(partial(tune_weights, tuner, weights, tuning), settings, configuration)


def _entry(sample: Hypothesis, left_out: str | None) -> Entry:
    features = {name: float(value) for name, value in sample.features.items() if name != left_out}
    return Entry(tuple(split_words(sample.text)), features)


def _column_scores(
    samples: Sequence[Hypothesis], column: str, segment: int, file: str | Path | None
) -> dict[tuple[str, ...], float]:
    """Return the score of each text in a column, by its words: the mean if a text occurs several times."""
    found = defaultdict(list)
    for place, one in enumerate(samples):
        value = getattr(one, column) if column in OWN_COLUMNS else one.features.get(column)
        if value is None or not math.isfinite(value):
            raise InputError(
                f"sample {place} of segment {segment} has {'no number' if value is None else value} {column!r}",
                file=file,
                argument="metric",
                segment=segment,
                remedy=f"give each sample a finite number, as one of its features or in a column {column!r}",
            )
        found[tuple(split_words(one.text))].append(float(value))
    return {words: math.fsum(values) / len(values) for words, values in found.items()}


def _best(results: Sequence[TuningResult]) -> TuningResult:
    """Return the run with the best score, of equal ones the first."""
    sign = 1.0 if results[0].history.higher_is_better else -1.0
    return max(results, key=lambda result: sign * result.history.best_score)
