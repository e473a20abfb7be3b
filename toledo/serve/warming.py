"""Become ready: one sentence goes through every rule, so that kernels are compiled before the first request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toledo.serve.call import Call
from toledo.serve.names import FOREST_RULES
from toledo.serve.translating import translate_segments
from toledo.serve.types import TranslateRequest

if TYPE_CHECKING:
    from toledo.serve.engine import Engine

WORDS = 4  # of the sentence


async def warm_up(engine: Engine) -> None:
    """Translate a sentence of the words of each model by every rule."""
    for name, served in engine.models.items():
        words = list(served.model.phrase_model.source_vocabulary)[3 : 3 + WORDS]
        segments = [" ".join(words)]
        request = TranslateRequest(
            model=name, segments=segments, tokenized=True, rules=list(FOREST_RULES), nbest=1, posteriors=4
        )
        await translate_segments(engine, request, Call(id="warm-up"))
        await translate_segments(engine, TranslateRequest(model=name, segments=segments), Call(id="warm-up"))
    engine.metrics.words = 0
