"""Pictures of small forests: SVG of our own, and text for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from toledo.errors import InputError
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest, Scores
from toledo.forest.inside_outside import distribution
from toledo.view.forest import Drawn, forest_drawing
from toledo.view.markup import visible
from toledo.view.svg import Drawing, svg_file

MOST_EDGES = 200
LONGEST_LABEL = 40


def to_drawing(forest: Forest, scores: Scores | None = None) -> Drawing:
    """Return the forest of one segment for a page; at most 200 edges.

    With scores, numbers are posterior probabilities, and the best derivation is blue.
    """
    return forest_drawing(forest.nodes, drawn_edges(forest, scores))


def to_svg(forest: Forest, scores: Scores | None = None) -> str:
    """Return the forest of one segment as an SVG file; at most 200 edges."""
    return svg_file(to_drawing(forest, scores))


def to_dot(forest: Forest, scores: Scores | None = None) -> str:
    """Return the forest of one segment in Graphviz' language; at most 200 edges."""
    lines = ["digraph forest {", "  rankdir=LR;", '  node [shape=circle, label="", width=0.15];']
    lines.append(f"  n{forest.nodes - 1} [shape=doublecircle];")
    for edge in drawn_edges(forest, scores):
        label = "\\n".join(_dot_escape(part) for part in (edge.label, edge.value) if part)
        style = f'label="{label}"' + (", color=red, penwidth=2" if edge.best else "")
        if len(edge.tails) == 1:
            lines.append(f"  n{edge.tails[0]} -> n{edge.head} [{style}];")
        elif edge.shown:
            lines.append(f"  e{edge.number} [shape=point, width=0.05{', color=red' if edge.best else ''}];")
            lines += [f"  n{tail} -> e{edge.number} [arrowhead=none];" for tail in edge.tails]
            lines.append(f"  e{edge.number} -> n{edge.head} [{style}];")
    return "\n".join([*lines, "}", ""])


def drawn_edges(forest: Forest, scores: Scores | None, most: int = MOST_EDGES) -> list[Drawn]:
    """Return the edges of the forest of one segment as they are shown, at most so many."""
    if len(forest) != 1:
        raise ValueError("one segment is drawn at a time")
    if forest.edges > most:
        raise InputError(
            f"{forest.edges} edges are too many to draw",
            remedy=f"prune the forest to at most {most} edges first: by score, by posterior, or to a density",
        )
    posteriors = None if scores is None else distribution(forest.shape, scores, threads=1).posteriors.tolist()
    best = None if scores is None else viterbi(forest, scores)[0]
    chosen = set() if best is None else set(best.edges.tolist())
    shape, yields = forest.shape, forest.yields
    drawn = []
    for head in range(forest.nodes):
        for edge in range(int(shape.head_edges[head]), int(shape.head_edges[head + 1])):
            tails = shape.tails[shape.tail_offsets[edge] : shape.tail_offsets[edge + 1]].tolist()
            content = yields.words[yields.offsets[edge] : yields.offsets[edge + 1]].tolist()
            label = _label(forest, content, len(tails))
            text = "; ".join(filter(None, (label, *_feature_texts(forest, edge))))
            value = None if posteriors is None else posteriors[edge]
            alone = shape.head_edges[head + 1] - shape.head_edges[head] == 1 and head < forest.nodes - 1
            shown = bool(tails or label) or not alone
            drawn.append(Drawn(edge, head, tuple(tails), _shortened(label), text, value, edge in chosen, shown))
    return drawn


def _label(forest: Forest, content: list[int], arity: int) -> str:
    """Return the words; places of tails only where there is something to tell apart."""
    if not any(part >= 0 for part in content):
        return ""
    if arity == 1 and content[0] < 0:
        content = content[1:]
    return " ".join(_circled(-part) if part < 0 else forest.vocabulary.word(part) for part in content)


def _feature_texts(forest: Forest, edge: int) -> Iterator[str]:
    values = dict(zip(forest.feature_names, forest.features[edge].tolist(), strict=True))
    if forest.sparse is not None:
        offsets, ids, amounts = forest.sparse.arrays
        for place in range(offsets[edge], offsets[edge + 1]):
            values[forest.sparse.names[ids[place]]] = float(amounts[place])
    if forest.base is not None:
        values["base"] = float(forest.base[edge])
    return (f"{name} {value:.4g}" for name, value in values.items() if value)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def _circled(number: int) -> str:
    return chr(0x245F + number) if number <= 20 else f"({number})"


def _dot_escape(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')
