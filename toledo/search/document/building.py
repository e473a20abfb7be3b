"""From the sentences of a document to arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.sequences import offsets_of
from toledo.search.beam.options import PreparedTable, SentenceOptions
from toledo.search.beam.weighted import WeightedModel
from toledo.search.distortion import WINDOW
from toledo.search.document.arrays import Text
from toledo.search.gibbs.phrase_scores import ANSWER, NO_STATE, PhraseScores

FEWEST, MOST = 1 << 12, 1 << 22  # answers that are remembered

Encoded = tuple[NDArray[np.int32], NDArray[np.int32]]


def sentence_parts(chooser: WeightedModel, table: PreparedTable, encoded: Sequence[Encoded]) -> list[SentenceOptions]:
    """The options of each sentence, the best by the weights of the model."""
    return [chooser.options(table, *sentence) for sentence in encoded]


def build_text(
    scorer: WeightedModel, parts: Sequence[SentenceOptions], encoded: Sequence[Encoded], rescore: bool
) -> Text:
    """The options of all sentences; with `rescore`, they were chosen by other weights than they are to be scored by."""
    options = _joined(parts)
    if rescore:
        known = options.pairs >= 0
        options.static[known] = scorer.pair_scores[options.pairs[known]]
        options.static[~known] = scorer.copy_score
    lengths = np.array([source.size for source, _ in encoded], np.int64)
    widest = int((options.stop - options.first).max(initial=1))
    return Text(
        options,
        scorer.scoring,
        scorer.longest_jump,
        min(options.first.shape[1], WINDOW),
        offsets_of(lengths),
        offsets_of(lengths + 2),
        offsets_of(2 * (lengths + 2) + 2 + widest),
        np.repeat(np.arange(lengths.size, dtype=np.int32), lengths),
    )


def _joined(parts: Sequence[SentenceOptions]) -> SentenceOptions:
    """The options of all sentences one after the other."""
    if not parts:
        return _no_options()
    firsts = np.cumsum([0, *(part.begin.size for part in parts)])[:-1].astype(np.int32).tolist()
    words = np.cumsum([0, *(part.words.size for part in parts)])[:-1].astype(np.int32).tolist()
    shifted = [
        part._replace(
            word_begin=part.word_begin + np.int32(word),
            first=part.first + np.int32(first),
            stop=part.stop + np.int32(first),
        )
        for part, first, word in zip(parts, firsts, words, strict=True)
    ]
    return SentenceOptions(*(np.concatenate(arrays) for arrays in zip(*shifted, strict=True)))


def _no_options() -> SentenceOptions:
    """Those of a document without sentences."""
    whole, real, spans = np.empty(0, np.int32), np.empty(0), np.empty((0, 1), np.int32)
    return SentenceOptions(whole, whole, whole, real, real, whole, whole, whole, spans, spans)


def most_possibilities(text: Text) -> int:
    """The largest number of possibilities that an operation weighs: one phrase or two for a span."""
    counts = (text.options.stop - text.options.first).astype(np.int64)
    most = int(counts.max(initial=1))
    for n in range(1, text.longest):
        for k in range(n):
            if counts.shape[0] > k + 1:
                pairs = counts[: -(k + 1), k] * counts[k + 1 :, n - k - 1]
                most = max(most, int((counts[: -(k + 1), n] + pairs).max(initial=0)))
    return most


def slots_for_answers(text: Text, per_option: int) -> int:
    """For so many answers about each option, if that is not too much; more than there are options in any case."""
    options = text.options.begin.size
    wanted = max(min(max(per_option * options, FEWEST), MOST), options + 1)
    return 1 << (wanted - 1).bit_length()


def room_for_answers(text: Text, slots: int) -> PhraseScores:
    """A memory of what language models said of phrases."""
    answers = np.zeros((len(text.scoring.models), slots), ANSWER)
    answers["state"] = NO_STATE
    return PhraseScores(answers, np.zeros(1, np.int64))
