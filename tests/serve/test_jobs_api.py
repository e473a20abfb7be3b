"""Jobs: documents and long translations, their events, and how they are stopped."""

import json
import time
from typing import Any

import pytest
from small_server import SENTENCE, V1, Client, model

import toledo

SEGMENTS = [SENTENCE, "das haus", "das ist klein", "klein ist das haus"]
DOCUMENT = {"segments": SEGMENTS, "steps": 3000, "document_models": {"consistency": 3.0}, "seed": 3}


def events_of(body: bytes) -> list[tuple[int, str, Any]]:
    found = []
    for part in body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in part.splitlines() if not line.startswith(":"))
        if fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


def test_a_document_search_is_that_of_the_package(client: Client):
    state = client.job("/documents", DOCUMENT)
    assert state["state"] == "done", state
    found = state["result"]
    expected = toledo.translate_document(
        model().phrase_model, SEGMENTS, document_models={"consistency": 3.0}, steps=3000, seed=3
    )
    assert found["steps"][-1]["texts"] == expected.texts
    assert found["steps"][-1]["score"] == pytest.approx(expected.score, abs=1e-4)
    assert [one["step"] for one in found["steps"]][:3] == [0, 256, 512]
    assert found["steps"][-1]["step"] == 3000
    scores = [one["score"] for one in found["steps"]]
    assert scores == sorted(scores)


def test_terms_are_source_words_that_come_back(client: Client):
    found = client.job("/documents", DOCUMENT)["result"]
    terms = {one["source"]: one for one in found["terms"]}
    assert len(terms["das"]["places"]) == sum(text.split().count("das") for text in SEGMENTS)
    for term in terms.values():
        for translation in term["translations"]:
            for segment, begin, end in translation["places"]:
                words = found["steps"][-1]["texts"][segment].split()
                assert set(translation["text"].split()) <= set(words[begin:end])


def test_events_are_told_in_order_and_again(client: Client):
    job = client.job("/documents", DOCUMENT)["job"]
    events = events_of(client.get(f"{V1}/jobs/{job}/events").body)
    numbers = [number for number, _, _ in events]
    assert numbers == sorted(set(numbers))
    assert events[-1][1] == "done"
    assert [name for _, name, _ in events].count("step") == len(
        client.get(f"{V1}/jobs/{job}").json()["result"]["steps"]
    )
    later = events_of(client.get(f"{V1}/jobs/{job}/events", last_event_id=str(numbers[-2])).body)
    assert later == events[-1:]
    assert client.get(f"{V1}/jobs/{job}/events", last_event_id="x").status == 422


def test_a_job_translates_more_than_a_request_may(client: Client):
    state = client.job("/translate?job", {"segments": SEGMENTS * 150})
    assert state["state"] == "done"
    texts = [one["choices"][0]["text"] for one in state["result"]["segments"]]
    assert texts == model().translate(SEGMENTS) * 150
    assert state["done"] == state["total"] == 600


def test_a_stopped_job_keeps_what_is_done(client: Client):
    job = client.post(f"{V1}/documents", {**DOCUMENT, "steps": 10_000_000}).json()["job"]
    while not (client.get(f"{V1}/jobs/{job}").json())["done"]:
        time.sleep(0.01)
    assert client.send("DELETE", f"{V1}/jobs/{job}").status == 200
    state = client.ended(job)
    assert state["state"] == "stopped"
    assert 0 < state["result"]["steps"][-1]["step"] < 10_000_000
    assert state["result"]["stopped"] == "stopped"


def test_waiting_jobs_are_stopped_at_once(client: Client):
    jobs = [client.post(f"{V1}/documents", {**DOCUMENT, "steps": 10_000_000}).json()["job"] for _ in range(4)]
    for job in reversed(jobs):
        client.send("DELETE", f"{V1}/jobs/{job}")
    assert {client.ended(job)["state"] for job in jobs} == {"stopped"}


def test_a_stopped_translation_keeps_its_first_segments(client: Client):
    job = client.post(f"{V1}/translate?job", {"segments": SEGMENTS * 5000, "rules": ["mbr"]}).json()["job"]
    while not (client.get(f"{V1}/jobs/{job}").json())["done"]:
        time.sleep(0.01)
    client.send("DELETE", f"{V1}/jobs/{job}")
    state = client.ended(job)
    assert state["state"] == "stopped"
    assert state["done"] < 20_000


@pytest.mark.parametrize(
    ("changed", "status", "where"),
    [
        ({"segments": []}, 422, "/segments"),
        ({"segments": ["a"] * 501}, 413, "/segments"),
        ({"segments": ["a " * 301]}, 413, "/segments/0"),
        ({"references": ["a"]}, 422, "/references"),
        ({"document_models": {"semantic": 1.0}}, 422, "/document_models"),
        ({"document_models": {"os:system": 1.0}}, 422, "/document_models"),
        ({"start": "/etc/passwd"}, 422, "/start"),
        ({"steps": 0}, 422, "/steps"),
    ],
)
def test_what_is_wrong_has_a_place(client: Client, changed: dict[str, Any], status: int, where: str):
    problem = client.problem("/documents", {**DOCUMENT, **changed})
    assert (problem["status"], problem["where"]) == (status, where)


def test_unknown_jobs(client: Client):
    assert client.get(f"{V1}/jobs/nothing").status == 404
    assert client.get(f"{V1}/jobs/j_{'x' * 16}").status == 410
    assert client.get(f"{V1}/jobs/j_{'x' * 16}/events").status == 410
    assert client.send("DELETE", f"{V1}/jobs/nothing").status == 404
