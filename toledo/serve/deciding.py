"""Decide on a forest by all rules asked for; probabilities and expected scores are those of one list of texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import Sequences, offsets_of
from toledo.consensus.lattice_mbr import LatticeMBR, NGramSpace, ngram_space
from toledo.consensus.mbr import MBR, best_first
from toledo.consensus.registry import FOREST_TEXTS, make_search_rule
from toledo.consensus.rule import Decision, Rule
from toledo.forest.forest import Forest, Scores
from toledo.forest.inside_outside import distribution
from toledo.search.search import as_given
from toledo.search.steps import Step, steps_of
from toledo.serve.candidates import Candidates, RankedTexts, find_candidates, rank
from toledo.serve.types import Deciding, ListedText, PhrasePlaces, RuleChoice, TranslatedSegment, six
from toledo.text.preparation import Preparation
from toledo.text.rare_words import given_span, given_words

ORDER = 4  # of n-grams in posteriors


@dataclass(eq=False)
class DecidableForest:
    """A forest with what is needed to decide on it again: weights, the source, how words become text.

    `weights` are those of its features; `text` writes words; `source` is what the search read.
    """

    model: str
    forest: Forest
    weights: Mapping[str, float]
    source: Sequence[str]
    unknown: Sequence[str]
    text: Preparation
    own_scale: float | None
    own_rule: str
    drawings: dict[Any, Any] = field(default_factory=dict)
    drawing: Lock = field(default_factory=Lock)  # held while a drawing is made

    @cached_property
    def candidates(self) -> Candidates:
        """Return the list at the weights of the search."""
        return self.find(self.weights, FOREST_TEXTS)

    def find(self, weights: Mapping[str, float], size: int) -> Candidates:
        """Return the best texts for some weights."""
        dense = self.forest.features @ self.dense(weights)
        return find_candidates(self.forest, self.scores(weights), size, dense)

    def dense(self, weights: Mapping[str, float]) -> NDArray[np.float64]:
        """Return the weights of the dense features."""
        return np.array([weights[name] for name in self.forest.feature_names], np.float64)

    def scores(self, weights: Mapping[str, float]) -> Scores:
        """Return the score of each edge."""
        return self.forest.scores(weights, 1)

    def write(self, words: Sequence[str]) -> str:
        """Return words as text."""
        return self.text.target.write(as_given(" ".join(words), self.source))

    @property
    def nbytes(self) -> int:
        """Return about how much memory it takes."""
        forest = self.forest
        arrays = [*forest.shape, *forest.yields, forest.features, forest.base, forest.provenance]
        if forest.sparse is not None:
            arrays += forest.sparse.arrays
        return sum(one.nbytes for one in arrays if one is not None) + self.candidates.nbytes + 4096


def deciding_rules(asked: Deciding, own: str) -> dict[str, Rule]:
    """Return the rules asked for by name, with the metric for those that have one."""
    found = {}
    for name in dict.fromkeys(asked.rules or [own]):
        rule = make_search_rule(name)
        found[name] = make_search_rule(name, asked.metric) if asked.metric and hasattr(rule, "metric") else rule
    return found


def decide_forest(space: DecidableForest, asked: Deciding, quick: bool = False) -> TranslatedSegment:
    """Return what the rules choose, the n-best list, and posteriors, as far as they are asked for."""
    return _Deciding(space, asked, quick).result()


class _Deciding:
    """One decision: scores, the ranked list, and what rules choose."""

    def __init__(self, space: DecidableForest, asked: Deciding, quick: bool) -> None:
        self.space, self.asked, self.quick = space, asked, quick
        self.weights = {**space.weights, **asked.weights}
        self.scale = asked.scale or space.own_scale or 1.0
        self.size = max(FOREST_TEXTS, asked.nbest)
        same = not asked.weights and self.size == FOREST_TEXTS
        self.candidates = space.candidates if quick or same else space.find(self.weights, self.size)
        self.forest = space.forest
        self.scores = space.scores(self.weights)

    @cached_property
    def ranked(self) -> RankedTexts:
        """Return the list at these weights and this scale."""
        return rank(self.candidates, self.space.dense(self.weights), self.scale)

    @cached_property
    def mbr(self) -> MBR:
        """Return what says how good a text is expected to be."""
        return cast(MBR, make_search_rule("mbr", self.asked.metric))

    @cached_property
    def expected(self) -> NDArray[np.float64]:
        """Return the expected metric of each text of the list."""
        return self.mbr.expected(self.ranked.weighted.texts, self.ranked.weighted, self.forest.vocabulary)

    @cached_property
    def ngrams(self) -> NGramSpace:
        """Return the forest split by n-grams, pruned as lattice MBR does it."""
        density = LatticeMBR().density
        return ngram_space(self.forest, self.scores, ORDER, density)

    def chances(self, scale: float) -> NDArray[np.float64]:
        """Return the probability of each n-gram."""
        return self.ngrams.ngrams.occurrence(self.ngrams.distribution(scale), threads=1)

    def result(self) -> TranslatedSegment:
        """Return everything that was asked for."""
        space = self.space
        choices = self._choices() if len(self.candidates) else []
        return TranslatedSegment(
            source=list(given_words(space.source)), unknown=list(space.unknown), choices=choices,
            perplexity=self._perplexity(), nbest=self._list() if self.asked.nbest and len(self.candidates) else [],
        )  # fmt: skip

    def _perplexity(self) -> float | None:
        if not len(self.candidates):
            return None
        given = distribution(self.forest.shape, self.scale * self.scores, threads=1)
        entropy = float(given.entropy()[0])
        return six(math.exp(entropy)) if entropy < 700 else None

    def _choices(self) -> list[RuleChoice]:
        found: dict[bytes, tuple[list[str], NDArray[np.int32]]] = {}
        for name, rule in deciding_rules(self.asked, self.space.own_rule).items():
            words = self._decide(rule).words
            found.setdefault(words.tobytes(), ([], words))[0].append(name)
        return [self._choice(names, words) for names, words in found.values()]

    def _decide(self, rule: Rule) -> Decision:
        """Return the choice of a rule: MBR by the list that is there, others on the forest or on the list alone."""
        scale = self._rule_scale(rule)
        if rule == self.mbr and scale == self.scale and self.size == FOREST_TEXTS:
            best = int(best_first(self.expected)[0])
            return Decision(self.ranked.words(best), float(self.expected[best]))
        if self.quick:
            return rule.decide(*self._list_forest(scale))
        if isinstance(rule, LatticeMBR) and rule == LatticeMBR():
            return rule.best(self.ngrams, self.chances(scale), scale)
        return rule.decide(self.forest, scale * self.scores)

    def _rule_scale(self, rule: Rule) -> float:
        """Return the scale of a rule: the one asked for, or that of the model for its own rule, or the rule's own."""
        if not rule.has_scale:
            return 1.0
        own = self.space.own_scale if rule == make_search_rule(self.space.own_rule) else None
        return self.asked.scale or own or rule.forest_scale

    def _list_forest(self, scale: float) -> tuple[Forest, Scores]:
        """Return the list as a forest, an edge for each derivation."""
        given = self.candidates
        numbers = given.numbers
        texts = given.texts.gather(numbers)
        edges = len(numbers)
        shape = self.forest.shape._replace(
            sentences=np.array([0, 1], self.forest.shape.sentences.dtype),
            head_edges=np.array([0, edges], self.forest.shape.head_edges.dtype),
            tail_offsets=np.zeros(edges + 1, self.forest.shape.tail_offsets.dtype),
            tails=self.forest.shape.tails[:0],
        )
        offsets = texts.offsets.astype(self.forest.yields.offsets.dtype)
        yields = self.forest.yields._replace(words=texts.symbols, offsets=offsets)
        made = Forest(
            shape, yields, given.features.astype(np.float32), self.forest.feature_names, self.forest.vocabulary
        )
        return made, scale * given.scores(self.space.dense(self.weights))

    @cached_property
    def _places(self) -> dict[bytes, int]:
        return {self.ranked.words(place).tobytes(): place for place in range(len(self.ranked))}

    def _choice(self, names: list[str], words: NDArray[np.int32]) -> RuleChoice:
        tokens = self.forest.vocabulary.words(words.tolist())
        place = self._places.get(words.tobytes())
        common: dict[str, Any] = {"rules": names, "text": self.space.write(tokens), "words": list(tokens)}
        if self.asked.posteriors:
            common["posteriors"] = self._posteriors(words)
        if place is None:
            return RuleChoice(**common, expected=self._expected_of(words))
        derivation = self.candidates.derivation(int(self.ranked.derivations[place]), float(self.ranked.scores[place]))
        return RuleChoice(
            **common, phrases=self._phrases(int(self.ranked.derivations[place])),
            probability=six(self.ranked.weighted.probabilities[place]), expected=six(self.expected[place]),
            score=six(derivation.score), features=self._features(place),
        )  # fmt: skip

    def _features(self, place: int) -> dict[str, float]:
        values = self.candidates.features[self.ranked.derivations[place]].tolist()
        found = dict(zip(self.forest.feature_names, map(six, values), strict=True))
        rest = float(self.candidates.rest[self.ranked.derivations[place]])
        return {**found, "rest": six(rest)} if abs(rest) > 1e-6 else found

    def _phrases(self, place: int) -> list[PhrasePlaces]:
        if self.forest.provenance is None or not self.forest.shape.tails.size:
            return []
        steps = steps_of(self.candidates.derivation(place, 0.0))
        return phrases_of(steps, self.space.source)

    def _expected_of(self, words: NDArray[np.int32]) -> float:
        """Return the expected metric of a text that is not in the list."""
        text = Sequences(words, offsets_of([words.size]))
        return six(self.mbr.expected(text, self.ranked.weighted, self.forest.vocabulary)[0])

    @cached_property
    def _ngram_chances(self) -> NDArray[np.float64]:
        return self.chances(self.scale)

    def _posteriors(self, words: NDArray[np.int32]) -> list[list[float]]:
        """Return for each word the chances of the n-grams that begin there."""
        space, ids = self.ngrams.ngrams, words.tolist()
        found = []
        for begin in range(len(ids)):
            ends = range(begin + 1, min(begin + self.asked.posteriors, len(ids)) + 1)
            numbers = [space.number(0, ids[begin:end]) for end in ends]
            found.append([six(min(self._ngram_chances[one], 1.0)) if one >= 0 else 0.0 for one in numbers])
        return found

    def _list(self) -> list[ListedText]:
        """Return the texts with the highest expected metric."""
        order = best_first(self.expected)[: self.asked.nbest].tolist()
        return [self._listed(place) for place in order]

    def _listed(self, place: int) -> ListedText:
        tokens = self.forest.vocabulary.words(self.ranked.words(place).tolist())
        return ListedText(
            text=self.space.write(tokens), words=list(tokens),
            probability=six(self.ranked.weighted.probabilities[place]), expected=six(self.expected[place]),
            score=six(self.ranked.scores[place]), score_rank=place + 1, features=self._features(place),
        )  # fmt: skip


def phrases_of(steps: Sequence[Step], source: Sequence[str]) -> list[PhrasePlaces]:
    """Return the places of phrases in the source and in the translation."""
    found, end = [], 0
    for step in steps:
        begin, end = end, end + len(step.words)
        found.append(PhrasePlaces(source=given_span(source, step.begin, step.end), target=(begin, end)))
    return found
