"""Whether text looks raw or tokenised: for hints, where one is taken for the other."""

from __future__ import annotations

from collections.abc import Sequence

SENTENCE_ENDS = frozenset(".!?。")


def looks_tokenised(lines: Sequence[str]) -> bool:
    """Whether many lines end in a blank and a full stop, as raw text never does."""
    return sum(line.endswith(" .") for line in lines) > len(lines) / 4


def raw_word(lines: Sequence[str]) -> str | None:
    """A word with the full stop of its sentence, if many lines end in one, as tokenised text never does."""
    last = [line.rsplit(maxsplit=1)[-1] for line in lines if line.strip()]
    raw = [word for word in last if word[-1] in SENTENCE_ENDS and word[-2:-1].isalnum()]
    return raw[0] if len(raw) > len(last) / 4 else None
