"""The server under load, and its budgets: how long a client waits for each thing that a page asks for.

    python benchmarks/serve.py                                   # on the built-in sample
    python benchmarks/serve.py MODEL SOURCE [--clients 100] [--seconds 60] [--threads 2] [--words 12]

MODEL is a model directory, SOURCE a text for it. Each client sends one sentence at a time, of about --words words, on a
connection that stays open; clients are a process of their own on the same cores. Throughput is compared with
`toledo translate` of the same sentences with as many threads, the time for loading taken off. A budget is missed at
twice its number; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from on_sample import make_model

TOLEDO = [sys.executable, "-m", "toledo"]
FACTOR = 2  # of a budget, from which on it is missed
READY, DECIDE, AGREEMENT, LAYOUT, P99, RATIO, GROWTH = 3.0, 0.1, 0.3, 2.0, 2.0, 0.7, 1.1
SETTLED = 10.0  # seconds, after which memory should not grow


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?", help="without one, the built-in sample's")
    parser.add_argument("source", type=Path, nargs="?")
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--words", type=int, default=12)
    parser.add_argument("--segments", type=int, default=1, help="of each request")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.model is None:
            options.model, options.source, _ = make_model(Path(folder))
        sys.exit(0 if measure(options, Path(folder)) else 1)


def measure(options: argparse.Namespace, folder: Path) -> bool:
    lines = [line for line in options.source.read_text("utf-8").splitlines() if line.strip()]
    near = sorted(lines, key=lambda line: abs(len(line.split()) - options.words))[: max(200, len(lines) // 4)]
    print(f"{len(near)} sentences of {statistics.mean(len(line.split()) for line in near):.1f} words on average")
    started(options)  # kernels are compiled now
    with server(options) as (port, ready, process):
        found = [budget("ready after start, kernels compiled before", ready, READY)]
        found += budgets(port, near)
        rates, ok = load(port, process.pid, near, options)
        found.append(ok)
    alone = translate(near, options, folder)
    ratio = rates / alone
    print(f"`toledo translate`, {options.threads} threads: {alone:.0f} sentences/s; the server: {ratio:.2f} of it")
    found.append(ratio >= RATIO / FACTOR)
    return all(found)


def budget(what: str, value: float, most: float) -> bool:
    missed = value > FACTOR * most
    print(f"{what:60} {1000 * value:8.0f} ms, at most {1000 * most:.0f} ms{' MISSED' if missed else ''}")
    return not missed


def started(options: argparse.Namespace) -> None:
    with server(options):
        pass


@contextmanager
def server(options: argparse.Namespace) -> Iterator[tuple[int, float, subprocess.Popen[bytes]]]:
    """Start a server, and yield its port, and after how many seconds it was ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = time.monotonic()
    command = [*TOLEDO, "serve", str(options.model), "--port", str(port), "--threads", str(options.threads), "-q"]
    process = subprocess.Popen(command)
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready").close()
                break
            except OSError:
                if process.poll() is not None:
                    raise SystemExit("the server has ended") from None
                time.sleep(0.02)
        yield port, time.monotonic() - begun, process
    finally:
        process.terminate()
        process.wait()


def post(port: int, path: str, body: Any) -> Any:
    url = f"http://127.0.0.1:{port}/api/v1{path}"
    headers = {"Content-Type": "application/json"}
    method = "GET" if body is None else "POST"
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as answer:
        return json.load(answer)


def seconds(port: int, path: str, body: Any, repeat: int = 15) -> float:
    """Return the median time of a request."""
    times = []
    for _ in range(repeat):
        begun = time.monotonic()
        post(port, path, body)
        times.append(time.monotonic() - begun)
    return statistics.median(times)


def budgets(port: int, lines: Sequence[str]) -> list[bool]:
    rules = ["viterbi", "mbr", "consensus", "lattice-mbr"]
    asked = {"segments": [lines[0]], "rules": rules, "nbest": 200, "posteriors": 4, "keep": True}
    found = post(port, "/translate", asked)["segments"][0]
    key = found["forest"]["id"]
    print(f"lattice of {found['forest']['edges']:,} edges, {len(found['nbest'])} texts")
    slider = {"rules": ["viterbi", "mbr"], "nbest": 200, "quick": True, "scale": 0.7, "weights": {"lm": 0.4}}
    texts = [entry["text"] for entry in found["nbest"]][:64]
    choose = {"matrix": True, "segments": [{"hypotheses": texts}]}
    begun = time.monotonic()
    layout = post(port, f"/forests/{key}?posterior=0&width=1000000&height=1000000", None)
    first = time.monotonic() - begun
    print(f"picture of {layout['drawn']:,} edges")
    return [
        budget("slider to new text, from the list", seconds(port, f"/forests/{key}/decide", slider), DECIDE),
        budget(f"agreement of {len(texts)} × {len(texts)} by chrF", seconds(port, "/choose", choose), AGREEMENT),
        budget("forest: layout", first, LAYOUT),
        budget("forest: a window of it", seconds(port, f"/forests/{key}?posterior=0", None), DECIDE),
        budget("translate by four rules, with list and posteriors", seconds(port, "/translate", asked), 0.3),
    ]


def load(port: int, process: int, lines: Sequence[str], options: argparse.Namespace) -> tuple[float, bool]:
    """Let clients send sentences for a time; return sentences per second, and whether all budgets were kept."""
    statuses: Counter[int] = Counter()
    times: list[float] = []
    memory: list[tuple[float, int]] = []
    begun = time.monotonic()

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        place = number
        while time.monotonic() - begun < options.seconds:
            texts = [lines[(place + k) % len(lines)] for k in range(options.segments)]
            place += options.segments * options.clients
            body = json.dumps({"segments": texts, "rules": ["viterbi"]}).encode()
            head = "POST /api/v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            sent = time.monotonic()
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = next(int(one[15:]) for one in answer.lower().split(b"\r\n") if one.startswith(b"content-length:"))
            await reader.readexactly(length)
            statuses[int(answer.split()[1])] += 1
            times.append(time.monotonic() - sent)
        writer.close()

    async def watch() -> None:
        while time.monotonic() - begun < options.seconds:
            status = Path(f"/proc/{process}/statm")
            if status.exists():
                memory.append((time.monotonic() - begun, int(status.read_text("ascii").split()[1]) * 4096))
            await asyncio.sleep(1.0)

    async def run() -> None:
        await asyncio.gather(*(client(number) for number in range(options.clients)), watch())

    asyncio.run(run())
    passed = time.monotonic() - begun
    rate = statuses[200] * options.segments / passed
    times.sort()
    p99 = times[int(0.99 * len(times))]
    print(f"{options.clients} clients for {passed:.0f} s: {dict(statuses)}, {rate:.0f} sentences/s, "
          f"median {1000 * times[len(times) // 2]:.0f} ms")  # fmt: skip
    settled = [size for when, size in memory if when >= min(SETTLED, options.seconds / 3)]
    growth = settled[-1] / settled[0] if settled else 1.0
    if settled:
        sizes = ", ".join(f"{one / 1e6:.0f}" for one in (memory[0][1], settled[0], settled[-1]))
        print(f"memory: {sizes} MB at first, when settled, at the end; the last is {growth:.3f} of the second")
    fine = set(statuses) <= {200, 429} and growth <= GROWTH
    return rate, budget("p99 of a request", p99, P99) and fine


def translate(lines: Sequence[str], options: argparse.Namespace, folder: Path) -> float:
    """Return how many sentences a second `toledo translate` has done, without the time for loading."""
    sizes = len(lines), 20 * len(lines)
    times = []
    for size in sizes:
        file = folder / f"{size}.txt"
        file.write_text("".join(f"{lines[n % len(lines)]}\n" for n in range(size)), "utf-8")
        command = [*TOLEDO, "translate", str(options.model), str(file), "--threads", str(options.threads), "-q"]
        begun = time.monotonic()
        subprocess.run([*command, "--rule", "viterbi", "--output", str(folder / "out")], check=True)
        times.append(time.monotonic() - begun)
    return (sizes[1] - sizes[0]) / max(times[1] - times[0], 1e-9)


if __name__ == "__main__":
    main()
