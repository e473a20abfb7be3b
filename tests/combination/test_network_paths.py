"""The way of a text through networks, against all paths; and the picture of it."""

import itertools
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.combination.alignment import Matcher
from toledo.combination.explanation import ExplainedSegment, SystemPart, columns_of
from toledo.combination.network import NULL, ConfusionNetwork, arc_votes, best_path, build_networks, distinct_hypotheses
from toledo.combination.pictures import explanation_page
from toledo.text.vocabulary import Vocabulary
from toledo.view.network import network_drawing

OUTPUTS = st.lists(st.lists(st.sampled_from("abcd"), max_size=5), min_size=1, max_size=3)


def networks_of(outputs: list[list[str]]) -> tuple[list[ConfusionNetwork], Vocabulary]:
    vocabulary = Vocabulary()
    return build_networks(distinct_hypotheses(outputs, vocabulary), vocabulary, Matcher()), vocabulary


def all_paths(network: ConfusionNetwork, shares: np.ndarray) -> Iterator[tuple[tuple[int, ...], float]]:
    """The words and the value of every path."""
    arcs = network.arcs()
    votes = arc_votes(arcs, shares)
    columns = [np.flatnonzero(arcs.columns == column) for column in range(network.columns)]
    for path in itertools.product(*columns):
        words = tuple(arcs.words[arc] for arc in path if arcs.words[arc] != NULL)
        yield words, sum(math.log(votes[arc]) if votes[arc] else -math.inf for arc in path)


@settings(max_examples=60, deadline=None)
@given(OUTPUTS, st.randoms(use_true_random=False))
def test_the_best_path_of_a_text_is_found(outputs: list[list[str]], random) -> None:
    networks, _ = networks_of(outputs)
    shares = np.array([random.random() + 0.01 for _ in outputs])
    shares /= shares.sum()
    everything = [one for network in networks for one in all_paths(network, shares)]
    for words in {words for words, _ in everything}:
        path = best_path(networks, words, shares)
        assert path is not None
        assert math.isclose(path.value, max(value for other, value in everything if other == words), abs_tol=1e-12)
        arcs = path.network.arcs()
        assert tuple(arcs.words[arc] for arc in path.arcs if arcs.words[arc] != NULL) == words
        assert [arcs.columns[arc] for arc in path.arcs] == list(range(path.network.columns))


def test_a_text_that_is_no_path() -> None:
    networks, vocabulary = networks_of([["a", "b"], ["a", "c"]])
    shares = np.array([0.5, 0.5])
    assert best_path(networks, [vocabulary.add("d")], shares) is None
    assert best_path([], [], shares) is None


def test_the_picture_shows_words_votes_and_the_way(tmp_path) -> None:
    networks, vocabulary = networks_of([["<a>", "b"], ["<a>", "c", "d"], ["<a>", "c"]])
    shares = {"one": 0.5, "two & a half": 0.2, "three": 0.3}
    path = best_path(networks, [vocabulary.add(word) for word in ("<a>", "c")], np.array([*shares.values()]))
    assert path is not None
    columns = columns_of(path, vocabulary, [*shares.values()])
    assert [(one.word, round(one.votes, 6), one.chosen) for one in columns[0]] == [("<a>", 1.0, True)]
    assert sum(one.chosen for column in columns for one in column) == path.network.columns
    for column in columns:
        assert math.isclose(sum(one.votes for one in column), 1.0, rel_tol=1e-6)
    svg = ElementTree.fromstring(network_drawing(columns, [*shares]))
    assert {"<a>", "b", "c"} <= {text.text for text in svg.iter("text")}
    voters = "".join(text.text or "" for text in svg.iter("text") if text.get("class") == "voters")
    assert sorted(voters) == sorted("ABC"[system] for column in columns for one in column for system in one.systems)
    boxes = [str(rect.get("class")) for rect in svg.iter("rect")]
    assert sum(name.endswith(" chosen") for name in boxes) == path.network.columns
    segment = ExplainedSegment(7, "<a> c", columns, {"one": "<a> b"}, ["<a> reference"], "source")
    page = tmp_path / "page.html"
    systems = [SystemPart(name, share) for name, share in shares.items()]
    explanation_page([segment], systems, {"lm": 0.25}).save(page)
    text = page.read_text(encoding="utf-8")
    assert "Segment 7" in text
    assert "&lt;a&gt; reference" in text
    assert "two &amp; a half" in text
    assert "<a>" not in text
    assert text.count("<polyline") == 2  # for a screen and for a phone
    long = [column for column in columns for _ in range(20)]
    explanation_page([ExplainedSegment(1, "", long, {})], systems, {}).save(page)
    text = page.read_text(encoding="utf-8")
    wide, narrow = (
        [float(width) for width in re.findall(r'<svg class="network" width="(\d+)"', part)]
        for part in text.split('class="plot narrow"')[:2]
    )
    assert 1 < len(wide) < len(narrow)  # a wide network goes on below
    assert max(wide) <= 1280
    assert max(narrow) <= 330
