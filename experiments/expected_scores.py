"""How well the expected score of a translation, with other systems as samples, predicts its score with a reference.

    python experiments/expected_scores.py $DATA/wmt22-syscomb --half tune

Each output of each system is scored against the outputs of all others for the same segment, by `toledo.expected_score`
for many. r is Pearson's correlation with the sentence score by the reference: over all outputs of all systems, over the
outputs of each segment (the mean over segments: which translation is better?), and over the means of the systems.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from stored import Stored, add_options, markdown

import toledo
from toledo.compiled.kernels import working_seconds

REFERENCES = {"de-en": "ref.A.en", "cs-en": "ref.C.en", "ru-en": "ref.A.en", "ja-en": "ref.A.en"}
METRICS: tuple[toledo.Metric, ...] = (toledo.CHRF(), toledo.BLEU(effective_order=True))
KINDS = ("all outputs", "within segments", "systems")
Rows = NDArray[np.float64]


def main() -> None:
    """Print a row for each language pair and metric."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--half", choices=["tune", "test"], default="tune")
    add_options(parser)
    options = parser.parse_args()
    stored = Stored.of(__file__, options)
    for pair, reference in REFERENCES.items():
        folder = options.directory / pair / options.half / "raw"
        for metric in METRICS:
            key = {"pair": pair, "metric": metric.name, "half": options.half}
            if stored.done(**key):
                continue
            files, began = sorted(folder.glob("sys.*.en")), working_seconds()
            outputs = [_lines(file) for file in files]
            meant = _lines(folder / reference)
            expected = np.array([_expected(outputs, place, metric) for place in range(len(outputs))])
            true = np.array([metric.sentence_scores(lines, [meant]) for lines in outputs])
            cells = (_pearson(expected.ravel(), true.ravel()), _within(expected, true), _means(expected, true))
            scores = dict(zip(KINDS, cells, strict=True))
            seconds = {"all": working_seconds() - began}
            stored.add(key, data=[*files, folder / reference], scores=scores, seconds=seconds)
    if not options.stale:
        print("\n".join(tables(stored).values()))


def tables(stored: Stored) -> dict[str, str]:
    """Correlations of each half."""
    names = [metric.name for metric in METRICS]
    titles = ["pair", *(f"{kind}: {name}" for kind in KINDS for name in names)]
    found = {}
    for half in ("tune", "test"):
        rows = []
        for pair in REFERENCES:
            scores = {name: stored.find(pair=pair, metric=name, half=half) for name in names}
            if all(scores.values()):
                rows.append([pair, *(f"{scores[name][0]['scores'][kind]:.2f}" for kind in KINDS for name in names)])
        found[half] = markdown(titles, rows)
    return found


def _expected(outputs: list[list[str]], place: int, metric: toledo.Metric) -> list[float]:
    """Return the expected score of each output of a system, with those of all others as samples."""
    others = [lines for other, lines in enumerate(outputs) if other != place]
    samples = [list(texts) for texts in zip(*others, strict=True)]
    found = toledo.choose_many([[text] for text in outputs[place]], samples, metric=metric)
    return [choice.ranking[0].score for choice in found]


def _pearson(one: Rows, other: Rows) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def _within(expected: Rows, true: Rows) -> float:
    """Return the mean correlation over segments in which outputs differ."""
    found = [
        _pearson(one, other) for one, other in zip(expected.T, true.T, strict=True) if one.std() > 0 and other.std() > 0
    ]
    return float(np.mean(found))


def _means(expected: Rows, true: Rows) -> float:
    return _pearson(expected.mean(axis=1), true.mean(axis=1))


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").split("\n")[:-1]


if __name__ == "__main__":
    main()
