"""The semantic-space language model (Hardmeier, Nivre and Tiedemann 2012) on a document, kept up to date.

A content word is scored by the cosine of its vector and the mean of those of the `context` content words before it,
in earlier sentences, too. What a cosine is worth lies in a table: see `SemanticSpace`. So a change of some words
matters for them and for `context` content words after them; the work does not depend on the document's length. Vectors
are whole numbers, so sums over words do not depend on the order.
"""

from __future__ import annotations

import math

from toledo.kernels import inner_kernel
from toledo.search.beam.options import SentenceOptions
from toledo.search.document.arrays import State, Text
from toledo.search.document.models.measures import LIKELY, NOTHING, Measures, Vectors


@inner_kernel
def score_contents(measures: Measures, text: Text, state: State, s: int, first: int, old: int, new: int) -> None:
    """Replace what `old` phrases from a place on, and what follows them, are worth by that of `state.phrases.new`."""
    vectors, options = measures.vectors, text.options
    left = _words_before(measures, text, state, s, first)
    for turn in range(2):
        end = left
        for k in range(new if turn else old):
            option = state.phrases.new[k] if turn else state.phrases.chosen[text.places[s] + first + k]
            end = _append(measures, options, option, end)
        end = _words_after(measures, text, state, s, first + old, end)
        worth = _worth(vectors, left, end)
        measures.totals[LIKELY] += worth if turn else -worth


@inner_kernel
def score_document(measures: Measures, text: Text, state: State) -> None:
    """What the whole text is worth, sentence by sentence."""
    for s in range(text.words.size - 1):
        left = _words_before(measures, text, state, s, 1)
        end = left
        for place in range(text.places[s] + 1, text.places[s] + 1 + state.phrases.size[s]):
            end = _append(measures, text.options, state.phrases.chosen[place], end)
        measures.totals[LIKELY] += _worth(measures.vectors, left, end)


@inner_kernel
def _append(measures: Measures, options: SentenceOptions, option: int, end: int) -> int:
    """Add the content words of a phrase to the sequence; gives its new end."""
    vectors = measures.vectors
    for i in range(options.word_begin[option], options.word_begin[option] + options.lengths[option]):
        row = vectors.rows[measures.types[i]]
        if row != NOTHING:
            vectors.sequence[end] = row
            end += 1
    return end


@inner_kernel
def _words_before(measures: Measures, text: Text, state: State, s: int, first: int) -> int:
    """The last content words before a place into the sequence, in order; gives their number."""
    vectors, options, count = measures.vectors, text.options, 0
    place = first - 1
    while s >= 0 and count < vectors.context:
        while place > 0 and count < vectors.context:
            option = state.phrases.chosen[text.places[s] + place]
            for k in range(options.lengths[option] - 1, -1, -1):
                row = vectors.rows[measures.types[options.word_begin[option] + k]]
                if row != NOTHING and count < vectors.context:
                    vectors.sequence[count] = row
                    count += 1
            place -= 1
        s -= 1
        if s >= 0:
            place = state.phrases.size[s]
    for k in range(count // 2):
        other = count - 1 - k
        vectors.sequence[k], vectors.sequence[other] = vectors.sequence[other], vectors.sequence[k]
    return count


@inner_kernel
def _words_after(measures: Measures, text: Text, state: State, s: int, place: int, end: int) -> int:
    """Add the first content words from a place on, at most `context`; gives the end of the sequence."""
    options, most = text.options, end + measures.vectors.context
    while s < text.words.size - 1 and end < most:
        while place <= state.phrases.size[s] and end < most:
            end = min(_append(measures, options, state.phrases.chosen[text.places[s] + place], end), most)
            place += 1
        s += 1
        place = int(text.places[0]) + 1
    return end


@inner_kernel
def _worth(vectors: Vectors, first: int, end: int) -> int:
    """What the words from `first` up to `end` of the sequence are worth after those before them."""
    mean, sequence, total = vectors.mean, vectors.sequence, 0
    for d in range(mean.size):
        mean[d] = 0
    for i in range(max(first - vectors.context, 0), first):
        for d in range(mean.size):
            mean[d] += vectors.vectors[sequence[i], d]
    for i in range(first, end):
        if i:
            dot = norm = 0
            for d in range(mean.size):
                dot += mean[d] * vectors.vectors[sequence[i], d]
                norm += mean[d] * mean[d]
            if norm:
                cosine = dot / (math.sqrt(float(norm)) * vectors.norms[sequence[i]])
                place = int(0.5 * (cosine + 1.0) * vectors.worth.size)
                total += vectors.worth[min(max(place, 0), vectors.worth.size - 1)]
        for d in range(mean.size):
            mean[d] += vectors.vectors[sequence[i], d]
        if i >= vectors.context:
            for d in range(mean.size):
                mean[d] -= vectors.vectors[sequence[i - vectors.context], d]
    return int(total)
