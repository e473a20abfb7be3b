"""`toledo serve` as a process: it says where it listens, answers, and ends."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from command_line import run
from small_models import small_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("command") / "small"
    small_model().save(folder)
    return folder


def is_ready(url: str) -> bool:
    """Ask until the server can answer; before that it says 503."""
    try:
        with urllib.request.urlopen(f"{url}health/ready") as answer:
            return json.load(answer) == {"ready": True}
    except urllib.error.HTTPError as error:
        error.close()
        return False
    except urllib.error.URLError:
        return False


def test_it_answers_and_ends_with_the_signal(model: Path):
    command = [sys.executable, "-m", "toledo", "serve", str(model), "--port", "0", "--threads", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    url = re.search(r"http://127\.0\.0\.1:\d+/", process.stderr.readline())
    assert url is not None
    while not is_ready(url[0]):
        time.sleep(0.02)
    with urllib.request.urlopen(f"{url[0]}api/v1/about") as answer:
        assert json.load(answer)["models"][0]["name"] == "small"
    process.send_signal(signal.SIGTERM)
    rest = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 128 + signal.SIGTERM
    lines = [json.loads(line) for line in rest.splitlines() if line.startswith("{")]
    assert lines[-1]["path"] == "/api/v1/about"
    assert "Traceback" not in rest


def test_what_is_wrong_is_said_at_once(model: Path, tmp_path: Path):
    assert "no such" in run("serve", tmp_path / "nothing").stderr
    assert "two models are called 'small'" in run("serve", model, model, "--port", "0").stderr
    (tmp_path / "token").write_text("short\n", encoding="utf-8")
    assert "a token of 5 characters" in run("serve", model, "--token-file", tmp_path / "token").stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1, port {port}" in run("serve", model, "--port", port).stderr
    assert "words" in run("serve", model, "--words", "0").stderr
