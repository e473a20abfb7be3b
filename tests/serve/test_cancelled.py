"""Who leaves while others are served with them takes nothing along."""

from types import SimpleNamespace

import pytest
from small_server import SENTENCE, model

from toledo.serve.call import Call
from toledo.serve.engine import Engine
from toledo.serve.translating import AskedSentence, search_work
from toledo.serve.types import TranslateRequest

TEXTS = ["das ist das haus", "klein", SENTENCE]


@pytest.mark.parametrize("rule", ["viterbi", "mbr"])
def test_each_request_gets_its_own_results(monkeypatch: pytest.MonkeyPatch, rule: str):
    engine = Engine({"small": model()}, threads=1)
    served, calls = engine.model(None), [Call() for _ in TEXTS]
    encode = served.encode

    def leave(*given):
        calls[0].cancel("client gone")
        return encode(*given)

    monkeypatch.setattr(served, "encode", leave)
    request = TranslateRequest(segments=TEXTS, rules=[rule])
    asked = [AskedSentence(request, text.split(), call) for text, call in zip(TEXTS, calls, strict=True)]
    found = list(search_work(engine, served, request).function([SimpleNamespace(value=one) for one in asked]))
    expected = model().translate(TEXTS, rule=rule)
    assert [one.choices[0].text for one in found[1:]] == expected[1:]
