"""Tables 1 to 3 and Figures 2 and 3 of Arun, Haddow and Koehn (2010) on real data: MERT and minimum risk by sampling.

    python experiments/minimum_risk.py ../shared/data --work minimum-risk --conditions MERT --runs 10
    python experiments/minimum_risk.py ../shared/data --work minimum-risk --runs 5
    python experiments/minimum_risk.py ../shared/data --work minimum-risk --sentences 60 --iterations 6 --samples 20
    python experiments/minimum_risk.py ../shared/data --table
    python experiments/minimum_risk.py ../shared/data --figure docs/figures/minimum-risk.svg

The directory has the sets of PAIRS. A model is trained for each, with a trigram language model of its English side.
MERT tunes on all of the tuning set, with beam search from default weights. Sampling trains on three quarters of it from
zero; the others, each fourth segment, are held out: there a round is scored, and the best one chosen. Scales of the
rules for lattices are chosen on the tuning set, from the same ones for all weights. The sampler works at scale 1, and
once more at a scale chosen for MBR on the tuning set. Each rule after each training is a line of
experiments/results/minimum_risk.jsonl, and what is there is not done again; an interrupted training goes on.
Differences are to MERT with the rule that is best on the *tuning set* for MERT.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from runs import PairBench, Run, Size, Text, caption, file_name, save_figure, size_shown, trained_model
from stored import CORPUS_BLEU, Stored, add_options, differences, markdown, mean_text

from toledo.api.tune_rule import RuleTrial
from toledo.consensus.decide import MaxTranslation, Viterbi, decide
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.consensus.registry import rule_text
from toledo.consensus.rule import Rule
from toledo.consensus.scale import Candidate, choose_rule, decide_candidates, norm_of
from toledo.forest.forest import Forest
from toledo.model import PhraseModel, default_weights
from toledo.phrases.sparse import sparse_features, target_words
from toledo.runs.checkpoint import Checkpoint
from toledo.search.beam.search import BeamSearch
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.settings import Beam, Gibbs
from toledo.tuning.loop import LoopSettings, TuningResult, TuningSet, tune
from toledo.tuning.minimum_risk.trainer import COOLING, MinimumRisk
from toledo.tuning.minimum_risk.training import SegmentSource, train
from toledo.tuning.tuners.mert import MERT
from toledo.view.curves import Lines, Series
from toledo.weights import Weights

HELD_OUT = 4  # each fourth segment
WORDS = 300
EVERYTHING = 10**9
SAMPLED: dict[str, Rule] = {
    "MaxDeriv": Viterbi(),
    "MaxTrans": MaxTranslation(EVERYTHING),
    "MBR": MBR("bleu+0.01", 1000, EVERYTHING, likeliest=True),
}
SCALED = "MBR, scaled"
TRAINING = "training"  # stands for a rule in the key of a curve
OF_LATTICES: dict[str, Rule] = {
    "Viterbi": Viterbi(),
    "n-best MBR": MBR("bleu+0.01", 1000, 1000),
    "lattice MBR": LatticeMBR(),
    "lattice MBR, all settings": LatticeMBR(),
}
CLIMBED = "lattice MBR, all settings"  # density, p, r and the back-off to MAP are chosen, too
RULES = (*OF_LATTICES, *SAMPLED, SCALED)
SHORTER: dict[str, Rule] = {"n-best MBR": MBR("bleu+0.01", 200, 200)}  # to choose scales: a fourth of the work
SHARPNESS = (2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0)  # scales × the sum of absolute weights; 1 is tried as well
OF_SAMPLER = (3.0, 4.0, 5.5)  # each is sampled anew


@dataclass(frozen=True)
class Condition:
    """How weights are trained (None: MERT), and whether there are features for the most frequent target words.

    With `whole`, all of the tuning set is trained on, as MERT does, and the weights of the last round are taken, when
    it is cold; otherwise a part is held out, and the round that is best there is taken.
    """

    trainer: MinimumRisk | None
    words: bool = False
    whole: bool = False


CONDITIONS = {
    "MERT": Condition(None),
    "sentence": Condition(MinimumRisk("expected-bleu")),
    "sentence, annealed": Condition(MinimumRisk("expected-bleu", annealing=COOLING)),
    "corpus": Condition(MinimumRisk("corpus-expected-bleu")),
    "corpus, annealed": Condition(MinimumRisk("corpus-expected-bleu", annealing=COOLING)),
    "corpus, two-step": Condition(MinimumRisk("corpus-expected-bleu", annealing=COOLING, two_step=True)),
    "corpus, annealed, whole": Condition(MinimumRisk("corpus-expected-bleu", annealing=COOLING), whole=True),
    "corpus, annealed, words": Condition(
        MinimumRisk("corpus-expected-bleu", annealing=COOLING, l2=5e-4), words=True, whole=True
    ),
}
CLOSE = 5.0  # BLEU below the best that figures show: all begin near 0


@dataclass(frozen=True)
class Pair:
    """A set, its language, and its texts."""

    folder: str
    language: str
    tune: str = "val"
    tests: tuple[str, ...] = ("test2016", "test2017", "test2017coco")
    references: tuple[str, ...] = ("en",)


PAIRS = {
    "de-en": Pair("multi30k-de-en", "de"),
    "fr-en": Pair("multi30k-fr-en", "fr"),
    "ja-en": Pair("tanaka-ja-en", "ja", "dev", ("test",)),
    "es-en": Pair("bible-es-en", "es", "tune", ("test",), ("en", "refB.en")),
}


@dataclass(frozen=True)
class Effort:
    """Iterations in training (one chain), on held-out data and in translation (two chains); and how many rounds."""

    training: int = 100
    judging: int = 250
    decoding: int = 500
    rounds: int = 15


def main() -> None:
    """Do what is not there yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--work", type=Path, default=Path("minimum-risk"))
    parser.add_argument("--pairs", default="de-en,fr-en")
    parser.add_argument("--conditions", default=";".join(CONDITIONS), help="names with ; between them")
    parser.add_argument("--first-run", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--train-only", action="store_true", help="translate nothing yet; curves need no more")
    parser.add_argument("--figure", type=Path, help="only draw the figures to this file")
    parser.add_argument(
        "--samples", type=int, help="iterations of the sampler in training; more elsewhere [default: 100]"
    )
    Size.add_options(parser)
    add_options(parser)
    options = parser.parse_args()
    stored = Stored.of(__file__, options)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if options.figure:
        draw_curves(stored, options.figure)
        return
    benches = [
        Bench(name, options.directory, options.work, options.threads, stored, Size.of(options))
        for name in options.pairs.split(",")
    ]
    for seed in range(options.first_run, options.first_run + options.runs):
        for name in options.conditions.split(";"):
            for bench in benches:
                bench.run(name, seed, options.train_only)
    if not options.stale:
        print("\n".join(f"{name}\n\n{table}" for name, table in tables(stored).items()))


class Bench(PairBench):
    """One pair: its model, its texts and its runs."""

    def __init__(self, name: str, data: Path, work: Path, threads: int, stored: Stored, size: Size) -> None:
        self.pair, self.threads = PAIRS[name], threads
        samples = size.samples or Effort.training
        judging, decoding = (one * samples // Effort.training for one in (Effort.judging, Effort.decoding))
        self.effort = Effort(samples, judging, decoding, size.rounds(Effort.rounds))
        super().__init__(name, data / self.pair.folder, work, stored, size)

    @property
    def files(self) -> list[Path]:
        """What results depend on."""
        texts = (self.pair.tune, *self.pair.tests)
        sides = (self.pair.language, *self.pair.references)
        train = [self.folder / f"train.{side}" for side in (self.pair.language, "en")]
        return [*train, *(self.folder / f"{name}.{side}" for name in texts for side in sides)]

    @cached_property
    def model(self) -> PhraseModel:
        """The model, trained once."""
        return trained_model(self.folder, self.pair.language, self.work, self.threads)

    @cached_property
    def texts(self) -> dict[str, Text]:
        """The tuning set and the tests."""
        return {name: self._text(name) for name in (self.pair.tune, *self.pair.tests)}

    def _text(self, name: str) -> Text:
        references = [self.folder / f"{name}.{side}" for side in self.pair.references]
        text = Text.read(self.folder / f"{name}.{self.pair.language}", references)
        return text.first(self.size.sentences)

    @property
    def parts(self) -> tuple[Text, Text]:
        """The tuning set for samples, and the held-out set."""
        whole = self.texts[self.pair.tune]
        numbers = np.arange(len(whole.source))
        one, other = numbers % HELD_OUT > 0, numbers % HELD_OUT == 0
        return (_some(whole, one), _some(whole, other))

    def with_weights(self, weights: Weights) -> PhraseModel:
        """The model, with features for words if there are weights of such."""
        return (self.model if weights.keys() <= set(self.model.feature_names) else self._with_words).with_weights(
            weights
        )

    @cached_property
    def _with_words(self) -> PhraseModel:
        return replace(self.model, sparse=sparse_features(self.model.table, [target_words], WORDS))

    def sample(
        self,
        source: Sequence[Sequence[str]],
        weights: Weights,
        iterations: int,
        seed: int,
        chains: int = 2,
        scale: float = 1.0,
    ) -> list[Forest]:
        """Samples: forests whose distribution at this scale is that of the counts."""
        settings = Gibbs(iterations=iterations, chains=chains, burn_in=50, scale=scale)
        return GibbsSearch(self.with_weights(weights), settings, seed).forests(source, self.threads)

    def lattices(self, source: Sequence[Sequence[str]], weights: Weights) -> list[Forest]:
        """The lattices of beam search."""
        return BeamSearch(self.with_weights(weights), Beam(200)).forests(source, self.threads)

    def run(self, name: str, seed: int, train_only: bool = False) -> None:
        """One condition with one seed and all rules; what is not there yet is added."""
        key = {"pair": self.name, "condition": name, "seed": seed, "size": str(self.size)}
        sampled = CONDITIONS[name].trainer is not None
        parts = [((TRAINING,), self._store_training)] if sampled and not CONDITIONS[name].whole else []
        if not train_only:
            parts.append((tuple(OF_LATTICES), self._decide_lattices))
            if sampled:
                parts += [(tuple(SAMPLED), self._decide_samples), ((SCALED,), self._decide_scaled)]
        for rules, work in parts:
            done = {rule: self.stored.done(**key, rule=rule) for rule in rules}
            if not all(done.values()):
                work(self.trained(name, seed), key)

    def trained(self, name: str, seed: int) -> Run:
        """The weights of a condition and how they were found."""
        run = self.runs.all().get((name, seed))
        if run is None:
            logging.info("%s, %s, seed %d", self.name, name, seed)
            tuned = self._tune(name, seed)
            run = {
                "condition": name,
                "seed": seed,
                "weights": dict(tuned.weights),
                "seconds": sum(one.seconds for one in tuned.history.rounds),
            }
            if CONDITIONS[name].trainer and not CONDITIONS[name].whole:
                run["curve"] = self._curve(name, seed, tuned)
            self.runs.add(run)
        return run

    def _weights(self, run: Run) -> Weights:
        return replace(self.model.weights, values_by_name=run["weights"])

    def _store_training(self, run: Run, key: Mapping[str, object]) -> None:
        """The curve of held-out scores."""
        kept = [{name: point[name] for name in ("step", *SAMPLED)} for point in run["curve"]]
        seconds = {"training": run["seconds"]}
        self.stored.add({**key, "rule": TRAINING}, data=self.files, scores={"curve": kept}, seconds=seconds)

    def _checkpoint(self, name: str, seed: int) -> Checkpoint:
        folder = self.place / "checkpoints" / f"{file_name(name)}-{seed}"
        effort = [self.effort.training, self.effort.judging]
        return Checkpoint(folder, {"condition": repr(self._trainer(name)), "effort": effort}, True)

    def _trainer(self, name: str) -> MinimumRisk | None:
        """That of a condition; its temperatures are fewer where iterations are."""
        trainer = CONDITIONS[name].trainer
        if trainer is None or trainer.annealing is None or self.size.iterations is None:
            return trainer
        cooling = trainer.annealing
        faster = (cooling.end / cooling.start) ** (1.0 / max(1, self.size.iterations - 2))  # the last one is 0
        return replace(trainer, annealing=replace(cooling, cooling=min(faster, cooling.cooling)))

    def _tune(self, name: str, seed: int) -> TuningResult:
        trainer, start = self._trainer(name), default_weights(self.model.feature_names)
        checkpoint = self._checkpoint(name, seed)
        if trainer is None:
            text, settings = self.texts[self.pair.tune], LoopSettings(seed=seed, threads=self.threads)
            tuning = TuningSet(lambda weights: self.lattices(text.source, weights), text.references)
            return tune(MERT(), start, tuning, settings, checkpoint=checkpoint)
        zero = {feature: value if feature in start.frozen else 0.0 for feature, value in start.items()}
        if CONDITIONS[name].words and self._with_words.sparse:
            zero |= dict.fromkeys(self._with_words.sparse.names, 0.0)
        rounds = EVERYTHING if trainer.annealing else self.effort.rounds
        settings = LoopSettings(rounds, patience=rounds, seed=seed, rule=SAMPLED["MBR"], threads=self.threads)
        whole = CONDITIONS[name].whole
        text, other = (self.texts[self.pair.tune], None) if whole else self.parts

        def search(numbers: NDArray[np.int64], weights: Weights, sampler_seed: int) -> list[Forest]:
            return self.sample([text.source[i] for i in numbers], weights, self.effort.training, sampler_seed, chains=1)

        held_out = None
        if other is not None:
            held_out = TuningSet(lambda weights: self._held_out(weights, checkpoint.directory), other.references)
        start = replace(start, values_by_name=zero)
        source = SegmentSource(search, text.references, held_out=held_out)
        result = train(trainer, start, source, settings, checkpoint=checkpoint)
        return replace(result, weights=result.history.weights(len(result.history.rounds))) if whole else result

    def _held_out(self, weights: Weights, folder: Path) -> list[Forest]:
        """Samples of the held-out set; what each rule makes of them is noted beside the run."""
        other = self.parts[1]
        found = self.sample(other.source, weights, self.effort.judging, 1)
        scores = {label: self._score(other, self._words(rule, found, weights)) for label, rule in SAMPLED.items()}
        with (folder / "curve.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"weights": dict(weights), "scores": scores}) + "\n")
        return found

    def _curve(self, name: str, seed: int, tuned: TuningResult) -> list[Run]:
        """The notes of all rounds, found again by their weights: an interruption may have made some twice."""
        lines = (self._checkpoint(name, seed).directory / "curve.jsonl").read_text(encoding="utf-8").splitlines()
        notes = {json.dumps(note["weights"]): note["scores"] for note in map(json.loads, lines)}
        history = tuned.history
        points = [{"step": 0.0, **notes[json.dumps(dict(history.start.weights))]}]
        for one in history.rounds:
            points.append({**one.details, "objective": one.objective, "norm": one.norm, "tuning": one.score})
            points[-1] |= {"step": one.details["steps"], **notes[json.dumps(dict(one.weights))]}
        return points

    def _words(self, rule: Rule, found: Sequence[Forest], weights: Weights, scale: float = 1.0) -> list[list[str]]:
        chosen = decide(rule, found, weights, scale, threads=self.threads)
        return [self.model.target_vocabulary.words(one.words.tolist()) for one in chosen]

    @staticmethod
    def _score(text: Text, words: Sequence[Sequence[str]]) -> float:
        return CORPUS_BLEU.score(text.statistics(words).sum(axis=0))

    def _decide_lattices(self, run: Run, key: Mapping[str, object]) -> None:
        """What beam search and each rule make of all texts; scales are chosen on the tuning set."""
        weights = self._weights(run)
        norm = norm_of(weights, self.model.feature_names)
        scales = tuple(sorted({1.0, *(one / norm for one in SHARPNESS)}))
        found = {text: self.lattices(self.texts[text].source, weights) for text in self.texts}
        for label, rule in OF_LATTICES.items():
            if label == CLIMBED:
                best = self._climbed(rule, found[self.pair.tune], weights, scales)
                self._store(run, {**key, "rule": label}, best.rule, found, best.scale, named=True)
                continue
            candidates = [
                Candidate(SHORTER.get(label, rule), scale) for scale in (scales if label != "Viterbi" else (1.0,))
            ]
            references = self.texts[self.pair.tune].references
            best = choose_rule(candidates, found[self.pair.tune], weights, references, threads=self.threads).best
            self._store(run, {**key, "rule": label}, rule, found, best.scale)

    def _climbed(self, rule: Rule, forests: Sequence[Forest], weights: Weights, scales: Sequence[float]) -> Candidate:
        """The best settings and scale on the tuning set, found as `toledo tune-rule --settings` does."""
        text = self.texts[self.pair.tune]

        def statistics(candidates: Sequence[Candidate]) -> Iterator[NDArray[np.float64]]:
            for chosen in decide_candidates(candidates, forests, weights, self.threads):
                words = [self.model.target_vocabulary.words(one.words.tolist()) for one in chosen]
                yield text.statistics(words).sum(axis=0)

        trial = RuleTrial(CORPUS_BLEU, statistics, scales, settings=True)
        best = trial.tuning([rule], [rule], text.references).best
        return Candidate(next(one for row, one in trial.tried if row is best), best.scale)

    def _decide_samples(self, run: Run, key: Mapping[str, object]) -> None:
        """What the rules for samples make of the tests, at scale 1."""
        weights, seed = self._weights(run), run["seed"]
        found = {
            test: self.sample(self.texts[test].source, weights, self.effort.decoding, seed) for test in self.pair.tests
        }
        for label, rule in SAMPLED.items():
            self._store(run, {**key, "rule": label}, rule, found, 1.0)

    def _decide_scaled(self, run: Run, key: Mapping[str, object]) -> None:
        """What MBR makes of samples at the scale that is best on the tuning set."""
        weights, rule, texts = self._weights(run), SAMPLED["MBR"], self.texts
        norm = norm_of(weights, self.model.feature_names)

        def sampled(text: str, scale: float, iterations: int) -> list[Forest]:
            return self.sample(texts[text].source, weights, iterations, run["seed"], scale=scale)

        def score(scale: float) -> float:
            found = sampled(self.pair.tune, scale, self.effort.judging)
            return self._score(texts[self.pair.tune], self._words(rule, found, weights, scale))

        scores = {one / norm: score(one / norm) for one in OF_SAMPLER}
        best = max(scores, key=lambda scale: scores[scale])
        found = {test: sampled(test, best, self.effort.decoding) for test in self.pair.tests}
        self._store(run, {**key, "rule": SCALED}, rule, found, best, {self.pair.tune: scores[best]})

    def _store(
        self, run: Run, key: Mapping[str, object], rule: Rule, found: Mapping[str, list[Forest]], scale: float,
        known: Mapping[str, float] | None = None, *, named: bool = False,
    ) -> None:  # fmt: skip
        scores: dict[str, float | str] = {"scale": scale, **(known or {})}
        statistics = {}
        for text, forests in found.items():
            words = self._words(rule, forests, self._weights(run), scale)
            rows = self.texts[text].statistics(words)
            scores[text] = CORPUS_BLEU.score(rows.sum(axis=0))
            if text in self.pair.tests:
                statistics[text] = rows
        logging.info("  %s: %s", key["rule"], ", ".join(f"{name} {value:.2f}" for name, value in scores.items()))
        scores |= {"settings": rule_text(rule)} if named else {}
        effort, seconds = asdict(self.effort), {"training": run["seconds"]}
        self.stored.add(key, data=self.files, options=effort, seconds=seconds, scores=scores, statistics=statistics)


def _some(text: Text, chosen: NDArray[np.bool_]) -> Text:
    numbers = np.flatnonzero(chosen).tolist()
    return Text([text.source[i] for i in numbers], [text.references[i] for i in numbers])


def tables(stored: Stored) -> dict[str, str]:
    """For each pair each way to train and all rules, and two-step training of all sizes."""
    steps = {f"{name}, two-step": table_sizes(stored, name, "corpus, two-step") for name in PAIRS}
    return {name: table_comparison(stored, name) for name in PAIRS} | steps


def table_sizes(stored: Stored, name: str, condition: str) -> str:
    """What some rules make of one way to train, with all sizes and seeds."""
    rows = [
        [rule, run["key"]["size"], run["key"]["seed"], *(f"{run['scores'][test]:.2f}" for test in PAIRS[name].tests)]
        for rule in ("Viterbi", "MBR", SCALED)
        for run in stored.find(pair=name, condition=condition, rule=rule)
    ]
    return markdown(["rule", "size", "seed", *PAIRS[name].tests], rows) if rows else ""


def table_comparison(stored: Stored, name: str) -> str:
    """Table 1 to 3: means over runs, and differences to MERT with its best rule on the tuning set."""
    pair, size = PAIRS[name], size_shown(stored.find(pair=name))
    groups = {
        f"{condition} | {rule}": runs
        for condition in CONDITIONS
        for rule in RULES
        if (runs := stored.find(pair=name, condition=condition, rule=rule, size=size))
    }
    lattices = [one for one in (f"MERT | {rule}" for rule in OF_LATTICES) if one in groups]
    if not lattices:
        return ""
    base = max(lattices, key=lambda one: np.mean([run["scores"][pair.tune] for run in groups[one]]))
    cells = {test: differences(groups, base, [test]) for test in pair.tests}
    rows = []
    for label, runs in groups.items():
        tests = [f"{mean_text([run['scores'][test] for run in runs])} | {cells[test][label]}" for test in pair.tests]
        tuned = [run["scores"][pair.tune] for run in runs if pair.tune in run["scores"]]
        seconds = np.mean([run["seconds"]["training"] for run in runs])
        rows.append([label, len(runs), mean_text(tuned) if tuned else "", *tests, f"{seconds:.0f}"])
    titles = [cell for test in pair.tests for cell in (test, f"minus {base.replace(' | ', ', ')}", "p")]
    return markdown(["training", "rule", "runs", pair.tune, *titles, "CPU s"], rows) + caption(size)


def draw_curves(stored: Stored, path: Path) -> None:
    """Figures 2 and 3: held-out BLEU by steps, means over seeds; one row for each pair."""
    names = [name for name, condition in CONDITIONS.items() if condition.trainer and not condition.whole]
    rows = []
    for pair in PAIRS:
        size = size_shown(stored.find(pair=pair))
        found = {name: stored.find(pair=pair, condition=name, rule=TRAINING, size=size) for name in names}
        some = [
            (f"{pair}: {name}, {len(runs)} run{'s' * (len(runs) > 1)}", draw_lines(runs))
            for name, runs in found.items()
            if runs
        ]
        rows += [some] if some else []
    save_figure(rows, path, 320)


def draw_lines(runs: Sequence[Run]) -> Lines:
    """Scores close to the best of all decoders."""
    points = [run["scores"]["curve"] for run in runs]
    length = min(map(len, points))
    curves = {label: np.array([[one[label] for one in own[:length]] for own in points]) for label in SAMPLED}
    least = max(scores.mean(axis=0).max() for scores in curves.values()) - CLOSE
    steps = [point["step"] for point in points[0][:length]]
    return Lines([drawn(label, steps, scores, least) for label, scores in curves.items()], "steps", "held-out BLEU")


def drawn(label: str, steps: Sequence[float], scores: NDArray[np.float64], least: float) -> Series:
    """The mean over runs (rows) where it is not too low, with a band from the lowest to the highest run."""
    means = scores.mean(axis=0)
    shown = np.flatnonzero(means >= least).tolist()
    band = [(steps[i], max(least, scores[:, i].min()), scores[:, i].max()) for i in shown] if len(scores) > 1 else []
    return Series(label, [(steps[i], float(means[i])) for i in shown], band)


if __name__ == "__main__":
    main()
