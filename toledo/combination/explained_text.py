"""Explained segments as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toledo.combination.explanation import LEVEL, ExplainedSegment, SystemPart, VotedWord
from toledo.results import table
from toledo.view.network import NOTHING, ShownArc, letter, voters

INSTEAD = 3  # words beside the chosen one


def explained_text(
    segments: Sequence[ExplainedSegment], systems: Sequence[SystemPart], weights: Mapping[str, float]
) -> str:
    """Return segments, systems and weights, one below the other."""
    parts = [segment_text(one, len(systems)) for one in segments]
    given = ", ".join(f"{name} {weight:.4f}" for name, weight in weights.items() if weight)
    return "\n\n".join([*parts, systems_text(systems), f"Weights: {given}"])


def segment_text(segment: ExplainedSegment, systems: int) -> str:
    """Return the text of a segment, why it was chosen, and its network, a line for each column."""
    lines = [f"Segment {segment.number}: {segment.text}"]
    lines += [f"  source: {segment.source}"] if segment.source else []
    lines += [f"  reference: {text}" for text in segment.references]
    if segment.result is not None:
        lines += ["", f"  score {segment.result.score:.3f} = {_sum(segment.result.parts)}"]
    if segment.result is not None and segment.rivals:
        rival = segment.rivals[0]
        margin = segment.result.score - rival.score
        lines += [
            f"  {'runner-up' if margin >= 0 else 'best score, not chosen by the rule'}: {' '.join(rival.text)}",
            f"  score {rival.score:.3f}; the difference is {margin:+.3f} = {_sum(segment.reasons)}",
        ]
        lines += [f"    {_said(one, systems)} instead of {_said(two, systems)}" for one, two in segment.choices]
    return "\n".join([*lines, *_network(segment, systems)])


def systems_text(systems: Sequence[SystemPart]) -> str:
    """Return the shares of systems, and their parts with intervals if these are known, the largest first."""
    known = [one for one in systems if one.part is not None]
    head = ["", "system", "share", *(["part in the results", f"{LEVEL:.0%} interval"] if known else [])]
    rows = [head]
    for place in sorted(range(len(systems)), key=lambda place: -(systems[place].part or systems[place].share)):
        one = systems[place]
        rows.append([letter(place), one.name, f"{one.share:.3f}"])
        if one.part is not None and one.low is not None and one.high is not None:
            rows[-1] += [f"{one.part:.3f}", f"{one.low:.3f} to {one.high:.3f}"]
    return "\n".join(table(rows, left=[0, 1]))


def _network(segment: ExplainedSegment, systems: int) -> list[str]:
    rows = [["word", "votes", "for it", "instead"]]
    for column in segment.columns:
        chosen = next((arc for arc in column if arc.chosen), None)
        if chosen is not None:
            others = [arc for arc in column if not arc.chosen]
            more = [f"+{len(others) - INSTEAD}"] if len(others) > INSTEAD else []
            beside = ", ".join([*(_other(arc, systems) for arc in others[:INSTEAD]), *more])
            rows.append([chosen.word, f"{chosen.votes:.2f}", voters(chosen.systems, systems), beside])
    return ["", *(f"  {line}" for line in table(rows, left=[0, 2, 3]))] if len(rows) > 1 else []


def _other(arc: ShownArc, systems: int) -> str:
    return f"{arc.word} {arc.votes:.2f} ({voters(arc.systems, systems)})"


def _said(words: Sequence[VotedWord], systems: int) -> str:
    """Return words with their votes, or the sign for no word."""
    return " ".join(f"{one.word} {one.votes:.2f} ({voters(one.systems, systems)})" for one in words) or NOTHING


def _sum(parts: Mapping[str, float]) -> str:
    shown = {name: value for name, value in parts.items() if abs(value) >= 0.0005}
    return ", ".join(f"{name} {value:+.3f}" for name, value in shown.items()) or "0"
