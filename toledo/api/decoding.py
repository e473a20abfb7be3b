"""How a model translates: the arguments of its methods, and the search and the rule that they stand for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload

from toledo.api.inputs import read_texts
from toledo.consensus.rule import Rule, check_scale, make_search_rule
from toledo.errors import InputError
from toledo.metrics.metric import Metric
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.search.gibbs.diagnostics import ObservedGibbs
from toledo.search.itg import log_unused_weights
from toledo.search.search import Search
from toledo.search.settings import SEARCHES, Gibbs, SearchKind
from toledo.settings import Named
from toledo.text.vocabulary import split_words
from toledo.tuning.initial import known_features, load_weights, require_known
from toledo.weights import Weights

log = logging.getLogger(__name__)

DEFAULT_RULE = "viterbi"
SPARSE_REMEDY = "these are sparse features; use the model that was tuned"

P = ParamSpec("P")
T = TypeVar("T")
OneOrMany: TypeAlias = str | Path | Iterable[str]
GivenWeights: TypeAlias = Weights | Mapping[str, float] | Path | str


class OneOrManyMethod(Protocol[P, T]):
    """A method of one text, which gives one result, and of several texts or a file, which give a list."""

    @overload
    def __call__(self, sources: str, *arguments: P.args, **named: P.kwargs) -> T: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, sources: Path | Iterable[str], *arguments: P.args, **named: P.kwargs) -> list[T]: ...


def one_or_many(method: Callable[Concatenate[Any, Any, P], list[T]]) -> OneOrManyMethod[P, T]:
    """Let a method of a list of texts return one result for one text."""

    @wraps(method)
    def call(self: Any, sources: OneOrMany, *arguments: P.args, **named: P.kwargs) -> Any:
        found = method(self, sources, *arguments, **named)
        return found[0] if isinstance(sources, str) else found

    return cast(OneOrManyMethod[P, T], call)


@dataclass(frozen=True)
class Decoding:
    """How a model translates; None is what the model itself says."""

    rule: Named[Rule] | None = None
    metric: Named[Metric] | None = None
    scale: float | None = None
    search: Named[SearchKind] = "beam"
    weights: GivenWeights | None = None
    seed: int = 1
    threads: int | None = None
    progress: Progress = silent


def make_search(model: PhraseModel, how: Decoding, complete: bool = False) -> tuple[Search[Any], Rule, float]:
    """Return the search, the rule and the scale; a sampler takes `complete` notes if they are wanted."""
    kind, scale = SEARCHES.make(how.search), how.scale
    rule = make_search_rule(how.rule or DEFAULT_RULE, how.metric, samples=isinstance(kind, Gibbs))
    log_unused_weights(model, type(kind).__name__.lower())
    if isinstance(kind, Gibbs):
        settings = kind if scale is None else replace(kind, scale=scale)
        sampler = ObservedGibbs(model, settings, how.seed, complete)
        if settings.scale is None:
            log.info("sampling at scale %g: 4 over the norm of the weights", sampler.scale)
        return sampler, rule, sampler.scale
    factor = rule.forest_scale if scale is None else scale
    check_scale(factor)
    return kind if isinstance(kind, Search) else kind.search(model, None, how.seed), rule, factor


def reweighted(model: PhraseModel, weights: GivenWeights) -> PhraseModel:
    """Return the model with other weights: a mapping, or a weights file; unknown features are refused."""
    if isinstance(weights, str | Path):
        return load_weights(model, Path(weights))
    given = weights if isinstance(weights, Weights) else Weights(weights, model.weights.frozen.intersection(weights))
    require_known(given, known_features(model), "weights", SPARSE_REMEDY)
    return model.with_weights(given)


def read_many(texts: OneOrMany, argument: str) -> list[str]:
    """Return one text, or several, each without a line end."""
    found = [texts] if isinstance(texts, str) else read_texts(texts, argument)
    for segment, text in enumerate(found):
        if "\n" in text:
            raise InputError(
                f"{argument}[{segment}] contains a line end",
                argument=argument,
                segment=segment,
                remedy="give one segment per text",
            )
    return found


def read_sentences(sources: OneOrMany) -> list[list[str]]:
    """Return the words of one text, or of several."""
    return [split_words(text) for text in read_many(sources, "sources")]
