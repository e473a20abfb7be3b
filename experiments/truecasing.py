"""How well lower-cased words get their case back: each system's output with the casings of the other systems.

    python experiments/truecasing.py ../shared/data/wmt22-syscomb/de-en/test/raw

The folder has raw files `sys.*`. Each output in turn is tokenized, lower-cased and restored; the truecaser knows the
outputs of the other systems alone. Accuracy is that of words with letters; BLEU is sacreBLEU's, cased, of the written
text against the output as it was; the last column is the share of lines whose words all have their case back.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import sacrebleu
from stored import Stored, add_options, markdown

from toledo.combination.written_text import NOTHING, LatticeTruecaser, RawText, Written, capitalized, count_casings
from toledo.text.tokens import sentence_starts

WAYS = (
    "lower case", "most frequent casing", "lattice, no outputs of the segment", "lattice, no language model", "lattice",
)  # fmt: skip
MEASURES = ("words right, %", "BLEU against the system's own text", "lines right, %")
Restore = Callable[[Sequence[str], Sequence[Sequence[str]]], Sequence[str]]  # lower-cased words and others' outputs


def main() -> None:
    """Restore every output in every way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--language", default="en")
    add_options(parser)
    arguments = parser.parse_args()
    stored, files = Stored.of(__file__, arguments), sorted(arguments.folder.glob("sys.*"))
    done = {way: stored.done(way=way) for way in WAYS}
    if not all(done.values()):
        run(stored, files, RawText(arguments.language))
    if not arguments.stale:
        print("\n".join(tables(stored).values()))


def run(stored: Stored, files: Sequence[Path], raw_text: RawText) -> None:
    """Store the means over systems for each way."""
    raw = {path.name: path.read_text("utf-8").splitlines() for path in files}
    read = {name: [raw_text.read(line) for line in lines] for name, lines in raw.items()}
    rows: dict[str, list[list[float]]] = {}
    for name, lines in raw.items():
        others = [outputs for other, outputs in read.items() if other != name]
        for way, restore in ways([line.words for outputs in others for line in outputs]).items():
            segments = list(zip(read[name], zip(*others, strict=True), strict=True))
            rows.setdefault(way, []).append(measure(raw_text, lines, segments, restore))
    for way, figures in rows.items():
        scores = dict(zip(MEASURES, np.mean(figures, axis=0).tolist(), strict=True))
        stored.add({"way": way}, data=files, scores={**scores, "systems": len(raw)})


def tables(stored: Stored) -> dict[str, str]:
    """A row for each way."""
    rows = [[run["key"]["way"], *(f"{run['scores'][one]:.2f}" for one in MEASURES)] for run in stored.all()]
    return {"ways": markdown(["", *MEASURES], rows)}


def ways(texts: Sequence[Sequence[str]]) -> dict[str, Restore]:
    """The truecaser with and without its parts, and what to compare it with."""
    truecaser = LatticeTruecaser.train(texts)
    alone = replace(truecaser, model_weight=1.0)
    found: list[Restore] = [lambda words, _: words, most_frequent(texts), lambda words, _: alone.restore(words)]
    found += [replace(truecaser, model_weight=0.0).restore, truecaser.restore]
    return dict(zip(WAYS, found, strict=True))


def most_frequent(texts: Sequence[Sequence[str]]) -> Restore:
    """The casing that a word has most often inside sentences, with a capital where a sentence begins."""
    table = count_casings(texts)

    def casing(word: str, begins: bool) -> str:
        counts = table.get(word, NOTHING).inside or table.get(word, NOTHING).first
        best = max(counts, key=counts.__getitem__) if counts else word
        return capitalized(best) if begins else best

    return lambda words, _: list(map(casing, words, sentence_starts(list(words))))


def measure(
    raw_text: RawText, raw: list[str], segments: list[tuple[Written, tuple[Written, ...]]], restore: Restore
) -> list[float]:
    """Accuracy, BLEU and whole lines, in per cent."""
    found = [tuple(restore(line.lower, [other.words for other in others])) for line, others in segments]
    pairs = [
        (one, two)
        for words, (line, _) in zip(found, segments, strict=True)
        for one, two in zip(words, line.words, strict=True)
        if two.lower() != two.upper()
    ]
    texts = [raw_text.write(words, others) for words, (_, others) in zip(found, segments, strict=True)]
    whole = [words == line.words for words, (line, _) in zip(found, segments, strict=True)]
    accuracy = 100 * np.mean([one == two for one, two in pairs])
    return [float(accuracy), sacrebleu.corpus_bleu(texts, [raw]).score, 100 * float(np.mean(whole))]


if __name__ == "__main__":
    main()
