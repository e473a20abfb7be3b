"""Outputs of several systems for small segments, and what was made of them."""

from collections.abc import Sequence

from hypothesis import strategies as st

from toledo.combination.alignment import Matcher
from toledo.combination.lattice import NetworkLattice, join_networks
from toledo.combination.network import Output, build_networks, distinct_hypotheses
from toledo.consensus.gains import make_gain
from toledo.text.vocabulary import Vocabulary

NAMES = ("A", "B", "C")
texts = st.lists(st.sampled_from(["a", "b", "c", "d", "cars", "car"]), max_size=6)
outputs = st.lists(texts, min_size=3, max_size=3)

SEGMENTS = [
    [text.split() for text in ("the cat sat on the mat", "a cat sat on the mat", "the cats sat on a mat")],
    [text.split() for text in ("he went home yesterday", "yesterday he went home", "he has gone home")],
    [["yes"], ["yes"], []],
]
REFERENCES = [[["the", "cat", "sat", "on", "a", "mat"]], [["yesterday", "he", "went", "home"]], [["yes", "!"]]]


def closest(own: Sequence[list[str]]) -> list[str]:
    """The output with the highest mean BLEU beside all outputs that are not empty; of equal ones the first."""
    texts = [" ".join(text) for text in own if text]
    gains = make_gain("bleu").pairwise_scores(texts, texts).mean(axis=1).round(9)
    return texts[int(gains.argmax())].split()


def lattice_of(own: Sequence[Output], vocabulary: Vocabulary, **options: object) -> NetworkLattice:
    hypotheses = distinct_hypotheses(own, vocabulary)
    networks = build_networks(hypotheses, vocabulary, Matcher(), **options)  # type: ignore[arg-type]
    return join_networks(networks, hypotheses, NAMES[: len(own)], vocabulary)
