"""Tables 1 to 3 and Figures 2 and 3 of He and Deng (2012) on real data: phrase and lexicon models for expected BLEU.

    python experiments/max_expected_bleu.py ../shared/data --work refine --final 'baseline;two-stage' --runs 3
    python experiments/max_expected_bleu.py ../shared/data --work refine --pairs de-en --lines 2500 --iterations 3
    python experiments/max_expected_bleu.py ../shared/data --work refine --carried
    python experiments/max_expected_bleu.py ../shared/data --work refine --parameters
    python experiments/max_expected_bleu.py ../shared/data --table
    python experiments/max_expected_bleu.py ../shared/data --figures docs/figures

The directory has the sets of PAIRS. As in the paper, weights are tuned on the first half of the German development
set; the other half is for validation, together with the last 1,000 lines of the training text, which are held out. The
Japanese sets are small: weights are tuned on all of the development set, 1,000 lines of the training text are for
validation and 2,000 are a further test. The baseline is as in the paper: HMM alignment, phrases of up to 4 words,
lexicalized reordering, IBM Model 1 sums as lexicon features, a 3-gram language model. The training text is translated
once, in ten folds, each by a model trained without it. Weights are tuned for BLEU of expected statistics, without
random numbers, and again after each iteration. τ, the scale, the schedule and the iteration are chosen by the
validation set. Each finished run is a line of experiments/results/max_expected_bleu.jsonl; what is there is not done
again. What training has to stay near, and how, is compared beforehand on lists alone: trained on eight folds, what is
carried over to the other two?
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from differences import signed
from runs import PairBench, Size, Text, caption, read_lines, save_figure, size_shown
from stored import CORPUS_BLEU, Run, Stored, add_options, differences, markdown, mean_text

from toledo.api.model_info import model_info
from toledo.compiled.kernels import working_seconds
from toledo.forest.forest import Forest
from toledo.model import PhraseModel
from toledo.phrases.training import PhraseTraining
from toledo.refinement.distributions import prior_values
from toledo.refinement.expected_bleu import ListSpace, normalized
from toledo.refinement.loop import STAGES, families_of, method_of
from toledo.refinement.objective import RefinementObjective, TrainedParameters
from toledo.refinement.phrase_lists import PhraseLists, used_pairs
from toledo.refinement.procedure import Procedure
from toledo.refinement.settings import RefineSettings
from toledo.runs.history import History, Round
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.text.corpus import ParallelCorpus, Segment, read_parallel
from toledo.training import Training, train
from toledo.tuning.loop import LoopSettings, TuningSet, tune
from toledo.tuning.tuners.gradient import Gradient
from toledo.tuning.tuners.mert import MERT
from toledo.view.curves import Lines, Series
from toledo.weights import Weights

POP_LIMIT = 100
VALIDATION = 1000
USUAL = {"search": f"beam:pop_limit={POP_LIMIT}", "rounds": 6, "rounds_again": 1}
GROWTH = RefineSettings(method="growth")
OURS = RefineSettings(**USUAL)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Pair:
    """A set: its files, the distortion limit, and how many lines of the training text are a further test.

    With `tuned_lines` so many lines of the tuning set are for tuning; the others join the validation set. `strength` is
    the τ of Table 2 with the best score on the validation set, for all other conditions.
    """

    folder: str
    source: str
    tune: str
    tests: tuple[str, ...]
    distortion_limit: int = 4
    further: int = 0
    tuned_lines: int | None = None
    strength: float = 1e-6


PAIRS = {
    "de-en": Pair("multi30k-de-en", "de", "val", ("test2016", "test2017"), tuned_lines=507),
    "ja-en": Pair("tanaka-ja-en", "ja", "dev", ("test",), distortion_limit=6, further=2000, strength=0.0),
}


@dataclass(frozen=True)
class Condition:
    """How to refine. With `chosen` τ is that of the pair, and otherwise that of the settings."""

    settings: RefineSettings
    chosen: bool = True

    def of(self, pair: Pair) -> Condition:
        """The condition for a pair."""
        return replace(self, settings=replace(self.settings, tau=pair.strength)) if self.chosen else self


def settings(parameters: str, **others: object) -> RefineSettings:
    """What to train as in the paper, and other settings."""
    return replace(GROWTH, **{"parameters": parameters, "iterations": 6, **USUAL, **others})  # type: ignore[arg-type]


STRENGTHS = (1e-5, 0.0, 1e-6, 5e-5, 1e-4)

TABLE2 = {
    f"phrase, τ={strength:g}": Condition(settings("phrase", tau=strength), chosen=False) for strength in STRENGTHS
}
TABLE3 = {
    "lexicon": Condition(settings("lexicon")),
    "both": Condition(settings("both")),
    "two-stage": Condition(settings("two-stage")),
}
BASELINES = {"baseline": OURS, "baseline, MERT": settings("both", method="he-deng")}
PUBLISHED = {
    f"{parameters}, as published": Condition(settings(parameters, method="he-deng"), chosen=False)
    for parameters in ("phrase", "two-stage")
}
OTHERS = {
    "phrase, own text": Condition(settings("phrase", folds=1)),
    "phrase, 2 folds": Condition(settings("phrase", folds=2)),
    "phrase, 30 folds": Condition(settings("phrase", folds=30)),
    "phrase, lattices": Condition(settings("phrase", on="forests")),
    "phrase, L-BFGS": Condition(
        settings("phrase", method="lbfgs", steps=5, distance="kl", level="sentence", sharpness=5.0)
    ),
}
RATIOS = {
    f"{parameters}, ratios": Condition(replace(OURS, parameters=parameters), chosen=False)  # type: ignore[arg-type]
    for parameters in ("phrase", "lexicon", "both", "two-stage")
}
CARRIED = {
    **{f"paper, τ={one:g}": replace(GROWTH, tau=one, iterations=3) for one in (1e-6, 1e-5, 1e-4)},
    "paper, τ=1e-05, scale=20": replace(GROWTH, iterations=3, sharpness=20.0),
    "L-BFGS, KL, τ=1e-05": RefineSettings(distance="kl", level="sentence"),
    "L-BFGS, ratios, sentences": RefineSettings(level="sentence"),
    **{f"L-BFGS, ratios, τ={one:g}": RefineSettings(tau=one) for one in (0.05, 0.2, 1.0)},
    "L-BFGS, ratios, τ=0.2, scale=5": RefineSettings(sharpness=5.0),
    "L-BFGS, ratios, τ=0.2, phrase": RefineSettings("phrase"),
    "L-BFGS, ratios, τ=0.2, lexicon": RefineSettings("lexicon"),
}
PARTS = ("trained on", "held out")
TABLE1 = {
    "phrase models, both directions": ("phrase.forward", "phrase.backward"),
    "lexicon model (IBM Model 1), forward": ("IBM Model 1, forward",),
    "lexicon model (IBM Model 1), backward": ("IBM Model 1, backward",),
}
HELD_OUT = 2  # of ten folds

FIGURE2 = {"phrase, figure 2": Condition(settings("phrase", tune_every=0, iterations=10, patience=10))}
CONDITIONS = {**TABLE2, **TABLE3, **PUBLISHED, **OTHERS, **RATIOS, **FIGURE2}


def main() -> None:
    """Do what is not there yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--work", type=Path, default=Path("refine"))
    parser.add_argument("--pairs", default="de-en,ja-en")
    parser.add_argument("--conditions", default=";".join(CONDITIONS), help="names with ; between them")
    parser.add_argument("--final", default="", help="names whose models MERT tunes at last, with ; between them")
    parser.add_argument("--runs", type=int, default=3, help="of MERT at last")
    parser.add_argument("--lines", type=int, help="train on the first ones [default: all]")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--carried", action="store_true", help="only compare on lists of held-out folds")
    parser.add_argument("--parameters", action="store_true", help="only count those of the models (Table 1)")
    parser.add_argument("--figures", type=Path, help="only draw Figures 2 and 3 into this directory")
    Size.add_options(parser)
    add_options(parser)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stored = Stored.of(__file__, options)
    if options.figures:
        draw_figures(stored, options.figures)
        return
    for name in options.pairs.split(","):
        bench = Bench(name, options.directory, options.work, options.threads, stored, Size.of(options))
        if options.carried or options.parameters:
            (compare_carried if options.carried else count_parameters)(bench)
            continue
        for condition in (*BASELINES, *filter(None, options.conditions.split(";"))):
            bench.run(condition)
        for condition in filter(None, options.final.split(";")):
            for seed in range(1, options.runs + 1):
                bench.run_last(condition, seed)
    if not options.stale:
        print("\n".join(f"{name}\n\n{table}" for name, table in tables(stored).items()))


class Bench(PairBench):
    """One pair: its texts, its baseline, and its runs."""

    def __init__(self, name: str, data: Path, work: Path, threads: int, stored: Stored, size: Size) -> None:
        self.pair, self.threads = PAIRS[name], threads
        super().__init__(name, data / self.pair.folder, work, stored, size)

    @property
    def files(self) -> list[Path]:
        """What results depend on."""
        names = ("train", self.pair.tune, *self.pair.tests)
        return [self.folder / f"{name}.{side}" for name in names for side in (self.pair.source, "en")]

    @cached_property
    def lines(self) -> tuple[list[list[str]], list[list[str]]]:
        """The whole training text."""
        return read_lines(self.folder / f"train.{self.pair.source}"), read_lines(self.folder / "train.en")

    @cached_property
    def texts(self) -> dict[str, Text]:
        """The validation set and the tests."""
        source, target = self.lines
        end = len(source) - self.pair.further
        held = {"validation": slice(end - VALIDATION, end), "further": slice(end, None)}
        found = {name: Text(source[part], [(words,) for words in target[part]]) for name, part in held.items()}
        if not self.pair.further:
            del found["further"]
        if self.pair.tuned_lines is not None:
            more, held_out = self._text(self.pair.tune), found["validation"]
            found["validation"] = Text(
                more.source[self.pair.tuned_lines :] + held_out.source,
                more.references[self.pair.tuned_lines :] + held_out.references,
            )
        for name in self.pair.tests:
            found[name] = self._text(name)
        return {name: text.first(self.size.sentences) for name, text in found.items()}

    def _text(self, name: str) -> Text:
        return Text.read(self.folder / f"{name}.{self.pair.source}", [self.folder / f"{name}.en"])

    @property
    def tests(self) -> dict[str, Text]:
        """The tests alone."""
        return {name: text for name, text in self.texts.items() if name != "validation"}

    @cached_property
    def model(self) -> PhraseModel:
        """The model before refinement, trained once."""
        if not (self.place / "model").exists():
            phrases = PhraseTraining(max_length=4, lexical="model1", reordering=True)
            config = Training(phrases=phrases, distortion_limit=self.pair.distortion_limit)
            train(self._corpus(), config, threads=self.threads).save(self.place / "model")
        return PhraseModel.load(self.place / "model")

    def _corpus(self) -> ParallelCorpus:
        """The training text without what is held out, in words that begin anew."""
        end = len(self.lines[0]) - self.pair.further - VALIDATION
        end = min(end, self.size.lines or end)
        files = []
        for side, lines in zip((self.pair.source, "en"), self.lines, strict=True):
            files.append(self.place / f"train.{side}")
            files[-1].write_text("".join(" ".join(words) + "\n" for words in lines[:end]), encoding="utf-8")
        return read_parallel(*files)

    def procedure(self, how: RefineSettings = OURS) -> Procedure:
        """The steps of the paper with some lists."""
        model = self.model
        files = self.place / f"train.{self.pair.source}", self.place / "train.en"
        tuning = self._text(self.pair.tune).first(self.pair.tuned_lines).first(self.size.sentences)
        is_mert = how.tuning_objective == "mert"
        place = f"folds-{how.num_folds}{'-mert' if is_mert else ''}" if how.on == "lists" else "lattices"
        return Procedure(
            model=model,
            corpus=read_parallel(*files, (model.source_vocabulary, model.target_vocabulary)),
            tuning=_segments(tuning),
            validation=_segments(self.texts["validation"]),
            tuner=MERT() if is_mert else Gradient("corpus-expected-bleu", on="lists"),
            work=self.place / place,
            threads=self.threads,
        )

    def run(self, name: str) -> None:
        """One condition, unless it is there."""
        key = {"pair": self.name, "condition": name, "mert": 0, "size": str(self.size)}
        if self.stored.done(**key):
            return
        logging.info("%s, %s", self.name, name)
        began = working_seconds()
        model, history = self._refined(name)
        course = [] if history is None else [_note(one) for one in history.all_rounds]
        best = 0 if history is None else history.best
        self._store(key, model, {"rounds": course, "best": best}, working_seconds() - began)

    def run_last(self, name: str, seed: int) -> None:
        """The model of a condition, tuned once more, by MERT on the whole tuning set."""
        key = {"pair": self.name, "condition": name, "mert": 1, "seed": seed, "size": str(self.size)}
        if self.stored.done(**key):
            return
        logging.info("%s, %s, MERT %d", self.name, name, seed)
        began = working_seconds()
        model = self.tuned_last(name, seed)
        self._store(key, model, {}, working_seconds() - began)

    def tuned_last(self, name: str, seed: int) -> PhraseModel:
        """With weights by MERT."""
        model, text = self._refined(name)[0], self._text(self.pair.tune).first(self.size.sentences)

        def search(weights: Weights) -> list[Forest]:
            return BeamSearch(model.with_weights(weights), Beam(POP_LIMIT)).forests(text.source, self.threads)

        rounds = LoopSettings(rounds=8, seed=seed, threads=self.threads)
        return model.with_weights(tune(MERT(), model.weights, TuningSet(search, text.references), rounds).weights)

    def _refined(self, name: str) -> tuple[PhraseModel, History | None]:
        """The model of a condition and how it came about; from disk, if it was there."""
        if name in BASELINES:
            how = replace(BASELINES[name], parameters="both")
            return self.procedure(how).baseline(how), None
        condition = CONDITIONS[name].of(self.pair)
        how = condition.settings.resolved()
        condition = replace(
            condition, settings=replace(condition.settings, iterations=self.size.rounds(how.iterations))
        )
        refined = self.procedure(condition.settings).run(condition.settings)
        return refined.model, refined.history

    def _store(self, key: Mapping[str, object], model: PhraseModel, scores: dict[str, object], seconds: float) -> None:
        search, statistics = BeamSearch(model, Beam(POP_LIMIT)), {}
        for part, text in self.texts.items():
            rows = text.statistics([one.words for one in search.translate(text.source, self.threads)])
            scores[part] = CORPUS_BLEU.score(rows.sum(axis=0))
            scores[f"{part} length"] = float(rows[:, 0].sum() / rows[:, 1].sum())
            if part != "validation":
                statistics[part] = rows
        self.stored.add(key, data=self.files, scores=scores, statistics=statistics, seconds={"training": seconds})


def _note(one: Round) -> dict[str, object]:
    """What figures need of a round."""
    names = ("expected_before", "expected", "best_of_lists")
    details = {name: one.details[name] for name in names if name in one.details}
    return {"number": one.number, "stage": one.stage, "score": one.score, **details}


def _segments(text: Text) -> list[Segment]:
    return [
        Segment(number, tuple(words), tuple(tuple(one) for one in references))
        for number, (words, references) in enumerate(zip(text.source, text.references, strict=True))
    ]


def tables(stored: Stored) -> dict[str, str]:
    """For each pair all conditions; those that MERT tuned at last; and what was carried over."""
    found = {}
    for name, pair in PAIRS.items():
        tests = (*(["further"] if pair.further else []), *pair.tests)
        size = size_shown(run for run in stored.find(pair=name) if "condition" in run["key"])
        for last, title in ((0, name), (1, f"{name}, MERT")):
            key = {"pair": name, "mert": last, "size": size}
            groups = {one: stored.find(condition=one, **key) for one in (*BASELINES, *CONDITIONS)}
            rows = table({one: runs for one, runs in groups.items() if runs}, tests)
            found[title] = rows + caption(size) if any(groups.values()) else ""
        found[f"{name}, lists"] = table_lists(stored, pair=name, mert=0, size=size)
    found["carried"] = table_carried([run for run in stored.all() if "settings" in run["key"]])
    found["parameters"] = table_parameters({name: stored.find(pair=name, table="parameters") for name in PAIRS})
    return found


def table_parameters(runs: Mapping[str, Sequence[Run]]) -> str:
    """How many parameters of each kind each pair has."""
    counted = {name: own[-1] for name, own in runs.items() if own}
    rows = [[kind, *(f"{run['scores'][kind]:,}" for run in counted.values())] for kind in TABLE1]
    return markdown(["model", *counted], rows) + caption(size_shown(counted.values())) if counted else ""


def table_carried(runs: Sequence[Run]) -> str:
    """BLEU of the best hypotheses before training, and what it adds, on both parts of each pair."""
    size = size_shown(runs)
    shown = [run for run in runs if run["key"]["size"] == size]
    cells: dict[str, dict[str, str]] = {}
    for run in shown:
        for part, (before, gain) in run["scores"].items():
            cells.setdefault(run["key"]["settings"], {})[f"{run['key']['pair']}: {part}"] = (
                f"{before:.2f} {signed(gain)}"
            )
    titles = [f"{pair}: {part}" for pair in PAIRS for part in PARTS if any(run["key"]["pair"] == pair for run in shown)]
    rows = [[label, *(own.get(title, "") for title in titles)] for label, own in cells.items()]
    return markdown(["settings", *titles], rows) + (caption(size) if rows else "")


def table(groups: Mapping[str, Sequence[Run]], tests: Sequence[str]) -> str:
    """BLEU on the validation set and the tests, and differences to the baseline."""
    cells, rows = differences(groups, "baseline", tests), []
    for name, runs in groups.items():
        numbers = [mean_text([run["scores"][part] for run in runs]) for part in ("validation", *tests)]
        length = " ".join(f"{np.mean([run['scores'][f'{test} length'] for run in runs]):.3f}" for test in tests)
        rows.append([name, len(runs), *numbers, length, cells[name]])
    return markdown(["trained", "runs", "validation", *tests, "length", "minus baseline, tests", "p"], rows)


def table_lists(stored: Stored, **key: object) -> str:
    """What training gained on the text that it saw, in its first iteration and in all, and on the validation set."""
    rows = []
    for name in CONDITIONS:
        for run in stored.find(condition=name, **key):
            start, *rounds = run["scores"]["rounds"]
            first, last = (100 * (one["expected"] - rounds[0]["expected_before"]) for one in (rounds[0], rounds[-1]))
            before = 100 * rounds[0]["expected_before"]
            best = max(one["score"] for one in run["scores"]["rounds"]) - start["score"]
            after_one = rounds[0]["score"] - start["score"]
            gains = [signed(one) for one in (first, last, after_one, best)]
            rows.append([name, len(rounds), f"{before:.2f}", *gains, run["scores"]["best"]])
    titles = ["trained", "iterations", "expected BLEU of the lists", "after the first", "after the last"]
    return markdown([*titles, "validation, after the first", "after the best", "the best"], rows) if rows else ""


def count_parameters(bench: Bench) -> None:
    """How many numbers the phrase and lexicon models have, as `toledo model info` counts them."""
    key = {"pair": bench.name, "table": "parameters", "size": str(bench.size)}
    if bench.stored.done(**key):
        return
    rows = model_info(bench.model, bench.name, "viterbi", None).rows
    scores = {name: sum(row.parameters for row in rows if row.kind in kinds) for name, kinds in TABLE1.items()}
    bench.stored.add(key, data=bench.files, scores=scores)


def compare_carried(bench: Bench) -> None:
    """Train on the lists of some folds and score those of the others; the weights of MERT stay as they are."""
    keys = {name: {"pair": bench.name, "settings": name, "size": str(bench.size)} for name in CARRIED}
    todo = [name for name, key in keys.items() if not bench.stored.done(**key)]
    if not todo:
        return
    weights = replace(bench.tuned_last("baseline", 1).weights, frozen=frozenset({"oov"}))
    procedure = bench.procedure()
    model = procedure.baseline(settings("both"))
    parts = procedure.translate(model, OURS)
    last = {f"fold-{OURS.num_folds - 1 - k}-" for k in range(HELD_OUT)}
    held = [any(part.directory.name.startswith(one) for one in last) for part in parts]
    lists = [PhraseLists.load(part.directory) for part in parts]
    some = [[one for one, out in zip(lists, held, strict=True) if out == wanted] for wanted in (False, True)]
    for name in todo:
        how, began = CARRIED[name].resolved(), working_seconds()
        own, other = (ListSpace(each, how.level) for each in some)
        parameters = TrainedParameters(model, families_of(how), used_pairs(lists), bench.threads)
        exponents = normalized(weights, model.feature_names, how.sharpness)
        values = prior_values(parameters.families)
        before = [each.expect(exponents, parameters.changes(values, exponents)).best for each in (own, other)]
        for stage in STAGES[how.parameters]:
            objective = RefinementObjective(own, parameters, exponents, how.tau, stage, how.lexicon_tau, how.distance)
            for _ in range(how.iterations):
                values = method_of(how).step(objective, values, objective.at(values)).values
        after = [each.expect(exponents, parameters.changes(values, exponents)).best for each in (own, other)]
        scores = {part: [old, new - old] for part, old, new in zip(PARTS, before, after, strict=True)}
        bench.stored.add(keys[name], data=bench.files, scores=scores, seconds={"training": working_seconds() - began})


def draw_figures(stored: Stored, directory: Path) -> None:
    """Figure 2: expected BLEU and BLEU of the best hypotheses; Figure 3: validation scores of both stages."""
    for pair in PAIRS:
        size = size_shown(run for run in stored.find(pair=pair) if "condition" in run["key"])
        key = {"pair": pair, "mert": 0, "size": size}
        found = [stored.find(condition=name, **key) for name in ("phrase, figure 2", "two-stage")]
        if not all(found):
            continue
        one, two = (runs[0]["scores"]["rounds"] for runs in found)
        expected = [(note["number"], 100 * note["expected"]) for note in one if "expected" in note]
        best = [(note["number"], note["best_of_lists"]) for note in one if "best_of_lists" in note]
        scores = [
            Series(name, [(note["number"], note["score"]) for note in two if note["stage"] == stage])
            for stage, name in enumerate(("phrase models", "lexicon models"))
        ]
        training, axis = f"{pair}, training text", "expected sentence BLEU"
        row = [
            (training, Lines([Series("expected", expected)], "iteration", axis, named=False, whole=True)),
            (
                training,
                Lines([Series("best", best)], "iteration", "BLEU of the best hypotheses", named=False, whole=True),
            ),
            (f"{pair}, validation set", Lines(scores, "iteration", "BLEU", whole=True)),
        ]
        save_figure([row], directory / f"max-expected-bleu-{pair}.svg", 340)


if __name__ == "__main__":
    main()
