"""`toledo translate` in a pipe: lines keep their number and order, come at once, and nothing half-written stays."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import succeed
from small_models import small_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("translate") / "model"
    small_model().save(folder)
    return folder


def translate(model: Path, text: str | bytes, *options: str) -> list[str]:
    found = succeed("translate", model, "--quiet", "--search", "beam:pop_limit=20", *options, input=text)
    assert found.endswith("\n") or not found
    return found.split("\n")[:-1]


@pytest.mark.parametrize("options", [(), ("--rule", "consensus")])
def test_many_lines_keep_their_number_and_order(model: Path, options: tuple[str, ...]) -> None:
    rng = np.random.default_rng(5)
    lines = [f"n{i} " + " ".join(rng.choice(["das", "haus", "☃"], int(rng.integers(0, 4)))) for i in range(600)]
    lines[::7] = [""] * len(lines[::7])
    found = translate(model, "".join(f"{line}\n" for line in lines), *options)
    assert len(found) == len(lines)
    for i, (line, translation) in enumerate(zip(lines, found, strict=True)):
        assert (f"n{i}" in translation.split()) == bool(line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n", [""]),
        ("\n\n", ["", ""]),
        ("das haus", ["the house"]),
        ("das haus\r\nklein\r\n", ["the house", "small"]),
        ("\tdas \t haus  \n", ["the house"]),
        (b"\xef\xbb\xbfdas haus\n", ["the house"]),
        ("e\u0301 \u202bשלום\u202c عربي\n", ["e\u0301 \u202bשלום\u202c عربي"]),
        ("a\x01b\x1b[0m c\x7f\n", ["a\x01b\x1b[0m c\x7f"]),
        ("a\u2028b\u0085c\u00a0d\n", ["a\u2028b\u0085c\u00a0d"]),
        ("👩‍👩‍👧 𝔘\n", ["👩‍👩‍👧 𝔘"]),
    ],
)
def test_odd_lines(model: Path, tmp_path: Path, text: str | bytes, expected: list[str]) -> None:
    assert translate(model, text) == expected
    given = tmp_path / "in"
    given.write_bytes(text if isinstance(text, bytes) else text.encode())
    command = ["translate", model, given, "-q", "-o", tmp_path / "out", "--write-nbest", tmp_path / "nb"]
    succeed(*command, "--write-alignment", tmp_path / "links")
    assert (tmp_path / "out").read_bytes() == "".join(f"{line}\n" for line in expected).encode()
    assert (tmp_path / "links").read_bytes().count(b"\n") == len(expected)


def test_long_lines(model: Path) -> None:
    words = ["das", "haus", "ist", "klein", "☃"] * 100
    (long, short) = translate(model, f"{' '.join(words)}\ndas haus\n")
    assert len(long.split()) == 500
    assert long.split().count("☃") == 100
    assert short == "the house"


def started(model: Path, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "toledo", "translate", str(model.resolve()), "--threads", "1", *options]
    return subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        preexec_fn=_heed_interrupts,
    )


def _heed_interrupts() -> None:
    """Tests may run in the background, where shells have interrupts ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_line_is_not_held_back(model: Path, tmp_path: Path) -> None:
    with started(model, tmp_path, "--write-trace", "-") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for text, expected in ((b"das haus\n", b"the house\n"), (b"\n", b"\n"), (b"klein\n", b"small\n")):
            process.stdin.write(text)
            assert process.stdout.readline() == expected  # and only now the next line is written
        process.stdin.close()
        assert process.stdout.read() == b""
        messages = process.stderr.read().decode()
    assert process.returncode == 0
    assert "sentences: 3" in messages
    assert "words per CPU second" in messages


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_half_file(model: Path, tmp_path: Path, number: signal.Signals) -> None:
    options = [
        "-o",
        "out",
        "--write-nbest",
        "out.nbest.gz",
        "--write-forest",
        "forests",
        "--write-lattice",
        "lattices/",
    ]
    with started(model, tmp_path, *options) as process:
        assert process.stdin is not None
        process.stdin.write(b"das haus\n")
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".lattices.*/*.gz")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(tmp_path.glob(".out.*"))
        process.send_signal(number)
        process.wait(timeout=60)
    assert process.returncode != 0
    assert list(tmp_path.iterdir()) == []
