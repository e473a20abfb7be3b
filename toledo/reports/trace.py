"""How a translation came about: its phrases with their scores, as a table to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from toledo.forest import Derivation
from toledo.search.steps import COPIED, Step, phrase_edges, steps_of

TEXT_COLUMNS = 3


def trace(
    segment: int,
    source: Sequence[str],
    best: Derivation | None,
    weights: Mapping[str, float],
    counts: Mapping[str, int],
) -> str:
    """The table of one segment: one row for each phrase, with features as they are and the weighted score."""
    lines = [f"segment {segment}: {' '.join(source)}"]
    if best is None:
        lines.append("  no translation")
    else:
        steps = steps_of(best)
        lines += _aligned(list(_rows(source, best, steps, weights)))
        if unknown := [source[step.begin] for step in steps if step.pair == COPIED]:
            lines.append(f"  unknown: {' '.join(unknown)}")
    lines.append("  " + ", ".join(f"{number} {name}" for name, number in counts.items()))
    return "\n".join([*lines, ""])


def _rows(
    source: Sequence[str], best: Derivation, steps: Sequence[Step], weights: Mapping[str, float]
) -> Iterator[list[str]]:
    """The head, the weights, one row for each phrase and one for the end of the sentence."""
    forest = best.forest
    names = [name for name in forest.feature_names if best.features[name]]
    sparse = ["sparse"] if forest.sparse else []
    yield ["span", "source", "target", *names, *sparse, "score", "total"]
    yield ["", "", "weight", *(_number(weights[name]) for name in names)]
    columns = [forest.feature_names.index(name) for name in names]
    scores, factors = forest.scores(weights), [weights[name] for name in names]
    phrases = phrase_edges(best).tolist()
    rest = [edge for edge in best.edges.tolist() if edge not in set(phrases)]  # start and end
    heads = [[f"{s.begin}-{s.end - 1}", " ".join(source[s.begin : s.end]), " ".join(s.words)] for s in steps]
    total = 0.0
    for head, edges in zip([*heads, ["", "", "</s>"]], [*([edge] for edge in phrases), rest], strict=True):
        values = forest.features[edges][:, columns].sum(axis=0).tolist()
        score = float(scores[edges].sum())
        total += score
        dense = sum(factor * value for factor, value in zip(factors, values, strict=True))
        numbers = [*values, *([score - dense] if sparse else []), score, total]
        yield [*head, *map(_number, numbers)]


def _number(value: float) -> str:
    return f"{round(value, 3) + 0.0:g}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Text to the left, numbers to the right."""
    width = max(map(len, rows))
    full = [[*row, *[""] * (width - len(row))] for row in rows]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    for row in full:
        texts = [text.ljust(size) for text, size in zip(row[:TEXT_COLUMNS], widths, strict=False)]
        numbers = [text.rjust(size) for text, size in zip(row[TEXT_COLUMNS:], widths[TEXT_COLUMNS:], strict=True)]
        yield f"  {'  '.join([*texts, *numbers])}".rstrip()
