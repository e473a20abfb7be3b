"""Several phrase tables in one: side by side with scores of their own, filled up, or interpolated.

*Side by side* is what Moses does with several decoding paths. The pairs of all tables are options. A pair that two
tables have is two options, each with the scores of its own table and 0 for those of the other. With *back-off*, a
table is used only for source phrases that the tables before it lack. Whether it does is known without a sentence, so
pairs that can never be used are left out here, and searches see one table.

*Fill-up* (Bisazza, Ruiz and Federico 2011): a pair has the scores of the first table that has it, and a feature that is
1 for each later table that it comes from.

*Linear interpolation* (Foster and Kuhn 2007; Sennrich 2012): p = Σ_i λ_i p_i for each score, where p_i is 0 for pairs
that table i lacks. The λ of each score have the lowest cross-entropy on phrase pairs of a tuning text.

Orientations belong to a pair and not to a table, as in Moses, whose reordering table is looked up by the two phrases:
they are those of the first table that has both the pair and orientations. Pairs of tables without any have 1/3 each.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.sorting import sort_pairs
from toledo.errors import InputError
from toledo.language_model.interpolate import mixture_weights
from toledo.phrases.pruning import select_pairs
from toledo.phrases.spans import ORIENTATIONS
from toledo.phrases.table import FILLED, LOWEST_SCORE, PhrasePairs, PhraseTable, TablePart, sort_links
from toledo.phrases.trie import Phrases, TrieBuilder, build_trie, find_pairs, find_phrases
from toledo.text.vocabulary import Vocabulary

log = logging.getLogger(__name__)

MOST_TABLES = 100

Floats = NDArray[np.float64]


def recoded(table: PhraseTable, source: Vocabulary, target: Vocabulary) -> PhraseTable:
    """Return a table with words numbered by other vocabularies, which they join."""
    if table.source_vocabulary is source and table.target_vocabulary is target:
        return table
    pairs = replace(
        table.pairs,
        sources=_recoded(table.pairs.sources, table.source_vocabulary, source),
        targets=_recoded(table.pairs.targets, table.target_vocabulary, target),
    )
    return replace(
        table, pairs=pairs, source_vocabulary=source, target_vocabulary=target, trie=build_trie(pairs.sources)
    )


def _recoded(phrases: Phrases, old: Vocabulary, new: Vocabulary) -> Phrases:
    used = np.unique(phrases.words)
    numbers = np.zeros(len(old), np.int32)
    numbers[used] = [new.add(word) for word in old.words(used.tolist())]
    return Phrases(numbers[phrases.words], phrases.offsets)


def unite(tables: Sequence[PhraseTable], back_off: Sequence[int] = ()) -> PhraseTable:
    """Put tables over the same vocabularies side by side; table i is a back-off for up to `back_off[i]` words if not 0.

    Tables that are united already count as several. Counts of phrases are those of all tables together.
    """
    first, lengths = tables[0], [0, *back_off[1:]] if back_off else [0] * len(tables)
    if any(
        (one.source_vocabulary, one.target_vocabulary) != (first.source_vocabulary, first.target_vocabulary)
        for one in tables
    ):
        raise ValueError("tables can only be put together over the same vocabularies")
    parts = tuple(chain.from_iterable(_parts(*one) for one in zip(tables, lengths, strict=True)))
    if len(parts) > MOST_TABLES:
        raise InputError(f"{len(parts)} phrase tables", remedy=f"unite at most {MOST_TABLES}")
    names = tuple(chain.from_iterable(part.columns(number) for number, part in enumerate(parts)))
    pairs, order = _stacked(tables)
    united = PhraseTable(
        pairs,
        _side_by_side(tables, len(names))[order],
        names,
        first.source_vocabulary,
        first.target_vocabulary,
        _counts([table.pairs.sources for table in tables], [table.source_counts for table in tables], pairs.sources),
        _counts([table.pairs.targets for table in tables], [table.target_counts for table in tables], pairs.targets),
        _orientations(tables, order, pairs),
        build_trie(pairs.sources),
        parts,
    )
    keep = _reachable(united)
    return united if keep.all() else select_pairs(united, keep)


def _parts(table: PhraseTable, back_off: int) -> tuple[TablePart, ...]:
    own = table.parts or (TablePart(table.feature_names),)
    return (replace(own[0], back_off=back_off), *own[1:])


def _stacked(tables: Sequence[PhraseTable]) -> tuple[PhrasePairs, NDArray[np.int32]]:
    """Return the pairs of all tables, sorted, and which row of the tables in a row each of them was."""
    all_pairs = [table.pairs for table in tables]
    sources, source = _joined([one.sources for one in all_pairs], [one.source for one in all_pairs])
    targets, target = _joined([one.targets for one in all_pairs], [one.target for one in all_pairs])
    origins, shift = list[NDArray[np.uint8]](), 0
    for table in tables:
        own = np.zeros(len(table), np.uint8) if table.pairs.origin is None else table.pairs.origin
        origins.append((own + shift).astype(np.uint8))
        shift += max(len(table.parts), 1)
    order = sort_pairs(source, target)  # stable: earlier tables first
    links = np.concatenate([one.links for one in all_pairs])
    counts = np.concatenate([np.diff(one.link_offsets) for one in all_pairs])
    joint = np.concatenate([one.joint_counts for one in all_pairs])
    pairs = PhrasePairs(
        sources, targets, source[order], target[order], joint[order], *sort_links(links, counts, order),
        np.concatenate(origins)[order],
    )  # fmt: skip
    return pairs, order


def _joined(lists: Sequence[Phrases], chosen: Sequence[NDArray[np.int32]]) -> tuple[Phrases, NDArray[np.int32]]:
    """Return the distinct phrases of all tables, and the number of the phrase of each pair."""
    builder = TrieBuilder()
    ends = [builder.add(phrases.words, phrases.offsets)[own] for phrases, own in zip(lists, chosen, strict=True)]
    return builder.phrases(np.concatenate(ends))


def _side_by_side(tables: Sequence[PhraseTable], width: int) -> NDArray[np.float32]:
    scores, row, column = np.zeros((sum(map(len, tables)), width), np.float32), 0, 0
    for table in tables:
        height, own = table.scores.shape
        scores[row : row + height, column : column + own] = table.scores
        row, column = row + height, column + own
    return scores


def _counts(lists: Sequence[Phrases], counts: Sequence[NDArray[np.float32]], united: Phrases) -> NDArray[np.float32]:
    """Return the sum of the counts of each phrase."""
    total, trie = np.zeros(len(united)), build_trie(united)
    for phrases, own in zip(lists, counts, strict=True):
        place = find_phrases(trie, phrases.words, phrases.offsets)
        total += np.bincount(place[place >= 0], own[place >= 0], len(united))
    return total.astype(np.float32)


def _orientations(
    tables: Sequence[PhraseTable], order: NDArray[np.int32], pairs: PhrasePairs
) -> NDArray[np.float32] | None:
    """Return those of the first table that has the pair and orientations, equal ones for pairs that have none."""
    if all(table.reordering is None for table in tables):
        return None
    width = next(table.reordering.shape[1] for table in tables if table.reordering is not None)
    nothing = np.full((1, width), np.nan, np.float32)
    rows = np.concatenate(
        [np.repeat(nothing, len(one), axis=0) if one.reordering is None else one.reordering for one in tables]
    )[order]
    later = np.flatnonzero(pairs.repeated)
    for _ in range(max(1, int(pairs.origin.max(initial=0)) if pairs.origin is not None else 0)):
        known = later[~np.isnan(rows[later - 1, 0])]
        rows[known] = rows[known - 1]
        unknown = later[np.isnan(rows[later - 1, 0])]
        rows[unknown - 1] = rows[unknown]
    return np.where(np.isnan(rows), np.float32(-np.log(ORIENTATIONS)), rows)


def _reachable(table: PhraseTable) -> NDArray[np.bool_]:
    """Return which pairs can be used: those of a back-off only where the tables before it have nothing."""
    keep, known = np.zeros(len(table), np.bool_), np.zeros(len(table.pairs.sources), np.bool_)
    for number, part in enumerate(table.parts):
        own = table.of_part(number)
        if part.back_off:
            own &= ~known[table.pairs.source]
            own &= table.pairs.sources.lengths[table.pairs.source] <= part.back_off
        keep |= own
        known[table.pairs.source[own]] = True
    return keep


def part_of(table: PhraseTable, number: int) -> PhraseTable:
    """Return one of the tables that a table unites, as far as it is used; its counts are not known any more."""
    if not table.parts:
        return table
    own, part = select_pairs(table, table.of_part(number)), table.parts[number]
    return replace(
        own,
        pairs=replace(own.pairs, origin=None, joint_counts=np.zeros(len(own), np.float32)),
        scores=np.ascontiguousarray(own.scores[:, _columns(table, number)]),
        feature_names=part.feature_names,
        source_counts=np.zeros_like(own.source_counts),
        target_counts=np.zeros_like(own.target_counts),
        parts=(),
    )


def _columns(table: PhraseTable, number: int) -> slice:
    """Return where the scores of one of the united tables stand."""
    widths = [len(part.feature_names) for part in table.parts]
    return slice(sum(widths[:number]), sum(widths[: number + 1]))


def without_repetition(table: PhraseTable) -> PhraseTable:
    """Return every pair once, with all columns: for what belongs to pairs and not to tables."""
    if not table.parts:
        return table
    return _flat(table, table.scores[~table.pairs.repeated], table.feature_names)


def _flat(united: PhraseTable, scores: NDArray[np.float32], names: tuple[str, ...]) -> PhraseTable:
    """Return one table with these scores for the distinct pairs of a united one."""
    first = ~united.pairs.repeated
    return replace(
        united,
        pairs=replace(united.pairs.select(first), origin=None),
        scores=np.ascontiguousarray(scores, np.float32),
        feature_names=names,
        reordering=None if united.reordering is None else united.reordering[first],
        parts=(),
    )


def fill_up(tables: Sequence[PhraseTable]) -> PhraseTable:
    """Return all pairs with the scores of the first table that has them; `phrase.filled.1`, … say from which."""
    names = _same_features(tables, "fill-up")
    united = unite(tables)
    assert united.pairs.origin is not None  # noqa: S101 (united tables have one)
    origin = united.pairs.origin[~united.pairs.repeated]
    rows = np.flatnonzero(~united.pairs.repeated)
    scores = united.scores.reshape(len(united), len(tables), len(names))[rows, origin]
    filled = origin[:, None] == np.arange(1, len(tables))
    more = tuple(f"{FILLED}.{number}" for number in range(1, len(tables)))
    return _flat(united, np.hstack([scores, filled]), (*names, *more))


def interpolate_tables(tables: Sequence[PhraseTable], weights: Floats) -> PhraseTable:
    """Return all pairs with the weighted means of their probabilities; `weights[score, table]` add up to 1."""
    names = _same_features(tables, "linear interpolation")
    if weights.shape != (len(names), len(tables)) or np.any(weights < 0) or np.any(abs(weights.sum(axis=1) - 1) > 1e-6):
        raise ValueError("each score needs weights that add up to 1, one for each table")
    united = unite(tables)
    origin, starts = united.pairs.origin, np.flatnonzero(~united.pairs.repeated)
    own = united.scores.reshape(len(united), len(tables), len(names))[np.arange(len(united)), origin]
    means = np.add.reduceat(_probabilities(own) * weights.T[origin], starts, axis=0) if starts.size else own
    with np.errstate(divide="ignore"):
        mixed = _flat(united, np.maximum(np.log(means), LOWEST_SCORE), names)
    joint = np.add.reduceat(united.pairs.joint_counts, starts) if starts.size else united.pairs.joint_counts
    return replace(mixed, pairs=replace(mixed.pairs, joint_counts=joint))


def interpolation_weights(tables: Sequence[PhraseTable], tuning: PhrasePairs) -> Floats:
    """Return the weights of each score with the lowest cross-entropy on phrase pairs, weighted by their counts.

    Pairs that no table has are left out. The tables and the pairs must have the same vocabularies.
    """
    names = _same_features(tables, "linear interpolation")
    rows = [rows_in(table, tuning) for table in tables]
    found = np.stack(
        [
            np.where(own[:, None] >= 0, _probabilities(table.scores[own]), 0.0)
            for table, own in zip(tables, rows, strict=True)
        ]
    )
    known = np.all(np.any(found > 0, axis=0), axis=1)
    if not known.any():
        raise InputError(
            "no phrase table has a phrase pair of the tuning text",
            remedy="give a text of the same languages, prepared as the training text was",
        )
    counts = tuning.joint_counts[known].astype(np.float64)
    weights = np.stack([mixture_weights(found[:, known, score], counts) for score in range(len(names))])
    for name, own, column in zip(names, weights, np.moveaxis(found[:, known], 2, 0), strict=True):
        entropy = -float((counts * np.log2((own[:, None] * column).sum(axis=0))).sum() / counts.sum())
        shown = " ".join(f"{weight:.4f}" for weight in own)
        log.info("%s: weights %s, cross-entropy %.4f bits on %d phrase pairs", name, shown, entropy, known.sum())
    return weights


def _probabilities(scores: NDArray[np.float32]) -> Floats:
    return np.where(scores > LOWEST_SCORE, np.exp(scores.astype(np.float64)), 0.0)


def _same_features(tables: Sequence[PhraseTable], how: str) -> tuple[str, ...]:
    """Refuse tables whose scores cannot be compared."""
    names = tables[0].feature_names
    for number, table in enumerate(tables):
        if table.parts:
            raise InputError(
                f"{how} needs single tables, and table {number} unites several", remedy="give them one by one"
            )
        if table.feature_names != names:
            own, other = ", ".join(names), ", ".join(table.feature_names)
            raise InputError(
                f"{how} needs the same scores in all tables: table 0 has {own}, table {number} has {other}",
                remedy="put them side by side (`combine_tables=either`), or make tables with the same scores",
            )
    return names


def rows_in(table: PhraseTable, pairs: PhrasePairs) -> NDArray[np.int32]:
    """Return the number in `table` of each phrase pair, or -1; both must have the same vocabularies.

    Where tables are united, pairs of one are looked for among those of the table of the same number.
    """
    sources = find_phrases(table.trie, pairs.sources.words, pairs.sources.offsets)
    targets = find_phrases(build_trie(table.pairs.targets), pairs.targets.words, pairs.targets.offsets)
    first = find_pairs(table.option_offsets, table.pairs.target, sources[pairs.source], targets[pairs.target])
    if table.pairs.origin is None:
        return first
    wanted = np.zeros(len(pairs), np.uint8) if pairs.origin is None else pairs.origin
    found = np.full(len(pairs), -1, np.int32)
    for step in range(len(table.parts)):  # repetitions stand side by side
        place = np.minimum(first + step, len(table) - 1)
        same = (table.pairs.source[place] == table.pairs.source[first]) & (
            table.pairs.target[place] == table.pairs.target[first]
        )
        chosen = (first >= 0) & same & (table.pairs.origin[place] == wanted)
        found[chosen] = place[chosen]
    return found
