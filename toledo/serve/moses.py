"""The method `translate` of Moses' server, as its clients call it: XML-RPC at /RPC2.

A call has one struct. `text` is the source. `align`, `word-align`, `nbest-distinct`, `add-score-breakdown`,
`report-all-factors`, `sg` and `topt` are on when they are there, whatever their value; `nbest` is a number. There is
one factor, so reporting all of them changes nothing. Alignments are in target order, of phrases that have source words.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from toledo.forest.derivations import best_above, best_below
from toledo.forest.forest import Forest, Scores
from toledo.forest.kbest import k_best
from toledo.phrases.table import PhraseTable
from toledo.search.search import EncodedSentence, Search, as_given
from toledo.search.steps import NO_PHRASE, Step, steps_of, unpack, word_links
from toledo.serve import api
from toledo.serve.engine import Engine
from toledo.serve.models import ServedModel
from toledo.serve.problems import ServeError, error_of
from toledo.serve.queue import Item, Work
from toledo.serve.translating import BYTES_PER_WORD, read_segments
from toledo.serve.types import TranslateRequest, six
from toledo.serve.xmlrpc import NO_METHOD, PARSE, XMLRPCFault, read_call, write_answer, write_fault
from toledo.text.rare_words import given_links, given_span

FAILED = -500
XML = "text/xml; charset=utf-8"
Parameters = dict[str, Any]


def routes() -> list[BaseRoute]:
    """Return the route of XML-RPC."""
    return [Route("/RPC2", _answer, methods=["POST"])]


async def _answer(request: Request) -> Response:
    """Answer a call; what is wrong with it is a fault, what is wrong with the request an error of HTTP."""
    engine: Engine = request.app.state.engine
    try:
        if not engine.ready:
            raise ServeError(503, "not-ready", "The server is not ready yet", headers={"Retry-After": "1"})
        method, given = read_call(await request.body())
        if method != "translate":
            raise XMLRPCFault(NO_METHOD, f"Method {method[:80]!r} not defined")
        task = asyncio.ensure_future(_translate(engine, given, request))
        found = await api.until_done(engine, request, request.state.call, task)
        return Response(write_answer(found), media_type=XML)
    except XMLRPCFault as fault:
        return Response(write_fault(fault), media_type=XML)
    except Exception as error:
        found_error = error_of(error)
        if found_error.status in (413, 422) and found_error.kind != "too-large":
            text = f"{found_error.title}. {found_error.detail}".strip()
            return Response(write_fault(XMLRPCFault(FAILED, text)), media_type=XML)
        return api.failed(found_error, request)


async def _translate(engine: Engine, given: Sequence[Any], request: Request) -> Parameters:
    if len(given) != 1 or not isinstance(given[0], dict):
        raise XMLRPCFault(PARSE, "One struct is expected")
    asked, call = given[0], request.state.call
    if "text" not in asked:
        raise XMLRPCFault(PARSE, "Missing source text")
    if "lambda" in asked:
        raise XMLRPCFault(FAILED, "There is no mixture of phrase tables whose weights could be set: leave out lambda")
    size = asked.get("nbest", 0)
    if not isinstance(size, int) or not 0 <= size <= engine.limits.nbest:
        raise XMLRPCFault(PARSE, f"nbest is not a number from 0 to {engine.limits.nbest}")
    served = engine.model(None)
    words = read_segments(engine, served, TranslateRequest(segments=[str(asked["text"])]), call)
    engine.memory.require(BYTES_PER_WORD * max(map(len, words)))
    forest = bool(size) or "sg" in asked

    def function(items: Sequence[Item]) -> Iterator[Parameters | None]:
        wanted = [one for one in items if not one.call.cancelled]
        search, encoded = served.encode({}, [one.value[1] for one in wanted])
        results = iter(_results(search, encoded, [one.value[0] for one in wanted], served, forest))
        yield from (None if one.call.cancelled and one not in wanted else next(results) for one in items)

    work = Work(("moses", served.name, forest), function, 8)
    (found,) = await engine.queue.run(call, work, [(asked, words[0])])
    engine.metrics.words += call.words
    answer: Parameters = found
    return answer


def _results(
    search: Search[Any],
    encoded: Sequence[EncodedSentence],
    asked: Sequence[Parameters],
    served: ServedModel,
    forest: bool,
) -> Iterator[Parameters]:
    """Yield the answer for each sentence."""
    table = search.model.table
    if not forest:
        best = search.translate(encoded, threads=1)
        for one, sentence, found in zip(asked, encoded, best, strict=True):
            yield {**_hypothesis("text", found.steps, sentence, one, table), **_options(search, sentence, one)}
        return
    for one, sentence, result in zip(asked, encoded, search.results(encoded, threads=1), strict=True):
        answer = _hypothesis("text", result.translation.steps, sentence, one, table)
        scores = result.forest.scores(search.model.weights, 1)
        if one.get("nbest"):
            answer["nbest"] = _list(result.forest, scores, sentence, one, table)
        if "sg" in one:
            answer["sg"] = search_graph(result.forest, scores)
        yield {**answer, **_options(search, sentence, one)}


def _hypothesis(
    key: str, steps: Sequence[Step], sentence: EncodedSentence, asked: Parameters, table: PhraseTable
) -> Parameters:
    """Return a translation, a blank after each word, with its alignments."""
    words = [word for step in steps for word in step.words]
    text = as_given(" ".join(words), sentence.words)
    found: Parameters = {key: f"{text} " if words else ""}
    if "align" in asked:
        found["align"], place = [], 0
        for step in steps:
            begin, end = given_span(sentence.words, step.begin, step.end)
            found["align"].append({"tgt-start": place, "src-start": begin, "src-end": end - 1})
            place += len(step.words)
    if "word-align" in asked:
        links = given_links(sentence.words, word_links(table, steps))
        found["word-align"] = [{"source-word": source, "target-word": target} for source, target in links]
    return found


def _list(
    forest: Forest, scores: Scores, sentence: EncodedSentence, asked: Parameters, table: PhraseTable
) -> list[Parameters]:
    """Return the n-best list."""
    found = []
    for one in islice(k_best(forest, scores, distinct="nbest-distinct" in asked), asked["nbest"]):
        entry = _hypothesis("hyp", steps_of(one), sentence, asked, table)
        if "add-score-breakdown" in asked:
            entry["fvals"] = "".join(f"{name}= {six(value):g} " for name, value in one.features.items())
        found.append({**entry, "totalScore": six(one.score)})
    return found


def _options(search: Search[Any], sentence: EncodedSentence, asked: Parameters) -> Parameters:
    """Return the translation options of all spans, if they are asked for."""
    if "topt" not in asked:
        return {}
    options = search.options(sentence)
    vocabulary, found = search.model.target_vocabulary, []
    features = search.model.table.scores
    for place, (begin, end) in enumerate(zip(options.begin.tolist(), options.end.tolist(), strict=True)):
        first, pair = int(options.word_begin[place]), int(options.pairs[place])
        words = vocabulary.words(options.words[first : first + int(options.lengths[place])].tolist())
        values = [six(value) for value in features[pair].tolist()] if pair >= 0 else []
        score = six(options.estimate[place])
        found.append({"phrase": " ".join(words), "fscore": score, "start": begin, "end": end - 1, "scores": values})
    return {"topt": found}


def search_graph(forest: Forest, scores: Scores) -> list[Parameters]:
    """Return the hypotheses of a search: one for each edge with a phrase, and the empty one that all begin with.

    Hypotheses that lead to the same state are recombined with the best of them; `forward` is the best next one.
    """
    shape, provenance = forest.shape, forest.provenance
    if provenance is None:
        return []
    below = best_below(shape, scores)
    through = best_above(shape, scores, below)
    tails = [_tail(forest, edge) for edge in range(forest.edges)]
    heads = np.repeat(np.arange(forest.nodes), np.diff(shape.head_edges)).tolist()
    follows = dict[int, int]()
    for edge, tail in enumerate(tails):
        if tail not in follows or through[edge] > through[follows[tail]]:
            follows[tail] = edge

    def after(node: int) -> int:
        edge = follows.get(node, -1)
        return edge + 1 if edge >= 0 and provenance[edge] != NO_PHRASE else -1

    covered, found = dict[int, int](), list[Parameters]()
    for edge, (head, tail) in enumerate(zip(heads, tails, strict=True)):
        if provenance[edge] == NO_PHRASE or tail < 0 or math.isinf(through[edge]):
            continue
        begin, end, _ = (int(array[0]) for array in unpack(provenance[edge : edge + 1]))
        covered[head] = covered.get(tail, 0) + end - begin
        before, score = int(below.edges[tail]), float(below.scores[tail] + scores[edge])
        one: Parameters = {
            "hyp": edge + 1, "stack": covered[head], "back": before + 1 if provenance[before] != NO_PHRASE else 0,
            "score": six(score), "transition": six(scores[edge]), "forward": after(head), "fscore": six(through[edge]),
            "cover-start": begin, "cover-end": end - 1, "out": " ".join(forest.vocabulary.words(_words(forest, edge))),
        }  # fmt: skip
        if int(below.edges[head]) != edge:
            one["recombined"] = int(below.edges[head]) + 1
        found.append(one)
    best = float(below.scores[-1])
    start = {"hyp": 0, "stack": 0, "forward": after(0), "fscore": six(best) if math.isfinite(best) else 0.0}
    return [start, *found]


def _tail(forest: Forest, edge: int) -> int:
    """Return the state that a hypothesis continues, -1 if it begins."""
    begin, end = forest.shape.tail_offsets[edge : edge + 2]
    return int(forest.shape.tails[begin]) if end > begin else -1


def _words(forest: Forest, edge: int) -> list[int]:
    offsets, words = forest.yields
    return [word for word in words[offsets[edge] : offsets[edge + 1]].tolist() if word >= 0]
