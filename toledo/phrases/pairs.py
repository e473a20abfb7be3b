"""Distinct phrase pairs as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import offsets_of


@dataclass(frozen=True)
class Phrases:
    """Distinct phrases of one language: phrase i is `words[offsets[i]:offsets[i + 1]]`."""

    offsets: NDArray[np.int64]
    words: NDArray[np.int32]

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.words[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class PhrasePairs:
    """Distinct pairs, sorted by source phrase and then by target phrase.

    Pair i translates `sources[source[i]]` by `targets[target[i]]`. Its word alignment within the phrases (the most
    frequent one) is `links[link_offsets[i]:link_offsets[i + 1]]`: (source position, target position).
    """

    sources: Phrases
    targets: Phrases
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    joint_counts: NDArray[np.float32]
    link_offsets: NDArray[np.int64]
    links: NDArray[np.uint8]

    def __len__(self) -> int:
        return self.source.size

    def select(self, keep: NDArray[np.bool_]) -> PhrasePairs:
        """The pairs where `keep` is true; phrases that no pair uses stay listed."""
        counts = np.diff(self.link_offsets)
        offsets = offsets_of(counts[keep])
        return replace(
            self,
            source=self.source[keep],
            target=self.target[keep],
            joint_counts=self.joint_counts[keep],
            link_offsets=offsets,
            links=self.links[np.repeat(keep, counts)],
        )
