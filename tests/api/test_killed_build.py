"""A build that is killed again and again, and continues each time, ends with the same bytes as one that was not."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import toledo

PROGRAM = """
import os, signal, sys
import toledo
from toledo.api.settings import BuildSettings
from toledo.reranking import joint

folder, output, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
total = 0

def watch(event, arguments):
    global total
    total += event == "os.rename"  # a file or a directory is complete, and about to get its name
    if event == "os.rename" and total == left:
        os.kill(os.getpid(), signal.SIGKILL)

joint.EPOCHS = 1
BuildSettings.tuning = {"objective": "corpus-expected-bleu", "rounds": 2}
pair = lambda name: (f"{folder}/{name}.src", f"{folder}/{name}.trg.0")
sys.addaudithook(watch)
toledo.build(
    f"{folder}/train.src", f"{folder}/train.trg", dev=pair("tune"), test=pair("test"), tokenized=True, threads=1,
    output=output, resume=os.path.exists(output),
)
print(total)
"""


def run(data: Path, output: Path, left: int) -> subprocess.CompletedProcess[str]:
    """Build, and kill the process before so many files have got their names; 0: do not."""
    command = [sys.executable, "-c", PROGRAM, data, output, left]
    return subprocess.run([str(one) for one in command], capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_killed_at_random_moments_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    toledo.example_data(train=300, tune=24, test=24).save(tmp_path / "data")
    whole = run(tmp_path / "data", tmp_path / "whole", 0)
    assert whole.returncode == 0, whole.stderr
    random, ends = np.random.default_rng(28), []
    while not ends or ends[-1]:
        left = int(random.integers(1, int(whole.stdout) // 3))
        found = run(tmp_path / "data", tmp_path / "killed", left)
        ends.append(found.returncode)
        assert found.returncode in (0, -signal.SIGKILL), found.stderr
    assert len(ends) > 3
    for file in (tmp_path / "whole/model").rglob("*"):
        other = tmp_path / "killed/model" / file.relative_to(tmp_path / "whole/model")
        assert file.is_dir() or file.read_bytes() == other.read_bytes(), file.name
