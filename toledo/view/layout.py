"""Where to draw what: layers from left to right, few crossings, short and straight lines.

Sugiyama, Tagawa and Toda 1981: items in layers, lines over several layers cut by invisible items, crossings reduced by
ordering each layer by the mean place of its neighbors. Heights are then the least-squares fit to the neighbors'
heights that keeps the order and the distances (isotonic regression by pooling adjacent violators).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

Point = tuple[float, float]

SWEEPS = 12
STEEPNESS, WIDEST = 0.25, 60.0  # extra room between layers for each step up or down, and the most
LANE = 10.0  # room for a line that passes through a layer


@dataclass(frozen=True)
class Box:
    """Something to place: its layer and its size."""

    layer: int
    width: float
    height: float


@dataclass(frozen=True)
class Placement:
    """The center of each box, the points of each line, and the size of the whole.

    A line begins and ends at the sides of the layers of its boxes, level with their centers; it is level in layers.
    """

    centers: list[Point]
    lines: list[list[Point]]
    width: float
    height: float


def place(boxes: Sequence[Box], lines: Sequence[tuple[int, int]], gap: float, distance: float) -> Placement:
    """Place boxes so that lines (from a box to one in a later layer) go from left to right.

    `gap` is the room between layers, `distance` that between boxes of a layer.
    """
    graph = _Graph([box.layer for box in boxes], [box.height for box in boxes])
    paths = [graph.connect(start, end) for start, end in lines]
    layers = graph.ordered_layers()
    heights = graph.heights(layers, distance)
    columns = _columns(boxes, graph.gaps(heights, gap))
    top = min((y - size / 2 for y, size in zip(heights, graph.sizes, strict=True)), default=0.0)
    bottom = max((y + size / 2 for y, size in zip(heights, graph.sizes, strict=True)), default=0.0)

    def points(path: list[int]) -> list[Point]:
        sides = [(columns[graph.layers[item]][side], heights[item] - top) for item in path for side in (0, 1)]
        return sides[1:-1]

    def center(item: int) -> Point:
        left, right = columns[graph.layers[item]]
        return (left + right) / 2, heights[item] - top

    return Placement(
        [center(item) for item in range(len(boxes))],
        [points(path) for path in paths],
        columns[-1][1] if columns else 0.0,
        bottom - top,
    )


@dataclass
class _Graph:
    """Boxes and the invisible items of long lines, with the neighbors of each to the left and to the right."""

    layers: list[int]
    sizes: list[float]
    left: list[list[int]] = field(default_factory=list)
    right: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = [[] for _ in self.layers]
        self.right = [[] for _ in self.layers]

    def connect(self, start: int, end: int) -> list[int]:
        path = [start]
        for layer in range(self.layers[start] + 1, self.layers[end]):
            self.layers.append(layer)
            self.sizes.append(LANE)
            self.left.append([])
            self.right.append([])
            path.append(len(self.layers) - 1)
        path.append(end)
        for one, other in itertools.pairwise(path):
            self.right[one].append(other)
            self.left[other].append(one)
        return path

    def ordered_layers(self) -> list[list[int]]:
        """Return the items of each layer from top to bottom; the order with the fewest crossings that was seen."""
        layers: list[list[int]] = [[] for _ in range(max(self.layers, default=-1) + 1)]
        for item, number in enumerate(self.layers):
            layers[number].append(item)
        best, fewest = [list(layer) for layer in layers], self.crossings(layers)
        for sweep in range(SWEEPS):
            forward = sweep % 2 == 0
            neighbors = self.left if forward else self.right
            for layer in layers if forward else reversed(layers):
                self.sort(layer, layers, neighbors)
            found = self.crossings(layers)
            if found < fewest:
                best, fewest = [list(layer) for layer in layers], found
        return best

    def sort(self, layer: list[int], layers: list[list[int]], neighbors: list[list[int]]) -> None:
        place = {item: rank / max(len(some) - 1, 1) for some in layers for rank, item in enumerate(some)}
        layer.sort(key=lambda item: _mean([place[other] for other in neighbors[item]], place[item]))

    def crossings(self, layers: list[list[int]]) -> int:
        total = 0
        for layer, following in itertools.pairwise(layers):
            place = {item: rank for rank, item in enumerate(following)}
            ends: list[int] = []
            for item in layer:
                found = sorted(place[other] for other in self.right[item])
                total += sum(sum(1 for end in ends if end > other) for other in found)
                ends += found
        return total

    def heights(self, layers: list[list[int]], distance: float) -> list[float]:
        """Move each layer towards its neighbors, several times from both sides."""
        heights = [0.0] * len(self.layers)
        for layer in layers:
            self.fit(layer, [0.0] * len(layer), heights, distance)
        for sweep in range(SWEEPS):
            forward = sweep % 2 == 0
            for layer in layers if forward else reversed(layers):
                sides = [self.left, self.right] if sweep >= SWEEPS - 4 else [self.left if forward else self.right]
                wanted = [
                    _mean([heights[other] for side in sides for other in side[item]], heights[item]) for item in layer
                ]
                self.fit(layer, wanted, heights, distance)
        return heights

    def gaps(self, heights: list[float], least: float) -> list[float]:
        """Return the room after each layer: more where lines rise or fall more."""
        steepest = [0.0] * max(self.layers, default=0)
        for item, others in enumerate(self.right):
            for other in others:
                rise = abs(heights[item] - heights[other])
                steepest[self.layers[item]] = max(steepest[self.layers[item]], rise)
        return [least + min(rise * STEEPNESS, WIDEST) for rise in steepest]

    def fit(self, layer: list[int], wanted: list[float], heights: list[float], distance: float) -> None:
        """Set the heights nearest to the desired ones with at least `distance` between boxes."""
        offsets = [0.0]
        for above, below in itertools.pairwise(layer):
            lanes = self.sizes[above] == LANE or self.sizes[below] == LANE
            room = (self.sizes[above] + self.sizes[below]) / 2 + (distance / 3 if lanes else distance)
            offsets.append(offsets[-1] + room)
        fitted = _isotonic([want - offset for want, offset in zip(wanted, offsets, strict=True)]) if layer else []
        for item, value, offset in zip(layer, fitted, offsets, strict=False):
            heights[item] = value + offset


def _isotonic(values: list[float]) -> list[float]:
    """Return the rising sequence with the least squared distance: neighbors in the wrong order share their mean."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        mean, size = value, 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    return [mean for mean, size in blocks for _ in range(size)]


def _columns(boxes: Sequence[Box], gaps: list[float]) -> list[tuple[float, float]]:
    """Return the left and the right side of each layer."""
    widths = [0.0] * (len(gaps) + 1)
    for box in boxes:
        widths[box.layer] = max(widths[box.layer], box.width)
    columns, left = [], 0.0
    for width, gap in zip(widths, [*gaps, 0.0], strict=True):
        columns.append((left, left + width))
        left += width + gap
    return columns


def _mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default
