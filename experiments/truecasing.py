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

from toledo.combination.written_text import NOTHING, LatticeTruecaser, RawText, Written, capitalized, count_casings
from toledo.text.tokens import sentence_starts

Restore = Callable[[Sequence[str], Sequence[Sequence[str]]], Sequence[str]]  # lower-cased words and others' outputs


def main() -> None:
    """Restore every output in every way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--language", default="en")
    arguments = parser.parse_args()
    raw_text = RawText(arguments.language)
    raw = {path.name: path.read_text("utf-8").splitlines() for path in sorted(arguments.folder.glob("sys.*"))}
    read = {name: [raw_text.read(line) for line in lines] for name, lines in raw.items()}
    rows: dict[str, list[list[float]]] = {}
    for name, lines in raw.items():
        others = [outputs for other, outputs in read.items() if other != name]
        for way, restore in ways([line.words for outputs in others for line in outputs]).items():
            segments = list(zip(read[name], zip(*others, strict=True), strict=True))
            rows.setdefault(way, []).append(measure(raw_text, lines, segments, restore))
    print(f"{'':34s} accuracy    BLEU   lines   (means of {len(raw)} systems)")
    for way, figures in rows.items():
        accuracy, bleu, whole = np.mean(figures, axis=0)
        print(f"{way:34s} {accuracy:8.2f} {bleu:7.2f} {whole:7.1f}")


def ways(texts: Sequence[Sequence[str]]) -> dict[str, Restore]:
    """The truecaser with and without its parts, and what to compare it with."""
    truecaser = LatticeTruecaser.train(texts)
    alone = replace(truecaser, model_weight=1.0)
    return {
        "lower case": lambda words, _: words,
        "most frequent casing": most_frequent(texts),
        "lattice, no outputs of the segment": lambda words, _: alone.restore(words),
        "lattice, no language model": replace(truecaser, model_weight=0.0).restore,
        "lattice": truecaser.restore,
    }


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
