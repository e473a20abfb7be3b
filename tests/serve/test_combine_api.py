"""Combining: networks, votes, shares, scores."""

from typing import Any

import pytest
from small_server import V1, Client, small_server

import toledo

SYSTEMS = {
    "one": ["the house is small", "that is the house"],
    "two": ["the house is small", "that is a house"],
    "three": ["the home is small", "that is the house"],
}
ASKED = {"systems": SYSTEMS, "tokenized": True}


def test_the_majority_decides_where_shares_are_equal(client: Client):
    found = client.result("/combine", ASKED)
    assert [one["text"] for one in found["segments"]] == ["the house is small", "that is the house"]
    assert sum(found["shares"].values()) == pytest.approx(1, abs=1e-5)
    for segment in found["segments"]:
        for column in segment["columns"]:
            assert sum(arc["votes"] for arc in column) == pytest.approx(1, abs=1e-5)
            assert sum(arc["chosen"] for arc in column) == 1
        chosen = [arc["word"] for column in segment["columns"] for arc in column if arc["chosen"] and arc["word"]]
        assert chosen == segment["words"]
    home = [arc for column in found["segments"][0]["columns"] for arc in column if arc["word"] == "home"]
    assert [arc["systems"] for arc in home] == [[2]]


def test_the_path_follows_the_shares(client: Client):
    found = client.result("/combine", {**ASKED, "shares": {"one": 0, "two": 0}})
    assert [one["text"] for one in found["segments"]] == SYSTEMS["three"]
    assert found["shares"] == {"one": 0, "two": 0, "three": 1}
    heavy = client.result("/combine", {**ASKED, "shares": {"two": 5}})
    assert heavy["segments"][1]["text"] == "that is a house"


def test_references_give_scores_and_tests(client: Client):
    references = ["the house is small", "that is the house"]
    found = client.result("/combine", {**ASKED, "references": references})
    scores = {one["name"]: one for one in found["scores"]}
    assert scores["combination"]["score"] == pytest.approx(100)
    own = toledo.evaluate(SYSTEMS["two"], references, metrics="bleu", tokenize="none", interval=None)
    assert scores["two"]["score"] == pytest.approx(own["bleu"].score, abs=1e-5)
    assert scores["two"]["difference"] == pytest.approx(100 - own["bleu"].score, abs=1e-4)
    assert "bootstrap" in found["note"]


def test_a_tuned_combination_decides_as_it_does_by_itself():
    combination = toledo.Combination.tune(
        SYSTEMS, [["the house is small"], ["that is the house"]], tokenized=True, folds=0, bias=0.0
    )
    with small_server(combinations={"combo": combination}) as server:
        client = Client(server)
        (about,) = client.get(f"{V1}/about").json()["combinations"]
        assert about["systems"] == list(SYSTEMS)
        found = client.result("/combine", {**ASKED, "combination": "combo"})
        assert [one["text"] for one in found["segments"]] == combination.run(SYSTEMS)
        others = {"systems": {"one": ["a"], "two": ["b"]}, "combination": "combo"}
        assert client.problem("/combine", others)["where"] == "/systems"


@pytest.mark.parametrize(
    ("changed", "status", "where"),
    [
        ({"systems": {"one": ["a"]}}, 422, "/systems"),
        ({"systems": {"one": ["a"], "two": ["a", "b"]}}, 422, "/systems/two"),
        ({"systems": {"one": [], "two": []}}, 422, "/systems"),
        ({"shares": {"four": 1}}, 422, "/shares"),
        ({"shares": {"one": 0, "two": 0, "three": 0}}, 422, "/shares"),
        ({"shares": {"one": -1}}, 422, "/shares/..."),
        ({"weights": {"nothing": 1}}, 422, "/weights"),
        ({"combination": "../../etc"}, 422, "/combination"),
        ({"references": ["a"]}, 422, "/references"),
        ({"systems": {f"s{n}": ["a"] for n in range(41)}}, 413, "/systems"),
        ({"systems": {"one": ["a " * 301], "two": ["a"]}}, 413, "/systems/one/0"),
    ],
)
def test_what_is_wrong_has_a_place(client: Client, changed: dict[str, Any], status: int, where: str):
    problem = client.problem("/combine", {**ASKED, **changed})
    assert (problem["status"], problem["where"]) == (status, where)
