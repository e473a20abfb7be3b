"""All tuners and decision rules on real data: tune on val, translate three tests.

    python experiments/tuners.py ../shared/peers/moses-de-en ../shared/data/multi30k-de-en --seeds 5
    python experiments/tuners.py ../shared/peers/moses-de-en ../shared/data/multi30k-de-en --table

Each rule after each tuning is a line of experiments/results/tuners.jsonl; what is there is not done again, so the
command may be stopped and started at will. Tuning starts from Moses' default weights and sees val alone. The scales of
decision rules are chosen on val, too. Tuners without random numbers run once. Variants (on lattices, annealed) run if
--tuners names them.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from moses_set import TESTS, MosesSet, table_cells, table_titles
from runs import file_name
from stored import CORPUS_BLEU, Run, Stored, add_options, markdown, mean_text

from toledo.compiled.kernels import working_seconds
from toledo.consensus.decide import Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.consensus.rule import Rule
from toledo.consensus.scale import Candidate, choose_rule, norm_of
from toledo.forest.forest import Forest
from toledo.model import PhraseModel, default_weights
from toledo.runs.checkpoint import Checkpoint
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.tuning.loop import LoopSettings, TuningSet, tune
from toledo.tuning.settings import TUNERS
from toledo.weights import Weights

RULES: dict[str, list[Rule]] = {
    "viterbi": [Viterbi()],
    "mbr": [MBR("bleu", 100, 100)],
    "consensus": [Consensus(size=100, density=50.0)],
    "lattice-mbr": [LatticeMBR(precision=0.6, ratio=0.8), LatticeMBR(precision=0.8, ratio=0.6)],
}
SHARPNESS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0)  # scale × L1 norm of the tuned weights: the same grid whatever their norm
MOSES = "Moses' MERT"
OBJECTIVES = {  # those of the table, and variants
    **{name: name for name in TUNERS.names() if name not in ("gradient", "expected")},
    MOSES: "one run of Moses: the weights of weights.mert.ini",
    "mert, lattices": "mert:on=forests",
    "mira, lattices": "mira:on=forests",
    "xbleu, annealed": "xbleu:annealing=true",
    "expected-bleu, annealed": "expected-bleu:annealing=true",
}
RANDOM = {"mert", "mert, lattices", "pro", "mira", "mira, lattices", "regression", "simplex"}
ROUNDS, POP_LIMIT = 10, 200


def main() -> None:
    """Do what is not there yet, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moses", type=Path)
    parser.add_argument("multi30k", type=Path)
    parser.add_argument("--work", type=Path, default=Path("tuners"))
    parser.add_argument(
        "--tuners", default=",".join(name for name in OBJECTIVES if ", " not in name), help="use ; or ,"
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    add_options(parser)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stored = Stored.of(__file__, options)
    bench = Bench(MosesSet(options.moses, options.multi30k), options.work, stored)
    names = [name.strip() for name in options.tuners.split(";" if ";" in options.tuners else ",")]
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for name in names:
            done = {
                rule: stored.done(tuner=name, seed=seed, rule=rule) for rule in RULES if name in RANDOM or seed == 1
            }
            if not all(done.values()):
                bench.run(name, seed)
    if not options.stale:
        print("\n".join(tables(stored).values()))


class Bench:
    """The model and the texts."""

    def __init__(self, data: MosesSet, work: Path, stored: Stored) -> None:
        self.data, self.work, self.stored = data, work, stored

    @cached_property
    def model(self) -> PhraseModel:
        """The model, imported once."""
        place = self.stored.work(self.work) / "model"
        if not place.exists():
            self.data.model().save(place)
        return PhraseModel.load(place)

    def search(self, name: str, weights: Weights) -> list[Forest]:
        """The lattices of a text."""
        return BeamSearch(self.model.with_weights(weights), Beam(POP_LIMIT)).forests(
            self.data.texts[name].source, threads=1
        )

    def run(self, name: str, seed: int) -> None:
        """Tune, then decide by all rules."""
        logging.info("%s, seed %d", name, seed)
        weights, seconds = (self.model.weights, {}) if name == MOSES else self._tune(name, seed)
        found = {one: self.search(one, weights) for one in ("val", *TESTS)}
        for rule in RULES:
            self._decide(rule, {"tuner": name, "seed": seed, "rule": rule}, weights, found, seconds)

    def _tune(self, name: str, seed: int) -> tuple[Weights, dict[str, float]]:
        start = default_weights(self.model.feature_names)
        folder = self.stored.work(self.work) / "checkpoints" / f"{file_name(name)}-{seed}"
        tuned = tune(
            TUNERS.make(OBJECTIVES[name]),
            start,
            TuningSet(lambda weights: self.search("val", weights), self.data.texts["val"].references),
            LoopSettings(rounds=ROUNDS, seed=seed, threads=1),
            checkpoint=Checkpoint(folder, {"rounds": ROUNDS}, True),
        )
        rounds = tuned.history.rounds
        seconds = {"tuning": sum(one.tuning_seconds for one in rounds)}
        seconds["search"] = sum(one.search_seconds for one in rounds)
        return Weights(dict(tuned.weights), frozen=start.frozen), seconds

    def _decide(
        self, label: str, key: Mapping[str, object], weights: Weights, found: Mapping[str, list[Forest]],
        seconds: Mapping[str, float],
    ) -> None:  # fmt: skip
        """The scale on val, then the translations of both tests."""
        norm = norm_of(weights, self.model.feature_names)
        scales = (1.0,) if label == "viterbi" else tuple(one / norm for one in SHARPNESS)
        candidates = [Candidate(one, scale) for one in RULES[label] for scale in scales]
        began = working_seconds()
        best = choose_rule(candidates, found["val"], weights, self.data.texts["val"].references, threads=1).best
        statistics = {}
        for test in TESTS:
            decisions = decide(best.rule, found[test], weights, best.scale, threads=1)
            words = [self.model.target_vocabulary.words(one.words.tolist()) for one in decisions]
            statistics[test] = self.data.texts[test].statistics(words)
        scores = {test: CORPUS_BLEU.score(rows.sum(axis=0)) for test, rows in statistics.items()}
        scores |= {"val": best.score, "scale": best.scale, "norm": norm}
        logging.info("  %s: %s", label, ", ".join(f"{one} {value:.2f}" for one, value in scores.items()))
        self.stored.add(
            key,
            data=self.data.files,
            options={"rounds": ROUNDS, "pop_limit": POP_LIMIT, "objective": OBJECTIVES[str(key["tuner"])]},
            seconds={**seconds, "deciding": working_seconds() - began},
            scores=scores,
            statistics=statistics,
        )


def tables(stored: Stored) -> dict[str, str]:
    """One for each rule, and one of rules against Viterbi after MERT."""
    found = {}
    for rule in RULES:
        groups = {name: stored.find(tuner=name, rule=rule) for name in OBJECTIVES}
        found[rule] = table("tuner", {name: runs for name, runs in groups.items() if runs}, "mert")
    rules = {rule: stored.find(tuner="mert", rule=rule) for rule in RULES}
    found["rules"] = table("rule after mert", {rule: runs for rule, runs in rules.items() if runs}, "viterbi")
    rows = []
    for name in OBJECTIVES:
        runs = {rule: stored.find(tuner=name, rule=rule) for rule in RULES}
        if all(runs.values()):
            scales = [mean_text([run["scores"]["scale"] for run in runs[rule]]) for rule in RULES if rule != "viterbi"]
            norm = mean_text([run["scores"]["norm"] for run in runs["viterbi"]], 1)
            rows.append([name, len(runs["viterbi"]), norm, *scales])
    found["scales"] = markdown(["tuner", "runs", "L1 norm", *(rule for rule in RULES if rule != "viterbi")], rows)
    return found


def table(title: str, groups: Mapping[str, Sequence[Run]], base: str) -> str:
    """A row for each group of runs."""
    cells, rows = table_cells(groups, base), []
    for name, runs in groups.items():
        seconds = sum(run["seconds"].get(part, 0.0) for run in runs for part in ("tuning", "search")) / len(runs)
        rows.append([name, len(runs), *cells[name], f"{seconds:.0f}" if seconds else ""])
    return markdown([title, "runs", *table_titles(base), "CPU s"], rows)


if __name__ == "__main__":
    main()
