"""Smaller tables against plain Python."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tables import content_of, entries, make_table, sentences

from toledo.errors import InputError
from toledo.phrases.pruning import filter_for, keep_best
from toledo.phrases.table import SCORE_FEATURES
from toledo.text.corpus import Sentences

WEIGHTS = {**dict(zip(SCORE_FEATURES, (0.25, 0.5, 1.0, 0.125), strict=True)), "lm": 9.0}


@given(entries, st.lists(sentences, min_size=1, max_size=3))
def test_pairs_are_kept_if_their_source_stands_in_the_text(content: dict[Any, Any], text: list[list[str]]) -> None:
    table = make_table(content)
    words = table.source_vocabulary.ids([word for sentence in text for word in sentence])
    encoded = Sentences.from_lengths(words, np.array([len(sentence) for sentence in text]))
    strings = [f" {' '.join(sentence)} " for sentence in text]
    expected = {
        (source, target): scores
        for (source, target), scores in content.items()
        if any(f" {' '.join(source)} " in string for string in strings)
    }
    assert content_of(filter_for(table, encoded)) == expected


@given(entries, st.integers(1, 3))
def test_the_best_options_are_kept(content: dict[Any, Any], limit: int) -> None:
    table = make_table(content, reordering=True)
    expected = {}
    for source in {source for source, _ in content}:
        options = [number for number in range(len(table)) if table[number].source == source]
        options.sort(key=lambda number: -sum(WEIGHTS[name] * table[number].scores[name] for name in SCORE_FEATURES))
        expected |= {(source, table[number].target): table[number] for number in options[:limit]}
    kept = keep_best(table, limit, WEIGHTS)
    assert {(pair.source, pair.target): pair for pair in kept} == expected


def test_phrases_without_pairs_are_dropped() -> None:
    table = keep_best(make_table({(("a",), ("x", "y")): (-9, 0, 0, 0), (("a",), ("z",)): (0, 0, 0, 0)}), 1, WEIGHTS)
    assert len(table.pairs.targets) == 1
    assert table.target_counts.shape == (1,)


def test_bad_limits_and_weights_are_refused() -> None:
    table = make_table({(("a",), ("x",)): (0, 0, 0, 0)})
    with pytest.raises(InputError, match="limit of 0"):
        keep_best(table, 0, WEIGHTS)
    with pytest.raises(InputError, match=r"no weight for phrase\.backward"):
        keep_best(table, 1, {"lm": 1.0})
    with pytest.raises(ValueError, match="not negative"):
        filter_for(table, Sentences.from_lengths(np.array([-5], np.int32), np.array([1])))
