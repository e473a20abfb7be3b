"""From an aligned corpus to the content of a phrase table, in one call."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toledo.phrases.extraction import extract_phrases
from toledo.phrases.lexicon import Lexicons, lexicons_from
from toledo.phrases.pruning import EPSILON, select_pairs, significance, threshold
from toledo.phrases.scores import reordering_scores, score_phrases
from toledo.phrases.settings import LexicalWeights, Pruning, Smoothing
from toledo.phrases.table import PhrasePairs, PhraseTable, WordLinks
from toledo.progress import Progress, silent
from toledo.text.corpus import ParallelCorpus
from toledo.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class PhraseTraining:
    """How to make a phrase table; word probabilities are rounded as in Moses' files, so that scores are the same."""

    max_length: int = 5
    smoothing: Smoothing = "none"
    lexical: LexicalWeights = "alignment"
    lexicon_decimals: int | None = 7
    reordering: bool = False
    pruning: Pruning | float = "none"


@dataclass(frozen=True)
class TrainedPhrases:
    """Phrase pairs with what a table holds: scores are natural logarithms in the order of SCORE_FEATURES.

    `keep` marks the pairs that pruning leaves; None means all.
    """

    pairs: PhrasePairs
    scores: NDArray[np.float32]
    source_counts: NDArray[np.float32]
    target_counts: NDArray[np.float32]
    lexicons: Lexicons
    reordering: NDArray[np.float32] | None
    keep: NDArray[np.bool_] | None

    def table(self, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary) -> PhraseTable:
        """Return the phrase table of the pairs that are left."""
        table = PhraseTable.create(
            self.pairs,
            self.scores,
            source_vocabulary,
            target_vocabulary,
            source_counts=self.source_counts,
            target_counts=self.target_counts,
            reordering=self.reordering,
        )
        return table if self.keep is None else select_pairs(table, self.keep)


def train_phrases(
    corpus: ParallelCorpus,
    alignments: WordLinks,
    config: PhraseTraining = PhraseTraining(),
    *,
    lexicons: Lexicons | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> TrainedPhrases:
    """Extract and score phrase pairs; `lexicons` are used instead of those that the alignment implies."""
    extraction = extract_phrases(
        corpus, alignments, config.max_length, reordering=config.reordering, threads=threads, progress=progress
    )
    reordering = reordering_scores(extraction.orientations) if config.reordering else None
    extraction = replace(extraction, orientations=np.empty((0, 0), np.int32))  # large, and no longer needed
    if lexicons is None:
        lexicons = lexicons_from(corpus, alignments, config.lexicon_decimals)
    scores = score_phrases(extraction, lexicons, smoothing=config.smoothing, lexical=config.lexical, threads=threads)
    keep = None
    if config.pruning != "none":
        values = significance(extraction.pairs, corpus, threads=threads, progress=progress)
        keep = values >= _threshold(config.pruning, len(corpus))
    return TrainedPhrases(
        extraction.pairs, scores, extraction.source_counts, extraction.target_counts, lexicons, reordering, keep
    )


def _threshold(pruning: Pruning | float, sentences: int) -> float:
    if isinstance(pruning, str):
        return threshold(sentences, EPSILON if pruning == "alpha+epsilon" else -EPSILON)
    return pruning
