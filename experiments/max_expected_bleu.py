"""Tables 2 and 3 and Figures 2 and 3 of He and Deng (2012) on real data: phrase and lexicon models for expected BLEU.

    python experiments/max_expected_bleu.py ../shared/data --work refine
    python experiments/max_expected_bleu.py ../shared/data --work refine --final 'baseline;two-stage'
    python experiments/max_expected_bleu.py ../shared/data --work refine --carried
    python experiments/max_expected_bleu.py ../shared/data --work refine --table
    python experiments/max_expected_bleu.py ../shared/data --work refine --figures docs/figures

The directory has the sets of PAIRS. As in the paper, weights are tuned on the first half of the German development
set; the other half is for validation, together with the last 1,000 lines of the training text, which are held out. The
Japanese sets are small: weights are tuned on all of the development set, 1,000 lines of the training text are for
validation and 2,000 are a further test. The baseline is as in the paper: HMM alignment, phrases of up to 4 words,
lexicalized reordering, IBM Model 1 sums as lexicon features, a 3-gram language model. The training text is translated
once, in ten folds, each by a model trained without it. Weights are tuned for BLEU of expected statistics, without
random numbers, and again after each iteration. τ, the scale, the schedule and the iteration are chosen by the
validation set. Each finished run is a line of WORK/PAIR/runs.jsonl beside its translations; what is there is not done
again. p is that of a paired bootstrap over the segments of all tests (10,000 samples). What training has to stay near,
and how, is compared beforehand on lists alone: trained on eight folds, what is carried over to the other two?
"""

from __future__ import annotations

import argparse
import logging
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from runs import Run, Runs, Text, compare, mean_text, read_lines, save_figure

from toledo.forest.forest import Forest
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.phrases.training import PhraseTraining
from toledo.refinement.distributions import prior_values
from toledo.refinement.expected_bleu import ListSpace, normalized
from toledo.refinement.loop import STAGES, families_of, method_of
from toledo.refinement.objective import RefinementObjective, TrainedParameters
from toledo.refinement.phrase_lists import PhraseLists, used_pairs
from toledo.refinement.procedure import Procedure
from toledo.refinement.settings import RefineSettings
from toledo.runs.history import History
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
OTHERS = {
    "phrase, own text": Condition(settings("phrase", folds=1)),
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
HELD_OUT = 2  # of ten folds

FIGURE2 = {"phrase, figure 2": Condition(settings("phrase", tune_every=0, iterations=10, patience=10))}
CONDITIONS = {**TABLE2, **TABLE3, **OTHERS, **RATIOS, **FIGURE2}


def main() -> None:
    """Do what is not there yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--work", type=Path, default=Path("refine"))
    parser.add_argument("--pairs", default="de-en,ja-en")
    parser.add_argument("--conditions", default=";".join(CONDITIONS), help="names with ; between them")
    parser.add_argument("--final", default="", help="names whose models MERT tunes at last, with ; between them")
    parser.add_argument("--seeds", default="1,2,3", help="of MERT at last")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="only print the tables")
    parser.add_argument("--carried", action="store_true", help="only compare on lists of held-out folds")
    parser.add_argument("--figures", type=Path, help="only draw Figures 2 and 3 into this directory")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    benches = [Bench(name, options.directory, options.work, options.threads) for name in options.pairs.split(",")]
    if options.figures:
        draw_figures(benches, options.figures)
        return
    if options.carried:
        for bench in benches:
            print_carried(bench)
        return
    for bench in benches:
        if not options.table:
            bench.run("baseline")
            for name in filter(None, options.conditions.split(";")):
                bench.run(name)
            for name in filter(None, options.final.split(";")):
                for seed in options.seeds.split(","):
                    bench.run_last(name, int(seed))
        print_tables(bench)
        print_last(bench)


class Bench:
    """One pair: its texts, its baseline, and its runs."""

    def __init__(self, name: str, data: Path, work: Path, threads: int) -> None:
        self.name, self.pair, self.work, self.threads = name, PAIRS[name], work / name, threads
        self.folder = data / self.pair.folder
        self.runs = Runs(self.work, ("condition",))

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
        return found

    def _text(self, name: str) -> Text:
        return Text.read(self.folder / f"{name}.{self.pair.source}", [self.folder / f"{name}.en"])

    @property
    def tests(self) -> dict[str, Text]:
        """The tests alone."""
        return {name: text for name, text in self.texts.items() if name != "validation"}

    @cached_property
    def model(self) -> PhraseModel:
        """The model before refinement, trained once."""
        if not (self.work / "model").exists():
            phrases = PhraseTraining(max_length=4, lexical="model1", reordering=True)
            config = Training(phrases=phrases, distortion_limit=self.pair.distortion_limit)
            train(self._corpus(), config, threads=self.threads).save(self.work / "model")
        return PhraseModel.load(self.work / "model")

    def _corpus(self) -> ParallelCorpus:
        """The training text without what is held out, in words that begin anew."""
        end = len(self.lines[0]) - self.pair.further - VALIDATION
        files = []
        for side, lines in zip((self.pair.source, "en"), self.lines, strict=True):
            files.append(self.work / f"train.{side}")
            files[-1].write_text("".join(" ".join(words) + "\n" for words in lines[:end]), encoding="utf-8")
        return read_parallel(*files)

    def procedure(self, how: RefineSettings = OURS) -> Procedure:
        """The steps of the paper with some lists."""
        model = self.model
        files = self.work / f"train.{self.pair.source}", self.work / "train.en"
        tuning = self._text(self.pair.tune)
        some = slice(self.pair.tuned_lines)
        return Procedure(
            model=model,
            corpus=read_parallel(*files, (model.source_vocabulary, model.target_vocabulary)),
            tuning=_segments(Text(tuning.source[some], tuning.references[some])),
            validation=_segments(self.texts["validation"]),
            tuner=Gradient("corpus-expected-bleu", on="lists"),
            work=self.work / (f"folds-{how.num_folds}" if how.on == "lists" else "lattices"),
            threads=self.threads,
        )

    def run(self, name: str) -> None:
        """One condition, unless it is there."""
        if (name,) in self.runs.all():
            return
        logging.info("%s, %s", self.name, name)
        began = time.process_time()
        run: Run = {"condition": name}
        model, history = self._refined(name)
        if history is not None:
            run.update(history.to_json())
        run["seconds"] = time.process_time() - began
        run["weights"] = dict(model.weights)
        run["scores"] = self._translate(name, model)
        self.runs.add(run)

    def run_last(self, name: str, seed: int) -> None:
        """The model of a condition, tuned once more, by MERT on the whole tuning set."""
        last = f"{name}, MERT {seed}"
        if (last,) in self.runs.all():
            return
        logging.info("%s, %s", self.name, last)
        began = time.process_time()
        model, text = self._refined(name)[0], self._text(self.pair.tune)

        def search(weights: Weights) -> list[Forest]:
            return BeamSearch(model.with_weights(weights), Beam(POP_LIMIT)).forests(text.source, self.threads)

        rounds = LoopSettings(rounds=8, seed=seed, threads=self.threads)
        model = model.with_weights(tune(MERT(), model.weights, TuningSet(search, text.references), rounds).weights)
        run: Run = {"condition": last, "seconds": time.process_time() - began, "weights": dict(model.weights)}
        run["scores"] = self._translate(last, model)
        self.runs.add(run)

    def _refined(self, name: str) -> tuple[PhraseModel, History | None]:
        """The model of a condition and how it came about; from disk, if it was there."""
        if name == "baseline":
            return self.procedure().baseline(settings("both")), None
        condition = CONDITIONS[name].of(self.pair)
        refined = self.procedure(condition.settings).run(condition.settings)
        return refined.model, refined.history

    def _translate(self, name: str, model: PhraseModel) -> dict[str, float]:
        scores = {}
        search = BeamSearch(model, Beam(POP_LIMIT))
        for part, text in self.texts.items():
            found = [one.words for one in search.translate(text.source, self.threads)]
            self.runs.write_text(f"{name}.{part}", found)
            scores[part] = BLEU(smooth_method="none").score(text.statistics(found).sum(axis=0))
        return scores


def folder(name: str) -> str:
    """Where a run is kept."""
    return name.replace(", ", "-")


def _segments(text: Text) -> list[Segment]:
    return [
        Segment(number, tuple(words), tuple(tuple(one) for one in references))
        for number, (words, references) in enumerate(zip(text.source, text.references, strict=True))
    ]


def print_tables(bench: Bench) -> None:
    """A row for each run: BLEU on the validation set and the tests, and what it took."""
    done, tests = bench.runs.all(), bench.tests
    if ("baseline",) not in done:
        return
    base = bench.runs.mean_statistics([{test: f"baseline.{test}" for test in tests}], tests)
    print(f"\n{bench.name}\n")
    print(
        f"| condition | {' | '.join(bench.texts)} | p | iterations (best) | CPU s |\n|{'---|' * (4 + len(bench.texts))}"
    )
    for name in ("baseline", *CONDITIONS):
        run = done.get((name,))
        if run is None:
            continue
        rows = bench.runs.mean_statistics([{test: f"{name}.{test}" for test in tests}], tests)
        scores = " | ".join(f"{run['scores'][part]:.2f}" for part in bench.texts)
        iterations = f"{len(run['rounds'])} ({run['best']})" if "rounds" in run else "–"
        print(f"| {name} | {scores} | {compare(rows, base)} | {iterations} | {run['seconds']:.0f} |")


def print_last(bench: Bench) -> None:
    """Models tuned by MERT at last: means over seeds, and p of their mean statistics."""
    done, tests, rows = bench.runs.all(), bench.tests, {}
    for (name,) in done:
        if ", MERT " in name:
            rows.setdefault(name.rpartition(", MERT ")[0], []).append(name)
    if "baseline" not in rows:
        return
    print(f"\n{bench.name}, MERT at last\n\n| model | seeds | {' | '.join(tests)} | p |\n|{'---|' * (3 + len(tests))}")
    for name, runs in rows.items():
        each, base = (
            bench.runs.mean_statistics([{test: f"{one}.{test}" for test in tests} for one in some], tests)
            for some in (runs, rows["baseline"])
        )
        scores = " | ".join(mean_text([done[(one,)]["scores"][test] for one in runs]) for test in tests)
        print(f"| {name} | {len(runs)} | {scores} | {compare(each, base)} |")


def print_carried(bench: Bench) -> None:
    """Train on the lists of some folds and score those of the others; the weights of MERT stay as they are."""
    bench.run("baseline")
    bench.run_last("baseline", 1)
    weights = Weights(bench.runs.all()[("baseline, MERT 1",)]["weights"], frozenset({"oov"}))
    procedure = bench.procedure()
    model = procedure.baseline(settings("both"))
    parts = procedure.translate(model, OURS)
    last = {f"fold-{OURS.num_folds - 1 - k}-" for k in range(HELD_OUT)}
    held = [any(part.directory.name.startswith(one) for one in last) for part in parts]
    lists = [PhraseLists.load(part.directory) for part in parts]
    some = [[one for one, out in zip(lists, held, strict=True) if out == wanted] for wanted in (False, True)]
    print(f"\n{bench.name}, BLEU of the best hypotheses of lists: + what training gained\n")
    print("| settings | trained on | held out | CPU s |\n|---|---|---|---|")
    for name, given in CARRIED.items():
        how = given.resolved()
        began = time.process_time()
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
        cells = " | ".join(f"{old:.2f} + {new - old:.2f}" for old, new in zip(before, after, strict=True))
        print(f"| {name} | {cells} | {time.process_time() - began:.0f} |", flush=True)


def draw_figures(benches: list[Bench], directory: Path) -> None:
    """Figure 2: expected BLEU and BLEU of the best hypotheses; Figure 3: validation scores of both stages."""
    for bench in benches:
        done = bench.runs.all()
        steps = done[("phrase, figure 2",)]["rounds"]
        expected = [(one["number"], 100 * one["details"]["expected"]) for one in steps]
        best = [(one["number"], one["details"]["best_of_lists"]) for one in steps]
        two = done[("two-stage",)]
        stages = [two["start"], *two["rounds"]]
        scores = [
            Series(name, [(one["number"], one["score"]) for one in stages if one["stage"] == stage or one is first])
            for stage, name, first in ((0, "phrase models", two["start"]), (1, "lexicon models", None))
        ]
        training, validation = f"{bench.name}, training text", f"{bench.name}, validation set"
        row = [
            (
                training,
                Lines([Series("expected", expected)], "iteration", "expected sentence BLEU", named=False, whole=True),
            ),
            (
                training,
                Lines([Series("best", best)], "iteration", "BLEU of the best hypotheses", named=False, whole=True),
            ),
            (validation, Lines(scores, "iteration", "BLEU", whole=True)),
        ]
        save_figure([row], directory / f"max-expected-bleu-{bench.name}.svg", 340)


if __name__ == "__main__":
    main()
