"""Moses' text phrase tables, in and out: `source ||| target ||| scores ||| alignment ||| counts ||| |||`.

The scores are p(f|e) lex(f|e) p(e|f) lex(e|f), the counts those of the target phrase, the source phrase and the pair.

Text reordering tables (wbe-msd-bidirectional-fe), in and out: `source ||| target ||| six probabilities`: monotone,
swap, discontinuous with respect to the previous phrase, then to the following one (Koehn et al. 2005).

Lines are read block by block: words, probabilities and links as arrays, errors with line numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import number_rows
from toledo.compiled.kernels import kernel
from toledo.compiled.sorting import sort_pairs
from toledo.errors import InputError
from toledo.files import file_error, read_blocks
from toledo.formats.moses_writing import probability_texts, write_pairs
from toledo.phrases.table import (
    LONGEST_PHRASE,
    LOWEST_SCORE,
    REORDERING_FEATURES,
    SCORE_FEATURES,
    PhrasePairs,
    PhraseTable,
    sort_links,
)
from toledo.phrases.trie import TrieBuilder, build_trie, find_pairs, find_phrases
from toledo.progress import Progress, silent
from toledo.text.byte_fields import (
    NONE,
    Fields,
    Tokens,
    parse_links,
    parse_numbers,
    split_fields,
    split_tokens,
    take_field,
)
from toledo.text.vocabulary import END, RESERVED, Vocabulary

log = logging.getLogger(__name__)

SOURCE, TARGET, SCORES, ALIGNMENT, COUNTS, SPARSE = range(6)
LEAST_FIELDS, MOST_FIELDS = 3, 7  # of a line of a phrase table
COUNT_COLUMNS = 3
FIELDS = 3  # of a line of a reordering table
COLUMNS = len(REORDERING_FEATURES)
LARGEST = 1e38  # what single precision holds
LAYOUT = "write: source ||| target ||| scores"


@dataclass(frozen=True)
class LineBlock:
    """Consecutive lines of a file, cut into fields; `before` lines came earlier."""

    path: str | Path
    before: int
    data: NDArray[np.uint8]
    tokens: Tokens
    fields: Fields

    def __len__(self) -> int:
        return self.fields.per_line.size

    def field(self, number: int) -> Tokens:
        """Return the tokens of one field of each line."""
        return take_field(self.tokens, self.fields.first[number], self.fields.stop[number])

    def phrases(
        self, number: int, vocabulary: Vocabulary, grow: bool = True
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the words of a field as ids, and their offsets by line; `grow` adds new words to the vocabulary."""
        tokens = self.field(number)
        self._check_lengths(number, np.diff(tokens.offsets))
        numbers, first = number_rows(self.data, tokens.begin, tokens.end)
        content = self.data.tobytes()
        places = zip(tokens.begin[first].tolist(), tokens.end[first].tolist(), strict=True)
        ids, _ = vocabulary.encode_lines([b" ".join([content[begin:end] for begin, end in places])], grow)
        words = ids[numbers]
        if grow:
            self._refuse_reserved(tokens, words)
        return words, tokens.offsets

    def log_probabilities(self, number: int, columns: int) -> NDArray[np.float32]:
        """Return the natural logarithms of `columns` probabilities in each line, at least LOWEST_SCORE."""
        tokens = self.field(number)
        wrong = np.flatnonzero(np.diff(tokens.offsets) != columns)
        if wrong.size:
            found = int(tokens.offsets[wrong[0] + 1] - tokens.offsets[wrong[0]])
            message = f"{found} scores instead of {columns}"
            raise self.error(int(wrong[0]), message, "give the same scores in every line")
        values = self.numbers(tokens)
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(values), LOWEST_SCORE)
        return logs.astype(np.float32).reshape(-1, columns)

    def numbers(self, tokens: Tokens) -> NDArray[np.float64]:
        """Return numbers from 0 to LARGEST."""
        values = parse_numbers(self.data, tokens)
        bad = np.flatnonzero(~((values >= 0) & (values <= LARGEST)))
        if bad.size:
            value = values[bad[0]]
            what = "not a number" if np.isnan(value) else "too large" if value > 0 else "negative"
            raise self.token_error(tokens, int(bad[0]), f"is {what}", "every score and count is a number from 0 up")
        return values

    def links(
        self, source: NDArray[np.int64], target: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the links of all lines, and their number in each, given the lengths of the phrases."""
        tokens = self.field(ALIGNMENT)
        links, counts = parse_links(self.data, tokens), np.diff(tokens.offsets)
        malformed = np.flatnonzero(links[:, 0] == NONE)
        if malformed.size:
            remedy = "write links as source-target positions from 0: 0-0 1-2"
            raise self.token_error(tokens, int(malformed[0]), "is not a link", remedy)
        lengths = np.repeat(np.stack((source, target), axis=1), counts, axis=0)
        outside = np.flatnonzero((links >= lengths).any(axis=1))
        if outside.size:
            remedy = "positions count from 0, source first"
            raise self.token_error(tokens, int(outside[0]), "links a word outside the phrases", remedy)
        return links.astype(np.uint8), counts

    def error(self, line: int, message: str, remedy: str) -> InputError:
        """Return an error in a line of this block, counted from 0."""
        return file_error(self.path, self.before + line + 1, message, remedy)

    def token_error(self, tokens: Tokens, token: int, message: str, remedy: str) -> InputError:
        """Return an error that quotes a token."""
        line = int(np.searchsorted(tokens.offsets, token, side="right")) - 1
        text = self.data[tokens.begin[token] : tokens.end[token]].tobytes().decode("utf-8")
        return self.error(line, f"{text!r} {message}", remedy)

    def _check_lengths(self, number: int, lengths: NDArray[np.int64]) -> None:
        side = ("source", "target")[number]
        if (empty := np.flatnonzero(lengths == 0)).size:
            raise self.error(int(empty[0]), f"the {side} phrase is empty", "remove the line")
        if (long := np.flatnonzero(lengths > LONGEST_PHRASE)).size:
            raise self.error(int(long[0]), f"the {side} phrase has more than {LONGEST_PHRASE} words", "remove the line")

    def _refuse_reserved(self, tokens: Tokens, words: NDArray[np.int32]) -> None:
        reserved = np.flatnonzero(words <= END)
        if reserved.size:
            remedy = f"remove the line: {' '.join(RESERVED)} are never words of a phrase"
            raise self.token_error(tokens, int(reserved[0]), "is a reserved word", remedy)


def read_line_blocks(path: str | Path, least: int, most: int, progress: Progress = silent) -> Iterator[LineBlock]:
    """Read a table whose lines have `least` to `most` fields."""
    before = 0
    for content in read_blocks(path, progress):
        data = np.frombuffer(content, np.uint8)
        tokens = split_tokens(data)
        block = LineBlock(path, before, data, tokens, split_fields(data, tokens, most))
        _check_fields(block, least, most)
        yield block
        before += len(block)


def _check_fields(block: LineBlock, least: int, most: int) -> None:
    if block.fields.glued != NONE:
        raise block.token_error(block.tokens, block.fields.glued, "has ||| inside a word", "put spaces around |||")
    wrong = np.flatnonzero((block.fields.per_line < least) | (block.fields.per_line > most))
    if wrong.size:
        found, expected = int(block.fields.per_line[wrong[0]]), f"{least}" if least == most else f"{least} to {most}"
        raise block.error(int(wrong[0]), f"{found} fields instead of {expected}", LAYOUT)


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
    """Write a sorted table, as Moses' tools expect it; reading it back gives the same table; `.gz` is packed."""
    write_pairs(path, table, lambda chosen: _tails(table, chosen), progress)


def column_names(columns: int) -> tuple[str, ...]:
    """Return the features of a table with this number of columns."""
    extra = tuple(f"phrase.extra.{number}" for number in range(1, columns - len(SCORE_FEATURES) + 1))
    return SCORE_FEATURES + extra


class _Lines:
    """The content of the lines read so far, as arrays; phrases are numbered by tries."""

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
        """Add the lines of a block."""
        lengths = []
        for side in (SOURCE, TARGET):
            words, offsets = block.phrases(side, self.vocabularies[side])
            self.ends[side].append(self.tries[side].add(words, offsets))
            lengths.append(np.diff(offsets))
        if self.feature_names is None:
            columns, usual = int(block.field(SCORES).offsets[1]), len(SCORE_FEATURES)
            if columns < usual:
                message = f"{columns} scores, but {usual} are usual ({', '.join(SCORE_FEATURES)})"
                raise block.error(0, message, "name the columns")
            self.feature_names = column_names(columns)
        self.scores.append(block.log_probabilities(SCORES, len(self.feature_names)))
        self.counts.append(_read_counts(block))
        links, link_counts = block.links(*lengths)
        self.links.append(links)
        self.link_counts.append(link_counts)
        self.with_sparse_features += int(np.count_nonzero(np.diff(block.field(SPARSE).offsets)))

    def table(self, path: str | Path) -> PhraseTable:
        """Sort the pairs and return the table; the collected parts are freed on the way."""
        if self.feature_names is None:
            raise file_error(path, None, "has no phrase pairs", "give a phrase table in text form")
        if self.with_sparse_features:
            log.warning("%s: sparse features in %d lines are left out", path, self.with_sparse_features)
        targets, target = self.tries.pop().phrases(_joined(self.ends[TARGET]))
        sources, source = self.tries.pop().phrases(_joined(self.ends[SOURCE]))
        order = sort_pairs(source, target)
        _refuse_duplicates(path, source, target, order)
        counts = _joined(self.counts)
        link_counts = _joined(self.link_counts)
        offsets, links = sort_links(_joined(self.links), link_counts, order)
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


def _read_counts(block: LineBlock) -> NDArray[np.float32]:
    """Return target, source and joint count of each line, 0 where unknown. Old tables have no joint counts."""
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
        remedy = "keep one line for each pair, for example: awk -F ' [|][|][|] ' '!seen[$1 FS $2]++'"
        raise file_error(path, later, f"the phrase pair of line {earlier} comes again", remedy)


def _marginal_counts(
    path: str | Path, side: str, phrase: NDArray[np.int32], counts: NDArray[np.float32], phrases: int
) -> NDArray[np.float32]:
    """Return the largest count of each phrase; its lines differ in tables that were merged from others."""
    largest = np.zeros(phrases, np.float32)
    np.maximum.at(largest, phrase, counts)
    differing = int(np.count_nonzero(largest[phrase] != counts))
    if differing:
        log.warning("%s: %d lines have a smaller count of their %s phrase than others", path, differing, side)
    return largest


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return one array and free the parts, so that a large table is not in memory twice."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def _tails(table: PhraseTable, chosen: NDArray[np.int32]) -> Iterator[str]:
    """Yield scores, alignment and counts of pairs; unknown counts are left out."""
    pairs = table.pairs
    targets, sources = table.target_counts[pairs.target[chosen]], table.source_counts[pairs.source[chosen]]
    counts = np.stack((targets, sources, pairs.joint_counts[chosen]))
    links = zip(pairs.link_offsets[chosen].tolist(), pairs.link_offsets[chosen + 1].tolist(), strict=True)
    rows = zip(probability_texts(table.scores[chosen]), links, counts.T.tolist(), strict=True)
    for scores, (begin, end), (target, source, joint) in rows:
        alignment = " ".join([f"{first}-{second}" for first, second in pairs.links[begin:end].tolist()])
        given = f"{target:.9g} {source:.9g} {joint:.9g}" if joint else f"{target:.9g} {source:.9g}" if source else ""
        yield f"{scores} ||| {alignment} ||| {given} ||| |||"


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
        source = find_phrases(table.trie, *block.phrases(SOURCE, table.source_vocabulary, grow=False))
        target = find_phrases(target_trie, *block.phrases(TARGET, table.target_vocabulary, grow=False))
        pairs = find_pairs(table.option_offsets, table.pairs.target, source, target)
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


@kernel
def _place(pairs: NDArray[np.int32], values: NDArray[np.float32], scores: NDArray[np.float32]) -> int:
    """Write each line's values to its pair, and return the first line whose pair has values already, or NONE."""
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
    message = f"no line for {np.count_nonzero(missing)} of {len(table)} phrase pairs, among them: {text}"
    remedy = "use the reordering table that was made with the phrase table, or give default probabilities"
    return file_error(path, None, message, remedy)
