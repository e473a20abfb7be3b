"""How much the vote of each system counts where one of their texts is chosen.

Systems that say nearly the same would outvote the others. With m_ij the mean chrF between the texts of two systems,
b the median of all pairs, and s_ij = (m_ij − b) / (100 − b), cut to [0, 1], a system has the vote

    v_i ∝ u_i / Σ_j u_j s_ij²,        u_i = 1 / (number of copies of system i)

Copies count as one system everywhere, in the median too: adding copies of a system changes no choice.

With references, a system that is d points worse than the best one, by the mean of BLEU and chrF, votes with
exp(−d / TEMPERATURE) of that. Sharper votes than these follow the noise of small sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.errors import InputError
from toledo.files import atomic_writer, read_toml
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.results import Result, TableResult, table

COPY = 99.0  # mean chrF from which two systems count as one
NEAR = 0.5  # similarity from which a system is called a near copy
TEMPERATURE = 3.0
SEGMENTS_AT_ONCE = 32
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SystemVote(Result):
    """The share of a system in all votes, its mean chrF with the others, its quality if known, and why."""

    system: str
    share: float
    agreement: float | None = None
    quality: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class SystemVotes(TableResult):
    """The votes of all systems, in order."""

    votes: tuple[SystemVote, ...]
    num_segments: int = 0
    num_references: int = field(default=0)

    @property
    def signature(self) -> str:  # type: ignore[override]
        """How the votes came about."""
        learned = f"|references:{self.num_references}|temperature:{TEMPERATURE:g}" if self.num_references else ""
        return f"votes:shared|segments:{self.num_segments}{learned}"

    def shares_of(self, systems: Sequence[str]) -> Floats:
        """Return the shares of systems by name; each must have one."""
        known = {one.system: one.share for one in self.votes}
        if missing := [name for name in systems if name not in known]:
            remedy = f"there are votes for {', '.join(known)}"
            raise InputError(f"system {missing[0]!r} has no vote", argument="votes", remedy=remedy)
        return np.array([known[name] for name in systems], np.float64)

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each system."""
        return [one.to_dict() for one in self.votes]

    def __str__(self) -> str:
        header = ["system", "vote", "agreement", "quality", "reason"]
        rows = [
            [one.system, f"{one.share:.3f}", _number(one.agreement), _number(one.quality), one.reason]
            for one in self.votes
        ]
        kept = [place for place in range(5) if place < 2 or any(row[place] for row in rows)]
        left = [column for column, place in enumerate(kept) if place in (0, 4)]
        return "\n".join(table([[row[place] for place in kept] for row in [header, *rows]], left=left))

    def save(self, path: str | Path) -> None:
        """Write the votes as TOML."""
        rows = [{key: value for key, value in one.to_dict().items() if value is not None} for one in self.votes]
        with atomic_writer(path) as stream:
            stream.write(
                tomli_w.dumps({"segments": self.num_segments, "references": self.num_references, "vote": rows})
            )

    @classmethod
    def load(cls, path: str | Path) -> SystemVotes:
        """Read votes that `save` wrote, or that were written by hand: tables `[[vote]]` with `system` and `share`."""
        remedy = 'write [[vote]] tables with system = "…" and share = …'
        table = read_toml(path, remedy)
        try:
            votes = tuple(_vote(row) for row in table["vote"])
            return cls(votes, int(table.get("segments", 0)), int(table.get("references", 0)))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"no votes of systems: {error}", file=path, remedy=remedy) from None


def _vote(row: Mapping[str, Any]) -> SystemVote:
    share = float(row["share"])
    if not 0.0 <= share < float("inf"):
        raise ValueError(f"share is {share:g}")
    return SystemVote(str(row["system"]), share, row.get("agreement"), row.get("quality"), str(row.get("reason", "")))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def share_votes(systems: Mapping[str, Sequence[str]], threads: int | None = None) -> SystemVotes:
    """Return the votes of systems: near copies share one."""
    names, similarity = list(systems), mean_similarity(list(systems.values()), threads)
    segments = len(next(iter(systems.values()), ()))
    return SystemVotes(_votes(names, similarity, None), segments)


def learn_votes(
    systems: Mapping[str, Sequence[str]], references: Sequence[Sequence[str]], threads: int | None = None
) -> SystemVotes:
    """Return votes that also follow the quality of systems, measured on segments with references."""
    names, similarity = list(systems), mean_similarity(list(systems.values()), threads)
    metrics = BLEU(), CHRF()
    sums = [
        [one.corpus_statistics(texts, references, threads).sum(axis=0) for one in metrics] for texts in systems.values()
    ]
    quality = np.array(
        [np.mean([metric.score(row) for metric, row in zip(metrics, rows, strict=True)]) for rows in sums]
    )
    return SystemVotes(_votes(names, similarity, quality), len(references), len(references))


def mean_similarity(systems: Sequence[Sequence[str]], threads: int | None = None) -> Floats:
    """Return the mean chrF between the texts of each pair of systems, averaged over both directions."""
    metric, number = CHRF(), len(systems)

    def work(begin: int, end: int) -> Floats:
        total = np.zeros((number, number))
        for segment in range(begin, end):
            texts = [texts[segment] for texts in systems]
            distinct = list(dict.fromkeys(texts))
            places = [distinct.index(text) for text in texts]
            total += metric.pairwise_scores(distinct, distinct)[np.ix_(places, places)]
        return total

    segments = len(systems[0]) if systems else 0
    parts = map_chunks(work, segments, chunk=SEGMENTS_AT_ONCE, threads=threads)
    total = np.sum([np.zeros((number, number)), *parts], axis=0)
    mean = (total + total.T) / (2.0 * max(segments, 1))
    np.fill_diagonal(mean, 100.0)  # empty texts have no chrF
    return np.asarray(mean, np.float64)


def shared_votes(similarity: Floats) -> tuple[Floats, Floats]:
    """Return the vote of each system, not normalized, and the similarity of each pair, from 0 to 1."""
    copies = similarity >= COPY
    once = 1.0 / copies.sum(axis=1)
    others = ~copies
    base = _weighted_median(similarity[others], np.outer(once, once)[others])
    similar = np.clip((similarity - base) / (100.0 - base), 0.0, 1.0)
    similar[copies] = 1.0
    return once / (similar**2 * once).sum(axis=1), similar


def _weighted_median(values: Floats, weights: Floats) -> float:
    """Return the least value with at least half of the weight at or below it; 0 without values."""
    if not values.size:
        return 0.0
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(sums, sums[-1] / 2.0 * (1.0 - 1e-12))])


def _votes(names: Sequence[str], similarity: Floats, quality: Floats | None) -> tuple[SystemVote, ...]:
    votes, similar = shared_votes(similarity)
    if quality is not None:
        votes = votes * np.exp((quality - quality.max()) / TEMPERATURE)
    shares = votes / votes.sum()
    own = [None if quality is None else float(one) for one in (quality if quality is not None else shares)]
    others = [np.delete(row, place) for place, row in enumerate(similarity)]
    return tuple(
        SystemVote(
            name, float(shares[i]), float(others[i].mean()) if others[i].size else None, own[i],
            _reason(names, similarity, similar, i),
        )
        for i, name in enumerate(names)
    )  # fmt: skip


def _reason(names: Sequence[str], similarity: Floats, similar: Floats, place: int) -> str:
    """Name the system that takes most of the vote of another one."""
    rivals = similar[place].copy()
    rivals[place] = -1.0
    nearest = int(rivals.argmax())
    if rivals[nearest] < NEAR:
        return ""
    return f"{'copy' if similarity[place, nearest] >= COPY else 'near copy'} of {names[nearest]}"
