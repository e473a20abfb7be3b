from __future__ import annotations

from collections import Counter
from math import log, prod

import numpy as np
import pytest
from extraction_twin import corpora, encode, extract_slowly, links_of, words_of
from hypothesis import given, settings

from toledo.phrases.extraction import extract_phrases
from toledo.phrases.lexicon import (
    NULL,
    Lexicons,
    alignment_weights,
    lexicons_from,
    model1_weights,
    relative_frequencies,
    word_probability,
)
from toledo.phrases.scores import score_phrases
from toledo.phrases.table import LOWEST_SCORE

Table = dict[tuple[int, int], float]


def lexicons_slowly(sentences: list) -> tuple[Table, Table]:
    """(given, word) → probability, forward and backward."""
    joint: Counter[tuple[int, int]] = Counter()
    for source, target, links in sentences:
        joint.update((source[s], target[t]) for s, t in links)
        joint.update((word, NULL) for s, word in enumerate(source) if s not in {link[0] for link in links})
        joint.update((NULL, word) for t, word in enumerate(target) if t not in {link[1] for link in links})
    sources, targets = Counter(), Counter()
    for (source_word, target_word), count in joint.items():
        sources[source_word] += count
        targets[target_word] += count
    return (
        {(f, e): count / sources[f] for (f, e), count in joint.items()},
        {(e, f): count / targets[e] for (f, e), count in joint.items()},
    )


def koehn_weight(given: tuple, words: tuple, links: list[tuple[int, int]], table: Table) -> float:
    def word_weight(position: int) -> float:
        linked = [table[given[r], words[position]] for r, m in links if m == position]
        return sum(linked) / len(linked) if linked else table[NULL, words[position]]

    return log(prod(map(word_weight, range(len(words)))))


@settings(deadline=None, max_examples=80)
@given(corpora)
def test_lexicons_and_weights_follow_their_definitions(sentences: list) -> None:
    corpus, alignments = encode(sentences)
    lexicons = lexicons_from(corpus, alignments)
    tables = lexicons_slowly(sentences)
    for lexicon, table in zip(lexicons, tables, strict=True):
        assert lexicon.words.size == len(table)
        for (given_word, word), probability in table.items():
            assert word_probability(lexicon, given_word, word) == pytest.approx(probability, rel=1e-6)
    extraction = extract_phrases(corpus, alignments, 4)
    scores = score_phrases(extraction, lexicons)
    ibm = model1_weights(extraction.pairs, lexicons)
    expected = extract_slowly(sentences, 4)
    for i in range(len(extraction.pairs)):
        source, target = words_of(extraction.pairs, i)
        found = expected[source, target]
        backward_links = [(t, s) for s, t in found.best(side=0)]
        assert scores[i, 3] == pytest.approx(
            koehn_weight(source, target, found.best(side=1), tables[0]), rel=1e-5, abs=1e-6
        )
        assert scores[i, 1] == pytest.approx(
            koehn_weight(target, source, backward_links, tables[1]), rel=1e-5, abs=1e-6
        )
        forward = prod(sum(tables[0].get((f, e), 0.0) for f in source) for e in target)
        assert ibm.forward[i] == pytest.approx(log(forward) if forward else LOWEST_SCORE, rel=1e-5, abs=1e-6)
        backward = prod(sum(tables[1].get((e, f), 0.0) for e in target) for f in source)
        assert ibm.backward[i] == pytest.approx(log(backward) if backward else LOWEST_SCORE, rel=1e-5, abs=1e-6)


def test_weights_take_the_links_of_the_pairs() -> None:
    corpus, alignments = encode([([3, 4], [5, 6], [(0, 0), (0, 1), (1, 1)])])
    extraction = extract_phrases(corpus, alignments)
    assert [links_of(extraction.pairs, i) for i in range(len(extraction.pairs))] == [((0, 0), (0, 1), (1, 1))]
    weights = alignment_weights(extraction.pairs, lexicons_from(corpus, alignments))
    assert weights.forward[0] == pytest.approx(log(0.5 * (0.5 + 1.0) / 2))


def test_a_pair_that_is_not_in_the_lexicon_has_the_lowest_score() -> None:
    corpus, alignments = encode([([3], [4], [(0, 0)])])
    pairs = extract_phrases(corpus, alignments).pairs
    empty = relative_frequencies(np.empty(0, np.int32), np.empty(0, np.int32), 8)
    for weigh in (alignment_weights, model1_weights):
        assert [column.tolist() for column in weigh(pairs, Lexicons(empty, empty))] == [[LOWEST_SCORE]] * 2


def test_decimals_round_as_moses_files_do() -> None:
    ones = np.full(3, 3, np.int32)
    lexicon = relative_frequencies(ones, np.array([4, 4, 5], np.int32), 4, decimals=7)
    assert lexicon.probabilities.tolist() == [np.float32(0.6666667), np.float32(0.3333333)]
