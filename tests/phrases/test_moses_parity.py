"""Phrase tables of Moses itself: train.de, train.en and alignments, maximum length 5 (files in ../shared/peers)."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from toledo.files import read_lines
from toledo.phrases.lexicon import NULL, Lexicon, lexicons_from
from toledo.phrases.table import WordLinks
from toledo.phrases.training import PhraseTraining, TrainedPhrases, train_phrases
from toledo.text.corpus import ParallelCorpus, read_parallel
from toledo.text.vocabulary import Vocabulary

PAIRS, OCCURRENCES = 538_276, 980_101


@dataclass(frozen=True)
class Aligned:
    corpus: ParallelCorpus
    alignments: WordLinks
    trained: TrainedPhrases
    index: dict[tuple[str, str], int]


@pytest.fixture(scope="module")
def aligned(moses_files: Path) -> Aligned:
    corpus = read_parallel(moses_files / "train.de", moses_files / "train.en")
    lines = [
        sorted(tuple(map(int, link.split("-"))) for link in line.split())
        for line in read_lines(moses_files / "alignments")
    ]
    links = np.array([link for line in lines for link in line], np.int32)
    alignments = WordLinks.from_lengths(links, map(len, lines))
    config = PhraseTraining(max_length=5, reordering=True)
    trained = train_phrases(corpus, alignments, config)
    pairs = trained.pairs
    sources = [" ".join(corpus.source_vocabulary.words(pairs.sources[i])) for i in range(len(pairs.sources))]
    targets = [" ".join(corpus.target_vocabulary.words(pairs.targets[i])) for i in range(len(pairs.targets))]
    keys = zip((sources[i] for i in pairs.source), (targets[i] for i in pairs.target), strict=True)
    return Aligned(corpus, alignments, trained, {key: number for number, key in enumerate(keys)})


@pytest.fixture(scope="module")
def moses_scores(moses_files: Path, aligned: Aligned) -> NDArray[np.float64]:
    """Moses' scores in our order; on the way phrases, alignments and counts are compared."""
    trained, pairs = aligned.trained, aligned.trained.pairs
    assert len(aligned.index) == len(pairs) == PAIRS
    assert pairs.joint_counts.sum() == OCCURRENCES
    scores, counts = np.zeros((PAIRS, 4)), np.zeros((PAIRS, 3))
    links = [(s, t) for s, t in pairs.links.tolist()]
    offsets = pairs.link_offsets.tolist()
    different = 0
    for line in read_lines(moses_files / "phrase-table.gz"):
        source, target, values, alignment, numbers, *_ = line.split(" ||| ")
        i = aligned.index[source, target]
        scores[i], counts[i] = values.split(), numbers.split()
        theirs = sorted(tuple(map(int, link.split("-"))) for link in alignment.split())
        different += theirs != links[offsets[i] : offsets[i + 1]]
    assert different == 0
    ours = trained.target_counts[pairs.target], trained.source_counts[pairs.source], pairs.joint_counts
    assert np.array_equal(counts, np.stack(ours, axis=1))
    return scores


def test_all_pairs_alignments_counts_and_scores_are_those_of_moses(
    aligned: Aligned, moses_scores: NDArray[np.float64]
) -> None:
    ratio = np.exp(aligned.trained.scores.astype(np.float64)) / moses_scores
    assert np.abs(ratio - 1).max() < 2e-5  # six digits are printed


def test_exact_lexicons_differ_from_moses_by_its_rounding_alone(
    aligned: Aligned, moses_scores: NDArray[np.float64]
) -> None:
    # Moses writes lexicons with 7 decimals: a word probability of 0.0000333 is known to 0.15 % there. With the same
    # rounding all pairs agree (above); without it 7 % of the pairs differ by more than 0.01 %, none by 0.4 %.
    exact = train_phrases(aligned.corpus, aligned.alignments, PhraseTraining(lexicon_decimals=None)).scores
    error = np.abs(np.exp(exact.astype(np.float64)) / moses_scores - 1)
    assert error[:, [0, 2]].max() < 1e-5
    assert error.max() < 4e-3
    assert np.mean(error.max(axis=1) < 1e-4) > 0.92


def test_reordering_probabilities_are_those_of_moses(moses_files: Path, aligned: Aligned) -> None:
    theirs = np.zeros((PAIRS, 6))
    for line in read_lines(moses_files / "reordering-table.gz"):
        source, target, values = line.split(" ||| ")
        theirs[aligned.index[source, target]] = values.split()
    assert aligned.trained.reordering is not None
    assert np.abs(np.exp(aligned.trained.reordering) - theirs).max() < 1e-6


def test_lexicons_are_those_of_moses(moses_files: Path, aligned: Aligned) -> None:
    lexicons = lexicons_from(aligned.corpus, aligned.alignments)
    vocabularies = aligned.corpus.source_vocabulary, aligned.corpus.target_vocabulary
    for name, lexicon, (given, predicted) in (
        ("lex.f2e.gz", lexicons.forward, vocabularies),
        ("lex.e2f.gz", lexicons.backward, vocabularies[::-1]),
    ):
        with gzip.open(moses_files / name, "rt", encoding="utf-8") as stream:
            theirs = {(g, w): float(p) for w, g, p in map(str.split, stream)}
        ours = entries(lexicon, given, predicted)
        assert ours.keys() == theirs.keys()
        assert max(abs(ours[key] - theirs[key]) for key in ours) < 9e-8  # 7 decimals there, single precision here


def entries(lexicon: Lexicon, given: Vocabulary, predicted: Vocabulary) -> dict[tuple[str, str], float]:
    def spell(vocabulary: Vocabulary, word: int) -> str:
        return "NULL" if word == NULL else vocabulary.word(word)

    rows = np.repeat(np.arange(lexicon.offsets.size - 1), np.diff(lexicon.offsets))
    columns = rows.tolist(), lexicon.words.tolist(), lexicon.probabilities.tolist()
    return {(spell(given, g), spell(predicted, w)): p for g, w, p in zip(*columns, strict=True)}
