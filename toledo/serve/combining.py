"""Combine outputs of systems: networks with their votes, and results."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from toledo.api.evaluate import compare
from toledo.combination.combiner import Combiner
from toledo.combination.explanation import columns_of
from toledo.combination.network import NULL, arc_votes
from toledo.combination.settings import CombinationSettings
from toledo.combination.streaming import CombinedLine, StreamDecoding, combine_texts
from toledo.combination.votes import CombinationWeights, TunedStage, uniform
from toledo.consensus.decide import Viterbi
from toledo.metrics.significance.testing import Test
from toledo.serve.call import Call
from toledo.serve.problems import ServeError, too_large
from toledo.serve.queue import Item, Work
from toledo.serve.translating import seconds_of
from toledo.serve.types import CombinedSegment, CombineRequest, CombineResult, NetworkArc, SystemScore, six
from toledo.text.vocabulary import Vocabulary, split_words
from toledo.view.network import NOTHING
from toledo.weights import Weights

if TYPE_CHECKING:
    from toledo.serve.engine import Engine

RESULT = "combination"
METRIC = "bleu"
BYTES_PER_WORD = 20_000  # of the lattices of a segment


async def combine_systems(engine: Engine, request: CombineRequest, call: Call) -> CombineResult:
    """Return the results for all segments, with networks, votes, and scores if there are references."""
    check_systems(engine, request.systems)
    segments = len(next(iter(request.systems.values())))
    if request.references is not None and len(request.references) != segments:
        title = f"{segments} segments, but {len(request.references)} references"
        raise ServeError(422, "wrong-value", title, where="/references")
    combiner = with_weights(_combiner(engine, request), request)
    call.segments = segments
    longest = max((len(text.split()) for texts in request.systems.values() for text in texts), default=0)
    engine.memory.require(BYTES_PER_WORD * longest * len(request.systems))

    def function(items: Sequence[Item]) -> Iterator[CombineResult]:
        for _ in items:
            yield _combine(engine, combiner, request, call)

    (found,) = await engine.queue.run(call, Work(object(), function), [None])
    result: CombineResult = found
    return result


def check_systems(engine: Engine, systems: Mapping[str, Sequence[str]], words: bool = True) -> None:
    """Refuse systems that are too few or too many, or of different lengths."""
    limits = engine.limits
    if len(systems) < 2:
        raise ServeError(422, "wrong-value", "Two systems or more are needed", where="/systems")
    if len(systems) > limits.systems:
        too_large("too-many-systems", f"There are {len(systems)} systems", f"At most {limits.systems}.", "/systems")
    counts = {name: len(texts) for name, texts in systems.items()}
    first, size = next(iter(counts.items()))
    for name, count in counts.items():
        if count != size:
            title = f"System {name!r} has {count} segments, {first!r} {size}"
            raise ServeError(
                422, "wrong-value", title, "Each system needs one text for each segment.", f"/systems/{name}"
            )
    if not size:
        raise ServeError(422, "wrong-value", "There are no segments", where="/systems")
    if not words:
        return
    if size > limits.segments:
        too_large("too-many-segments", f"There are {size} segments", f"At most {limits.segments}.", "/systems")
    for name, texts in systems.items():
        for place, text in enumerate(texts):
            if len(split_words(text)) > limits.words:
                where = f"/systems/{name}/{place}"
                too_large("too-many-words", f"Segment {place + 1} is too long", f"At most {limits.words} words.", where)


def _combiner(engine: Engine, request: CombineRequest) -> Combiner:
    """Return a tuned combiner, or one that has not been tuned: all systems count the same."""
    names = tuple(request.systems)
    if request.combination is None:
        settings = CombinationSettings(language=request.language, tokenized=request.tokenized, bias=0.0)
        stage = TunedStage(uniform(names, Weights({})), 1.0, 0.0)
        return Combiner(names, settings, stage, stage, Vocabulary())
    if request.combination not in engine.combinations:
        known = ", ".join(engine.combinations) or "none"
        title = f"There is no combination {request.combination[:80]!r}"
        raise ServeError(422, "unknown-name", title, f"Served: {known}.", "/combination")
    combiner = engine.combinations[request.combination].combiner
    if set(names) != set(combiner.systems):
        title = f"The combination is of {', '.join(combiner.systems)}"
        raise ServeError(422, "wrong-value", title, "Give texts of the same systems.", "/systems")
    return combiner


def with_weights(combiner: Combiner, request: CombineRequest) -> Combiner:
    """Return a combiner with the shares and weights that were asked for."""
    stage = combiner.second.weights
    for given, known, where in (
        (request.shares, stage.shares, "/shares"),
        (request.weights, stage.features, "/weights"),
    ):
        if unknown := [name for name in given if name not in known]:
            raise ServeError(422, "unknown-name", f"There is no {unknown[0][:80]!r}", f"Use {', '.join(known)}.", where)
    if not request.shares and not request.weights:
        return combiner
    shares = {**stage.shares, **request.shares}
    total = sum(shares.values())
    if total <= 0.0:
        raise ServeError(422, "wrong-value", "All shares are 0", "Give one system a share.", "/shares")
    weights = CombinationWeights(
        {name: value / total for name, value in shares.items()}, Weights({**stage.features, **request.weights})
    )
    first = replace(combiner.first, weights=replace(combiner.first.weights, shares=weights.shares))
    return replace(combiner, first=first, second=replace(combiner.second, weights=weights))


def _combine(engine: Engine, combiner: Combiner, request: CombineRequest, call: Call) -> CombineResult:
    begun = time.monotonic()
    texts = [request.systems[name] for name in combiner.systems]
    segments = [[[text] if text.strip() else [] for text in row] for row in zip(*texts, strict=True)]
    how = StreamDecoding(Viterbi() if request.combination is None else None, None, 1)
    found = []
    for line, outputs in zip(combine_texts(combiner, segments, how), zip(*texts, strict=True), strict=True):
        call.check()
        found.append(_segment(engine, combiner, line, list(outputs)))
    scores, note = _scores(request, combiner, [one.text for one in found])
    call.add("decide", time.monotonic() - begun)
    weights = combiner.second.weights
    return CombineResult(
        systems=list(combiner.systems), shares={name: six(value) for name, value in weights.shares.items()},
        weights=dict(weights.features), seconds=seconds_of(call), segments=found,
        metric=METRIC if scores else None, scores=scores, note=note,
    )  # fmt: skip


def _segment(engine: Engine, combiner: Combiner, line: CombinedLine, outputs: list[str]) -> CombinedSegment:
    """Return what is shown of a segment."""
    combined = line.combined
    path = combiner.path(combined)
    if path is None:
        return CombinedSegment(text=line.text, words=list(combined.words), votes=[], outputs=outputs, columns=[])
    if path.network.columns > engine.limits.columns:
        title, detail = f"A network has {path.network.columns} columns", f"At most {engine.limits.columns}."
        too_large("too-many-columns", title, detail, "/systems")
    sigma = combiner.second.weights.sigma
    columns = [
        [
            NetworkArc(
                word="" if arc.word == NOTHING else arc.word, votes=six(arc.votes), systems=list(arc.systems),
                chosen=arc.chosen,
            )
            for arc in column
        ]
        for column in columns_of(path, combined.lattice.forest.vocabulary, sigma.tolist())
    ]  # fmt: skip
    arcs = path.network.arcs()
    totals = arc_votes(arcs, sigma)
    votes = [six(totals[arc]) for arc in path.arcs if arcs.words[arc] != NULL]
    return CombinedSegment(
        text=line.text, words=list(combined.words), votes=votes, outputs=outputs, columns=columns,
        score=six(combined.value),
    )  # fmt: skip


def _scores(request: CombineRequest, combiner: Combiner, results: list[str]) -> tuple[list[SystemScore], str]:
    """Return BLEU of each system and of the combination, with tests between them, if there are references."""
    if request.references is None:
        return [], ""
    systems = {RESULT: results, **{name: request.systems[name] for name in combiner.systems}}
    tokenize = "none" if request.tokenized else None
    found = compare(
        systems, [[text] for text in request.references], baseline=RESULT, metrics=METRIC, tokenize=tokenize, threads=1
    )
    tests: dict[str, Test] = {one.system: one for one in found.tests}
    scores = []
    for name, system in found.systems.items():
        test, score = tests.get(name), next(iter(system.scores.values())).score
        difference, p = (None, None) if test is None else (six(-test.difference), six(test.p_corrected))
        scores.append(SystemScore(name=name, score=six(score), difference=difference, p=p))
    return scores, found.test_note if found.tests else ""
