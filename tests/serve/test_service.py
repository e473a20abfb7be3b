"""What the server says about itself: health, metrics, logs, its description; runs that it shows."""

import json
import logging
import re
import time
from pathlib import Path

import pytest
from small_histories import tuning
from small_server import SENTENCE, V1, Client, small_server

import toledo
from toledo.serve.actions import ACTIONS
from toledo.serve.openapi import ERRORS, EXAMPLES, openapi


def test_about_names_models_rules_and_limits(client: Client):
    about = client.get(f"{V1}/about").json()
    assert about["version"] == toledo.__version__
    (model,) = about["models"]
    assert set(model["weights"]) == set(model["features"])
    assert about["limits"]["words"] == 300
    assert {"mbr", "viterbi"} <= set(about["rules"])


def test_health(client: Client):
    assert client.get("/health/live").json() == {"live": True}
    assert client.get("/health/ready").json() == {"ready": True}


def test_metrics_count_what_was_done():
    with small_server() as server:
        client = Client(server)
        for text in (SENTENCE, "das haus"):
            client.result("/translate", {"segments": [text], "keep": True})
        client.post(f"{V1}/translate", b"nothing")
        lines = dict(
            line.rsplit(" ", 1) for line in client.get("/metrics").body.decode().splitlines() if line[0] != "#"
        )
    path = f'path="{V1}/translate"'
    assert lines[f'toledo_requests_total{{{path},status="200"}}'] == "2"
    assert lines[f'toledo_requests_total{{{path},status="400"}}'] == "1"
    assert lines["toledo_words_total"] == "6"
    buckets = [int(value) for name, value in lines.items() if name.startswith(f"toledo_seconds_bucket{{{path}")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == int(lines[f"toledo_seconds_count{{{path}}}"]) == 3
    assert int(lines["toledo_kept_bytes"]) > 1000
    assert int(lines["process_resident_memory_bytes"]) > 1e6


def test_logs_have_no_text(client: Client, caplog: pytest.LogCaptureFixture):
    secret = "geheimnis"
    with caplog.at_level(logging.INFO, logger="toledo.serve"):
        client.result("/translate", {"segments": [f"das {secret}"]})
        client.post(f"{V1}/translate", {"segments": [secret], "model": secret})
        client.get(f"{V1}/jobs/{secret}?query={secret}")
        client.get(f"/{secret}")
        while caplog.text.count('"path"') < 4:  # a line is written after its answer
            time.sleep(0.01)
    lines = [json.loads(one.message) for one in caplog.records if one.name == "toledo.serve.requests"]
    assert secret not in caplog.text
    assert [(one["path"], one["status"], one["words"]) for one in lines] == [
        (f"{V1}/translate", 200, 2), (f"{V1}/translate", 422, 0), (f"{V1}/jobs/{{id}}", 404, 0), ("other", 404, 0)
    ]  # fmt: skip
    assert all(
        set(one) == {"time", "id", "method", "path", "status", "ms", "queue_ms", "segments", "words"} for one in lines
    )


def test_the_description_has_every_action_and_error(client: Client):
    found = client.get("/openapi.json").json()
    assert found == json.loads(json.dumps(openapi()))
    for action in ACTIONS:
        operation = found["paths"][V1 + action.path][action.method.lower()]
        assert set(ERRORS) < set(operation["responses"])
    names = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(found)))
    assert names <= set(found["components"]["schemas"])


@pytest.mark.parametrize("path", [path for path in EXAMPLES if "{id}" not in path])
def test_examples_of_the_description_work(client: Client, path: str):
    assert client.post(V1 + path, EXAMPLES[path]).status in (200, 202)


def test_runs_are_found_by_name_and_shown(tmp_path: Path):
    first = tuning("mert", [30.0, 32.0, 31.0], configuration={"tuner": "mert", "nbest": 100})
    for name, history in (("mert", first), ("mira", tuning("mira", [30.0, 33.0]))):
        (tmp_path / "runs" / name / "seed-1").mkdir(parents=True)
        history.save(tmp_path / "runs" / name / "seed-1" / "history.json")
    whole = (tmp_path / "runs" / "mert" / "seed-1" / "history.json").read_text("utf-8")
    cut = tmp_path / "runs" / "cut" / "history.json"
    cut.parent.mkdir()
    cut.write_text(whole[: whole.rindex('"number"')], encoding="utf-8")
    (tmp_path / "runs" / "other").mkdir()
    (tmp_path / "runs" / "other" / "history.json").write_text("{}", encoding="utf-8")
    with small_server(runs=[tmp_path / "runs"]) as server:
        client = Client(server)
        found = {one["name"]: one for one in client.get(f"{V1}/runs").json()["runs"]}
        assert set(found) == {"runs/mert/seed-1", "runs/mira/seed-1", "runs/cut"}
        assert found["runs/mert/seed-1"]["scores"] == pytest.approx(first.scores)
        assert found["runs/cut"]["state"] == "broken"
        assert 0 < found["runs/cut"]["rounds"] < len(first.rounds)
        assert [one["name"] for one in client.get(f"{V1}/runs?filter=mert|mira").json()["runs"]] == [
            "runs/mert/seed-1", "runs/mira/seed-1"
        ]  # fmt: skip
        assert client.get(f"{V1}/runs?filter=(a%2B)%2Bb").status == 422
        assert client.get(f"{V1}/runs?filter=(").status == 422
        run = client.get(f"{V1}/runs/{found['runs/mert/seed-1']['id']}").json()
        assert len(run["rounds"]) == len(first.all_rounds)
        assert run["rounds"][-1]["weights"] == pytest.approx(dict(first.last.weights))
        events = client.get(f"{V1}/runs/{found['runs/mert/seed-1']['id']}/events").body.decode()
        assert events.count("event: round") == len(first.all_rounds)
        assert client.get(f"{V1}/runs/nothing").status == 404
        assert client.get(f"{V1}/runs/nothing/events").status == 404


def test_a_wrong_method_is_told_the_right_ones(client: Client):
    found = client.send("PUT", f"{V1}/jobs/j_1")
    assert (found.status, found.headers["allow"]) == (405, "DELETE, GET, HEAD")


def test_the_description_is_a_page_under_a_policy(client: Client):
    found = client.get("/api")
    page = found.body.decode()
    assert found.headers["content-type"].startswith("text/html")
    assert "sha256-" in found.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in found.headers["content-security-policy"]
    for action in ACTIONS:
        assert f"{action.method} {V1}{action.path}" in page
    assert "curl localhost:8080/api/v1/translate" in page
    assert "<script" not in page
