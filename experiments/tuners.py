"""All tuners and decision rules on real data: tune on val, translate both tests, mean and σ over seeds.

    python experiments/tuners.py ../shared/peers/moses-de-en --work tuners --seeds 5
    python experiments/tuners.py ../shared/peers/moses-de-en --work tuners --table

Each finished run is a line of WORK/runs.jsonl with its weights and scores, beside its translations; a run that is there
is not done again, so the command may be stopped and started at will. Tuning starts from Moses' default weights and sees
val alone. The scales of decision rules are chosen on val, too. Tuners without random numbers run once. Variants (on
lattices, annealed) run if --tuners names them. Other --rounds or another --pop-limit want another WORK.

p is that of a paired bootstrap over the segments of both tests (10,000 samples) against MERT with the same rule and,
in brackets, against MERT with Viterbi; the statistics of a segment are means over seeds.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from runs import Runs, Text, compare, file_name, mean_text

from toledo.consensus.decide import Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.consensus.rule import Rule
from toledo.consensus.scale import Candidate, choose_rule, norm_of
from toledo.forest.forest import Forest
from toledo.formats.moses_model import import_model
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel, default_weights
from toledo.runs.checkpoint import Checkpoint
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.tuning.loop import LoopSettings, TuningResult, TuningSet, tune
from toledo.tuning.settings import TUNERS
from toledo.weights import Weights

TESTS = ("test2016", "test2017")
RULES: dict[str, list[Rule]] = {
    "viterbi": [Viterbi()],
    "mbr": [MBR("bleu", 100, 100)],
    "consensus": [Consensus(size=100, density=50.0)],
    "lattice-mbr": [LatticeMBR(precision=0.6, ratio=0.8), LatticeMBR(precision=0.8, ratio=0.6)],
}
SHARPNESS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0)  # scale × L1 norm of the tuned weights: the same grid whatever their norm
OBJECTIVES = {  # those of the table, and variants
    **{name: name for name in TUNERS.names() if name not in ("gradient", "expected")},
    "mert, lattices": "mert:on=forests",
    "mira, lattices": "mira:on=forests",
    "xbleu, annealed": "xbleu:annealing=true",
    "expected-bleu, annealed": "expected-bleu:annealing=true",
}
RANDOM = {"mert", "mert, lattices", "pro", "mira", "mira, lattices", "regression", "simplex"}

KEY = ("tuner", "seed")


def main() -> None:
    """Do what is not there yet, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--work", type=Path, default=Path("tuners"))
    parser.add_argument(
        "--tuners", default=",".join(name for name in OBJECTIVES if ", " not in name), help="use ; or ,"
    )
    parser.add_argument("--rules", default=",".join(RULES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--pop-limit", type=int, default=200)
    parser.add_argument("--budget", type=float, default=float("inf"), help="start no run after so many CPU seconds")
    parser.add_argument("--table", action="store_true", help="only print the table")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    options.work.mkdir(parents=True, exist_ok=True)
    if not options.table:
        _run_all(options)
    _print_table(options.work, options.directory)


def _run_all(options: argparse.Namespace) -> None:
    bench = Bench(options.directory, options.work, options.pop_limit, options.rounds)
    separator = ";" if ";" in options.tuners else ","
    names = [name.strip() for name in options.tuners.split(separator) if name.strip()]
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for name in names:
            if time.process_time() > options.budget:
                return
            if name in RANDOM or seed == 1:
                bench.run(name, seed, options.rules.split(","))


class Bench:
    """The model and the texts."""

    def __init__(self, folder: Path, work: Path, pop_limit: int, rounds: int) -> None:
        self.pop_limit, self.rounds, self.runs = pop_limit, rounds, Runs(work, KEY)
        self.model = _model(folder, work)
        self.texts = {name: _text(folder, name) for name in ("val", *TESTS)}

    def search(self, name: str, weights: Weights) -> list[Forest]:
        """The lattices of a text."""
        beam = BeamSearch(self.model.with_weights(weights), Beam(self.pop_limit))
        return beam.forests(self.texts[name].source, threads=1)

    def run(self, name: str, seed: int, rules: Sequence[str]) -> None:
        """Tune (unless done), then decide by those rules that have not yet."""
        done = self.runs.all().get((name, seed))
        missing = [rule for rule in rules if done is None or rule not in done["rules"]]
        if not missing:
            return
        logging.info("%s, seed %d: %s", name, seed, ", ".join(missing))
        if done is None:
            tuned = self._tune(name, seed)
            history = tuned.history
            done = {
                "tuner": name,
                "seed": seed,
                "weights": dict(tuned.weights),
                "val": history.best_score,
                "rounds": len(history.rounds),
                "best": history.best,
                "tuning_seconds": sum(one.tuning_seconds for one in history.rounds),
                "search_seconds": sum(one.search_seconds for one in history.rounds),
                "rules": {},
            }
        weights = Weights(done["weights"], frozen=default_weights(self.model.feature_names).frozen)
        done["rules"] |= self._decide(name, seed, weights, missing)
        self.runs.add(done)

    def _tune(self, name: str, seed: int) -> TuningResult:
        start = default_weights(self.model.feature_names)
        folder = self.runs.work / "checkpoints" / f"{file_name(name)}-{seed}"
        return tune(
            TUNERS.make(OBJECTIVES[name]),
            start,
            TuningSet(lambda weights: self.search("val", weights), self.texts["val"].references),
            LoopSettings(rounds=self.rounds, seed=seed, threads=1),
            checkpoint=Checkpoint(folder, {"rounds": self.rounds}, True),
        )

    def _decide(self, name: str, seed: int, weights: Weights, rules: Sequence[str]) -> dict[str, Any]:
        """Scales on val, then the translations of both tests."""
        found = {one: self.search(one, weights) for one in ("val", *TESTS)}
        norm = norm_of(weights, self.model.feature_names)
        results = {}
        for rule in rules:
            scales = (1.0,) if rule == "viterbi" else tuple(one / norm for one in SHARPNESS)
            candidates = [Candidate(one, scale) for one in RULES[rule] for scale in scales]
            began = time.process_time()
            best = choose_rule(candidates, found["val"], weights, self.texts["val"].references, threads=1).best
            result = {"sharpness": best.scale * norm, "val": best.score}
            for test in TESTS:
                decisions = decide(best.rule, found[test], weights, best.scale, threads=1)
                words = [self.model.target_vocabulary.words(one.words.tolist()) for one in decisions]
                self.runs.write_text(f"{name}-{seed}-{rule}.{test}", words)
                result[test] = BLEU(smooth_method="none").score(self.texts[test].statistics(words).sum(axis=0))
            result["seconds"] = time.process_time() - began
            results[rule] = result
            logging.info("  %s: %s", rule, ", ".join(f"{key} {value:.2f}" for key, value in result.items()))
        return results


def _print_table(work: Path, folder: Path) -> None:
    runs, texts = Runs(work, KEY), {test: _text(folder, test) for test in TESTS}
    done = list(runs.all().values())

    def statistics(name: str, rule: str) -> NDArray[np.float64]:
        seeds = [run["seed"] for run in done if run["tuner"] == name and rule in run["rules"]]
        files = [{test: f"{name}-{seed}-{rule}.{test}" for test in TESTS} for seed in seeds]
        return runs.mean_statistics(files, texts)

    print("| tuner | seeds | rule | val | test2016 | test2017 | p | tuning CPU s |\n|" + "---|" * 8)
    baseline = {rule: statistics("mert", rule) for rule in RULES}
    for name in OBJECTIVES:
        own = [run for run in done if run["tuner"] == name]
        for rule in RULES:
            some = [run["rules"][rule] for run in own if rule in run["rules"]]
            if not some:
                continue
            cells = [mean_text([one[key] for one in some]) for key in ("val", *TESTS)]
            rows = statistics(name, rule)
            p_values = [compare(rows, base) for base in (baseline[rule], baseline["viterbi"])]
            seconds = np.mean([run["tuning_seconds"] + run["search_seconds"] for run in own])
            of_search = np.mean([run["search_seconds"] for run in own])
            print(
                f"| {name} | {len(some)} | {rule} | {' | '.join(cells)} | {p_values[0]} ({p_values[1]}) | "
                f"{seconds:.0f} ({of_search:.0f} search) |"
            )


def _text(folder: Path, name: str) -> Text:
    return Text.read(folder / f"{name}.de", [folder / f"{name}.en"])


def _model(folder: Path, work: Path) -> PhraseModel:
    if not (work / "model").exists():
        made = import_model(
            folder / "phrase-table.gz", [folder / "lm.3.arpa.gz"], moses_ini=folder / "weights.mert.ini"
        )
        made.save(work / "model")
    return PhraseModel.load(work / "model")


if __name__ == "__main__":
    main()
