"""What combinations return: combined texts, and why they are as they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from toledo.combination.explained_text import explained_text
from toledo.combination.explanation import ExplainedSegment, SystemPart, as_dict
from toledo.combination.pictures import explanation_page
from toledo.results import Result, plain
from toledo.view.page import Page
from toledo.weights import Weights


@dataclass(frozen=True)
class Combined(Result):
    """A combined text, what it is worth to the rule, and the systems that vote for each of its words."""

    text: str
    score: float
    votes: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), repr=False)
    segment: int = 0

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class ExplainedCombination(Result):
    """Combined segments with networks, votes and scores, and what each system had to say in the results.

    `str` is a text for the terminal, `page` the same as HTML, which notebooks show. `num_segments` is the number of
    segments that the parts of systems in the results, and their intervals, are from.
    """

    segments: tuple[ExplainedSegment, ...]
    systems: tuple[SystemPart, ...]
    weights: Weights
    num_segments: int
    signature: str = ""

    def __str__(self) -> str:
        return explained_text(self.segments, self.systems, self.weights)

    @property
    def page(self) -> Page:
        """The page with all drawings."""
        return explanation_page(self.segments, self.systems, self.weights)

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return self.page._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the drawings, ready for JSON; systems are known by name."""
        names = [one.name for one in self.systems]
        found = {
            "segments": [as_dict(one, names) for one in self.segments],
            "systems": [vars(one) for one in self.systems],
            "weights": {name: weight for name, weight in self.weights.items() if weight},
            "num_segments": self.num_segments,
            "signature": self.signature,
        }
        return {name: plain(value) for name, value in found.items()}
