"""Choosing: segments, responses of language models, files, lines."""

import json

import pytest
from small_server import V1, Client

import toledo

SAMPLES = ["the cat sat on the mat", "a cat sat on the mat", "the cat is on a mat", "cats !", "a cat sat on the mat"]


@pytest.mark.parametrize("metric", ["chrf", "bleu", "ter", "chrf++"])
def test_choices_are_those_of_the_package(client: Client, metric: str):
    expected = toledo.choose(SAMPLES, metric=metric)
    asked = {"metric": metric, "matrix": True, "clusters": True, "segments": [{"id": "s", "hypotheses": SAMPLES}]}
    (found,) = client.result("/choose", asked)["segments"]
    assert (found["text"], found["choice"], found["id"]) == (expected.text, expected.index, "s")
    by_text = dict(zip(found["texts"], found["expected"], strict=True))
    assert by_text == pytest.approx({one.text: one.score for one in expected.ranking}, abs=1e-5)
    assert found["ahead"] == pytest.approx(expected.margin, abs=1e-5)
    assert found["probabilities"] == pytest.approx([0.2, 0.4, 0.2, 0.2])
    assert found["places"] == [0, 1, 2, 3, 1]
    rows = [sum(p * v for p, v in zip(found["probabilities"], row, strict=True)) for row in found["matrix"]]
    assert rows == pytest.approx([by_text[text] for text in found["texts"]], abs=1e-4)


def test_the_tree_joins_all_texts_and_orders_them(client: Client):
    asked = {"clusters": True, "segments": [{"hypotheses": SAMPLES}]}
    (found,) = client.result("/choose", asked)["segments"]
    assert sorted(found["order"]) == [0, 1, 2, 3]
    assert len(found["tree"]) == 3
    assert {one for step in found["tree"] for one in step[:2]} == set(range(6))
    levels = [step[2] for step in found["tree"]]
    assert levels == sorted(levels, reverse=True)


def test_scores_weights_log_probabilities_and_matrices(client: Client):
    scored = [{"text": "a b", "score": -1.0}, {"text": "c d", "score": -5.0}]
    (found,) = client.result("/choose", {"segments": [{"hypotheses": scored}]})["segments"]
    assert found["choice"] == 0
    assert found["probabilities"][0] > 0.9
    (found,) = client.result("/choose", {"uniform": True, "segments": [{"hypotheses": scored}]})["segments"]
    assert found["probabilities"] == [0.5, 0.5]
    weighted = [{"text": "a b", "weight": 1.0}, {"text": "c d", "weight": 3.0}]
    (found,) = client.result("/choose", {"segments": [{"hypotheses": weighted}]})["segments"]
    assert found["probabilities"] == [0.25, 0.75]
    tokens = [{"text": "a b", "logprob": -1.0, "num_tokens": 1}, {"text": "c d", "logprob": -2.0, "num_tokens": 4}]
    (found,) = client.result("/choose", {"logprobs": "mean", "segments": [{"hypotheses": tokens}]})["segments"]
    assert found["choice"] == 1
    given = {"hypotheses": ["x", "y"], "utilities": [[1, 0], [5, 5]]}
    (found,) = client.result("/choose", {"matrix": True, "segments": [given]})["segments"]
    assert (found["choice"], found["matrix"]) == (1, [[1, 0], [5, 5]])


def test_references_make_an_oracle(client: Client):
    asked = {"segments": [{"hypotheses": SAMPLES, "references": ["cats !"]}]}
    assert client.result("/choose", asked)["segments"][0]["text"] == "cats !"


def test_responses_of_an_openai_compatible_server(client: Client):
    answers = [{"message": {"role": "assistant", "content": text}} for text in SAMPLES]
    found = client.result("/choose", {"responses": [{"id": "chatcmpl-1", "choices": answers}]})
    assert found["segments"][0]["text"] == toledo.choose(SAMPLES).text
    assert found["segments"][0]["id"] == "chatcmpl-1"
    problem = client.problem("/choose", {"responses": [{"error": {"message": "overloaded"}}]})
    assert (problem["status"], problem["where"]) == (422, "/responses/0")


def test_a_file_with_a_wrong_line_keeps_the_others(client: Client):
    lines = [json.dumps({"hypotheses": SAMPLES, "id": f"s{n}"}) for n in range(3)]
    lines.insert(1, '{"hypotheses": ["a"')
    found = client.result("/choose", {"text": "\n".join(lines)})
    assert [one["id"] for one in found["segments"]] == ["s0", "s1", "s2"]
    assert [one["line"] for one in found["problems"]] == [2]
    moses = "0 ||| a b ||| lm= -1 ||| -1\n0 ||| a c ||| lm= -2 ||| -2\n1 ||| d ||| lm= -1 ||| -1\n"
    found = client.result("/choose", {"text": moses})
    assert [len(one["hypotheses"]) for one in found["segments"]] == [2, 1]


def test_a_line_in_is_a_line_out(client: Client):
    lines = [json.dumps({"hypotheses": SAMPLES}), "nothing", json.dumps({"hypotheses": ["b"]})]
    body = "\n".join(lines).encode()
    found = client.post(f"{V1}/choose?metric=bleu", body, content_type="application/x-ndjson")
    answers = [json.loads(line) for line in found.body.splitlines()]
    assert answers[0]["text"] == toledo.choose(SAMPLES, metric="bleu").text
    assert answers[1]["problem"]["status"] == 422
    assert answers[2]["text"] == "b"


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ({}, None),
        ({"segments": [{"hypotheses": []}]}, "/segments/0"),
        ({"segments": [{"hypotheses": ["a"], "utilities": [[1, 2]]}]}, "/segments/0"),
        ({"segments": [{"hypotheses": ["a", 3]}]}, "/segments/0/hypotheses/1"),
        ({"segments": [{"hypotheses": ["a"]}], "metric": "os:system"}, "/metric"),
        ({"segments": [{"hypotheses": ["a"]}], "metric": "bleu:tokenize=flores200"}, "/metric"),
        ({"segments": [{"hypotheses": ["a"]}], "rule": "rerank:feature=x"}, "/rule"),
        ({"segments": [{"hypotheses": ["a"]}], "scale": 0}, "/scale"),
        ({"segments": [{"hypotheses": ["a"]}], "logprobs": "mean"}, "/segments/0"),
        ({"segments": [{"hypotheses": ["a"]}], "unknown": 1}, "/unknown"),
    ],
)
def test_what_is_wrong_has_a_place(client: Client, asked: dict, where: str | None):
    problem = client.problem("/choose", asked)
    assert problem["status"] == 422
    assert problem["where"] == where
