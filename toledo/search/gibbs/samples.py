"""Samples of the derivations of a sentence: distinct ones with counts, as a forest, and expected counts of n-grams.

N-grams are counted by what each phrase could have been (Rao-Blackwell). The mean over samples x of their counts c(x)
estimates E[c]. For each phrase i the translation may be drawn again from its conditional distribution: E[c | x without
i] − c(x) has the mean 0, and is known exactly. So does the same for the counts c_iq of n-grams that reach into phrase i
and into q phrases in all. With any factors λ,

    c(x) + Σ_i Σ_q λ_q (E[c_iq | x without i] − c_iq(x))

has the same mean as c(x). Take what n-grams of q phrases owe to each set of phrases apart from smaller sets: if phrases
are drawn independently, the sum multiplies the part of a set S by 1 − λ_q |S|. Here λ_q = min(1, 2/q): what single
phrases contribute to n-grams within two of them vanishes, and no part gets larger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel, kernel
from toledo.compiled.ragged import gather_rows
from toledo.compiled.random import random_state
from toledo.forest.assemble import from_edges, list_edges
from toledo.forest.forest import Forest
from toledo.forest.ngram_index import (
    NO_NGRAM,
    NGramIndex,
    add_ngram,
    count_text,
    empty_index,
    with_room_for_counts,
    words_of,
)
from toledo.model import PhraseModel
from toledo.search.chain import Chain, Sentence, room_for_chain, set_derivation, to_probabilities
from toledo.search.chain_operators import weigh_options
from toledo.search.features import Derivations
from toledo.search.options import SentenceOptions
from toledo.search.search import Translation

NEGLIGIBLE = 1e-9


class Visits(NamedTuple):
    """Distinct derivations `options[offsets[d]:offsets[d + 1]]`; `visited[c, t]` is what chain c saw in sample t."""

    offsets: NDArray[np.int64]
    options: NDArray[np.int32]
    visited: NDArray[np.int32]
    scores: NDArray[np.float64]


@kernel
def _count_ngrams(
    sentence: Sentence,
    chain: Chain,
    offsets: NDArray[np.int64],
    chosen: NDArray[np.int32],
    shares: NDArray[np.float64],
    order: int,
    plain: bool,
    sharpness: float,
    index: NGramIndex,
) -> tuple[NGramIndex, NDArray[np.float64]]:
    """Count the n-grams of derivations with shares; `plain` counts ignore what each phrase could have been."""
    options, counts = sentence.options, np.zeros(64)
    longest, text, owner = 1, np.empty(64, np.int32), np.empty(64, np.int32)
    for option in range(options.lengths.size):
        longest = max(longest, options.lengths[option])
    window, owners = np.empty(2 * order + longest, np.int32), np.empty(2 * order + longest, np.int32)
    for d in range(offsets.size - 1):
        size = 0
        for i in range(offsets[d], offsets[d + 1]):
            size += options.lengths[chosen[i]]
        if size > text.size:
            text, owner = np.empty(2 * size, np.int32), np.empty(2 * size, np.int32)
        index, counts = with_room_for_counts(index, counts, size * order)
        size = 0
        for i in range(offsets[d], offsets[d + 1]):
            for k in range(options.lengths[chosen[i]]):
                text[size], owner[size] = options.words[options.word_begin[chosen[i]] + k], i - offsets[d] + 1
                size += 1
        count_text(index, counts, text, 0, size, order, shares[d])
        if plain:
            continue
        set_derivation(sentence, chain, chosen[offsets[d] : offsets[d + 1]])
        place = 0
        for i in range(1, chain.size[0] + 1):
            old = chain.chosen[i]
            first = options.first[options.begin[old], options.end[old] - options.begin[old] - 1]
            count = weigh_options(sentence, chain, i, i + 1, options.begin[old], options.end[old])
            to_probabilities(chain.weights, count, sharpness)
            stop = place + options.lengths[old]
            index, counts = with_room_for_counts(index, counts, count * window.size * order)
            for k in range(count if count > 1 else 0):
                share = shares[d] * (chain.weights[k] - (1.0 if first + k == old else 0.0))
                if abs(share) > NEGLIGIBLE * shares[d]:
                    words = _fill_window(options, text, owner, size, place, stop, i, first + k, order, window, owners)
                    _add_shared(index, counts, window, owners, words, i, order, share)
            place = stop
    return index, counts[: index.used[0]]


@inner_kernel
def _fill_window(
    options: SentenceOptions,
    text: NDArray[np.int32],
    owner: NDArray[np.int32],
    size: int,
    begin: int,
    end: int,
    phrase: int,
    option: int,
    order: int,
    window: NDArray[np.int32],
    owners: NDArray[np.int32],
) -> int:
    """Put an option in place of the words from `begin` up to `end`, with the words around it; return their number.

    `owner` and `owners` have the number of each word's phrase.
    """
    before, length, after = min(order - 1, begin), options.lengths[option], min(order - 1, size - end)
    for k in range(before):
        window[k], owners[k] = text[begin - before + k], owner[begin - before + k]
    for k in range(length):
        window[before + k], owners[before + k] = options.words[options.word_begin[option] + k], phrase
    for k in range(after):
        window[before + length + k], owners[before + length + k] = text[end + k], owner[end + k]
    return int(before + length + after)


@inner_kernel
def _add_shared(
    index: NGramIndex,
    counts: NDArray[np.float64],
    words: NDArray[np.int32],
    owners: NDArray[np.int32],
    size: int,
    phrase: int,
    order: int,
    share: float,
) -> None:
    """Add the n-grams that reach into a phrase or across it, those of many phrases by a smaller share."""
    for start in range(size):
        number = NO_NGRAM
        for place in range(start, min(start + order, size)):
            number = add_ngram(index, number, words[place])
            if owners[start] <= phrase <= owners[place]:
                counts[number] += share * min(1.0, 2.0 / (owners[place] - owners[start] + 1))


@dataclass(frozen=True, eq=False)
class Samples:
    """Distinct derivations, those visited most often first, of equal ones the one with the best score.

    Derivation d has the options `chosen[offsets[d]:offsets[d + 1]]` in target order, was visited `counts[d]` times and
    has the model score `scores[d]`. `visited[c, t]` is the derivation of sample t of chain c. `tally` has a row for
    each operator: draws from more than one possibility, and those that changed the derivation. `asked` is how often the
    language models were asked about a phrase that was not in memory.
    """

    model: PhraseModel
    sentence: Sentence
    scale: float
    offsets: NDArray[np.int64]
    chosen: NDArray[np.int32]
    counts: NDArray[np.int64]
    scores: NDArray[np.float64]
    visited: NDArray[np.int32]
    tally: NDArray[np.int64]
    asked: int

    @classmethod
    def from_visits(cls, model: PhraseModel, sentence: Sentence, scale: float, visits: Visits, chain: Chain) -> Samples:
        """Sort the derivations that a chain visited."""
        counts = np.bincount(visits.visited.ravel(), minlength=visits.scores.size)
        order = np.lexsort((-visits.scores, -counts))
        number = np.empty_like(order)
        number[order] = np.arange(order.size)
        offsets, options = gather_rows(visits.offsets, visits.options, order)
        return cls(
            model, sentence, scale, offsets, options, counts[order], visits.scores[order],
            number[visits.visited].astype(np.int32), chain.tally, int(chain.known.missed[0]),
        )  # fmt: skip

    @property
    def options(self) -> SentenceOptions:
        """Return the options of the sentence."""
        return self.sentence.options

    def __len__(self) -> int:
        """Return the number of distinct derivations."""
        return self.counts.size

    @property
    def size(self) -> int:
        """Return the number of samples."""
        return self.visited.size

    @property
    def trace(self) -> NDArray[np.float64]:
        """Return the model score of each sample of each chain."""
        return self.scores[self.visited]

    @property
    def best(self) -> int:
        """Return the derivation with the highest model score."""
        return int(np.argmax(self.scores))

    @property
    def derivations(self) -> Derivations:
        """Return the distinct derivations."""
        return Derivations(self.model, self.options, self.offsets, self.chosen)

    def translation(self, derivation: int) -> Translation:
        """Return the phrases and the score of a derivation."""
        return Translation(self.derivations.steps(derivation), float(self.scores[derivation]))

    @cached_property
    def forest(self) -> Forest:
        """Return an edge for each derivation with its features; scale · score is the logarithm of its count.

        So the distribution of the forest at the model's weights and the scale of the sampler is that of the samples. At
        other weights derivations count by count · exp(scale · (score − old score)): importance sampling, whose gradient
        at the old weights is the covariance of the samples. `translation` knows their phrases.
        """
        derivations = self.derivations
        names, sparse = derivations.sparse()
        features = derivations.features(single=True).astype(np.float32)
        given = list_edges(derivations.yields(), features, sparse)
        plain = from_edges(given, 0, self.model.feature_names, self.model.target_vocabulary, names)
        return replace(plain, base=np.log(self.counts) / self.scale - plain.scores(self.model.weights, threads=1))

    def expected_ngrams(self, order: int = 4, *, smoothed: bool = True) -> dict[tuple[int, ...], float]:
        """Return expected counts of n-grams; smoothed counts use all translations that each phrase could have had."""
        if order < 1:
            raise ValueError("n-grams have at least one word")
        chain, shares = room_for_chain(self.sentence, random_state(0)), self.counts / self.size
        sharpness = self.scale if smoothed else 0.0
        index, counts = _count_ngrams(
            self.sentence, chain, self.offsets, self.chosen, shares, order, not smoothed, sharpness, empty_index()
        )
        return {words_of(index, number): count for number, count in enumerate(counts.tolist())}
