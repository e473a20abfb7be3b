"""What samples say together: some that cover all, and groups of those that agree.

Selection takes one text after the other, each time the one that raises the expected best score most:

    Σ_r p(r) max_{h ∈ S} G(h; r)

This function of S is submodular: taking the best next reaches at least 1 − 1/e ≈ 63 % of the best possible rise after
the first text, and the first is the MBR choice.

Groups are merged from single texts, always the two that are most similar on average, each pair of texts weighted by the
product of its probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.mbr import best_first, expected
from toledo.results import Result, TableResult, table

if TYPE_CHECKING:
    from toledo.consensus.choosing import TextProblem

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
SMALLEST_SHARE = 1e-12  # so that texts without any probability have averages, too


@dataclass(frozen=True)
class Opinion(Result):
    """A text that stands for others.

    `index` is that of its first sample, `share` the probability of the texts that it stands for, `members` the indices
    of their first samples. The score is the expected one: of the best text so far in a selection, of this text with the
    members of its group.
    """

    text: str
    index: int
    share: float
    score: float
    members: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Opinions(TableResult, Sequence[Opinion]):
    """Texts that stand for all samples: in the order of selection, or groups with the largest share first."""

    opinions: tuple[Opinion, ...]
    metric: str
    sign: str = field(default="", repr=False)

    def __len__(self) -> int:
        return len(self.opinions)

    @overload
    def __getitem__(self, place: int) -> Opinion: ...
    @overload
    def __getitem__(self, place: slice) -> Opinions: ...
    def __getitem__(self, place: int | slice) -> Opinion | Opinions:
        return (
            self.opinions[place] if isinstance(place, int) else Opinions(self.opinions[place], self.metric, self.sign)
        )

    def __iter__(self) -> Iterator[Opinion]:
        return iter(self.opinions)

    @property
    def texts(self) -> list[str]:
        """The texts."""
        return [one.text for one in self.opinions]

    @property
    def signature(self) -> str:  # type: ignore[override]
        """How they were found."""
        return self.sign

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each text."""
        return [{"text": one.text, "index": one.index, "share": one.share, "score": one.score} for one in self.opinions]

    def __str__(self) -> str:
        rows = [[str(one.index), f"{one.share:.3f}", f"{one.score:.2f}", one.text] for one in self.opinions]
        return "\n".join(table([["index", "share", f"expected {self.metric}", "text"], *rows], left=[3]))


def select_texts(problem: TextProblem, gains: Floats, size: int) -> list[Opinion]:
    """Return texts that together cover all, which are the references; each text belongs to the first best for it."""
    best, chosen = np.full(gains.shape[1], -np.inf), list[int]()
    scores: list[float] = []
    for _ in range(min(size, gains.shape[0])):
        values = expected(np.maximum(gains, best), problem.probabilities)
        values[chosen] = -np.inf
        chosen.append(int(best_first(values)[0]))
        best = np.maximum(best, gains[chosen[-1]])
        scores.append(float(values[chosen[-1]]))
    nearest = np.argmax(np.round(gains[chosen], 9), axis=0)
    shares = np.bincount(nearest, problem.probabilities, len(chosen))
    return [
        Opinion(
            problem.texts[place], problem.indices[place], float(share), score,
            tuple(index for index, own in zip(problem.indices, nearest.tolist(), strict=True) if own == number),
        )
        for number, (place, share, score) in enumerate(zip(chosen, shares, scores, strict=True))
    ]  # fmt: skip


def group_texts(problem: TextProblem, gains: Floats, size: int | None, similarity: float) -> list[Opinion]:
    """Return one text for each group, that with the best expected score within it; the largest group comes first."""
    shares = np.maximum(problem.probabilities, SMALLEST_SHARE)
    groups = merge_groups((gains + gains.T) / 2.0, shares, size, similarity)
    found = []
    for group in groups:
        own = shares[group] / shares[group].sum()
        values = expected(gains[np.ix_(group, group)], own)
        best = int(best_first(values)[0])
        place = int(group[best])
        members = tuple(problem.indices[one] for one in group.tolist())
        text, total = problem.texts[place], float(shares[group].sum())
        found.append(Opinion(text, problem.indices[place], total, float(values[best]), members))
    return sorted(found, key=lambda one: (-round(one.share, 9), one.index))


def merge_groups(similarities: Floats, shares: Floats, size: int | None, least: float) -> list[Places]:
    """Merge the two most similar groups until `size` are left or, without it, none are as similar as `least`."""
    groups = [np.array([place]) for place in range(shares.size)]
    weights, similar = shares.copy(), similarities.copy()
    np.fill_diagonal(similar, -np.inf)
    alive = np.ones(shares.size, np.bool_)
    while alive.sum() > (size or 1):
        one, other = sorted(int(place) for place in np.unravel_index(int(np.argmax(similar)), similar.shape))
        if size is None and similar[one, other] < least:
            break
        total = weights[one] + weights[other]
        row = (weights[one] * similar[one] + weights[other] * similar[other]) / total
        row[[one, other]] = -np.inf
        similar[one], similar[:, one], similar[other], similar[:, other] = row, row, -np.inf, -np.inf
        groups[one], weights[one], alive[other] = np.concatenate((groups[one], groups[other])), total, False
    return [np.sort(groups[place]) for place in np.flatnonzero(alive).tolist()]
