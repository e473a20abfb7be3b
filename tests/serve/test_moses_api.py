"""Moses' XML-RPC, with the client of the standard library."""

import xmlrpc.client
from collections.abc import Iterator
from typing import Any

import pytest
from small_server import SENTENCE, Client, model

from toledo.serve.moses import search_graph
from toledo.serve.xmlrpc import read_call, write_answer

CALL = "<methodCall><methodName>translate</methodName><params><param><value>{}</value></param></params></methodCall>"


@pytest.fixture
def moses(client: Client) -> Iterator[Any]:
    with xmlrpc.client.ServerProxy(f"http://127.0.0.1:{client.port}/RPC2") as proxy:
        yield proxy


def test_a_text_has_a_blank_after_each_word(moses: Any):
    assert moses.translate({"text": SENTENCE}) == {"text": f"{model().translate(SENTENCE)} "}
    assert moses.translate({"text": ""}) == {"text": ""}


@pytest.mark.parametrize("value", ["true", "", 0, False])
def test_options_are_on_when_they_are_there(moses: Any, value: Any):
    found = moses.translate({"text": SENTENCE, "align": value, "word-align": value, "report-all-factors": value})
    best = model().decode(SENTENCE)
    expected = []
    place = 0
    for begin, end, words in best.segmentation:
        expected.append({"tgt-start": place, "src-start": begin, "src-end": end - 1})
        place += len(words.split())
    assert found["align"] == expected
    links = [(one["source-word"], one["target-word"]) for one in found["word-align"]]
    assert links == list(best.alignment)


def test_lists_of_derivations_or_texts(moses: Any):
    found = moses.translate({"text": SENTENCE, "nbest": 5, "nbest-distinct": 1, "add-score-breakdown": 1, "align": 1})
    expected = model().nbest(SENTENCE, 5, distinct=True)
    assert [one["hyp"].strip() for one in found["nbest"]] == [one.text for one in expected]
    assert [one["totalScore"] for one in found["nbest"]] == pytest.approx([one.score for one in expected], abs=1e-5)
    assert found["nbest"][0]["fvals"].startswith("lm= ")
    assert found["nbest"][0]["align"] == found["align"]
    plain = moses.translate({"text": SENTENCE, "nbest": 8})["nbest"]
    assert len({one["hyp"] for one in plain}) < len(plain)


def test_translation_options_and_the_search_graph(moses: Any):
    found = moses.translate({"text": SENTENCE, "topt": 1, "sg": 1})
    spans = {(one["start"], one["end"]) for one in found["topt"]}
    assert {(0, 0), (0, 1), (3, 3)} <= spans
    assert {"the house"} <= {one["phrase"] for one in found["topt"] if (one["start"], one["end"]) == (0, 1)}
    by_number = {one["hyp"]: one for one in found["sg"]}
    last = [one for one in found["sg"] if one["stack"] == len(SENTENCE.split()) and "recombined" not in one]
    best, words = max(last, key=lambda one: one["fscore"]), list[str]()
    while best["hyp"]:
        words.insert(0, best["out"])
        previous = by_number[best["back"]]
        assert best["transition"] == pytest.approx(best["score"] - previous.get("score", 0.0), abs=1e-5)
        best = previous
    assert " ".join(words) == model().translate(SENTENCE)


def test_the_graph_holds_the_best_score():
    forest = model().forest(SENTENCE)
    scores = forest.scores(model().weights)
    graph = search_graph(forest, scores)
    assert graph[0]["fscore"] == pytest.approx(max(one["fscore"] for one in graph), abs=1e-6)
    assert graph[0]["fscore"] == pytest.approx(model().nbest(SENTENCE, 1)[0].score, abs=1e-5)


@pytest.mark.parametrize(
    ("asked", "code", "text"),
    [
        ({}, -503, "Missing source text"),
        ({"text": "a", "lambda": [0.5]}, -500, "leave out lambda"),
        ({"text": "a", "nbest": -1}, -503, "nbest"),
        ({"text": "a", "nbest": "many"}, -503, "nbest"),
        ({"text": "a " * 301}, -500, "has 301 words"),
    ],
)
def test_faults_say_why(moses: Any, asked: dict, code: int, text: str):
    with pytest.raises(xmlrpc.client.Fault, match=text) as fault:
        moses.translate(asked)
    assert fault.value.faultCode == code


def test_other_methods_are_not_there(moses: Any):
    for call in (lambda: moses.system.multicall([]), lambda: moses.updater({}), lambda: moses.system.listMethods()):
        with pytest.raises(xmlrpc.client.Fault, match="not defined"):
            call()


BOMB = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>' + CALL.format("&b;&b;")
FILE = '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + CALL.format("&a;")


@pytest.mark.parametrize("body", [BOMB, FILE, "<methodCall>", "", "{}", CALL.format("&undefined;"), "\0"])
def test_what_is_no_xml_is_refused(client: Client, body: str):
    assert client.post("/RPC2", body.encode(), content_type="text/xml").status == 400


def test_large_and_deep_calls_are_refused(client: Client):
    assert client.post("/RPC2", CALL.format("x" * 1_100_000).encode()).status == 413
    deep = "<array><data><value>" * 40 + "</value></data></array>" * 40
    found = client.post("/RPC2", CALL.format(deep).encode())
    assert b"nested too deeply" in found.body


def test_what_xml_cannot_have_is_left_out():
    assert xmlrpc.client.loads(write_answer("a\ufffe\0\ud800b\x1b"))[0] == ("ab",)


def test_values_are_read_as_they_are_written():
    value = {"a": [1, -2.5, True, "x < & y"], "b": {"c": "", "large": 1 << 40}}
    call = xmlrpc.client.dumps((value["a"],), "translate")
    assert read_call(call.encode()) == ("translate", [value["a"]])
    ((found,), _) = xmlrpc.client.loads(write_answer(value))
    assert found == value
