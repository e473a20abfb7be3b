"""Features and texts of each sentence of many states of a document, from the options that were chosen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.sequences import offsets_of
from toledo.model import Model
from toledo.search.beam.options import SentenceOptions
from toledo.search.document.arrays import Text
from toledo.search.document.features import sentence_columns
from toledo.search.document.starting import Phrases
from toledo.tuning.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def sentence_rows(model: Model, text: Text, phrases: Phrases, first_sparse: int) -> Rows:
    """A row for each sentence with the features of the sentence model; sparse ones are columns from `first_sparse` on.

    `phrases` may have any number of sentences, such as those of many states one after the other.
    """
    options, chosen, offsets = text.options, phrases.chosen, phrases.offsets
    columns = sentence_columns(model, options, text.scoring, offsets, chosen)
    dense = np.column_stack([columns[name] for name in model.feature_names]).astype(np.float32)
    if model.sparse is None:
        return Rows(np.empty(0), dense, np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    starts, ids, values = model.sparse.rows(options.pairs[chosen].astype(np.int64))
    return Rows(np.empty(0), dense, starts[offsets], ids + np.int32(first_sparse), values)


def texts_of(options: SentenceOptions, phrases: Phrases) -> tuple[NDArray[np.int32], Ints]:
    """The words of each sentence one after the other, and where each begins."""
    lengths = options.lengths[phrases.chosen].astype(np.int64)
    ends = offsets_of(lengths)
    places = np.arange(ends[-1]) + np.repeat(options.word_begin[phrases.chosen] - ends[:-1], lengths)
    return options.words[places], ends[phrases.offsets]
