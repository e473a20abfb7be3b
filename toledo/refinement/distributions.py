"""The trained parameters: families of probability distributions, the features that they give, and the refined model.

A family is a set of parameters cut into groups: all pairs of a source phrase (`phrase.forward`), of a target phrase
(`phrase.backward`), all translations of a word (`lexicon.forward`, `lexicon.backward`). Pruned or smoothed tables have
groups that do not sum to 1. These sums stay as they are: parameters are shares of that mass, and each group's shares
sum to 1.

The lexicon feature of a phrase pair is Π_m Σ_r p(e_m | f_r). What a pair gains is spread over its words (He and Deng
2012, formulas 5 and 16): word f_r has the part p(e_m | f_r) / Σ_r' p(e_m | f_r') in target word e_m. These parts depend
on the phrase pair alone, so gains are first summed over a pair's uses, and then spread once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import offsets_of
from toledo.errors import InputError
from toledo.model import PhraseModel
from toledo.phrases.lexicon import Lexicon, Lexicons, find_entry, model1_weights
from toledo.phrases.table import LOWEST_SCORE, SCORE_FEATURES, PhrasePairs

if TYPE_CHECKING:
    from toledo.refinement.objective import TrainedParameters

PAIRS_AT_ONCE = 1 << 15
ABSENT = -1

Vector = NDArray[np.float64]
Values = Mapping[str, Vector]  # the shares of each trained family

PHRASE = ("phrase.forward", "phrase.backward")
LEXICON = ("lexicon.forward", "lexicon.backward")
LOWEST_SHARE = 1e-30  # so that logarithms stay finite


class ShareGroups(NamedTuple):
    """Parameter i belongs to distribution `of[i]`, one of `size`."""

    of: NDArray[np.int32]
    size: int


@dataclass(frozen=True, eq=False)
class Family:
    """Some distributions: groups, the prior's shares, and the mass of each group."""

    name: str
    groups: ShareGroups
    prior: Vector
    mass: Vector

    def __len__(self) -> int:
        return self.prior.size

    def probabilities(self, shares: Vector) -> Vector:
        """Return shares times the mass of their group."""
        return shares * self.mass[self.groups.of]

    def divergence(self, shares: Vector) -> float:
        """KL(prior ‖ shares), summed over all groups."""
        return _divergence(self.prior, shares)

    def ratios(self, shares: Vector) -> Vector:
        """Return logarithms of shares by the prior, less their mean in each group."""
        return _centered_ratios(self.groups, self.prior, shares)

    def ratio_distance(self, shares: Vector) -> float:
        """Half the sum of squared ratios: Aitchison's distance, which sees rare translations as well as others."""
        return float(np.sum(self.ratios(shares) ** 2)) / 2.0


def phrase_family(model: PhraseModel, name: str) -> Family:
    """Return the phrase probabilities of one direction, those of the first table if there are several.

    A pair of another table is a distribution by itself, whose only share is always 1.
    """
    table, pairs, column = model.table, model.table.pairs, model.table.feature_names.index(name)
    of, size = (pairs.source, len(pairs.sources)) if name == PHRASE[0] else (pairs.target, len(pairs.targets))
    if table.parts:
        of = np.where(table.of_part(0), of, size + np.arange(len(pairs), dtype=np.int32))
        size += len(pairs)
    return make_family(name, ShareGroups(of, size), np.exp(table.scores[:, column].astype(np.float64)))


def lexicon_family(lexicon: Lexicon, name: str) -> Family:
    """Return the word probabilities of one direction."""
    rows = lexicon.offsets.size - 1
    of = np.repeat(np.arange(rows, dtype=np.int32), np.diff(lexicon.offsets))
    return make_family(name, ShareGroups(of, rows), lexicon.probabilities.astype(np.float64))


def make_family(name: str, groups: ShareGroups, probabilities: Vector) -> Family:
    """Return a family from probabilities, which need not sum to 1."""
    if name not in SCORE_FEATURES:
        raise ValueError(f"no family {name!r}: choose from {', '.join(SCORE_FEATURES)}")
    floor = np.maximum(probabilities, LOWEST_SHARE)
    mass = np.bincount(groups.of, floor, groups.size).astype(np.float64)
    return Family(name, groups, np.maximum(floor / mass[groups.of], LOWEST_SHARE), mass)


def prior_values(families: Mapping[str, Family]) -> dict[str, Vector]:
    """Return the shares that training begins with."""
    return {name: family.prior for name, family in families.items()}


@kernel
def _divergence(prior: Vector, shares: Vector) -> float:
    total = 0.0
    for i in range(prior.size):
        if prior[i] != shares[i]:
            total += prior[i] * np.log(prior[i] / shares[i])
    return total


@kernel
def _centered_ratios(groups: ShareGroups, prior: Vector, shares: Vector) -> Vector:
    ratios, means, sizes = np.empty(prior.size), np.zeros(groups.size), np.zeros(groups.size)
    for i in range(prior.size):
        ratios[i] = np.log(shares[i] / prior[i])
        means[groups.of[i]] += ratios[i]
        sizes[groups.of[i]] += 1.0
    for i in range(prior.size):
        ratios[i] -= means[groups.of[i]] / sizes[groups.of[i]]
    return ratios


class WordPairs(NamedTuple):
    """The entries of a lexicon in some phrase pairs: pair i predicts the words `words[i]:words[i + 1]`.

    Predicted word w has the entries `entries[places[w]:places[w + 1]]`, one for each given word that may write it.
    """

    words: NDArray[np.int64]
    places: NDArray[np.int64]
    entries: NDArray[np.int32]


def word_pairs(pairs: PhrasePairs, chosen: NDArray[np.int32], lexicon: Lexicon, forward: bool) -> WordPairs:
    """Return the entries for p(target word | source word), or the other way, in the chosen phrase pairs."""
    given, predicted = (pairs.sources, pairs.targets) if forward else (pairs.targets, pairs.sources)
    given_of, predicted_of = (pairs.source, pairs.target) if forward else (pairs.target, pairs.source)
    given_of, predicted_of = given_of[chosen], predicted_of[chosen]
    given_sizes, sizes = np.diff(given.offsets)[given_of], np.diff(predicted.offsets)[predicted_of]
    places, entries = np.zeros(int(sizes.sum()) + 1, np.int64), np.empty(int((given_sizes * sizes).sum()), np.int32)
    sides = given.offsets, given.words, given_of, predicted.offsets, predicted.words, predicted_of
    _fill_entries(*sides, lexicon, places, entries)
    return WordPairs(offsets_of(sizes), places, entries[: places[-1]].copy())


def log_sums(pairs: WordPairs, probabilities: Vector, threads: int | None = None) -> Vector:
    """Return the logarithm of the feature of each pair, LOWEST_SCORE where a word cannot be written."""
    result = np.empty(pairs.words.size - 1)
    map_chunks(
        lambda begin, end: _log_sums(pairs, probabilities, begin, end, result),
        result.size,
        chunk=PAIRS_AT_ONCE,
        threads=threads,
    )
    return result


@kernel
def spread(pairs: WordPairs, probabilities: Vector, gains: Vector) -> Vector:
    """Return what each entry of the lexicon gets of the gains of phrase pairs."""
    result = np.zeros(probabilities.size)
    for p in range(gains.size):
        if gains[p] == 0.0 or not _possible(pairs, probabilities, p):
            continue
        for w in range(pairs.words[p], pairs.words[p + 1]):
            total = 0.0
            for k in range(pairs.places[w], pairs.places[w + 1]):
                total += probabilities[pairs.entries[k]]
            for k in range(pairs.places[w], pairs.places[w + 1]):
                result[pairs.entries[k]] += gains[p] * probabilities[pairs.entries[k]] / total
    return result


@kernel
def _log_sum(pairs: WordPairs, probabilities: Vector, p: int) -> float:
    result = 0.0
    for w in range(pairs.words[p], pairs.words[p + 1]):
        total = 0.0
        for k in range(pairs.places[w], pairs.places[w + 1]):
            total += probabilities[pairs.entries[k]]
        if total <= 0.0:
            return LOWEST_SCORE
        result += np.log(total)
    return max(result, LOWEST_SCORE)


@kernel
def _possible(pairs: WordPairs, probabilities: Vector, p: int) -> bool:
    """Return whether the feature depends on its words: at its lowest value it does not."""
    return _log_sum(pairs, probabilities, p) > LOWEST_SCORE


@kernel
def _log_sums(pairs: WordPairs, probabilities: Vector, begin: int, end: int, result: Vector) -> None:
    for p in range(begin, end):
        result[p] = _log_sum(pairs, probabilities, p)


@kernel
def _fill_entries(
    given_offsets: NDArray[np.int64],
    given_words: NDArray[np.int32],
    given_of: NDArray[np.int32],
    predicted_offsets: NDArray[np.int64],
    predicted_words: NDArray[np.int32],
    predicted_of: NDArray[np.int32],
    lexicon: Lexicon,
    places: NDArray[np.int64],
    entries: NDArray[np.int32],
) -> None:
    word = place = 0
    for p in range(given_of.size):
        for m in range(predicted_offsets[predicted_of[p]], predicted_offsets[predicted_of[p] + 1]):
            for r in range(given_offsets[given_of[p]], given_offsets[given_of[p] + 1]):
                entry = find_entry(lexicon, given_words[r], predicted_words[m])
                if entry != ABSENT:
                    entries[place] = entry
                    place += 1
            word += 1
            places[word] = place


def lexicons_of(model: PhraseModel) -> Lexicons:
    """Return the word lexicons of a model, which lexicon training needs."""
    if model.word_lexicons is None:
        raise InputError(
            "the model has no word lexicons (it was trained on given alignments, or imported)",
            remedy="train phrase probabilities only (`parameters=phrase`), or train the model with toledo train",
        )
    return model.word_lexicons


def with_word_sums(model: PhraseModel, threads: int | None = None) -> PhraseModel:
    """Return the model with the lexicon features of He and Deng (formula 5), computed from its word lexicons."""
    lexicons, scores = lexicons_of(model), np.array(model.table.scores)
    own = model.table.of_part(0)
    for name, sums in zip(LEXICON, model1_weights(model.table.pairs, lexicons, threads), strict=True):
        scores[own, model.table.feature_names.index(name)] = sums[own]
    return _with_scores(model, scores)


def has_word_sums(model: PhraseModel) -> bool:
    """Return whether the lexicon features are sums over words already, as in models trained with `lexical="model1"`."""
    if model.word_lexicons is None or not set(LEXICON) <= set(model.table.feature_names):
        return False
    columns, own = [model.table.feature_names.index(name) for name in LEXICON], model.table.of_part(0)
    sums = model1_weights(model.table.pairs, model.word_lexicons)
    expected = np.column_stack([sums.forward, sums.backward])[own]
    return np.allclose(model.table.scores[own][:, columns], expected, atol=1e-3)


def refined_model(parameters: TrainedParameters, values: Values, threads: int | None = None) -> PhraseModel:
    """Return the model with these probabilities; scores that have not changed stay the same to the last bit."""
    model, families = parameters.model, parameters.families
    scores = np.array(model.table.scores)
    for name in set(PHRASE) & set(parameters.names):
        _move(scores, model, name, np.log(values[name] / families[name].prior))
    trained = set(LEXICON) & set(parameters.names)
    if not trained:
        return _with_scores(model, scores)
    given = lexicons_of(model)
    lexicons = Lexicons(
        *(
            _moved(lexicon, values[name] / families[name].prior) if name in trained else lexicon
            for name, lexicon in zip(LEXICON, given, strict=True)
        )
    )
    old, new = (model1_weights(model.table.pairs, one, threads) for one in (given, lexicons))
    for name, before, after in zip(LEXICON, old, new, strict=True):
        if name in trained:
            _move(scores, model, name, after.astype(np.float64) - before)
    return replace(_with_scores(model, scores), word_lexicons=lexicons)


def _move(scores: NDArray[np.float32], model: PhraseModel, name: str, change: Vector) -> None:
    """Add to a feature of all phrase pairs of the first table; other tables are left alone."""
    column, own = model.table.feature_names.index(name), model.table.of_part(0)
    scores[own, column] = np.maximum(scores[own, column] + change[own], LOWEST_SCORE)


def _moved(lexicon: Lexicon, ratios: Vector) -> Lexicon:
    return lexicon._replace(probabilities=(lexicon.probabilities * ratios).astype(np.float32))


def _with_scores(model: PhraseModel, scores: NDArray[np.float32]) -> PhraseModel:
    return replace(model, table=replace(model.table, scores=scores))
