"""Data for benchmarks that are given none: the built-in sample, a model of it, and lists that its search finds.

python benchmarks/on_sample.py FOLDER makes the files, for a look.
"""

from __future__ import annotations

import sys
from pathlib import Path

from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.sample.corpus import generate
from toledo.search.beam.search import BeamSearch
from toledo.text.corpus import read_parallel
from toledo.training import train
from toledo.tuning.examples import Collecting, Examples


def make_model(folder: Path) -> tuple[Path, Path, Path]:
    """A model directory, and a text to translate with its reference."""
    generate(train=5000, tune=200, test=500).save(folder / "sample")
    model = train(read_parallel(folder / "sample/train.src", folder / "sample/train.trg"))
    model.save(folder / "model")
    return folder / "model", folder / "sample/test.src", folder / "sample/test.trg.0"


def make_examples(folder: Path) -> tuple[Examples, PhraseModel]:
    """100-best lists of the model's own weights."""
    path, _, _ = make_model(folder)
    model = PhraseModel.load(path)
    texts = [(folder / "sample" / name).read_text("utf-8").splitlines() for name in ("tune.src", "tune.trg.0")]
    sources, references = ([line.split() for line in lines] for lines in texts)
    lists = Collecting("lists", 100, 50.0).keep(BeamSearch(model).forests(sources), model.weights)
    return Examples(lists, [[reference] for reference in references], BLEU(smooth_method="none")), model


if __name__ == "__main__":
    print(*make_model(Path(sys.argv[1])), sep="\n")
