"""What noise costs in training by samples: how far gradients scatter, by iterations and size of batches.

    python benchmarks/sampled_gradients.py                      # on the built-in sample
    python benchmarks/sampled_gradients.py MODEL SOURCE REFERENCE [--weights W.toml]

Each cell has `--repeat` gradients of other batches and other samples, with coordinates divided by the standard
deviations of features. Noise is the root of their total variance, divided by the length of their mean. Its square
times the CPU seconds of a step is what an accuracy costs, in many small steps or a few large ones. `same batch` is the
noise of samples alone, `lines alone` that of corpus sampling without the control variate.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from on_sample import make_model

from toledo.forest.assemble import join
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.objectives.lists import make_lists, smoothed
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.settings import Gibbs
from toledo.tuning.minimum_risk.advantages import (
    CORPUS_SMOOTHING,
    SampledBatch,
    corpus_advantages,
    draw_lines,
    sentence_advantages,
)
from toledo.tuning.minimum_risk.trainer import feature_variances
from toledo.tuning.weight_space import finite_rows
from toledo.weights import Weights

METRIC, LINES = BLEU(smooth_method="none"), 2000
KINDS = ("sentence", "corpus", "lines alone")


class Bench:
    """A model and a text."""

    def __init__(self, model: PhraseModel, source: Path, reference: Path) -> None:
        self.model = model
        self.source = [line.split() for line in source.read_text(encoding="utf-8").splitlines()]
        self.references = [[line.split()] for line in reference.read_text(encoding="utf-8").splitlines()]
        names = model.feature_names
        self.free = np.array([name not in model.weights.frozen for name in names])

    def gradients(self, numbers: np.ndarray, iterations: int, burn_in: int, seed: int) -> dict[str, np.ndarray]:
        settings = Gibbs(iterations=iterations, chains=1, burn_in=burn_in, scale=1.0)
        forests = GibbsSearch(self.model, settings, seed).forests([self.source[i] for i in numbers], threads=1)
        lists = make_lists(join(forests), [self.references[i] for i in numbers], METRIC)
        totals = lists.forest.scores(self.model.weights, threads=1)
        batch = SampledBatch(lists.offsets, np.exp(totals), lists.statistics, totals - lists.forest.base)
        features = lists.forest.features.astype(np.float64)
        variances = feature_variances(finite_rows(lists.forest), batch, features.shape[1])
        gains = smoothed(METRIC, 1.0).scores(batch.statistics) / 100
        random = np.random.default_rng(seed)
        drawn = draw_lines(batch, LINES, np.random.default_rng(seed))
        lines = smoothed(METRIC, CORPUS_SMOOTHING).scores(batch.statistics[drawn].sum(axis=0)) / 100
        plain = np.bincount(drawn.ravel(), np.tile((lines - lines.mean()) / (LINES - 1), len(batch)), totals.size)
        found = {
            "sentence": sentence_advantages(batch, gains)[1] @ features,
            "corpus": corpus_advantages(batch, METRIC, LINES, random)[1] @ features,
            "lines alone": plain @ features,
            "variances": variances,
        }
        return {name: values[self.free] for name, values in found.items()}

    def cell(self, size: int, iterations: int, burn_in: int, repeat: int, same: bool) -> tuple[dict[str, float], float]:
        random, began = np.random.default_rng(1), time.process_time()
        fixed = random.permutation(len(self.source))[:size]
        found = [
            self.gradients(
                fixed if same else random.permutation(len(self.source))[:size], iterations, burn_in, 1000 * size + seed
            )
            for seed in range(repeat)
        ]
        seconds = (time.process_time() - began) / repeat
        deviations = np.sqrt(np.mean([one["variances"] for one in found], axis=0))
        return {kind: noise(np.array([one[kind] for one in found]) / deviations) for kind in KINDS}, seconds


def noise(gradients: np.ndarray) -> float:
    """The scatter of one gradient divided by the length of the mean, whose own scatter is taken off."""
    scatter = gradients.var(axis=0, ddof=1).sum()
    length = (gradients.mean(axis=0) ** 2).sum() - scatter / len(gradients)
    return float(np.sqrt(scatter / length)) if length > 0.0 else np.inf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "source", "reference"):
        parser.add_argument(name, type=Path, nargs="?")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--batches", default="25,100")
    parser.add_argument("--iterations", default="25,100,400")
    parser.add_argument("--burn-in", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.model is None:
            options.model, options.source, options.reference = make_model(Path(folder))
        measure(options)


def measure(options: argparse.Namespace) -> None:
    model = PhraseModel.load(options.model)
    if options.weights:
        model = model.with_weights(Weights.load(options.weights))
    bench = Bench(model, options.source, options.reference)
    bench.cell(2, 10, 5, 2, same=True)  # compiles
    print(
        "| batch | iterations | CPU s | "
        + " | ".join(f"{kind} (same batch)" for kind in KINDS)
        + " | cost: sentence, corpus |"
    )
    print("|" + "---|" * 7)
    for size in map(int, options.batches.split(",")):
        for iterations in map(int, options.iterations.split(",")):
            given = (size, iterations, options.burn_in, options.repeat)
            (others, seconds), (same, _) = (bench.cell(*given, same=one) for one in (False, True))
            cells = " | ".join(f"{others[kind]:.2f} ({same[kind]:.2f})" for kind in KINDS)
            costs = ", ".join(f"{others[kind] ** 2 * seconds:.2f}" for kind in KINDS[:2])
            print(f"| {size} | {iterations} | {seconds:.2f} | {cells} | {costs} |", flush=True)


if __name__ == "__main__":
    main()
