"""N-best lists that know their phrase pairs: what a training text was translated to, as arrays on disk.

A hypothesis is its features (as the model that found it counts them), the numbers of its phrase pairs in the table
to be trained, and the statistics of BLEU. A large text is many parts, each a directory that is mapped into memory.

Sentence BLEU is that of He and Deng (2012): smoothed by priors, with a brevity factor that is not cut at 1.

    BLEU = exp(1 − r/c) · exp(¼ Σ_n log p_n),     p_n = (matches_n + η p⁰_n) / (n-grams_n + η)

with p⁰_n = p²_{n−1} / p_{n−2} for n = 3, 4. The priors p⁰_1 and p⁰_2 are the precisions of the baseline on the whole
training text. Reference lengths r are multiplied by a factor with which the baseline as a whole is exactly long enough:
training should find better n-grams, and not other lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import check_offsets, offsets_of
from toledo.errors import InputError

ORDER = 4
LENGTH, REFERENCE, MATCHES = 0, 1, 2  # columns of statistics: both lengths, then the matches of each order
COLUMNS = MATCHES + ORDER
SMOOTHING = 5.0


@dataclass(frozen=True)
class SentenceBLEU:
    """The priors of unigrams and bigrams, the factor of reference lengths, and η."""

    unigrams: float
    bigrams: float
    length_factor: float
    smoothing: float = SMOOTHING

    def scores(self, statistics: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the score of each row, 1 for a perfect translation of the right length; 0 for an empty one."""
        if statistics.ndim != 2 or statistics.shape[1] != COLUMNS:
            raise ValueError(f"statistics have {COLUMNS} columns, not the shape {statistics.shape}")
        return _scores(statistics, self.unigrams, self.bigrams, self.length_factor, self.smoothing)


def fit_sentence_bleu(totals: NDArray[np.int64], sentences: int, smoothing: float = SMOOTHING) -> SentenceBLEU:
    """Priors and factor from the statistics of the baseline's best translations, summed over all sentences."""
    length, reference = int(totals[LENGTH]), int(totals[REFERENCE])
    if not length or not reference:
        raise InputError("all translations or all references are empty", remedy="check the training text")
    if smoothing <= 0.0:
        raise ValueError("the smoothing of sentence BLEU must be positive")
    unigrams = max(totals[MATCHES] / length, 1.0 / (length + 1))
    bigrams = max(totals[MATCHES + 1] / max(length - sentences, 1), 1.0 / (length + 1))
    return SentenceBLEU(float(min(unigrams, 1.0)), float(min(bigrams, 1.0)), length / reference, smoothing)


@kernel
def _scores(
    statistics: NDArray[np.int32], unigrams: float, bigrams: float, length_factor: float, smoothing: float
) -> NDArray[np.float64]:
    scores, precisions = np.zeros(statistics.shape[0]), np.empty(ORDER)
    for row in range(scores.size):
        length = statistics[row, LENGTH]
        if length <= 0:
            continue
        logarithm = 1.0 - length_factor * statistics[row, REFERENCE] / length
        for n in range(ORDER):
            if n == 0:
                prior = unigrams
            elif n == 1:
                prior = bigrams
            else:
                prior = min(precisions[n - 1] ** 2 / precisions[n - 2], 1.0)
            total = max(length - n, 0)
            precisions[n] = (statistics[row, MATCHES + n] + smoothing * prior) / (total + smoothing)
            logarithm += np.log(precisions[n]) / ORDER
        scores[row] = np.exp(logarithm)
    return scores


DESCRIPTION = "lists.toml"
FORMAT = 1


class ListArrays(NamedTuple):
    """Sentence s has the hypotheses `hypotheses[s]:hypotheses[s + 1]`, the best one first.

    Hypothesis h uses the phrase pairs `pairs[pair_offsets[h]:pair_offsets[h + 1]]` (copied words have none), with
    repetition, has `features[h]`, and `statistics[h]` as in `toledo.refinement.expected_bleu`.
    """

    hypotheses: NDArray[np.int64]
    pair_offsets: NDArray[np.int64]
    pairs: NDArray[np.int32]
    features: NDArray[np.float32]
    statistics: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PhraseLists:
    """The lists of some sentences; `table_size` is the number of phrase pairs in the table."""

    arrays: ListArrays
    feature_names: tuple[str, ...]
    table_size: int

    def __post_init__(self) -> None:
        hypotheses, offsets, pairs, features, statistics = self.arrays
        count = offsets.size - 1
        check_offsets("hypotheses", hypotheses, count)
        check_offsets("pairs", offsets, pairs.size)
        if features.shape != (count, len(self.feature_names)) or statistics.shape != (count, COLUMNS):
            raise ValueError(f"features {features.shape} or statistics {statistics.shape} of {count} hypotheses")
        if pairs.size and not 0 <= pairs.min() <= pairs.max() < self.table_size:
            raise ValueError("a hypothesis has a phrase pair that is not in the table")
        if not np.isfinite(features).all() or (statistics.size and statistics.min() < 0):
            raise ValueError("a feature is not finite, or a count is negative")

    def __len__(self) -> int:
        """Return the number of sentences."""
        return self.arrays.hypotheses.size - 1

    @property
    def firsts(self) -> NDArray[np.int64]:
        """The best hypothesis of each sentence that has one."""
        begins = self.arrays.hypotheses
        return begins[:-1][np.diff(begins) > 0]

    def save(self, directory: Path) -> None:
        """Write a directory atomically."""
        content = {"format": FORMAT, "feature_names": list(self.feature_names), "table_size": self.table_size}
        storage.save(directory, DESCRIPTION, content, self.arrays._asdict())

    @classmethod
    def load(cls, directory: Path) -> PhraseLists:
        """Map a directory into memory."""
        content, arrays = storage.load(directory, DESCRIPTION)
        try:
            if content["format"] != FORMAT:
                raise ValueError(f"format {content['format']}, this version reads {FORMAT}")
            own = ListArrays(*(arrays[name] for name in ListArrays._fields))
            return cls(own, storage.strings(content, "feature_names"), int(content["table_size"]))
        except storage.DAMAGE as error:
            raise InputError(
                f"not n-best lists of phrase pairs: {error}", file=directory, remedy="remove it to make it again"
            ) from None


def join_lists(parts: Sequence[ListArrays]) -> ListArrays:
    """Lay the lists of several parts end to end."""
    return ListArrays(
        offsets_of(np.concatenate([np.diff(part.hypotheses) for part in parts])),
        offsets_of(np.concatenate([np.diff(part.pair_offsets) for part in parts])),
        np.concatenate([part.pairs for part in parts]),
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.statistics for part in parts]),
    )


def used_pairs(parts: Sequence[PhraseLists]) -> NDArray[np.int32]:
    """Return the phrase pairs that stand in any list, in ascending order."""
    used = np.zeros(parts[0].table_size if parts else 0, np.bool_)
    for part in parts:
        used[part.arrays.pairs] = True
    return np.flatnonzero(used).astype(np.int32)
