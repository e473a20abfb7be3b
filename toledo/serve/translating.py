"""Translate segments, decide again on forests that are kept."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from toledo.forest.forest import Forest
from toledo.progress import silent
from toledo.search.search import EncodedSentence, Translation, as_given
from toledo.serve.call import Call
from toledo.serve.deciding import DecidableForest, decide_forest, phrases_of
from toledo.serve.jobs import Job
from toledo.serve.models import DEFAULT_METRIC, ServedModel
from toledo.serve.names import FOREST_RULES, check_metric, check_rule
from toledo.serve.problems import ServeError, too_large
from toledo.serve.queue import Item, Work
from toledo.serve.types import (
    DecideRequest,
    DecideResult,
    Deciding,
    KeptForest,
    RuleChoice,
    Seconds,
    TranslatedSegment,
    TranslateRequest,
    TranslateResult,
    six,
)
from toledo.serve.work_types import JobStarted
from toledo.text.rare_words import given_words
from toledo.text.vocabulary import UNKNOWN

if TYPE_CHECKING:
    from toledo.serve.engine import Engine

JOB_PART = 32  # segments of a job that are translated together
LARGE = 10_000  # characters, which are not split into words in the event loop
SEARCHED_AT_ONCE = 8  # sentences between two looks at what is still wanted
BYTES_PER_WORD = 300_000  # of a search with its forest, generously


async def translate_segments(engine: Engine, request: TranslateRequest, call: Call) -> TranslateResult:
    """Translate segments and decide by all rules asked for."""
    served = engine.model(request.model)
    check_deciding(engine, request)
    served.check(request.weights)
    large = sum(map(len, request.segments)) > LARGE
    read = partial(read_segments, engine, served, request, call)
    sentences = await asyncio.to_thread(read) if large else read()
    engine.memory.require(BYTES_PER_WORD * max(map(len, sentences), default=0))
    asked = [AskedSentence(request, words, call) for words in sentences]
    found = await engine.queue.run(call, search_work(engine, served, request), asked)
    call.check()
    engine.metrics.words += call.words
    scale = request.scale or served.model.scale or 1.0
    weights = {name: served.model.weights[name] for name in served.model.features}
    return TranslateResult(
        model=served.name, weights={**weights, **request.weights}, scale=scale,
        metric=request.metric or DEFAULT_METRIC, seconds=seconds_of(call), segments=found,
    )  # fmt: skip


async def start_translation(engine: Engine, request: TranslateRequest) -> JobStarted:
    """Translate as a job, which tells of each segment; there may be more of them than in a request."""
    check_deciding(engine, request)
    engine.model(request.model).check(request.weights)

    async def work(job: Job) -> TranslateResult | None:
        parts = []
        for begin in range(0, len(request.segments), JOB_PART):
            part = msgspec.structs.replace(request, segments=request.segments[begin : begin + JOB_PART])
            found = await translate_segments(engine, part, job.call)
            for number, segment in enumerate(found.segments, start=begin):
                job.tell("segment", {"number": number, "text": segment.choices[0].text if segment.choices else ""})
            parts.append(found)
            segments = [segment for one in parts for segment in one.segments]
            job.result = msgspec.structs.replace(found, segments=segments)
            if job.call.cancelled:
                break
        result: TranslateResult | None = job.result
        return result

    return JobStarted(job=engine.jobs.start("translate", len(request.segments), work).id)


def read_segments(engine: Engine, served: ServedModel, request: TranslateRequest, call: Call) -> list[list[str]]:
    """Return the words of segments; refuse too many, or too many words in one."""
    limits, text = engine.limits, served.text(request.tokenized)
    if len(request.segments) > limits.segments and not call.patient:
        detail = f"At most {limits.segments} segments; send several requests, or a job."
        too_large("too-many-segments", f"The request has {len(request.segments)} segments", detail, "/segments")
    sentences = []
    for place, segment in enumerate(request.segments):
        words = text.source.words(segment)
        if len(words) > limits.words:
            title, detail = f"Segment {place + 1} has {len(words)} words", f"At most {limits.words} words; split it."
            too_large("too-many-words", title, detail, f"/segments/{place}")
        sentences.append(words)
    call.segments, call.words = len(sentences), sum(map(len, sentences))
    return sentences


def check_deciding(engine: Engine, asked: Deciding) -> None:
    """Refuse rules and metrics that are not served, and lists that are too long."""
    for place, rule in enumerate(asked.rules or ()):
        check_rule(rule, FOREST_RULES, f"/rules/{place}")
    check_metric(asked.metric, "/metric")
    if asked.nbest > engine.limits.nbest:
        too_large("too-many-entries", f"A list of {asked.nbest}", f"At most {engine.limits.nbest} entries.", "/nbest")


def only_best(asked: TranslateRequest, served: ServedModel) -> bool:
    """Whether the best derivation is all that is asked for."""
    rules = asked.rules or [served.rule]
    plain = asked.nbest == 0 and asked.posteriors == 0 and not asked.keep and asked.metric is None
    return plain and all(one in ("viterbi", "map") for one in rules) and served.model.reranker is None


@dataclass(frozen=True, eq=False)
class AskedSentence:
    """A sentence with the request that it is from."""

    request: TranslateRequest
    words: list[str]
    call: Call


def search_work(engine: Engine, served: ServedModel, request: TranslateRequest) -> Work:
    """Return what threads do with sentences of all requests with the same weights: search, and decide."""
    weights, best = request.weights, only_best(request, served)

    def function(items: Sequence[Item]) -> Iterator[TranslatedSegment | None]:
        for begin in range(0, len(items), SEARCHED_AT_ONCE):
            asked: list[AskedSentence] = [one.value for one in items[begin : begin + SEARCHED_AT_ONCE]]
            wanted = [one for one in asked if not one.call.cancelled]  # looked at once: calls end while others go on
            found = iter(_best(served, weights, wanted) if best else _decided(engine, served, weights, wanted))
            yield from (next(found) if one in wanted else None for one in asked)

    return Work(("search", served.name, tuple(sorted(weights.items())), best), function)


def _best(served: ServedModel, weights: Mapping[str, float], asked: Sequence[AskedSentence]) -> list[TranslatedSegment]:
    """Return the best derivations alone, for which no forest is needed."""
    begun = time.monotonic()
    search, encoded = served.encode(weights, [one.words for one in asked])
    results = search.translate(encoded, threads=1)
    _count_time("search", begun, asked)
    return [
        _best_segment(served, one, sentence, found)
        for one, sentence, found in zip(asked, encoded, results, strict=True)
    ]


def _best_segment(
    served: ServedModel, asked: AskedSentence, sentence: EncodedSentence, found: Translation
) -> TranslatedSegment:
    rules = list(dict.fromkeys(asked.request.rules or [served.rule]))
    text = served.text(asked.request.tokenized).target.write(as_given(str(found), sentence.words))
    choice = RuleChoice(
        rules=rules, text=text, words=list(found.words), phrases=phrases_of(found.steps, sentence.words),
        score=six(found.score),
    )  # fmt: skip
    possible = found.score > -math.inf
    return TranslatedSegment(
        source=list(given_words(sentence.words)), unknown=new_words(sentence), choices=[choice] if possible else []
    )


def _decided(
    engine: Engine, served: ServedModel, weights: Mapping[str, float], asked: Sequence[AskedSentence]
) -> Iterator[TranslatedSegment | None]:
    """Yield what rules choose in the forests of sentences."""
    begun = time.monotonic()
    search, encoded = served.encode(weights, [one.words for one in asked])
    forests: Sequence[Forest] = search.forests(encoded, threads=1)
    named: Mapping[str, float] = search.model.weights
    if served.model.reranker is not None:
        forests = served.model.reranker.lists(list(forests), encoded, search.model.weights, 1, silent)
        named = served.model.reranker.weights
    _count_time("search", begun, asked)
    for one, sentence, forest in zip(asked, encoded, forests, strict=True):
        if one.call.cancelled:
            yield None
            continue
        begun = time.monotonic()
        text = served.text(one.request.tokenized)
        space = DecidableForest(
            served.name, forest, named, sentence.words, new_words(sentence), text, served.model.scale, served.rule
        )
        decided = _decide_and_keep(engine, space, one.request)
        one.call.add("decide", time.monotonic() - begun)
        yield decided


def _decide_and_keep(engine: Engine, space: DecidableForest, request: TranslateRequest) -> TranslatedSegment:
    """Decide, with weights that the search had already."""
    found = decide_forest(space, msgspec.structs.replace(request, weights={}))
    if not request.keep:
        return found
    return msgspec.structs.replace(found, forest=keep_forest(engine, space))


def keep_forest(engine: Engine, space: DecidableForest) -> KeptForest:
    """Keep a forest, and return its id."""
    key = engine.forests.put(space, space.nbytes)
    forest, seconds = space.forest, engine.limits.keep_seconds
    return KeptForest(id=key, nodes=forest.nodes, edges=forest.edges, expires=seconds)


async def decide_again(engine: Engine, key: str, request: DecideRequest, call: Call) -> DecideResult:
    """Decide on a kept forest by other rules, at another scale, or with other weights."""
    space = engine.forests.get(key)
    check_deciding(engine, request)
    if unknown := [name for name in request.weights if name not in space.forest.feature_names]:
        detail = f"Features are {', '.join(space.forest.feature_names)}."
        raise ServeError(422, "no-feature", f"The forest has no feature {unknown[0][:80]!r}", detail, "/weights")
    call.segments, call.words = 1, len(space.source)

    def function(items: Sequence[Item]) -> Iterator[TranslatedSegment]:
        begun = time.monotonic()
        for _ in items:
            found = decide_forest(space, request, request.quick)
            call.add("decide", time.monotonic() - begun)
            yield found

    (found,) = await engine.queue.run(call, Work(object(), function), [None])
    forest = space.forest
    kept = KeptForest(id=key, nodes=forest.nodes, edges=forest.edges, expires=engine.limits.keep_seconds)
    weights = {name: space.weights[name] for name in forest.feature_names}
    return DecideResult(
        model=space.model, weights={**weights, **request.weights}, scale=request.scale or space.own_scale or 1.0,
        metric=request.metric or DEFAULT_METRIC, seconds=seconds_of(call),
        segment=msgspec.structs.replace(found, forest=kept),
    )  # fmt: skip


def new_words(sentence: EncodedSentence) -> list[str]:
    """Return the words that the model does not know."""
    return [sentence.words[place] for place in (sentence.source == UNKNOWN).nonzero()[0].tolist()]


def seconds_of(call: Call) -> Seconds:
    """Return how long a call waited and worked."""
    return Seconds(**{name: round(value, 6) for name, value in call.seconds.items()})


def _count_time(part: str, begun: float, asked: Sequence[AskedSentence]) -> None:
    """Share the time of work between the requests that it was done for."""
    passed = time.monotonic() - begun
    for one in asked:
        one.call.add(part, passed / len(asked))
