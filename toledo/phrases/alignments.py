"""Word alignments of a corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import ParallelCorpus


@dataclass(frozen=True)
class Alignments:
    """Links of each sentence pair: `links[offsets[i]:offsets[i + 1]]` are sorted (source, target) positions."""

    offsets: NDArray[np.int64]
    links: NDArray[np.int32]

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.links[self.offsets[index] : self.offsets[index + 1]]

    def first_outside(self, corpus: ParallelCorpus) -> int | None:
        """The first sentence pair with a link outside its sentences, or None."""
        if len(self) != len(corpus):
            raise ValueError(f"{len(self)} alignments for {len(corpus)} sentence pairs")
        counts = np.diff(self.offsets)
        source, target = np.repeat(corpus.source.lengths, counts), np.repeat(corpus.target.lengths, counts)
        bad = (self.links < 0).any(axis=1) | (self.links[:, 0] >= source) | (self.links[:, 1] >= target)
        if not bad.any():
            return None
        return int(np.searchsorted(self.offsets, np.argmax(bad), side="right")) - 1

    def select(self, keep: NDArray[np.bool_]) -> Alignments:
        """The alignments of the sentence pairs where `keep` is true."""
        counts = np.diff(self.offsets)
        offsets = np.zeros(int(keep.sum()) + 1, np.int64)
        np.cumsum(counts[keep], out=offsets[1:])
        return Alignments(offsets, self.links[np.repeat(keep, counts)])
