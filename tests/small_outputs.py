"""Outputs of several systems for small segments, and what was made of them."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from toledo.combination.alignment import Matcher
from toledo.combination.combiner import Combiner
from toledo.combination.lattice import NetworkLattice, join_networks
from toledo.combination.network import Output, build_networks, distinct_hypotheses
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuning import TuningRun
from toledo.consensus.gains import make_gain
from toledo.text.vocabulary import Vocabulary

Texts = list[list[str]]
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


def noisy_outputs(segments: int, systems: int, dropped: float = 0.2, seed: int = 1) -> tuple[list[Texts], list[Texts]]:
    """References of random words, and systems of which each leaves out, changes and swaps some of them."""
    random = np.random.default_rng(seed)
    references, said = [], []
    for _ in range(segments):
        text = [f"w{word}" for word in random.zipf(1.4, 9).clip(max=60)]
        references.append([text])
        said.append([changed(text, dropped, 0.1 + 0.2 * system / systems, random) for system in range(systems)])
    return said, references


def changed(text: list[str], dropped: float, wrong: float, random: np.random.Generator) -> list[str]:
    kept = [word for word in text if random.random() >= dropped] or text[:1]
    return [word if random.random() >= wrong else f"x{random.integers(30)}" for word in kept]


def tuned(said: list[Texts], references: list[Texts], settings: CombinationSettings, **run: object) -> Combiner:
    names = [f"S{number}" for number in range(len(said[0]))]
    return Combiner.tune(said, references, names, Vocabulary(), settings=settings, run=TuningRun(**run))  # type: ignore[arg-type]


def combined(combiner: Combiner, said: list[Texts], **how: object) -> Texts:
    return [list(one.words) for one in combiner.run(said, **how)]  # type: ignore[arg-type]
