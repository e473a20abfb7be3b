"""What document models are built from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toledo.model import Model
from toledo.search.document.arrays import Text


@dataclass(frozen=True, eq=False)
class Known:
    """A document: its options, the words of each source sentence, and the references of each."""

    model: Model
    text: Text
    sources: Sequence[Sequence[str]]
    references: Sequence[Sequence[Sequence[str]]]

    def options_of(self, s: int) -> range:
        """The options of a sentence."""
        begin, end = self.text.words[s], self.text.words[s + 1]
        if begin == end:
            return range(0)
        return range(int(self.text.options.first[begin, 0]), int(self.text.options.stop[begin:end].max()))
