"""The page on the server: its requests are answered, its Python runs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from page_commands import check_shown, run_page
from small_server import Client

import toledo

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the directory `model`, trained on a part of the built-in sample."""
    folder = tmp_path_factory.mktemp("page")
    text = toledo.example_data(train=300, tune=1, test=1).train
    toledo.train(text.sources, text.targets, tokenized=True, output=folder / "model", threads=1)
    return folder


def test_requests_of_the_page_are_answered(folder: Path):
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    text, printed, shown = PAGE.read_text("utf-8"), "", 0
    with toledo.serve(folder / "model", port=0, block=False, threads=2) as server:
        for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if kind == "text":
                check_shown(block, printed)
                shown += 1
            if kind != "sh" or "curl" not in block:
                continue
            command = block.replace("localhost:8080", f"127.0.0.1:{server.port}")
            found = subprocess.run(["sh", "-e", "-c", command], capture_output=True, text=True, check=True)
            printed = found.stdout
            assert printed
            assert "toledo:internal" not in printed
            assert ("toledo:" in printed) == ('"scale": "x"' in block), printed
        assert Client(server).get("/health/ready").status == 200
    assert shown == 2


def test_python_of_the_page_runs(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    blocks = re.findall(r"^```python\n.*?^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    printed = run_page("\n\n".join(blocks) + "\n")
    assert "'align': [{'tgt-start': 0" in printed
    assert re.match(r"Server\('http://127\.0\.0\.1:\d+/'\)", printed)
