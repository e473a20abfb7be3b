"""Moses' text reordering tables (wbe-msd-bidirectional-fe), in and out: `source ||| target ||| six probabilities`.

Monotone, swap, discontinuous with respect to the previous phrase, then to the following one (Koehn et al. 2005).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.files import display_name
from toledo.formats.moses_lines import SCORES, SOURCE, TARGET, LineBlock, read_line_blocks
from toledo.formats.moses_writing import probability_texts, write_pairs
from toledo.kernels import kernel
from toledo.phrases.look_up import find_pairs
from toledo.phrases.table import LOWEST_SCORE, REORDERING_FEATURES, PhraseTable
from toledo.phrases.trie import Trie, build_trie, find_phrases
from toledo.progress import Progress, silent

log = logging.getLogger(__name__)

FIELDS = 3
COLUMNS = len(REORDERING_FEATURES)
NONE = -1


def read_reordering_table(
    path: str | Path, table: PhraseTable, default: Sequence[float] | None = None, progress: Progress = silent
) -> PhraseTable:
    """Join the probabilities of a file of any order to the pairs of a table.

    A pair without a line is an error, unless `default` gives six probabilities for it (Moses' default-scores). Lines
    for pairs that the table does not have are left out: a filtered table goes with a full reordering table.
    """
    scores = np.full((len(table), COLUMNS), np.nan, np.float32)
    target_trie = build_trie(table.pairs.targets)
    left_out = 0
    for block in read_line_blocks(path, FIELDS, FIELDS, progress):
        pairs = _pairs_of(block, table, target_trie)
        repeated = _place(pairs, block.log_probabilities(SCORES, COLUMNS), scores)
        if repeated != NONE:
            raise block.error(repeated, "the phrase pair comes a second time", "keep one line for each pair")
        left_out += int(np.count_nonzero(pairs == NONE))
    if left_out:
        log.info("%s: %d pairs are not in the phrase table and are left out", path, left_out)
    missing = np.isnan(scores[:, 0])
    if default is not None:
        scores[missing] = _logarithms(default)
    elif missing.any():
        raise _missing_pair(path, table, missing)
    return table.with_reordering(scores)


def write_reordering_table(path: str | Path, table: PhraseTable, progress: Progress = silent) -> None:
    """Write the reordering probabilities of a table, sorted; `.gz` is packed."""
    reordering = table.reordering
    if reordering is None:
        raise InputError("the phrase table has no reordering scores", remedy="train or import a reordering model first")
    write_pairs(path, table, lambda chosen: probability_texts(reordering[chosen]), progress)


def _pairs_of(block: LineBlock, table: PhraseTable, target_trie: Trie) -> NDArray[np.int32]:
    source = find_phrases(table.trie, *block.phrases(SOURCE, table.source_vocabulary, grow=False))
    target = find_phrases(target_trie, *block.phrases(TARGET, table.target_vocabulary, grow=False))
    return find_pairs(table.option_offsets, table.pairs.target, source, target)


@kernel
def _place(pairs: NDArray[np.int32], values: NDArray[np.float32], scores: NDArray[np.float32]) -> int:
    """Write each line's values to its pair; the first line whose pair has some already, or NONE."""
    for line in range(pairs.size):
        if pairs[line] != NONE:
            if not np.isnan(scores[pairs[line], 0]):
                return line
            scores[pairs[line]] = values[line]
    return NONE


def _logarithms(default: Sequence[float]) -> NDArray[np.float32]:
    values = np.array(default, np.float64)
    if values.shape != (COLUMNS,) or not np.all(np.isfinite(values) & (values >= 0)):
        raise InputError("the default needs six probabilities", remedy="give, for example, 0.6 0.2 0.2 0.6 0.2 0.2")
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(values), LOWEST_SCORE).astype(np.float32)


def _missing_pair(path: str | Path, table: PhraseTable, missing: NDArray[np.bool_]) -> InputError:
    pair = table[int(np.argmax(missing))]
    text = " ||| ".join((" ".join(pair.source), " ".join(pair.target)))
    return InputError(
        f"no line for {np.count_nonzero(missing)} of {len(table)} phrase pairs, among them: {text}",
        file=display_name(path),
        remedy="use the reordering table that was made with the phrase table, or give default probabilities",
    )
