"""What document search works on: the options of all sentences side by side, and the phrases chosen for each.

A sentence of a document is seen as the Gibbs sampler sees it: `sentence_at` and `chain_at` give views of the arrays,
so both score and apply a change by the same code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inlined
from toledo.search.chain import Chain, Sentence
from toledo.search.options import Scoring, SentenceOptions

STEPS, ACCEPTED, REJECTED = range(3)  # of `State.counters`: rejected ones since the last that was accepted
SENTENCES, DOCUMENT, USERS, BEST = range(4)  # of `State.totals`: the first three make up the score
PROPOSED, POSSIBLE, TAKEN = range(3)  # columns of `State.phrases.tally`


class Text(NamedTuple):
    """What does not change. Positions of options and spans count from the beginning of their sentence.

    Sentence s has the source words `words[s]:words[s + 1]` of the document, the places `places[s]:places[s + 1]` and
    the rows `rows[s]:rows[s + 1]`; `sentence[w]` is the sentence of source word w. `unscored`: all weights of the
    sentence model are 0, as in a search for BLEU alone, so that nobody asks what it says.
    """

    options: SentenceOptions
    scoring: Scoring
    limit: int
    longest: int
    words: NDArray[np.int64]
    places: NDArray[np.int64]
    rows: NDArray[np.int64]
    sentence: NDArray[np.int32]
    unscored: bool


class State(NamedTuple):
    """The phrases of all sentences side by side, of which `chain_at` gives those of one; and what the search remembers.

    Sentence s has `phrases.size[s]` of them, and `phrases.tally` has a row for each operation of document search.
    `scores[s]` is what the sentence model gives sentence s. The best state is kept as `best_size` and `best_chosen`,
    but for the sentences `changed[:changed_count[0]]`, which differ by now (marked in `is_changed`).
    """

    phrases: Chain
    scores: NDArray[np.float64]
    counters: NDArray[np.int64]
    totals: NDArray[np.float64]
    best_size: NDArray[np.int64]
    best_chosen: NDArray[np.int32]
    changed: NDArray[np.int32]
    changed_count: NDArray[np.int64]
    is_changed: NDArray[np.bool_]


@inlined
def sentence_at(text: Text, s: int) -> Sentence:
    """Return a sentence of the document."""
    begin, end, all_options = text.words[s], text.words[s + 1], text.options
    options = SentenceOptions(
        all_options.begin, all_options.end, all_options.pairs, all_options.static, all_options.estimate,
        all_options.words, all_options.word_begin, all_options.lengths,
        all_options.first[begin:end], all_options.stop[begin:end],
    )  # fmt: skip
    return Sentence(options, text.scoring, text.limit, text.longest)


@inlined
def chain_at(text: Text, state: State, s: int) -> Chain:
    """Return the phrases of a sentence."""
    begin, end, phrases = text.places[s], text.places[s + 1], state.phrases
    return Chain(
        phrases.size[s : s + 1], phrases.chosen[begin:end], phrases.model_scores[begin:end],
        phrases.rows[text.rows[s] : text.rows[s + 1]], phrases.gaps[begin:end], phrases.masks[begin:end],
        phrases.place[text.words[s] : text.words[s + 1]], phrases.known, phrases.random, phrases.tally,
        phrases.weights, phrases.new, phrases.new_scores,
    )  # fmt: skip
