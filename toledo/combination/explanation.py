"""Why a combination says what it says: networks, votes, and the scores of the result beside those of other texts.

The score of a path is a sum, of the logarithms of its votes and of weighted features, so that the difference between
two paths is a sum of differences: these are the reasons. The *runner-up* is the best path of another text.

The *part* of a system in the results is the mean, over all their words, of

    σ_n c_n / Σ_k σ_k c_k,

what its vote is of all votes for the word; the parts of all systems add up to 1. It can be compared with the share σ_n:
it is larger for systems that speak for what is chosen. Its interval is from bootstrapping segments, 95 %: how much the
part depends on the segments that were looked at. Shares have no interval; they are what tuning found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.combination.combiner import CombinedWords, Combiner
from toledo.combination.network import NULL, NetworkPath, arc_votes
from toledo.combination.streaming import CombinedLine
from toledo.combination.tuning import covering
from toledo.compiled.ragged import row_products
from toledo.forest.derivations import Derivation
from toledo.forest.kbest import k_best
from toledo.text.vocabulary import Vocabulary
from toledo.view.network import NOTHING, Columns, ShownArc
from toledo.view.text import common_words

VOTES = "votes"  # beside the names of features
RIVALS = 3  # texts beside the result
MOST_TEXTS = 1000  # that are looked through to find the result
RESAMPLED, SEED = 1000, 1
LEVEL = 0.95


class VotedWord(NamedTuple):
    """A word of a path, the sum of the shares that vote for it, and the systems that do, by place."""

    word: str
    votes: float
    systems: tuple[int, ...]


@dataclass(frozen=True)
class ExplainedPath:
    """A path through the lattice: its words with their votes, its score, and the parts that add up to it."""

    words: tuple[VotedWord, ...]
    score: float
    parts: Mapping[str, float]

    @property
    def text(self) -> tuple[str, ...]:
        """The words alone."""
        return tuple(one.word for one in self.words)


@dataclass(frozen=True)
class ExplainedSegment:
    """A combined segment: its network, the texts beside it, and the paths that were compared.

    `paths` begin with the best path of the result, if it is among the best of all; then the best others follow.
    """

    number: int
    text: str
    columns: Columns
    outputs: Mapping[str, str]
    references: Sequence[str] = ()
    source: str = ""
    result: ExplainedPath | None = None
    rivals: Sequence[ExplainedPath] = ()

    @property
    def reasons(self) -> dict[str, float]:
        """By how much the result is better than the runner-up in each part, largest first."""
        if self.result is None or not self.rivals:
            return {}
        one, two = self.result.parts, self.rivals[0].parts
        differences = {name: one.get(name, 0.0) - two.get(name, 0.0) for name in {**one, **two}}
        return dict(sorted(differences.items(), key=lambda item: -abs(item[1])))

    @property
    def choices(self) -> list[tuple[tuple[VotedWord, ...], tuple[VotedWord, ...]]]:
        """The words of the result that the runner-up does not have, each time with what it has instead."""
        if self.result is None or not self.rivals:
            return []
        return differing(self.result.words, self.rivals[0].words)


@dataclass(frozen=True)
class SystemPart:
    """The share of a system, and its part in the results with an interval; None where no result was looked at."""

    name: str
    share: float
    part: float | None = None
    low: float | None = None
    high: float | None = None


def differing(
    one: Sequence[VotedWord], two: Sequence[VotedWord]
) -> list[tuple[tuple[VotedWord, ...], tuple[VotedWord, ...]]]:
    """Return the words between those that two texts have in common, as pairs of which not both are empty."""
    common = common_words([word.word for word in one], [word.word for word in two])
    runs = []
    for words, kept in zip((one, two), common, strict=True):
        cuts = [-1, *(place for place, same in enumerate(kept) if same), len(words)]
        runs.append([tuple(words[left + 1 : right]) for left, right in pairwise(cuts)])
    return [pair for pair in zip(*runs, strict=True) if any(pair)]


def explain_segment(
    combiner: Combiner, number: int, line: CombinedLine, beside: Sequence[Sequence[str]]
) -> ExplainedSegment:
    """Explain a combined segment; `beside` are the lines of the source, then those of each reference."""
    path, vocabulary = combiner.path(line.combined), line.combined.lattice.forest.vocabulary
    columns = columns_of(path, vocabulary, combiner.second.weights.sigma.tolist()) if path else []
    outputs = {name: own[0].line if own else "" for name, own in zip(combiner.systems, line.outputs, strict=True)}
    source, *references = ([*text[number : number + 1], ""][0] for text in beside)
    result, rivals = compared_paths(combiner, line.combined)
    return ExplainedSegment(number, line.text, columns, outputs, references, source, result, rivals)


def compared_paths(combiner: Combiner, combined: CombinedWords) -> tuple[ExplainedPath | None, list[ExplainedPath]]:
    """Return the best path of the result, if it is among the best, and the best paths of other texts."""
    weights = covering(combiner.second.weights, combined.forest).features
    result: ExplainedPath | None = None
    rivals: list[ExplainedPath] = []
    for one in islice(k_best(combined.forest, combined.forest.scores(weights), distinct=True), MOST_TEXTS):
        if one.words == combined.words:
            result = _explained(one, combined, weights)
        elif len(rivals) < RIVALS:
            rivals.append(_explained(one, combined, weights))
        if result is not None and len(rivals) == RIVALS:
            break
    return result, rivals


def _explained(one: Derivation, combined: CombinedWords, weights: Mapping[str, float]) -> ExplainedPath:
    """Add up what a path is worth, and look up who votes for its words."""
    forest, votes = one.forest, combined.lattice.votes
    base, provenance = forest.base, forest.provenance
    if base is None or provenance is None:
        raise ValueError("a forest without votes or arcs")
    parts = {VOTES: one.base}
    for name, value in one.features.items():
        if worth := weights.get(name, 0.0) * value:
            parts[name] = worth
    written = forest.features[one.edges, forest.feature_names.index("word")] > 0.0
    words = []
    for word, edge in zip(one.words, reversed(one.edges[written].tolist()), strict=True):
        arc = int(provenance[edge])
        systems = votes.systems[votes.offsets[arc] : votes.offsets[arc + 1]].tolist()
        words.append(VotedWord(word, math.exp(base[edge]), tuple(systems)))
    return ExplainedPath(tuple(words), one.score, parts)


def columns_of(path: NetworkPath, vocabulary: Vocabulary, shares: Sequence[float]) -> list[list[ShownArc]]:
    """Return the columns of a network, in each the arcs with most votes first."""
    arcs = path.network.arcs()
    votes, chosen = arc_votes(arcs, np.asarray(shares)), set(path.arcs)
    found: list[list[ShownArc]] = [[] for _ in range(path.network.columns)]
    for arc, word in enumerate(arcs.words.tolist()):
        systems = arcs.systems[arcs.vote_offsets[arc] : arcs.vote_offsets[arc + 1]].tolist()
        shown = NOTHING if word == NULL else vocabulary.word(word)
        found[arcs.columns[arc]].append(ShownArc(shown, float(votes[arc]), tuple(systems), arc in chosen))
    return [sorted(column, key=lambda one: -one.votes) for column in found]


def parts_of_votes(path: NetworkPath | None, sigma: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each system the sum, over the words of a path, of what its vote is of all votes for the word."""
    found = np.zeros(sigma.size)
    if path is not None:
        arcs = path.network.arcs()
        totals = arc_votes(arcs, sigma)
        for arc in path.arcs:
            if arcs.words[arc] != NULL:
                own = slice(arcs.vote_offsets[arc], arcs.vote_offsets[arc + 1])
                found[arcs.systems[own]] += sigma[arcs.systems[own]] * arcs.confidences[own] / totals[arc]
    return found


def system_parts(combiner: Combiner, sums: Iterable[NDArray[np.float64]]) -> list[SystemPart]:
    """Return shares and parts of all systems; `sums` are those of `parts_of_votes` of some segments."""
    weights = combiner.second.weights
    rows = np.array([one for one in sums if one.any()])
    if not rows.size:
        return [SystemPart(name, share) for name, share in weights.shares.items()]
    drawn = np.random.default_rng(SEED).multinomial(len(rows), np.full(len(rows), 1 / len(rows)), RESAMPLED)
    totals = row_products(drawn, rows.sum(axis=1))
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    found = []
    for column, (name, share) in zip(rows.T, weights.shares.items(), strict=True):
        low, high = np.quantile(row_products(drawn, column) / totals, ends).tolist()
        found.append(SystemPart(name, share, float(column.sum() / rows.sum()), low, high))
    return found


def as_dict(segment: ExplainedSegment, systems: Sequence[str]) -> dict[str, Any]:
    """Return an explained segment for JSON, with systems by name."""

    def word(one: VotedWord) -> dict[str, Any]:
        return {"word": one.word, "votes": one.votes, "systems": [systems[place] for place in one.systems]}

    def path(one: ExplainedPath) -> dict[str, Any]:
        return {"text": " ".join(one.text), "score": one.score, "parts": one.parts, "words": list(map(word, one.words))}

    network = [
        [{**word(VotedWord(arc.word, arc.votes, arc.systems)), "chosen": arc.chosen} for arc in column]
        for column in segment.columns
    ]
    return {
        "segment": segment.number,
        "text": segment.text,
        "result": None if segment.result is None else path(segment.result),
        "rivals": list(map(path, segment.rivals)),
        "reasons": segment.reasons,
        "choices": [{"result": list(map(word, one)), "instead": list(map(word, two))} for one, two in segment.choices],
        "network": network,
    }
