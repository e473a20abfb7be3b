"""Tables 1 and 2 and Figure 6 of Pauls, DeNero and Klein (2009) on real data: MERT, CoBLEU and both, two decoders.

    python experiments/cobleu.py ../shared/data --work cobleu --seeds 5
    python experiments/cobleu.py ../shared/data --work cobleu --table
    python experiments/cobleu.py ../shared/data --work cobleu --figure docs/figures/cobleu-figure6.svg

The directory has the sets of PAIRS. A model is trained for each, with a trigram language model of its English side. All
conditions search with the phrasal ITG. Of the long segments of the Bible those up to 25 words are tuned on, as in the
paper, and all are translated. Each finished run is a line of WORK/runs.jsonl beside its translations; what is
there is not done again. Tuning sees the tuning set alone. There, too, the scale of consensus decoding is chosen, from
the same ones for all. p is that of a paired bootstrap over the segments of all tests (10,000 samples) against MERT with
the same decoder; the statistics of a segment are means over seeds.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from runs import Run, Runs, Text, compare, file_name, mean_text, save_figure, trained_model

from toledo.consensus.decide import Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.rule import Rule
from toledo.consensus.scale import Candidate, choose_rule, norm_of
from toledo.forest.forest import Forest
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel, default_weights
from toledo.phrases.sparse import sparse_features, target_words
from toledo.runs.checkpoint import Checkpoint
from toledo.search.beam.search import BeamSearch
from toledo.search.itg import ITG_FEATURES, ITGSearch, itg_weights
from toledo.search.settings import ITG, Beam
from toledo.tuning.loop import LoopSettings, TuningResult, TuningSet, tune
from toledo.tuning.maximize import DeterministicAnnealing
from toledo.tuning.tuner import Tuner
from toledo.tuning.tuners.gradient import Gradient
from toledo.tuning.tuners.mert import MERT
from toledo.view.curves import Lines, Series
from toledo.weights import Weights

WHOLE = 1e6  # edges per word: forests are not pruned
SHARPNESS = (5.0, 10.0, 15.0, 20.0, 30.0)  # scales × the sum of absolute weights; 1 is tried as well
DECODERS: dict[str, Rule] = {"consensus": Consensus(size=100), "viterbi": Viterbi()}


@dataclass(frozen=True)
class Pair:
    """A set, its languages and texts, the beam of ITG search, and the longest segment to tune on.

    `words` and `l2` are those of highest BLEU in cross-validation on the tuning set (cobleu_choices.py --words).
    """

    folder: str
    source: str
    tune: str
    tests: tuple[str, ...]
    references: tuple[str, ...] = ("en",)
    beam: int = 50
    longest: int = 100
    words: int = 300
    l2: float = 1e-3


PAIRS = {
    "fr-en": Pair("multi30k-fr-en", "fr", "val", ("test2016", "test2017")),
    "de-en": Pair("multi30k-de-en", "de", "val", ("test2016", "test2017")),
    "es-en": Pair("bible-es-en", "es", "tune", ("test",), ("en", "refB.en"), beam=30, longest=25, words=0),
    "ja-en": Pair("tanaka-ja-en", "ja", "dev", ("test",)),
}


@dataclass(frozen=True)
class Condition:
    """A tuner, where it begins (zero, default, or the result of MERT with the same seed), and how often it searches.

    `words` is for how many of the most frequent target words the model has a feature of its own. With `chosen` it and
    L2 are those of the pair.
    """

    tuner: Tuner
    start: str = "zero"
    rounds: int = 10
    search: str = "itg"
    seeds: bool = False
    words: int = 0
    chosen: bool = False

    def of(self, pair: Pair) -> Condition:
        """The condition for a pair."""
        if not self.chosen:
            return self
        return replace(self, tuner=cobleu(l2=pair.l2), words=pair.words, chosen=False)


def cobleu(**options: object) -> Gradient:
    """The objective on whole forests."""
    return replace(Gradient("cobleu", l2=3e-4, density=WHOLE), **options)  # type: ignore[arg-type]


CONDITIONS = {
    "MERT": Condition(MERT(), seeds=True),
    "CoBLEU": Condition(cobleu(optimizer="ascent", steps=10, gentle=None)),
    "MERT→CoBLEU": Condition(cobleu(optimizer="ascent", steps=20, gentle=None), "MERT", rounds=4, seeds=True),
    "CoBLEU, L-BFGS, hard": Condition(cobleu(gentle=None), "default", rounds=4),
    "CoBLEU, L-BFGS": Condition(cobleu(), "default", rounds=4),
    "CoBLEU, 300 words": Condition(cobleu(l2=1e-3), "default", rounds=4, words=300),
    "CoBLEU, chosen": Condition(cobleu(), "default", rounds=4, chosen=True),
    "CoBLEU, annealed": Condition(cobleu(annealing=DeterministicAnnealing()), "default", rounds=3),
    "CoBLEU, batches": Condition(cobleu(batch=100, steps=10), "default", rounds=4),
    "beam, MERT": Condition(MERT(), "default", search="beam", seeds=True),
    "ITG, MERT": Condition(MERT(), "default", seeds=True),
}
SEARCHES = ("beam, MERT", "ITG, MERT")
TABLE = tuple(name for name in CONDITIONS if name not in SEARCHES)


def main() -> None:
    """Do what is not there yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--work", type=Path, default=Path("cobleu"))
    parser.add_argument("--pairs", default="fr-en,de-en,es-en")
    parser.add_argument("--conditions", default=";".join(TABLE), help="names with ; between them")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="only print the tables")
    parser.add_argument("--figure", type=Path, help="only draw Figure 6 to this file")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    benches = [Bench(name, options.directory, options.work, options.threads) for name in options.pairs.split(",")]
    if options.figure:
        draw_trajectories(benches, options.figure)
        return
    if not options.table:
        for seed in range(1, options.seeds + 1):
            for name in options.conditions.split(";"):
                for bench in benches:
                    if seed == 1 or CONDITIONS[name].seeds:
                        bench.run(name, seed)
    for bench in benches:
        print_tables(bench, options.conditions.split(";"))
        print_searches(bench)


class Bench:
    """One pair: its model and its texts."""

    def __init__(self, name: str, data: Path, work: Path, threads: int) -> None:
        self.name, self.pair, self.work, self.threads = name, PAIRS[name], work / name, threads
        self.folder = data / self.pair.folder
        self.runs = Runs(self.work, ("condition", "seed"))

    @cached_property
    def model(self) -> PhraseModel:
        """The model, trained once."""
        return trained_model(self.folder, self.pair.source, self.work, self.threads)

    @cached_property
    def texts(self) -> dict[str, Text]:
        """The tuning set and the tests."""
        tests = {name: self._text(name) for name in self.pair.tests}
        return {self.pair.tune: self._text(self.pair.tune).up_to(self.pair.longest), **tests}

    def _text(self, name: str) -> Text:
        references = [self.folder / f"{name}.{language}" for language in self.pair.references]
        return Text.read(self.folder / f"{name}.{self.pair.source}", references)

    @property
    def tests(self) -> dict[str, Text]:
        """The tests alone."""
        return {name: self.texts[name] for name in self.pair.tests}

    def condition(self, name: str) -> Condition:
        """A condition by its name."""
        return CONDITIONS[name].of(self.pair)

    def search(self, condition: Condition, name: str, weights: Weights) -> list[Forest]:
        """The forests of a text."""
        model = self.model
        if condition.words:
            model = replace(model, sparse=sparse_features(model.table, [target_words], condition.words))
        model = model.with_weights(weights)
        if condition.search == "itg":
            return ITGSearch(model, ITG(self.pair.beam)).forests(self.texts[name].source, self.threads)
        return BeamSearch(model, Beam(200)).forests(self.texts[name].source, self.threads)

    def run(self, name: str, seed: int) -> Run:
        """One condition with one seed, unless it is there."""
        done = self.runs.all().get((name, seed))
        if done is not None:
            return done
        logging.info("%s, %s, seed %d", self.name, name, seed)
        began = time.process_time()
        tuned = self._tune(self.condition(name), seed, self.work / "checkpoints" / f"{file_name(name)}-{seed}")
        run: Run = {
            "condition": name,
            "seed": seed,
            "weights": dict(tuned.weights),
            "history": tuned.history.to_json()["rounds"],
            "start": tuned.history.start.score,
            "seconds": time.process_time() - began,
        }
        run["decoders"] = self._decide(name, seed, tuned.weights)
        self.runs.add(run)
        return run

    def _tune(self, condition: Condition, seed: int, folder: Path) -> TuningResult:
        """The weights of the last round for CoBLEU, which has converged then; those of the best one for MERT."""
        text = self.texts[self.pair.tune]
        result = tune(
            condition.tuner,
            self.start(condition, seed),
            TuningSet(lambda weights: self.search(condition, self.pair.tune, weights), text.references),
            LoopSettings(condition.rounds, density=WHOLE, patience=condition.rounds, seed=seed, threads=self.threads),
            checkpoint=Checkpoint(folder, {"condition": repr(condition)}, True),
        )
        if isinstance(condition.tuner, MERT):
            return result
        return replace(result, weights=result.history.weights(len(result.history.rounds)))

    def start(self, condition: Condition, seed: int) -> Weights:
        """Where a condition begins; ITG search has no distortion to weigh."""
        model = self.model.with_weights(default_weights(self.model.feature_names))
        if condition.search == "beam":
            return model.weights
        weights = itg_weights(model)
        weights = replace(weights, frozen=weights.frozen | {"distortion"})
        if condition.start == "zero":
            return replace(
                weights,
                values_by_name={name: value if name in weights.frozen else 0.0 for name, value in weights.items()},
            )
        if condition.start == "MERT":
            return replace(weights, values_by_name=self.run("MERT", seed)["weights"])
        return weights

    def _decide(self, name: str, seed: int, weights: Weights) -> dict[str, dict[str, float]]:
        """Choose scales on the tuning set, then translate the tests; BLEU and brevity penalties."""
        found = {one: self.search(self.condition(name), one, weights) for one in self.texts}
        norm = norm_of(weights, (*self.model.feature_names, *ITG_FEATURES))
        results = {}
        for label, rule in DECODERS.items():
            scales = (1.0,) if label == "viterbi" else tuple(sorted({1.0, *(one / norm for one in SHARPNESS)}))
            tuning = found[self.pair.tune]
            best = choose_rule(
                [Candidate(rule, scale) for scale in scales],
                tuning,
                weights,
                self.texts[self.pair.tune].references,
                threads=self.threads,
            ).best
            result = {"scale": best.scale}
            for text in self.texts:
                chosen = decide(rule, found[text], weights, best.scale, threads=self.threads)
                words = [self.model.target_vocabulary.words(one.words.tolist()) for one in chosen]
                sums = self.texts[text].statistics(words).sum(axis=0)
                result |= {text: BLEU(smooth_method="none").score(sums), f"{text} brevity": brevity(sums)}
                self.runs.write_text(f"{name}-{seed}-{label}.{text}", words)
            results[label] = result
            logging.info("  %s: %s", label, ", ".join(f"{key} {value:.3f}" for key, value in result.items()))
        return results


def brevity(statistics: NDArray[np.float64]) -> float:
    """The brevity penalty of summed statistics."""
    return float(np.exp(min(0.0, 1.0 - statistics[1] / statistics[0])))


def print_tables(bench: Bench, conditions: Sequence[str]) -> None:
    """One table for each decoder."""
    runs = bench.runs.all()
    tests = bench.pair.tests
    for decoder in DECODERS:
        print(f"\n{bench.name}, {decoder}\n")
        print(f"| condition | seeds | tune | {' | '.join(tests)} | Δ | brevity | p | CPU s |")
        print("|" + "---|" * (len(tests) + 7))
        base = _statistics(bench, "MERT", decoder, runs)
        for name in conditions:
            own = [run for (condition, _), run in runs.items() if condition == name]
            if not own:
                continue
            rows = [run["decoders"][decoder] for run in own]
            cells = [mean_text([row[text] for row in rows]) for text in (bench.pair.tune, *tests)]
            drop = np.mean([row[tests[0]] - row[bench.pair.tune] for row in rows])
            short = np.mean([[row[f"{test} brevity"] for test in tests] for row in rows], axis=0)
            found = _statistics(bench, name, decoder, runs)
            p = "–" if base is None or found is None else compare(found, base)
            seconds = np.mean([run["seconds"] for run in own])
            lengths = " ".join(f"{one:.3f}" for one in short)
            print(f"| {name} | {len(own)} | {' | '.join(cells)} | {drop:+.2f} | {lengths} | {p} | {seconds:.0f} |")


def print_searches(bench: Bench) -> None:
    """Viterbi decoding with each search, and p of the second against the first, if both are there."""
    runs = bench.runs.all()
    found = [_statistics(bench, name, "viterbi", runs) for name in SEARCHES]
    if found[0] is None or found[1] is None:
        return
    print(f"\n{bench.name}, searches\n\n| search | seeds | {' | '.join(bench.pair.tests)} | p |")
    print("|" + "---|" * (len(bench.pair.tests) + 3))
    for name, p in zip(SEARCHES, ("–", compare(found[1], found[0])), strict=True):
        rows = [run["decoders"]["viterbi"] for (condition, _), run in runs.items() if condition == name]
        cells = [mean_text([row[test] for row in rows]) for test in bench.pair.tests]
        print(f"| {name} | {len(rows)} | {' | '.join(cells)} | {p} |")


def _statistics(bench: Bench, name: str, decoder: str, runs: dict[tuple[str, int], Run]) -> NDArray[np.float64] | None:
    files = [
        {test: f"{name}-{seed}-{decoder}.{test}" for test in bench.pair.tests} for one, seed in runs if one == name
    ]
    return bench.runs.mean_statistics(files, bench.tests) if files else None


def draw_trajectories(benches: Sequence[Bench], path: Path) -> None:
    """Figure 6: the objective on the way, divided by its final value: rounds of MERT, steps of CoBLEU."""
    row = []
    for bench in benches:
        mert, gradient = (bench.runs.all()[name, 1] for name in ("MERT", "CoBLEU"))
        scores = [mert["start"], *(one["after"] for one in mert["history"])]
        values = np.exp([value for one in gradient["history"] for value in one["path"]]).tolist()
        curves = [
            Series("BLEU of MERT", [(place, score / scores[-1]) for place, score in enumerate(scores)]),
            Series("CoBLEU", [(place, value / values[-1]) for place, value in enumerate(values)]),
        ]
        row.append((bench.name, Lines(curves, "round of MERT, step of CoBLEU", "share of the final value", whole=True)))
    save_figure([row], path)


if __name__ == "__main__":
    main()
