"""The joint model of a reranker in plain Python: one word at a time, all words of the softmax."""

import numpy as np

from toledo.reranking.joint import HISTORY, WINDOW, JointModel
from toledo.text.vocabulary import BEGIN, END, UNKNOWN

Links = list[tuple[int, int]]


def joint(model: JointModel, source: list[int], text: list[int], links: Links) -> float:
    """Return the log probability of a text and its end."""
    layers = [one.astype(np.float64) for one in model.layers]
    total = 0.0
    for (sources, targets), word in zip(*contexts(model, source, text, links), strict=True):
        seen = np.concatenate([*(layers[0][one] for one in sources), *(layers[1][one] for one in targets)])
        hidden = np.maximum(seen @ layers[2] + layers[3], 0.0)
        logits = layers[4] @ hidden + layers[5]
        total += float(logits[word] - np.log(np.exp(logits).sum()))
    return total


def contexts(
    model: JointModel, source: list[int], text: list[int], links: Links
) -> tuple[list[tuple[list[int], list[int]]], list[int]]:
    """Return the rows of source and target words that each word depends on, and the row of each word."""
    own, target = [_row(model.source_rows, one) for one in source], [_row(model.target_rows, one) for one in text]
    found = []
    for j, place in enumerate(places(len(source), len(text), links)):
        around = range(place - WINDOW, place + WINDOW + 1)
        before = [target[j - k] if j >= k else BEGIN for k in range(1, HISTORY + 1)]
        found.append(([BEGIN if i < 0 else END if i >= len(own) else own[i] for i in around], before))
    return found, [*target, END]


def places(sources: int, words: int, links: Links) -> list[int]:
    """Return the source position that each word belongs to, and that of the end."""
    linked = {j: sorted(i for i, other in links if other == j) for j in range(words)}
    known = {j: some[len(some) // 2] for j, some in linked.items() if some} | {words: sources}
    return [known[min(known, key=lambda other: (abs(other - j), other < j))] for j in range(words + 1)]


def _row(rows: np.ndarray, word: int) -> int:
    return int(rows[word]) if word < rows.size else UNKNOWN
