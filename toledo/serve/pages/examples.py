"""What pages can be tried with, made from the built-in sample and the model that was trained on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from toledo.sample.corpus import ExampleText, example_data
from toledo.view.controls import button
from toledo.view.markup import Markup

if TYPE_CHECKING:
    from toledo.api.model import Model
    from toledo.serve.engine import Engine

FEW, SOME, MANY, SAMPLES = 6, 12, 100, 12
LENGTHS = range(9, 14)  # words
WEAKER: Mapping[str, Mapping[str, float]] = {
    "as trained": {}, "little language model": {"lm": 0.1}, "free order": {"distortion": 0.0},
    "no word penalty": {"word.penalty": 0.0},
}  # fmt: skip
RULES = {"best derivation": "viterbi", "MBR": "mbr", "consensus": "consensus"}


def example_button(engine: Engine, page: str) -> Markup | None:
    """Return a button that fills a page with an example, if the server has the built-in sample."""
    return button("Take an example", "main", data_do="example") if engine.demo and page in EXAMPLES else None


def example_of(engine: Engine, page: str) -> dict[str, Any]:
    """Return the texts or files of an example."""
    return EXAMPLES[page](next(iter(engine.models.values())).model)


@cache
def _test() -> ExampleText:
    return example_data(train=1, tune=1, test=MANY).test


def _sentences(number: int) -> list[int]:
    """Return the places of some sentences that are neither short nor long."""
    return [place for place, text in enumerate(_test().sources) if len(text.split()) in LENGTHS][:number]


def _translate(model: Model) -> dict[str, Any]:
    return {"texts": {"source": "\n".join(_test().sources[place] for place in _sentences(FEW))}}


def _choose(model: Model) -> dict[str, Any]:
    lists = model.nbest([_test().sources[place] for place in _sentences(SOME)], SAMPLES, tokenized=True)
    lines = [json.dumps({"hypotheses": [one.text for one in own]}) for own in lists]
    return {"texts": {"samples": "\n".join(lines)}}


def _documents(model: Model) -> dict[str, Any]:
    return {
        "texts": {"document": "\n".join(_test().sources[:SOME])},
        "choices": {"document.consistency": "20", "start": "random"},
    }


def _combine(model: Model) -> dict[str, Any]:
    places = _sentences(SOME)
    sources = [_test().sources[place] for place in places]
    outputs = {name: _translated(model, sources, weights) for name, weights in WEAKER.items()}
    return {"files": _files({**outputs, "reference": [_test().references[0][place] for place in places]})}


def _compare(model: Model) -> dict[str, Any]:
    sources = list(_test().sources)
    found = {name: model.translate(sources, rule=rule, tokenized=True) for name, rule in RULES.items()}
    found["weaker language model"] = _translated(model, sources, {"lm": 0.25})
    references = {f"reference {number}": list(one) for number, one in enumerate(_test().references, 1)}
    return {"files": _files({**found, **references, "source": sources})}


def _translated(model: Model, sources: list[str], weights: Mapping[str, float]) -> list[str]:
    changed = {name: value for name, value in weights.items() if name in model.weights}
    return list(model.with_weights({**model.weights, **changed}).translate(sources, tokenized=True))


def _files(texts: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"name": name, "text": "".join(f"{line}\n" for line in lines)} for name, lines in texts.items()]


EXAMPLES: Mapping[str, Callable[[Model], dict[str, Any]]] = {
    "translate": _translate, "choose": _choose, "documents": _documents, "combine": _combine, "compare": _compare,
}  # fmt: skip
