"""Choose among samples: segments of a request, responses of language models, lines of a file of lists."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.choice import Choice
from toledo.consensus.choosing import SampleWeights, TextProblem, choose_each, pairwise_gains, text_problem
from toledo.consensus.mbr import MBR
from toledo.consensus.registry import make_rule
from toledo.consensus.rule import Rule
from toledo.errors import InputError
from toledo.formats.hypotheses import NBestList
from toledo.formats.list_files import ListFiles, read_list
from toledo.formats.responses import RowContent, content_of
from toledo.results import Hypothesis
from toledo.serve.call import Call
from toledo.serve.names import LIST_RULES, check_metric, check_rule
from toledo.serve.problems import ServeError, too_large
from toledo.serve.queue import Item, Work
from toledo.serve.translating import seconds_of
from toledo.serve.types import ChooseRequest, ChooseResult, ChooseSegment, Choosing, ChosenSegment, SkippedLine, six

if TYPE_CHECKING:
    from toledo.serve.engine import Engine

BYTES_PER_PAIR = 64  # of texts that are compared
AT_ONCE = 4  # segments, between two looks at what is still wanted
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SampledSegment:
    """The samples of a segment as functions of the package read them."""

    id: str | int | None
    samples: list[Hypothesis]
    source: str | None = None
    references: list[str] | None = None
    utilities: list[list[float]] | None = None
    weights: list[float] | None = None


async def choose_segments(engine: Engine, request: ChooseRequest, call: Call) -> ChooseResult:
    """Choose among the samples of each segment."""
    given = [name for name in ("segments", "responses", "text") if getattr(request, name) is not None]
    if len(given) != 1:
        raise ServeError(422, "wrong-value", "Give one of segments, responses and text")
    check_choosing(request)
    problems: list[SkippedLine] = []
    segments = _read(request, problems)
    check_samples(engine, segments)
    call.segments = len(segments)
    largest = max((len(one.samples) for one in segments), default=0)
    engine.memory.require(BYTES_PER_PAIR * largest**2)
    found = await engine.queue.run(call, choose_work(request), segments)
    rule = make_list_rule(request)
    metric = rule.metric_for_texts()
    return ChooseResult(
        metric=request.metric, rule=request.rule, higher_is_better=metric is None or metric.higher_is_better,
        signature=found[0][1] if found else "", seconds=seconds_of(call), segments=[one for one, _ in found],
        problems=problems,
    )  # fmt: skip


def check_choosing(asked: Choosing) -> None:
    """Refuse names that are not served, and parts that the rule does not have."""
    check_rule(asked.rule, LIST_RULES, "/rule")
    check_metric(asked.metric, "/metric")
    if asked.logprobs is not None and asked.uniform:
        raise ServeError(422, "wrong-value", "logprobs would be ignored: uniform is set", where="/logprobs")


def check_samples(engine: Engine, segments: Sequence[SampledSegment]) -> None:
    """Refuse more segments, or more hypotheses, than the limits allow."""
    limits = engine.limits
    if len(segments) > limits.segments:
        detail = f"At most {limits.segments}; send several requests, or lines as application/x-ndjson."
        too_large("too-many-segments", f"The request has {len(segments)} segments", detail, "/segments")
    for place, one in enumerate(segments):
        if len(one.samples) > limits.hypotheses:
            title = f"Segment {place + 1} has {len(one.samples)} hypotheses"
            too_large("too-many-hypotheses", title, f"At most {limits.hypotheses}.", f"/segments/{place}/hypotheses")
        check_matrix(one.utilities, place)
    total = sum(len(one.samples) for one in segments)
    if total > limits.all_hypotheses:
        title, detail = f"The request has {total} hypotheses", f"At most {limits.all_hypotheses}."
        too_large("too-many-hypotheses", title, detail, "/segments")


def check_matrix(utilities: Any, place: int) -> None:
    """Refuse a matrix that is no list of rows of numbers of the same length."""
    rows = [] if utilities is None else utilities
    sizes = {len(row) if isinstance(row, list) else -1 for row in rows} if isinstance(rows, list) else {-1}
    if len(sizes) > 1 or -1 in sizes:
        detail = "Give a row of numbers for each hypothesis, all of the same length."
        raise ServeError(422, "wrong-value", "The utilities are no matrix", detail, f"/segments/{place}/utilities")


def make_list_rule(asked: Choosing) -> Rule:
    """Return the rule asked for, with its metric."""
    rule = make_rule(asked.rule)
    return make_rule(asked.rule, asked.metric) if hasattr(rule, "metric") else rule


def choose_work(asked: Choosing) -> Work:
    """Return what threads do with segments."""
    rule = make_list_rule(asked)

    def function(items: Sequence[Item]) -> Iterator[tuple[ChosenSegment, str] | None]:
        for item in items:
            if item.call.cancelled:
                yield None
                continue
            begun = time.monotonic()
            found = choose_one(rule, asked, item.value, item.place)
            item.call.add("decide", time.monotonic() - begun)
            yield found

    return Work(object(), function, AT_ONCE)


def choose_one(rule: Rule, asked: Choosing, given: SampledSegment, place: int) -> tuple[ChosenSegment, str]:
    """Return the choice for a segment, and its signature."""
    if not given.samples:
        raise ServeError(422, "no-samples", f"Segment {place + 1} has no hypotheses", where=f"/segments/{place}")
    try:
        how = _weights(asked, given)
        samples = [Hypothesis(one.text, system=one.system) for one in given.samples] if asked.uniform else given.samples
        references = None if given.references is None else [given.references]
        (choice,) = choose_each(rule, [samples], references, [given.source], [how])
        problem = text_problem(samples, given.references, given.source, how, 0)
    except InputError as error:
        where = f"/segments/{place}"
        raise ServeError(
            422, "wrong-value", f"Segment {place + 1}: {error.message}", error.remedy or "", where
        ) from None
    return _chosen(rule, asked, given, choice, problem), choice.signature


def _weights(asked: Choosing, given: SampledSegment) -> SampleWeights:
    logprobs = None
    if asked.logprobs is not None:
        logprobs = [_logprob(one, asked.logprobs, place) for place, one in enumerate(given.samples)]
    return SampleWeights(logprobs, given.weights, None, asked.scale, given.utilities)


def _logprob(one: Hypothesis, kind: str, place: int) -> float:
    if one.logprob is None or (kind == "mean" and not one.num_tokens):
        missing = "logprob" if one.logprob is None else "num_tokens"
        raise InputError(f"hypothesis {place} has no {missing}", remedy="give it, or leave logprobs out")
    return one.logprob / (one.num_tokens or 1) if kind == "mean" else one.logprob


def _chosen(rule: Rule, asked: Choosing, given: SampledSegment, choice: Choice, problem: TextProblem) -> ChosenSegment:
    """Return what the page shows of a choice."""
    places = {text: number for number, text in enumerate(problem.texts)}
    values = {one.text: one.score for one in choice.ranking}
    mbr = rule if isinstance(rule, MBR) else cast(MBR, make_rule("mbr", asked.metric))
    sign = 1.0 if mbr.metric_for_texts().higher_is_better else -1.0
    matrix = sign * pairwise_gains(mbr, problem) if asked.matrix or asked.clusters else None
    tree, order = _tree(matrix, problem.own, sign) if asked.clusters and matrix is not None else (None, None)
    return ChosenSegment(
        id=given.id, choice=choice.index, text=choice.text, hypotheses=[one.text for one in given.samples],
        texts=problem.texts, places=[places[one.text] for one in given.samples],
        probabilities=[six(value) for value in problem.own.tolist()],
        expected=[_number(values.get(text)) for text in problem.texts],
        ahead=_number(choice.margin), confidence=_number(choice.confidence),
        system=None if choice.index is None else given.samples[choice.index].system,
        matrix=None if matrix is None or not asked.matrix else [list(map(six, row)) for row in matrix.tolist()],
        tree=tree, order=order,
    )  # fmt: skip


def _number(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else six(value)


def _tree(matrix: Floats, shares: Floats, sign: float) -> tuple[list[tuple[int, int, float]] | None, list[int] | None]:
    """Return which groups are joined step by step by their average agreement, and the order of the texts.

    `sign` is -1 for metrics whose low values are agreement.
    """
    if matrix.shape[0] != matrix.shape[1]:
        return None, None
    similar = sign * (matrix + matrix.T) / 2.0
    np.fill_diagonal(similar, -np.inf)
    weights = np.maximum(shares, 1e-12)
    groups = [[place] for place in range(len(weights))]
    numbers, steps = list(range(len(weights))), list[tuple[int, int, float]]()
    for step in range(len(weights) - 1):
        one, other = sorted(int(place) for place in np.unravel_index(int(np.argmax(similar)), similar.shape))
        steps.append((numbers[one], numbers[other], six(sign * similar[one, other])))
        total = weights[one] + weights[other]
        row = (weights[one] * similar[one] + weights[other] * similar[other]) / total
        row[[one, other]] = -np.inf
        similar[one], similar[:, one], similar[other], similar[:, other] = row, row, -np.inf, -np.inf
        groups[one], weights[one], numbers[one] = groups[one] + groups[other], total, len(shares) + step
    return steps, groups[0] if groups else []


def _read(request: ChooseRequest, problems: list[SkippedLine]) -> list[SampledSegment]:
    if request.segments is not None:
        return [_given(one) for one in request.segments]
    if request.responses is not None:
        return [_response(one, place) for place, one in enumerate(request.responses)]
    return list(_lines(request.text or "", problems))


def _given(one: ChooseSegment) -> SampledSegment:
    samples, weights = list[Hypothesis](), list[float | None]()
    for each in one.hypotheses:
        if isinstance(each, str):
            samples.append(Hypothesis(each))
            weights.append(None)
        else:
            samples.append(
                Hypothesis(each.text, each.score, logprob=each.logprob, num_tokens=each.num_tokens, system=each.system)
            )
            weights.append(each.weight)
    if any(weight is not None for weight in weights):
        known = [0.0 if weight is None else weight for weight in weights]
        return SampledSegment(one.id, samples, one.source, one.references, one.utilities, known)
    return SampledSegment(one.id, samples, one.source, one.references, one.utilities)


def _response(value: dict[str, Any], place: int) -> SampledSegment:
    """Return the samples of a response of a language model."""
    try:
        return _segment(content_of(value, {}))
    except (ValueError, InputError, TypeError, KeyError) as error:
        title = f"Response {place + 1} cannot be read"
        raise ServeError(422, "no-samples", title, _said(error), f"/responses/{place}") from None


def _segment(row: RowContent) -> SampledSegment:
    utilities = row.extra.get("utilities")
    samples = [entry.hypothesis() for entry in row.entries]
    if not samples:
        raise ValueError("; ".join(dict.fromkeys(row.failures.values())) or "it has no text")
    source = row.extra.get("source")
    return SampledSegment(row.id, samples, source if isinstance(source, str) else None, None, utilities)


def read_line(line: str) -> SampledSegment:
    """Return the samples of a line of JSON; ValueError if it cannot be read."""
    return _segment(content_of(json.loads(line), {}))


def _lines(text: str, problems: list[SkippedLine]) -> Iterator[SampledSegment]:
    """Yield the samples of each line of JSON, or of the lists of another format; lines that are wrong are left out."""
    lines = text.split("\n")  # other line ends may stand in strings of JSON
    first = next((line for line in lines if line.strip()), "")
    if not first.lstrip().startswith(("{", "[")):
        yield from map(_of_list, _other_lists(text))
        return
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield read_line(line)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            problems.append(SkippedLine(message=_said(error), line=number))


def _other_lists(text: str) -> list[NBestList]:
    """Return lists of another format than JSON lines, which are read from files."""
    with TemporaryDirectory(prefix="toledo-serve-") as folder:
        file = Path(folder) / "lists"
        file.write_text(text, encoding="utf-8")
        try:
            return list(read_list(file, ListFiles()))
        except InputError as error:
            where = "" if error.line is None else f"line {error.line}: "
            raise ServeError(422, "wrong-value", f"{where}{error.message}", error.remedy or "", "/text") from None


def _of_list(one: NBestList) -> SampledSegment:
    return SampledSegment(one.id if one.id is not None else one.segment, [entry.hypothesis() for entry in one.entries])


def _said(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg}, column {error.colno}"
    return error.message if isinstance(error, InputError) else str(error) or type(error).__name__
