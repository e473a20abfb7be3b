"""A model that is served: its searches for some weights, and words that come and go.

Each unknown word of a request gets a number in the vocabulary of the model. So that a server does not grow, the model
is renewed from time to time with the vocabulary that it began with; forests that are kept still have their own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from toledo.api.model import Model, reweighted
from toledo.consensus.registry import make_rule, rule_text
from toledo.model import PhraseModel
from toledo.search.search import EncodedSentence, Search
from toledo.search.settings import Beam
from toledo.serve.work_types import ModelAbout
from toledo.text.preparation import Preparation

NEW_WORDS = 20_000  # until the model is renewed
SEARCHES = 8  # kept, each with its weights
DEFAULT_METRIC = "bleu"  # of rules that look at forests


class ServedModel:
    """A model with searches for the weights that requests give."""

    def __init__(self, name: str, model: Model, new_words: int = NEW_WORDS) -> None:
        self.name, self.model, self.new_words = name, model, new_words
        self._lock = Lock()
        self._base = model.phrase_model
        self._first_words = model.phrase_model.target_vocabulary.copy()
        self._searches: OrderedDict[tuple[tuple[str, float], ...], Search[Any]] = OrderedDict()

    def text(self, tokenized: bool) -> Preparation:
        """Return how text becomes words, and words text."""
        prepared = self._base.preparation
        return prepared.of_words if tokenized else prepared

    @property
    def rule(self) -> str:
        """Return the rule of the model."""
        return self.model.rule if isinstance(self.model.rule, str) else rule_text(self.model.rule)

    def encode(
        self, weights: Mapping[str, float], sentences: Sequence[Sequence[str]]
    ) -> tuple[Search[Any], list[EncodedSentence]]:
        """Return a search with these weights in place of those of the model, and sentences as it reads them."""
        with self._lock:
            if len(self._base.target_vocabulary) > len(self._first_words) + self.new_words:
                self._renew()
            search = self._search(weights)
            return search, search.encode(sentences)

    def check(self, weights: Mapping[str, float]) -> None:
        """Refuse weights of features that the model does not have."""
        if weights:
            reweighted(self._base, {**self._base.weights, **weights})

    def _search(self, weights: Mapping[str, float]) -> Search[Any]:
        key = tuple(sorted(weights.items()))
        if key not in self._searches:
            self._searches[key] = Beam().search(self._weighted(weights))
            while len(self._searches) > SEARCHES:
                self._searches.popitem(last=False)
        self._searches.move_to_end(key)
        return self._searches[key]

    def _weighted(self, weights: Mapping[str, float]) -> PhraseModel:
        return reweighted(self._base, {**self._base.weights, **weights}) if weights else self._base

    def _renew(self) -> None:
        table = replace(self._base.table, target_vocabulary=self._first_words.copy())
        self._base = replace(self._base, table=table)
        self._searches.clear()

    def about(self) -> ModelAbout:
        """Return what the server says about the model."""
        model = self.model
        source, target = model.languages
        return ModelAbout(
            name=self.name, source_language=source, target_language=target, features=list(model.features),
            weights={name: model.weights[name] for name in model.features}, rule=self.rule,
            scale=make_rule(self.rule).forest_scale if model.scale is None else model.scale, metric=DEFAULT_METRIC,
            raw=self._base.preparation.raw, phrases=len(self._base.table), reranked=model.reranker is not None,
            signature=model.signature,
        )  # fmt: skip
