"""Objectives by name. To add one, write a file beside this one and a line here; `gleu.py` is a complete example.

Nothing compiled is imported before an objective is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toledo.settings import Registry

if TYPE_CHECKING:
    from toledo.objectives.objective import Objective


def _of_counts(function: Callable[..., Any]) -> Objective:
    from toledo.objectives.expected_counts import CountsFunction

    return CountsFunction(function)


OBJECTIVES: Registry[Objective] = Registry(
    "objective",
    {
        "expected-bleu": "toledo.objectives.lists:ExpectedBLEU",
        "corpus-expected-bleu": "toledo.objectives.lists:CorpusExpectedBLEU",
        "xbleu": "toledo.objectives.xbleu:XBLEU",
        "cobleu": "toledo.objectives.cobleu:CoBLEU",
        "linear-bleu": "toledo.objectives.linear_bleu:FittedLinearBLEU",
        "gleu": "toledo.objectives.gleu:ConsensusGLEU",
        "expected": "toledo.objectives.lists:Expected",
    },
    adapt=_of_counts,
)
