from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from extraction_twin import corpora, encode, extract_slowly, links_of, words_of
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.phrases import extraction, grouping
from toledo.phrases.extraction import Extraction, extract_phrases
from toledo.phrases.table import WordLinks, check_pairs
from toledo.phrases.training import PhraseTraining, train_phrases

LENGTHS = (1, 2, 3, 5, 8, 9, 20)  # up to 8 the links are kept as bits, above as a mix


def check_against_twin(result: Extraction, sentences: list, max_length: int) -> None:
    expected = extract_slowly(sentences, max_length)
    pairs = result.pairs
    check_pairs(pairs)
    assert {words_of(pairs, i) for i in range(len(pairs))} == set(expected)
    other = dict(zip(result.ties.tolist(), range(len(result.tied)), strict=True))
    sources, targets = Counter(), Counter()
    for i in range(len(pairs)):
        source, target = words_of(pairs, i)
        found = expected[source, target]
        assert pairs.joint_counts[i] == found.count
        assert links_of(pairs, i) == found.best(side=1)
        assert (links_of(result.tied, other[i]) if i in other else links_of(pairs, i)) == found.best(side=0)
        assert result.orientations[i].tolist() == found.orientations
        sources[source] += found.count
        targets[target] += found.count
    for phrases, counts, totals in (
        (pairs.sources, result.source_counts, sources),
        (pairs.targets, result.target_counts, targets),
    ):
        listed = [tuple(phrases[i].tolist()) for i in range(len(phrases))]
        assert dict(zip(listed, counts.tolist(), strict=True)) == totals
        assert listed == sorted(listed, key=lambda phrase: (len(phrase), phrase))


@settings(deadline=None, max_examples=150)
@given(corpora, st.sampled_from(LENGTHS))
def test_finds_what_a_search_over_all_spans_finds(sentences: list, max_length: int) -> None:
    corpus, alignments = encode(sentences)
    check_against_twin(extract_phrases(corpus, alignments, max_length, reordering=True), sentences, max_length)


@settings(deadline=None, max_examples=30)
@given(st.lists(corpora, min_size=2, max_size=4), st.sampled_from((3, 20)))
def test_chunks_and_buckets_change_nothing(blocks: list, max_length: int) -> None:
    sentences = [pair for block in blocks for pair in block]
    corpus, alignments = encode(sentences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extraction, "SENTENCES_AT_ONCE", 2)
        patch.setattr(grouping, "BUCKET", 5)
        patch.setattr(grouping, "SAMPLE", 1)
        result = extract_phrases(corpus, alignments, max_length, reordering=True, threads=2)
    check_against_twin(result, sentences, max_length)


def test_the_most_frequent_alignment_wins_and_ties_go_to_the_last() -> None:
    once, twice = [(0, 0), (1, 1)], [(0, 1), (1, 0)]
    corpus, alignments = encode([([3, 4], [5, 6], once), ([3, 4], [5, 6], twice), ([3, 4], [5, 6], twice)])
    result = extract_phrases(corpus, alignments)
    whole = [words_of(result.pairs, i) for i in range(len(result.pairs))].index(((3, 4), (5, 6)))
    assert links_of(result.pairs, whole) == tuple(twice)
    assert result.pairs.joint_counts[whole] == 3
    corpus, alignments = encode([([3, 4], [5, 6], once), ([3, 4], [5, 6], twice)])
    result = extract_phrases(corpus, alignments)
    assert links_of(result.pairs, whole) == tuple(twice)


def test_a_tie_may_be_settled_differently_backwards() -> None:
    # Target words are linked to ({0}, {0, 1}) or ({0, 1}, {0}): the latter is greater. Source words to ({0, 1}, {1})
    # or ({0, 1}, {0}): the former is greater.
    one, other = [(0, 0), (0, 1), (1, 1)], [(0, 0), (0, 1), (1, 0)]
    corpus, alignments = encode([([3, 4], [5, 6], one), ([3, 4], [5, 6], other)])
    result = extract_phrases(corpus, alignments)
    assert [links_of(result.pairs, int(i)) for i in result.ties] == [tuple(other)]
    assert [links_of(result.tied, 0)] == [tuple(one)]


def test_sentences_without_links_give_nothing() -> None:
    for sentences in ([], [([], [], []), ([3], [], []), ([3], [4], [])]):
        corpus, alignments = encode(sentences)
        result = extract_phrases(corpus, alignments, reordering=True)
        assert len(result.pairs) == len(result.pairs.sources) == len(result.pairs.targets) == 0
        assert result.orientations.shape == (0, 6)
        trained = train_phrases(corpus, alignments, PhraseTraining(reordering=True, pruning=1.0))
        assert len(trained.table(corpus.source_vocabulary, corpus.target_vocabulary)) == 0


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    random = np.random.default_rng(7)
    sentences = []
    for _ in range(9000):
        source, target = random.integers(3, 7, 4).tolist(), random.integers(3, 7, 4).tolist()
        sentences.append((source, target, sorted({tuple(link) for link in random.integers(0, 4, (4, 2)).tolist()})))
    corpus, alignments = encode(sentences)
    one, two = (extract_phrases(corpus, alignments, 3, reordering=True, threads=threads) for threads in (1, 2))
    for name in ("source", "target", "joint_counts", "link_offsets", "links"):
        assert np.array_equal(getattr(one.pairs, name), getattr(two.pairs, name))
    assert np.array_equal(one.orientations, two.orientations)


def test_bad_input_is_refused() -> None:
    corpus, alignments = encode([([3, 4], [5], [(0, 0), (1, 0)])])
    with pytest.raises(InputError, match="choose 1 to 20 words"):
        extract_phrases(corpus, alignments, 21)
    outside = WordLinks(np.array([[0, 1]], np.int32), np.array([0, 1]))
    with pytest.raises(InputError, match="sentence pair 1 has a link outside"):
        extract_phrases(corpus, outside)
    unsorted = WordLinks(alignments.links[::-1].copy(), alignments.offsets)
    with pytest.raises(ValueError, match="sorted and distinct"):
        extract_phrases(corpus, unsorted)
