"""Comparisons: the numbers of `toledo.compare`, for all segments or for those that a filter leaves."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from small_server import V1, Client, small_server

import toledo

SIZE = 40
REFERENCES = [f"the small house number {n} is that house" for n in range(SIZE)]
GOOD = [text if n % 3 else text.replace("small", "tiny") for n, text in enumerate(REFERENCES)]
BAD = [text.replace("that house", "a home by the") if n % 4 else text for n, text in enumerate(REFERENCES)]
ASKED = {
    "systems": {"good": GOOD, "bad": BAD}, "references": [REFERENCES], "sources": [f"quelle {n}" for n in range(SIZE)],
    "metrics": ["bleu", "ter"], "resamples": 200,
}  # fmt: skip


@pytest.fixture(scope="module")
def kept(client: Client) -> str:
    state = client.job("/compare", ASKED)
    assert state["state"] == "done", state
    assert state["result"]["segments"] == SIZE
    return state["result"]["id"]


def asked(client: Client, kept: str, part: str, **query: Any) -> Any:
    found = client.get(f"{V1}/compare/{kept}/{part}?{urlencode(query)}")
    assert found.status == 200, found.body
    return found.json()


def same_numbers(client: Client, kept: str, places: list[int], **query: Any) -> None:
    found = asked(client, kept, "scores", **query)
    assert found["segments"] == len(places)
    some = {name: [texts[n] for n in places] for name, texts in ASKED["systems"].items()}
    expected = toledo.compare(
        some, [[REFERENCES[n]] for n in places], metrics=["bleu", "ter", "chrf"], resamples=200, threads=1
    )
    for system in found["systems"]:
        for score in system["scores"]:
            own = expected[system["name"]][score["metric"]]
            assert score["score"] == pytest.approx(own.score, abs=1e-5)
            assert score["low"] == (own.interval and pytest.approx(own.interval.low, abs=1e-5))
    tests = {one.metric: one for one in expected.tests}
    for score in found["systems"][1]["scores"]:
        assert score["p"] == pytest.approx(tests[score["metric"]].p_corrected, abs=1e-5)
        assert score["difference"] == pytest.approx(tests[score["metric"]].difference, abs=1e-5)


def test_scores_are_those_of_the_package(client: Client, kept: str):
    same_numbers(client, kept, list(range(SIZE)))


def test_a_filter_scores_what_it_leaves(client: Client, kept: str):
    same_numbers(client, kept, [n for n in range(SIZE) if "number 1" in REFERENCES[n]], query="NUMBER 1")


def test_significance_knows_what_is_better(client: Client, kept: str):
    bad = {one["metric"]: one for one in asked(client, kept, "scores")["systems"][1]["scores"]}
    assert bad["bleu"]["better"] is False
    assert bad["ter"]["better"] is False
    assert bad["ter"]["difference"] > 0


def test_segments_are_sorted_and_windowed(client: Client, kept: str):
    found = asked(client, kept, "segments", sort="-difference", count=5, first=2)
    differences = [one["difference"] for one in found["segments"]]
    assert differences == sorted(differences, reverse=True)
    assert (found["found"], found["first"], len(found["segments"])) == (SIZE, 2, 5)
    turned = asked(client, kept, "segments", a=1, b=0, count=SIZE)["segments"]
    plain = asked(client, kept, "segments", count=SIZE)["segments"]
    assert [one["difference"] for one in turned] == [-one["difference"] for one in plain]
    assert plain[3]["outputs"] == [GOOD[3], BAD[3]]
    assert plain[3]["source"] == "quelle 3"


def test_bars_and_grams_lead_to_their_segments(client: Client, kept: str):
    plot = asked(client, kept, "plots/differences")
    assert sum(bar["segments"] for bar in plot["bars"]) == SIZE == plot["wins"] + plot["ties"] + plot["losses"]
    for bar in plot["bars"]:
        limits = {name: bar[name] for name in ("low", "high") if bar[name] is not None}
        if bar["segments"]:
            assert asked(client, kept, "segments", **limits)["found"] == bar["segments"]
    grams = asked(client, kept, "plots/grams")
    assert grams["lost"][0]["a"] > grams["lost"][0]["b"]
    found = asked(client, kept, "segments", gram=grams["lost"][0]["text"], count=SIZE)
    assert {one["number"] for one in found["segments"]} == set(grams["lost"][0]["segments"])
    lengths = asked(client, kept, "plots/lengths")["bars"]
    assert sum(bar["segments"] for bar in lengths) == SIZE


def test_few_segments_have_no_test(client: Client, kept: str):
    found = asked(client, kept, "scores", query="number 17 ")
    assert found["segments"] == 1
    assert found["systems"][1]["scores"][0]["p"] is None
    assert asked(client, kept, "scores", query="nowhere")["segments"] == 0


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"systems": {"good": GOOD, "bad": BAD[1:]}}, "/systems/bad"),
        ({"references": [REFERENCES, REFERENCES[1:]]}, "/references/1"),
        ({"references": []}, "/references"),
        ({"sources": ["x"]}, "/sources"),
        ({"baseline": "none"}, "/baseline"),
        ({"metrics": ["comet"]}, "/metrics/0"),
        ({"segment_metric": "column:/etc/passwd"}, "/segment_metric"),
        ({"resamples": 10**9}, "/resamples"),
    ],
)
def test_what_is_wrong_has_a_place(client: Client, changed: dict[str, Any], where: str):
    problem = client.problem("/compare", {**ASKED, **changed})
    assert (problem["status"], problem["where"]) == (422, where)


def test_what_is_not_there(client: Client, kept: str):
    assert client.get(f"{V1}/compare/{kept}/plots/nothing").status == 404
    assert client.get(f"{V1}/compare/{kept}/segments?a=7").status == 422
    assert client.get(f"{V1}/compare/{kept}/segments?sort=nothing").status == 422
    assert client.get(f"{V1}/compare/{kept}/segments?more=1").status == 422
    assert client.get(f"{V1}/compare/c_{'x' * 16}/scores").status == 410
    assert client.get(f"{V1}/compare/nothing/scores").status == 404


@pytest.fixture
def forgetful() -> Iterator[Client]:
    with small_server(keep=0.0) as server:
        yield Client(server)


def test_nothing_is_kept_without_memory_for_it(forgetful: Client):
    state = forgetful.job("/compare", ASKED)
    assert forgetful.get(f"{V1}/compare/{state['result']['id']}/scores").status == 410
