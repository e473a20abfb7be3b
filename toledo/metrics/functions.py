"""sacreBLEU's functions, so that its import line can be replaced: the same arguments, numbers and signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.score import Score
from toledo.metrics.ter import TER


def corpus_bleu(
    hypotheses: Sequence[str], references: Any, *, use_effective_order: bool = False, **settings: Any
) -> Score:
    """Compute BLEU of a corpus; settings are those of `BLEU`."""
    return BLEU(effective_order=use_effective_order, **_without_force(settings)).corpus_score(hypotheses, references)


def sentence_bleu(
    hypothesis: str, references: str | Sequence[str], *, use_effective_order: bool = True, **settings: Any
) -> Score:
    """Compute BLEU of one text; settings are those of `BLEU`."""
    return BLEU(effective_order=use_effective_order, **_without_force(settings)).sentence_score(hypothesis, references)


def corpus_chrf(
    hypotheses: Sequence[str], references: Any, *, remove_whitespace: bool = True, **settings: Any
) -> Score:
    """Compute chrF of a corpus; settings are those of `CHRF`."""
    return CHRF(whitespace=not remove_whitespace, **settings).corpus_score(hypotheses, references)


def sentence_chrf(
    hypothesis: str, references: str | Sequence[str], *, remove_whitespace: bool = True, **settings: Any
) -> Score:
    """Compute chrF of one text; settings are those of `CHRF`."""
    return CHRF(whitespace=not remove_whitespace, **settings).sentence_score(hypothesis, references)


def corpus_ter(hypotheses: Sequence[str], references: Any, **settings: Any) -> Score:
    """Compute TER of a corpus; settings are those of `TER`."""
    return TER(**settings).corpus_score(hypotheses, references)


def sentence_ter(hypothesis: str, references: str | Sequence[str], **settings: Any) -> Score:
    """Compute TER of one text; settings are those of `TER`."""
    return TER(**settings).sentence_score(hypothesis, references)


def _without_force(settings: dict[str, Any]) -> dict[str, Any]:
    """Drop `force`, which silences a warning of sacreBLEU that is not given here."""
    return {name: value for name, value in settings.items() if name != "force"}
