"""Tables 1 and 2 and Figure 6 of Pauls, DeNero and Klein (2009) on real data: MERT, CoBLEU and both, two decoders.

    python experiments/cobleu.py ../shared/data --work cobleu --runs 5
    python experiments/cobleu.py ../shared/data --work cobleu --pairs de-en --runs 2 --sentences 300 --iterations 4
    python experiments/cobleu.py ../shared/data --table
    python experiments/cobleu.py ../shared/data --figure docs/figures/cobleu-figure6.svg

The directory has the sets of PAIRS. A model is trained for each, with a trigram language model of its English side. All
conditions search with the phrasal ITG. Of the long segments of the Bible those up to 25 words are tuned on, as in the
paper, and all are translated; pairs whose names end in -25 are tested on segments up to 25 words only, as there. Each
finished run is a line of experiments/results/cobleu.jsonl for each decoder; what is there is not done again. Tuning
sees the tuning set alone. There, too, the scale of consensus decoding is chosen, from the same ones for all. CoBLEU has
no random numbers and runs once, except after MERT.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from differences import signed
from numpy.typing import NDArray
from runs import PairBench, Run, Size, Text, caption, file_name, save_figure, size_shown, trained_model
from stored import CORPUS_BLEU, Stored, add_options, differences, markdown, mean_text

from toledo.consensus.decide import Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.rule import Rule
from toledo.consensus.scale import Candidate, choose_rule, norm_of
from toledo.forest.forest import Forest
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
    """A set, its languages and texts, the beam of ITG search, and the longest segment to tune on, and to test on.

    `words` and `l2` are those of highest BLEU in cross-validation on the tuning set (cobleu_choices.py --words).
    """

    folder: str
    source: str
    tune: str
    tests: tuple[str, ...]
    references: tuple[str, ...] = ("en",)
    beam: int = 50
    longest: int = 100
    longest_test: int | None = None
    words: int = 300
    l2: float = 1e-3


PAIRS = {
    "fr-en": Pair("multi30k-fr-en", "fr", "val", ("test2016", "test2017")),
    "de-en": Pair("multi30k-de-en", "de", "val", ("test2016", "test2017")),
    "es-en": Pair("bible-es-en", "es", "tune", ("test",), ("en", "refB.en"), beam=30, longest=25, words=0),
    "ja-en": Pair("tanaka-ja-en", "ja", "dev", ("test",)),
}
PAIRS |= {f"{name}-25": replace(pair, longest_test=25) for name, pair in PAIRS.items()}  # tests cut as in the paper


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
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--figure", type=Path, help="only draw Figure 6 to this file")
    Size.add_options(parser)
    add_options(parser)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stored = Stored.of(__file__, options)
    if options.figure:
        draw_trajectories(stored, options.figure)
        return
    benches = [
        Bench(name, options.directory, options.work, options.threads, stored, Size.of(options))
        for name in options.pairs.split(",")
    ]
    for seed in range(1, options.runs + 1):
        for name in options.conditions.split(";"):
            for bench in benches:
                if seed == 1 or CONDITIONS[name].seeds:
                    bench.run(name, seed)
    if not options.stale:
        print("\n".join(f"{name}\n\n{table}" for name, table in tables(stored).items()))


class Bench(PairBench):
    """One pair: its model and its texts."""

    def __init__(self, name: str, data: Path, work: Path, threads: int, stored: Stored, size: Size) -> None:
        self.pair, self.threads = PAIRS[name], threads
        super().__init__(name, data / self.pair.folder, work, stored, size)

    @property
    def files(self) -> list[Path]:
        """What results depend on."""
        sides = (self.pair.source, *self.pair.references)
        names = (self.pair.tune, *self.pair.tests)
        texts = [self.folder / f"{name}.{side}" for name in names for side in sides]
        return [self.folder / f"train.{self.pair.source}", self.folder / "train.en", *texts]

    @cached_property
    def model(self) -> PhraseModel:
        """The model, trained once."""
        return trained_model(self.folder, self.pair.source, self.work, self.threads)

    @cached_property
    def texts(self) -> dict[str, Text]:
        """The tuning set and the tests."""
        longest = {self.pair.tune: self.pair.longest, **dict.fromkeys(self.pair.tests, self.pair.longest_test)}
        return {name: self._text(name).up_to(most).first(self.size.sentences) for name, most in longest.items()}

    def _text(self, name: str) -> Text:
        references = [self.folder / f"{name}.{language}" for language in self.pair.references]
        return Text.read(self.folder / f"{name}.{self.pair.source}", references)

    @property
    def tests(self) -> dict[str, Text]:
        """The tests alone."""
        return {name: self.texts[name] for name in self.pair.tests}

    def condition(self, name: str) -> Condition:
        """A condition by its name."""
        condition = CONDITIONS[name].of(self.pair)
        return replace(condition, rounds=self.size.rounds(condition.rounds))

    def search(self, condition: Condition, name: str, weights: Weights) -> list[Forest]:
        """The forests of a text."""
        model = self.model
        if condition.words:
            model = replace(model, sparse=sparse_features(model.table, [target_words], condition.words))
        model = model.with_weights(weights)
        if condition.search == "itg":
            return ITGSearch(model, ITG(self.pair.beam)).forests(self.texts[name].source, self.threads)
        return BeamSearch(model, Beam(200)).forests(self.texts[name].source, self.threads)

    def run(self, name: str, seed: int) -> None:
        """One condition with one seed and both decoders, unless it is there."""
        key = {"pair": self.name, "condition": name, "seed": seed, "size": str(self.size)}
        keys = [{**key, "decoder": label} for label in DECODERS]
        missing = [key for key in keys if not self.stored.done(**key)]
        if missing:
            run = self.tuned(name, seed)
            self._decide(run, missing)

    def tuned(self, name: str, seed: int) -> Run:
        """The weights of a condition and how they were found."""
        done = self.runs.all().get((name, seed))
        if done is not None:
            return done
        logging.info("%s, %s, seed %d", self.name, name, seed)
        tuned = self._tune(self.condition(name), seed, self.place / "checkpoints" / f"{file_name(name)}-{seed}")
        history = tuned.history
        mert = isinstance(CONDITIONS[name].tuner, MERT)
        course = [history.start.score, *(one.score for one in history.rounds)] if mert else []
        run: Run = {
            "condition": name,
            "seed": seed,
            "weights": dict(tuned.weights),
            "course": course or np.exp([value for one in history.rounds for value in one.path]).tolist(),
            "seconds": sum(one.seconds for one in history.rounds),
        }
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
            return replace(weights, values_by_name=self.tuned("MERT", seed)["weights"])
        return weights

    def _decide(self, run: Run, keys: Sequence[Mapping[str, object]]) -> None:
        """Choose scales on the tuning set, then translate all texts."""
        name, weights = run["condition"], Weights(run["weights"])
        found = {one: self.search(self.condition(name), one, weights) for one in self.texts}
        norm = norm_of(weights, (*self.model.feature_names, *ITG_FEATURES))
        for key in keys:
            rule = DECODERS[str(key["decoder"])]
            scales = (1.0,) if key["decoder"] == "viterbi" else tuple(sorted({1.0, *(one / norm for one in SHARPNESS)}))
            best = choose_rule(
                [Candidate(rule, scale) for scale in scales],
                found[self.pair.tune],
                weights,
                self.texts[self.pair.tune].references,
                threads=self.threads,
            ).best
            scores: dict[str, object] = {"scale": best.scale, "course": run["course"]}
            statistics = {}
            for text in self.texts:
                chosen = decide(rule, found[text], weights, best.scale, threads=self.threads)
                words = [self.model.target_vocabulary.words(one.words.tolist()) for one in chosen]
                statistics[text] = self.texts[text].statistics(words)
                sums = statistics[text].sum(axis=0)
                scores |= {text: CORPUS_BLEU.score(sums), f"{text} brevity": brevity(sums)}
            del statistics[self.pair.tune]  # nothing is claimed there
            seconds = {"tuning": run["seconds"]}
            self.stored.add(key, data=self.files, seconds=seconds, scores=scores, statistics=statistics)


def brevity(statistics: NDArray[np.float64]) -> float:
    """The brevity penalty of summed statistics."""
    return float(np.exp(min(0.0, 1.0 - statistics[1] / statistics[0])))


def tables(stored: Stored) -> dict[str, str]:
    """One for each pair and decoder, and one of searches."""
    found, searches = {}, []
    for name, pair in PAIRS.items():
        size = size_shown(stored.find(pair=name))
        for decoder in DECODERS:
            groups = table_groups(stored, TABLE, pair=name, decoder=decoder, size=size)
            cells, rows = differences(groups, "MERT", pair.tests), []
            for condition, runs in groups.items():
                scores = [run["scores"] for run in runs]
                numbers = [mean_text([one[text] for one in scores]) for text in (pair.tune, *pair.tests)]
                drop = np.mean([one[pair.tests[0]] - one[pair.tune] for one in scores])
                short = " ".join(f"{np.mean([one[f'{test} brevity'] for one in scores]):.3f}" for test in pair.tests)
                seconds = f"{np.mean([run['seconds']['tuning'] for run in runs]):.0f}"
                rows.append([condition, len(runs), *numbers, signed(float(drop)), short, cells[condition], seconds])
            titles = ["condition", "runs", pair.tune, *pair.tests, "Δ", "brevity", "minus MERT, tests", "p", "CPU s"]
            found[f"{name}, {decoder}"] = markdown(titles, rows) + caption(size) if rows else ""
        groups = table_groups(stored, SEARCHES, pair=name, decoder="viterbi", size=size)
        cells = differences(groups, SEARCHES[0], pair.tests)
        for condition, runs in groups.items():
            numbers = ", ".join(mean_text([run["scores"][test] for run in runs]) for test in pair.tests)
            searches.append([name, condition, len(runs), numbers, cells[condition]])
    titles = ["pair", "search", "runs", "tests", "minus beam search", "p"]
    size = size_shown(run for one in SEARCHES for run in stored.find(condition=one))
    found["searches"] = markdown(titles, searches) + (caption(size) if searches else "")
    return found


def table_groups(stored: Stored, names: Iterable[str], **key: str) -> dict[str, list[Run]]:
    """The runs of each condition that has some."""
    groups = {name: stored.find(condition=name, **key) for name in names}
    return {name: runs for name, runs in groups.items() if runs}


def draw_trajectories(stored: Stored, path: Path) -> None:
    """Figure 6: the objective on the way, divided by its final value: rounds of MERT, steps of CoBLEU."""
    row = []
    for pair in PAIRS:
        key = {"pair": pair, "decoder": "viterbi", "seed": 1, "size": size_shown(stored.find(pair=pair))}
        runs = [stored.find(condition=name, **key) for name in ("MERT", "CoBLEU")]
        if not all(runs):
            continue
        courses = [run["scores"]["course"] for (run,) in runs]
        curves = [
            Series(label, [(place, value / course[-1]) for place, value in enumerate(course)])
            for label, course in zip(("BLEU of MERT", "CoBLEU"), courses, strict=True)
        ]
        row.append((pair, Lines(curves, "round of MERT, step of CoBLEU", "share of the final value", whole=True)))
    save_figure([row], path)


if __name__ == "__main__":
    main()
