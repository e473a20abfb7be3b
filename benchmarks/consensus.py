"""MBR on lists: CPU time per sentence, against mbrs on the same lists in one run.

    python benchmarks/consensus.py
    python benchmarks/consensus.py --model model --source test.de --peer other/venv/bin/python

Lists are the best distinct translations of a model (beam search), or variants of the built-in sample's sentences. For
`--peer`, install mbrs and fastchrf into an environment of their own: pip install mbrs fastchrf 'setuptools<80'. One
thread; compiled before. The peer's time counts its worker processes. Its choices are compared with ours: of equal
expected gains it may choose another one.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

RUNS = ("bleu", 200), ("chrf", 200), ("ter", 100)
LARGE = "bleu", "chrf", "ter"
AT_LEAST = 0.5  # seconds to measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--peer", help="a Python with mbrs")
    parser.add_argument("--peer-sentences", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=50)
    parser.add_argument("--as-peer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.as_peer:
        answer_as_peer()
        return
    lists = model_lists(arguments) if arguments.model else sample_lists(arguments.sentences)
    lists = [some for some in lists if len(some) == 1000]
    words = sum(map(mean_words, lists)) / len(lists)
    print(f"{len(lists)} sentences of {words:.1f} words, milliseconds of CPU time per sentence")
    if twelve := [some for some in lists if abs(mean_words(some) - 12) <= 0.5]:
        words, (milliseconds, _) = sum(map(mean_words, twelve)) / len(twelve), measure("bleu", twelve)
        print(
            f"bleu  1000 x 1000  ours {milliseconds:8.3f}  ({len(twelve)} sentences of {words:.2f} words)", flush=True
        )
    for gain, size in RUNS:
        compare(gain, [some[:size] for some in lists], arguments)
    for gain in LARGE:
        milliseconds, _ = measure(gain, lists)
        print(f"{gain:5} 1000 x 1000  ours {milliseconds:8.3f}")


def mean_words(texts: list[str]) -> float:
    return sum(len(text.split()) for text in texts) / len(texts)


def compare(gain: str, lists: list[list[str]], arguments: argparse.Namespace) -> None:
    milliseconds, _ = measure(gain, lists)
    line = f"{gain:5} {len(lists[0]):4} x {len(lists[0]):4}  ours {milliseconds:8.3f}"
    if arguments.peer:
        some = lists[: arguments.peer_sentences]
        milliseconds, chosen = measure(gain, some)
        theirs, their_choice = ask_peer(arguments.peer, gain, some)
        same = sum(one == other for one, other in zip(chosen, their_choice, strict=True))
        line += f"; of the first {len(some)}: ours {milliseconds:8.3f}  mbrs {theirs:9.1f}"
        line += f"  ratio {theirs / milliseconds:7.0f}  same choice {same} of {len(some)}"
    print(line, flush=True)


def measure(gain: str, lists: list[list[str]]) -> tuple[float, list[str]]:
    """From word ids (as forests and readers have them) to the choice, texts equally probable."""
    import numpy as np

    from toledo.compiled.ragged import Sequences, offsets_of
    from toledo.consensus.mbr import MBR
    from toledo.consensus.texts import WeightedTexts
    from toledo.text.vocabulary import Vocabulary, split_words

    vocabulary, rule = Vocabulary(), MBR(gain)
    encoded = []
    for some in lists:
        rows = [[vocabulary.add(word) for word in split_words(text)] for text in some]
        texts = Sequences(np.concatenate([np.array(row, np.int32) for row in rows]), offsets_of(map(len, rows)))
        encoded.append(WeightedTexts(texts, np.full(len(some), 1 / len(some))))
    rule.expected(encoded[0].texts, encoded[0], vocabulary, only_best=True)  # compiled now
    start, rounds = time.process_time(), 0
    while time.process_time() < start + AT_LEAST:
        values = [rule.expected(texts.texts, texts, vocabulary, only_best=True) for texts in encoded]
        rounds += 1
    milliseconds = 1000 * (time.process_time() - start) / rounds / len(lists)
    return milliseconds, [some[int(np.argmax(np.round(row, 9)))] for some, row in zip(lists, values, strict=True)]


def model_lists(arguments: argparse.Namespace) -> list[list[str]]:
    from toledo.forest.kbest import k_best
    from toledo.model import PhraseModel
    from toledo.search.beam.search import BeamSearch

    model = PhraseModel.load(arguments.model)
    lines = arguments.source.read_text("utf-8").splitlines()[: arguments.sentences]
    forests = BeamSearch(model).forests([line.split() for line in lines], threads=1)
    found = []
    for forest in forests:
        best = k_best(forest, forest.scores(model.weights, threads=1), distinct=True)
        found.append([" ".join(one.words) for one in islice(best, 1000)])
    return found


def sample_lists(sentences: int) -> list[list[str]]:
    """Variants of sentences with some words left out, exchanged, or swapped with their neighbors."""
    import numpy as np

    from toledo.sample.corpus import pairs

    generator = np.random.default_rng(1)
    texts = [pair.target.split() for pair in pairs(1, "test", 1000)]
    texts = [words for words in texts if 10 <= len(words) <= 20][:sentences]
    return [list(islice(variants(words, generator), 1000)) for words in texts]


def variants(words, generator):
    seen = set()
    while True:
        changed = list(words)
        for place in generator.integers(0, len(words) - 1, generator.integers(1, 5)):
            kind = generator.integers(3)
            if kind == 0:
                changed[place], changed[place + 1] = changed[place + 1], changed[place]
            else:
                changed[place] = "" if kind == 1 else f"word{place}{generator.integers(3)}"
        text = " ".join(" ".join(changed).split())
        if text not in seen:
            seen.add(text)
            yield text


def ask_peer(python: str, gain: str, lists: list[list[str]]) -> tuple[float, list[str]]:
    request = json.dumps({"gain": gain, "lists": lists})
    command = [python, __file__, "--as-peer"]
    answer = subprocess.run(command, input=request, text=True, check=True, stdout=subprocess.PIPE).stdout
    found = json.loads(answer.splitlines()[-1])
    return found["milliseconds"], found["chosen"]


def answer_as_peer() -> None:
    """Run by the peer's Python: mbrs on the lists of standard input."""
    from mbrs.decoders import DecoderMBR
    from mbrs.metrics import MetricBLEU, MetricChrF, MetricTER

    request = json.load(sys.stdin)
    metric = {
        "bleu": lambda: MetricBLEU(MetricBLEU.Config(num_workers=1, tokenize="none", force=True)),
        "chrf": lambda: MetricChrF(MetricChrF.Config(fastchrf=True)),
        "ter": lambda: MetricTER(MetricTER.Config(num_workers=1, case_sensitive=True)),
    }[request["gain"]]()
    decoder = DecoderMBR(DecoderMBR.Config(), metric)
    decoder.decode(request["lists"][0][:5], request["lists"][0][:5])
    start = cpu_seconds()
    chosen = [decoder.decode(some, some).sentence[0] for some in request["lists"]]
    milliseconds = 1000 * (cpu_seconds() - start) / len(chosen)
    print(json.dumps({"milliseconds": milliseconds, "chosen": chosen}))


def cpu_seconds() -> float:
    """Of this process and of the workers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(some.ru_utime + some.ru_stime for some in used)


if __name__ == "__main__":
    main()
