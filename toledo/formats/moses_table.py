"""Moses' text phrase tables, in and out: `source ||| target ||| scores ||| alignment ||| counts ||| |||`.

The scores are p(f|e) lex(f|e) p(e|f) lex(e|f), the counts those of the target phrase, the source phrase and the pair.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.files import display_name
from toledo.formats.moses_lines import COUNTS, SCORES, SOURCE, SPARSE, TARGET, LineBlock, read_line_blocks
from toledo.formats.moses_writing import probability_texts, write_pairs
from toledo.kernels import kernel
from toledo.phrases.pairs import PhrasePairs
from toledo.phrases.table import SCORE_FEATURES, PhraseTable
from toledo.phrases.trie import TrieBuilder
from toledo.progress import Progress, silent
from toledo.sorting import sort_pairs
from toledo.vocabulary import Vocabulary

log = logging.getLogger(__name__)

LEAST_FIELDS, MOST_FIELDS = 3, 7
COUNT_COLUMNS = 3


def read_phrase_table(
    path: str | Path,
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    feature_names: Sequence[str] | None = None,
    progress: Progress = silent,
) -> PhraseTable:
    """Read a table of any order; its words join the vocabularies. Two lines for the same pair are an error.

    Without `feature_names` the columns are SCORE_FEATURES, then phrase.extra.1 and so on.
    """
    lines = _Lines(source_vocabulary, target_vocabulary, feature_names)
    for block in read_line_blocks(path, LEAST_FIELDS, MOST_FIELDS, progress):
        lines.add(block)
    return lines.table(path)


def write_phrase_table(path: str | Path, table: PhraseTable, progress: Progress = silent) -> None:
    """Write a table as Moses' tools want it: sorted; what is read back is the same; `.gz` is packed."""
    write_pairs(path, table, lambda chosen: _tails(table, chosen), progress)


def column_names(columns: int) -> tuple[str, ...]:
    """The features of a table with so many columns."""
    extra = tuple(f"phrase.extra.{number}" for number in range(1, columns - len(SCORE_FEATURES) + 1))
    return SCORE_FEATURES + extra


class _Lines:
    """What the lines read so far hold, as arrays; phrases are numbered by tries while they come."""

    def __init__(self, source: Vocabulary, target: Vocabulary, feature_names: Sequence[str] | None) -> None:
        self.vocabularies = source, target
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self.tries = [TrieBuilder(), TrieBuilder()]
        self.ends: tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]] = [], []
        self.scores: list[NDArray[np.float32]] = []
        self.counts: list[NDArray[np.float32]] = []
        self.links: list[NDArray[np.uint8]] = []
        self.link_counts: list[NDArray[np.int64]] = []
        self.with_sparse_features = 0

    def add(self, block: LineBlock) -> None:
        """Take the lines of a block."""
        lengths = []
        for side in (SOURCE, TARGET):
            words, offsets = block.phrases(side, self.vocabularies[side])
            self.ends[side].append(self.tries[side].add(words, offsets))
            lengths.append(np.diff(offsets))
        if self.feature_names is None:
            self.feature_names = _names_by_first_line(block)
        self.scores.append(block.log_probabilities(SCORES, len(self.feature_names)))
        self.counts.append(_read_counts(block))
        links, link_counts = block.links(*lengths)
        self.links.append(links)
        self.link_counts.append(link_counts)
        self.with_sparse_features += int(np.count_nonzero(np.diff(block.field(SPARSE).offsets)))

    def table(self, path: str | Path) -> PhraseTable:
        """Sort the pairs and put everything together; what was collected is let go on the way."""
        if self.feature_names is None:
            raise InputError("has no phrase pairs", file=display_name(path), remedy="give a phrase table in text form")
        if self.with_sparse_features:
            log.warning("%s: sparse features in %d lines are left out", path, self.with_sparse_features)
        targets, target = self.tries.pop().phrases(_joined(self.ends[TARGET]))
        sources, source = self.tries.pop().phrases(_joined(self.ends[SOURCE]))
        order = sort_pairs(source, target)
        _refuse_duplicates(path, source, target, order)
        counts = _joined(self.counts)
        offsets, links = _sorted_links(_joined(self.links), _joined(self.link_counts), order)
        pairs = PhrasePairs(
            sources, targets, source[order], target[order], np.ascontiguousarray(counts[order, 2]), offsets, links
        )
        return PhraseTable.create(
            pairs,
            _joined(self.scores)[order],
            *self.vocabularies,
            self.feature_names,
            _marginal_counts(path, "source", source, counts[:, 1], len(sources)),
            _marginal_counts(path, "target", target, counts[:, 0], len(targets)),
        )


def _names_by_first_line(block: LineBlock) -> tuple[str, ...]:
    columns = int(block.field(SCORES).offsets[1])
    if columns < len(SCORE_FEATURES):
        names = ", ".join(SCORE_FEATURES)
        raise block.error(0, f"{columns} scores, but {len(SCORE_FEATURES)} are usual ({names})", "name the columns")
    return column_names(columns)


def _read_counts(block: LineBlock) -> NDArray[np.float32]:
    """Target, source and joint count of each line; 0 where unknown. Old tables have no joint counts."""
    tokens = block.field(COUNTS)
    given = np.diff(tokens.offsets)
    wrong = np.flatnonzero((given != 0) & (given != COUNT_COLUMNS - 1) & (given != COUNT_COLUMNS))
    if wrong.size:
        raise block.error(int(wrong[0]), f"{given[wrong[0]]} counts", "give the counts of target, source and pair")
    counts = np.zeros((len(block), COUNT_COLUMNS), np.float32)
    counts[np.arange(COUNT_COLUMNS) < given[:, np.newaxis]] = block.numbers(tokens)
    return counts


def _refuse_duplicates(
    path: str | Path, source: NDArray[np.int32], target: NDArray[np.int32], order: NDArray[np.int32]
) -> None:
    same = (source[order[1:]] == source[order[:-1]]) & (target[order[1:]] == target[order[:-1]])
    repeated = np.flatnonzero(same)
    if repeated.size:
        earlier, later = (int(line) + 1 for line in order[repeated[0] : repeated[0] + 2])
        raise InputError(
            f"the phrase pair of line {earlier} comes again",
            file=display_name(path),
            line=later,
            remedy="keep one line for each pair, for example: awk -F ' [|][|][|] ' '!seen[$1 FS $2]++'",
        )


def _marginal_counts(
    path: str | Path, side: str, phrase: NDArray[np.int32], counts: NDArray[np.float32], phrases: int
) -> NDArray[np.float32]:
    """One count for each phrase: the largest, should its lines differ (in tables put together from others)."""
    largest = np.zeros(phrases, np.float32)
    np.maximum.at(largest, phrase, counts)
    differing = int(np.count_nonzero(largest[phrase] != counts))
    if differing:
        log.warning("%s: %d lines have a smaller count of their %s phrase than others", path, differing, side)
    return largest


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """One array; the parts are let go, as a large table fits into memory once rather than twice."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def _sorted_links(
    links: NDArray[np.uint8], counts: NDArray[np.int64], order: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    begins = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=begins[1:])
    offsets = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts[order], out=offsets[1:])
    return offsets, _gather_links(links, begins, order, offsets)


@kernel
def _gather_links(
    links: NDArray[np.uint8], begins: NDArray[np.int64], order: NDArray[np.int32], offsets: NDArray[np.int64]
) -> NDArray[np.uint8]:
    gathered = np.empty_like(links)
    for i in range(order.size):
        for k in range(offsets[i + 1] - offsets[i]):
            gathered[offsets[i] + k] = links[begins[order[i]] + k]
    return gathered


def _tails(table: PhraseTable, chosen: NDArray[np.int32]) -> Iterator[str]:
    """Scores, alignment and counts of some pairs; unknown counts are left out."""
    pairs = table.pairs
    counts = np.stack(
        (
            table.target_counts[pairs.target[chosen]],
            table.source_counts[pairs.source[chosen]],
            pairs.joint_counts[chosen],
        )
    )
    links = zip(pairs.link_offsets[chosen].tolist(), pairs.link_offsets[chosen + 1].tolist(), strict=True)
    rows = zip(probability_texts(table.scores[chosen]), links, counts.T.tolist(), strict=True)
    for scores, (begin, end), (target, source, joint) in rows:
        alignment = " ".join([f"{first}-{second}" for first, second in pairs.links[begin:end].tolist()])
        given = f"{target:.9g} {source:.9g} {joint:.9g}" if joint else f"{target:.9g} {source:.9g}" if source else ""
        yield f"{scores} ||| {alignment} ||| {given} ||| |||"
