"""Samples of segments → choices: what `toledo.choose` and the method `choose` of rules run.

Samples with the same text are one hypothesis. Without scores a text counts as often as it occurs; weights add up;
log probabilities become p ∝ exp(scale · value), each distinct text once.

The confidence compares the best with the second: with d the differences of their scores over the references, m their
mean, v their weighted variance and n the number of references (1/Σp² if they have weights),

    confidence = Φ(m / √(v / (n − 1)))
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice, pairwise, repeat
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toledo.compiled.kernels import map_chunks
from toledo.consensus.asking import Valued, ask_together, gains_of
from toledo.consensus.choice import Choice, Ranked
from toledo.consensus.decide import NOTHING
from toledo.consensus.mbr import MBR, best_first
from toledo.consensus.rerank import Rerank, steps_of
from toledo.consensus.rule import SAMPLED_TEXTS, Decision, Rule, check_scale
from toledo.consensus.texts import best_texts
from toledo.errors import InputError
from toledo.forest.forest import Forest, Scores
from toledo.metrics.metric import Metric, require_inputs
from toledo.metrics.utility import UtilityMetric
from toledo.metrics.vectors import VectorMetric
from toledo.results import Hypothesis

log = logging.getLogger(__name__)

SEGMENTS_AT_ONCE = 64
FEWEST_REFERENCES = 3  # for a confidence
DIGITS = 9  # of differences: what lies below is rounding
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SampleWeights:
    """Where the probabilities of a segment come from, and a matrix of scores if there is one."""

    logprobs: ArrayLike | None = None
    weights: ArrayLike | None = None
    feature_weights: Mapping[str, float] | None = None
    scale: float = 1.0
    matrix: ArrayLike | None = None

    def __post_init__(self) -> None:
        check_scale(self.scale)
        given = [name for name in ("logprobs", "weights", "feature_weights") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InputError(
                f"{given[0]} and {given[1]} exclude each other", argument=given[1], remedy="give one of them"
            )


@dataclass(frozen=True, eq=False)
class TextProblem:
    """Distinct texts of a segment and the distinct references to compare them with."""

    texts: list[str]
    indices: list[int]
    counts: NDArray[np.int64]
    references: list[str]
    probabilities: Floats
    scores: Floats | None = None
    source: str | None = None
    matrix: Floats | None = None
    weighted: str = "uniform"
    num_samples: int = 0
    num_references: int = 0
    segment: int = 0
    scale: float = 1.0
    features: list[Mapping[str, float]] = field(default_factory=list)
    among_samples: bool = True  # the references are the texts themselves

    @cached_property
    def own(self) -> Floats:
        """Probabilities of the texts as references."""
        known = dict(zip(self.references, self.probabilities.tolist(), strict=True))
        return np.array([known.get(text, 0.0) for text in self.texts])

    def likeliest_texts(self, size: int) -> NDArray[np.int64]:
        """Return the places of the best texts: by score, or else by probability."""
        if size >= len(self.texts):
            return np.arange(len(self.texts))
        return np.argsort(-(self.own if self.scores is None else self.scores), kind="stable")[:size]

    def narrowed(self, kept: NDArray[np.bool_]) -> TextProblem:
        """Return the problem with some of its texts only, and only with them as references unless others were given."""
        chosen = np.flatnonzero(kept if kept.any() else np.ones(kept.size))
        texts = [self.texts[place] for place in chosen.tolist()]
        columns = np.arange(len(self.references))
        if self.among_samples:
            alive = set(texts)
            columns = np.flatnonzero([text in alive for text in self.references])
        shares = self.probabilities[columns]
        shares = shares if shares.sum() > 0.0 else np.ones(columns.size)
        matrix = None if self.matrix is None else self.matrix[np.ix_(chosen, columns)]
        return replace(
            self, texts=texts, indices=[self.indices[place] for place in chosen.tolist()], counts=self.counts[chosen],
            references=[self.references[place] for place in columns.tolist()], probabilities=shares / shares.sum(),
            scores=None if self.scores is None else self.scores[chosen], matrix=matrix,
            features=[self.features[place] for place in chosen.tolist()],
            num_references=int(self.counts[chosen].sum()) if self.among_samples else self.num_references,
        )  # fmt: skip

    def only(self, size: int, values: Floats) -> Floats:
        """Return values with −inf for all but the best texts."""
        result = np.full(values.size, -np.inf)
        chosen = self.likeliest_texts(size)
        result[chosen] = values[chosen]
        return result


@dataclass(frozen=True)
class FunctionRule(Rule):
    """A function `(texts, probabilities) -> index` as a rule."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def decide(self, forest: Forest, scores: Scores) -> Decision:
        """Let the function choose among the best texts of a forest."""
        found = best_texts(forest, scores, SAMPLED_TEXTS)
        if not len(found):
            return NOTHING
        bounds, symbols = found.texts.offsets.tolist(), found.texts.symbols
        texts = [" ".join(forest.vocabulary.words(symbols[a:b].tolist())) for a, b in pairwise(bounds)]
        chosen = self._chosen(texts, found.probabilities)
        return Decision(symbols[bounds[chosen] : bounds[chosen + 1]], float(found.probabilities[chosen]))

    def values(self, problem: TextProblem) -> Floats:
        """Return the probabilities, with 1 added for the text that the function chooses."""
        values = problem.own.copy()
        values[self._chosen(problem.texts, problem.own)] += 1.0
        return values

    def _chosen(self, texts: Sequence[str], probabilities: Floats) -> int:
        chosen = int(self.function(list(texts), probabilities.tolist()))
        if not 0 <= chosen < len(texts):
            raise InputError(f"rule {self.name!r} returned {chosen} for {len(texts)} texts")
        return chosen


def choose_each(
    rule: Rule,
    lists: Iterable[Sequence[Any]],
    references: Iterable[Sequence[Any]] | None = None,
    sources: Iterable[str | None] | None = None,
    evidence: Iterable[SampleWeights] | None = None,
    threads: int | None = 1,
    at_once: int = SEGMENTS_AT_ONCE,
) -> Iterator[Choice]:
    """Choose for one segment after the other; some are worked on at a time."""
    problems = _problems(lists, references, sources, repeat(SampleWeights()) if evidence is None else evidence)
    *narrowing, last = steps_of(rule)
    empty = 0
    while block := list(islice(problems, at_once)):
        work = [problem for problem in block if problem.texts]
        empty += len(block) - len(work)
        calls = np.zeros(len(work), np.int64)
        for step in narrowing:
            valued = _valued(step, work, threads)
            work = [problem.narrowed(one.values > -np.inf) for problem, one in zip(work, valued, strict=True)]
            calls += np.array([one.num_calls for one in valued], np.int64)
        valued = _valued(last, work, threads)
        calls += np.array([one.num_calls for one in valued], np.int64)
        chosen = map_chunks(partial(_choice, last, rule.name, work, valued), len(work), chunk=1, threads=threads)
        found = {
            one.segment: replace(one, num_calls=number) for one, number in zip(chosen, calls.tolist(), strict=True)
        }
        for problem in block:
            yield found.get(problem.segment) or Choice("", rule=rule.name, segment=problem.segment)
    if empty:
        log.warning("segments without samples: %d; their choice is an empty text", empty)


def _valued(rule: Rule, problems: Sequence[TextProblem], threads: int | None) -> list[Valued]:
    """Return what the texts of some segments are worth to a rule."""
    metric = rule.metric_for_texts()
    if metric is not None:
        metric.encode_ahead(_texts_of(metric, problems))
    if isinstance(rule, MBR) and (isinstance(metric, UtilityMetric) or not rule.compares_all):
        return ask_together(rule, rule.metric_for_texts(), problems)
    if isinstance(rule, Rerank) and problems:
        for problem in problems:
            _require_inputs(metric, problem)
        values = rule.values_together(problems)
        return [Valued(own, problem.matrix, 0) for own, problem in zip(values, problems, strict=True)]

    def work(place: int, _end: int) -> Valued:
        problem = problems[place]
        _require_inputs(metric, problem)
        calls = 0
        if isinstance(rule, MBR):
            references = min(rule.reference_size, len(problem.references))
            averaged = isinstance(metric, VectorMetric) and metric.linear and problem.matrix is None
            calls = min(rule.size, len(problem.texts)) * (1 if averaged else references)
        return Valued(rule.values(problem), problem.matrix, calls)

    return list(map_chunks(work, len(problems), chunk=1, threads=threads))


def _require_inputs(metric: Metric | None, problem: TextProblem) -> None:
    """Refuse a segment that lacks what the metric needs."""
    if metric is not None and problem.matrix is None:
        require_inputs(metric, True, problem.source)


def _texts_of(metric: Metric, problems: Sequence[TextProblem]) -> list[str]:
    """Return all texts of some segments that a metric will see."""
    wanted = [problem for problem in problems if problem.matrix is None]
    texts = [text for problem in wanted for text in (*problem.texts, *problem.references)]
    sources = [problem.source for problem in wanted if problem.source is not None]
    return [*texts, *sources] if "sources" in metric.needs else texts


def _problems(
    lists: Iterable[Sequence[Any]],
    references: Iterable[Sequence[Any]] | None,
    sources: Iterable[str | None] | None,
    evidence: Iterable[SampleWeights],
) -> Iterator[TextProblem]:
    others = None if references is None else iter(references)
    given_sources, given_evidence = None if sources is None else iter(sources), iter(evidence)
    for segment, samples in enumerate(lists):
        how = _next(given_evidence, "logprobs, weights or matrices", segment)
        other = None if others is None else _next(others, "references", segment)
        source = None if given_sources is None else _next(given_sources, "sources", segment)
        try:
            yield text_problem(samples, other, source, how, segment)
        except InputError as error:
            place = f"segment {segment}: " if segment else ""
            raise InputError(
                f"{place}{error.message}", argument=error.argument, segment=segment, remedy=error.remedy
            ) from None
    finite = None if isinstance(given_evidence, repeat) else given_evidence
    for name, rest in (("references", others), ("sources", given_sources), ("logprobs, weights or matrices", finite)):
        if rest is not None and next(rest, None) is not None:
            raise InputError(f"{name} has more segments than the samples", argument=name)


def _next(items: Iterator[Any], name: str, segment: int) -> Any:
    for item in items:
        return item
    raise InputError(f"{name} ends at segment {segment}", argument=name, segment=segment)


def text_problem(
    samples: Sequence[Any], references: Sequence[Any] | None, source: str | None, how: SampleWeights, segment: int
) -> TextProblem:
    """Return the distinct texts of a segment, with probabilities of those to compare with."""
    hypotheses = as_hypotheses(samples, "samples")
    known = hypotheses if references is None else as_hypotheses(references, "references")
    texts, firsts, counts = _distinct(hypotheses)
    if not texts or not known:
        return TextProblem([], [], np.empty(0, np.int64), [], np.empty(0), segment=segment)
    distinct, columns, _ = _distinct(known)
    values, weighted = _values(known, how, "samples" if references is None else "references")
    probabilities = _probabilities(known, distinct, values, weighted, how.scale)
    scores = matrix = None
    if references is None and weighted in ("scores", "logprobs", "features"):
        scores = _best_of_each(hypotheses, values, texts)
    elif all(one.score is not None for one in hypotheses):
        scores = _best_of_each(hypotheses, np.array([one.score for one in hypotheses], np.float64), texts)
    if how.matrix is not None:
        matrix = _matrix(how.matrix, (len(hypotheses), len(known)), firsts, columns)
    return TextProblem(
        texts, firsts, counts, distinct, probabilities, scores, source, matrix, weighted,
        sum(one.count for one in hypotheses), sum(one.count for one in known), segment, how.scale,
        [hypotheses[place].features for place in firsts], references is None,
    )  # fmt: skip


def as_hypotheses(samples: Any, argument: str) -> list[Hypothesis]:
    """Return samples of one segment as hypotheses; refuse anything but texts, with its place."""
    if isinstance(samples, str):
        raise InputError(f"{argument} is a str: pass a list of texts", argument=argument)
    if not isinstance(samples, Iterable):
        raise TypeError(f"{argument} is {samples!r}, expected a list of texts")
    return [_hypothesis(one, place, argument) for place, one in enumerate(samples)]


def _hypothesis(item: Any, place: int, argument: str) -> Hypothesis:
    if isinstance(item, str):
        return Hypothesis(item)
    if isinstance(item, Hypothesis):
        return item
    if isinstance(item, Mapping) and isinstance(item.get("text"), str):
        names = ("text", "score", "features", "logprob", "count", "num_tokens", "system")
        return Hypothesis(**{name: item[name] for name in names if item.get(name) is not None})
    if isinstance(item, list | tuple) and argument == "samples":
        raise InputError("samples is a list of lists: call choose_many for several segments", argument=argument)
    said = repr(item) if item is None or isinstance(item, int | float) else f"a {type(item).__name__}"
    raise TypeError(f"{argument}[{place}] is {said}, expected str")


def _distinct(hypotheses: Sequence[Hypothesis]) -> tuple[list[str], list[int], NDArray[np.int64]]:
    """Return distinct texts, where each comes first, and how often it occurs."""
    counts: dict[str, int] = {}
    firsts: dict[str, int] = {}
    for place, one in enumerate(hypotheses):
        firsts.setdefault(one.text, place)
        counts[one.text] = counts.get(one.text, 0) + one.count
    return list(firsts), list(firsts.values()), np.array(list(counts.values()), np.int64)


def _best_of_each(hypotheses: Sequence[Hypothesis], values: Floats, distinct: Sequence[str]) -> Floats:
    """Return the best value of each distinct text."""
    numbers = {text: number for number, text in enumerate(distinct)}
    best = np.full(len(distinct), -np.inf)
    np.maximum.at(best, [numbers[one.text] for one in hypotheses], values)
    return best


def _values(hypotheses: Sequence[Hypothesis], how: SampleWeights, argument: str) -> tuple[Floats, str]:
    """Return a number for each hypothesis, and what it is."""
    for name in ("logprobs", "weights"):
        if (given := getattr(how, name)) is not None:
            values = np.asarray(given, np.float64).ravel()
            if values.size != len(hypotheses):
                raise InputError(f"{name} has {values.size} values for {len(hypotheses)} {argument}", argument=name)
            _check_values(values, name)
            return values, name
    if how.feature_weights is not None:
        if not any(one.features for one in hypotheses):
            raise InputError(f"{argument} have no features to weigh", argument="feature_weights")
        weigh = how.feature_weights
        return np.array([sum(weigh.get(k, 0.0) * v for k, v in one.features.items()) for one in hypotheses]), "features"
    known = [one.score is not None for one in hypotheses]
    if all(known):
        values = np.array([one.score for one in hypotheses], np.float64)
        _check_values(values, "score")
        return values, "scores"
    if any(known):
        raise InputError(
            f"{argument}[{known.index(False)}] has no score, but others have",
            argument=argument,
            remedy="give all or none",
        )
    return np.array([one.count for one in hypotheses], np.float64), "uniform"


def _check_values(values: Floats, name: str) -> None:
    if np.any(np.isnan(values)) or np.any(values == np.inf) or (name == "weights" and np.any(values < 0.0)):
        place = int(np.flatnonzero(np.isnan(values) | (values == np.inf) | (values < 0.0))[0])
        raise InputError(
            f"{name}[{place}] is {values[place]:g}", argument=name, remedy="give finite numbers, weights from 0"
        )
    if name == "weights" and not values.sum() > 0.0:
        raise InputError("weights are all 0", argument=name)


def _probabilities(
    hypotheses: Sequence[Hypothesis], distinct: Sequence[str], values: Floats, weighted: str, scale: float
) -> Floats:
    if weighted in ("uniform", "weights"):
        numbers = {text: number for number, text in enumerate(distinct)}
        sums = np.bincount([numbers[one.text] for one in hypotheses], values, len(distinct))
    else:
        best = _best_of_each(hypotheses, scale * values, distinct)
        if best.max() == -np.inf:
            raise InputError("logprobs are all −inf", argument="logprobs")
        sums = np.exp(best - best.max())
    return np.asarray(sums / sums.sum(), np.float64)


def _matrix(given: ArrayLike, shape: tuple[int, int], rows: Sequence[int], columns: Sequence[int]) -> Floats:
    matrix = np.asarray(given, np.float64)
    if matrix.shape != shape:
        remedy = "give a row for each sample, and a column for each reference (for each sample if there are none)"
        raise InputError(f"matrix has shape {matrix.shape}, expected {shape}", argument="matrix", remedy=remedy)
    if np.any(np.isnan(matrix)):
        raise InputError("matrix contains nan", argument="matrix", remedy="give a number for each pair")
    chosen: Floats = matrix[np.ix_(rows, columns)]
    return chosen


def pairwise_gains(rule: MBR, problem: TextProblem) -> Floats:
    """Return the score of each text with each reference, with a minus sign for error rates."""
    metric = rule.metric_for_texts()
    scores = problem.matrix
    if scores is None:
        require_inputs(metric, True, problem.source)
        if isinstance(metric, UtilityMetric):
            scores = cast(Floats, ask_together(rule, metric, [problem])[0].scores)
        else:
            scores = metric.pairwise_scores(problem.texts, problem.references, problem.source)
    return gains_of(metric, scores)


def _choice(
    rule: Rule, name: str, problems: Sequence[TextProblem], valued: Sequence[Valued], place: int, _end: int
) -> Choice:
    problem, metric, values = problems[place], rule.metric_for_texts(), valued[place].values
    order = _order(values, problem)
    turned = metric is not None and not metric.higher_is_better
    ranking = tuple(
        Ranked(
            problem.texts[i], problem.indices[i], int(problem.counts[i]),
            float(-values[i] if turned else values[i]), float(problem.own[i]),
        )
        for i in order
    )  # fmt: skip
    best = ranking[0]
    margin = float(values[order[0]] - values[order[1]]) if len(order) > 1 else None
    confidence = None
    if rule.has_confidence and metric is not None:
        confidence = _confidence(problem, metric, order, valued[place].scores)
    return Choice(
        best.text, best.index, best.score, confidence, margin, ranking, name,
        None if metric is None else metric.name, problem.scale, problem.segment, problem.num_samples,
        signature_of(name, metric, problem),
    )  # fmt: skip


def _order(values: Floats, problem: TextProblem) -> list[int]:
    """Return places by falling value; ties go to the better score, then to the first sample."""
    possible = np.flatnonzero(values > -np.inf)
    if not possible.size:
        possible = np.arange(values.size)
    order = possible
    if problem.scores is not None:
        order = order[np.argsort(-problem.scores[order], kind="stable")]
    found: list[int] = order[best_first(values[order])].tolist()
    return found


def _confidence(problem: TextProblem, metric: Metric, order: Sequence[int], known: Floats | None) -> float | None:
    """Return how sure the first is better than the second; None if not all of their scores are known."""
    if problem.num_references < FEWEST_REFERENCES:
        return None
    if len(order) < 2:
        return 1.0 if len(problem.texts) == 1 else None
    first, second = order[:2]
    if known is not None:
        rows = known[[first, second]]
        if np.any(np.isnan(rows)):
            return None
    else:
        rows = metric.pairwise_scores([problem.texts[first], problem.texts[second]], problem.references, problem.source)
    differences = np.round(np.subtract(*gains_of(metric, rows)), DIGITS)
    shares = problem.probabilities
    number = float(problem.num_references) if problem.weighted == "uniform" else 1.0 / float((shares**2).sum())
    mean = float((shares * differences).sum())
    variance = float((shares * (differences - mean) ** 2).sum())
    if variance <= 0.0 or number <= 1.0:
        return 1.0 if mean > 0.0 else 0.5
    return max(0.5, 0.5 * math.erfc(-mean / math.sqrt(2.0 * variance / (number - 1.0))))


def signature_of(rule: str, metric: Metric | None, problem: TextProblem) -> str:
    """Return how the texts of a segment were compared."""
    parts = [f"rule:{rule}"]
    if metric is not None:
        name = "matrix" if problem.matrix is not None and not isinstance(metric, UtilityMetric) else metric.name
        parts.append(f"metric:{name}")
        if metric.name == "BLEU" and name != "matrix":
            kept = ("case:", "eff:", "tok:", "smooth:")
            parts += [one for one in metric.get_signature(1).split("|") if one.startswith(kept)]
    parts += [f"nsamples:{problem.num_samples}", f"nrefs:{problem.num_references}", f"weights:{problem.weighted}"]
    if problem.weighted not in ("uniform", "weights"):
        parts.append(f"scale:{problem.scale:g}")
    from toledo import __version__

    return "|".join([*parts, f"version:{__version__}"])
