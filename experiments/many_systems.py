"""Table 2 of Rosti, Zhang, Matsoukas and Schwartz (2011) with our own systems: many, of two source languages.

    python experiments/many_systems.py ../shared/data --work many
    python experiments/many_systems.py ../shared/data --work many --sets multi30k --lines 2000 --sentences 200 --runs 2
    python experiments/many_systems.py ../shared/data --table
    python experiments/many_systems.py ../shared/data --figures docs/figures

Two sets of the directory that share their English side make one set with two source languages. The systems are phrase
models of parts of the training text, each part with its own aligner and length of phrases, and each model searched in
several ways: as trained, decided by MBR, and tuned in several ways on held-out lines of the training text. All systems
translate what the combination is tuned on and what it is tested on.

Then the three methods of the paper combine the systems of each source language, and all of them together, with and
without the bigrams that no system has and the language model of the outputs; so does xBLEU with a weight for each
system, word and pair of words. For the curve, both kinds of tuning combine the first n systems in some random orders
(--runs). Each finished combination is a line of experiments/results/many_systems.jsonl.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from runs import Lines, PairBench, Size, caption, file_name, read_lines, save_figure, size_shown
from stored import CORPUS_BLEU, Run, Stored, add_options, differences, markdown, mean_text

import toledo
from toledo.combination.combiner import Combiner
from toledo.combination.goals import consensus_choice
from toledo.combination.language_models import add_bias, estimate_model, likely_bias
from toledo.combination.lattice import join_networks
from toledo.combination.lines import as_sentences
from toledo.combination.network import distinct_hypotheses
from toledo.combination.selection import CHOICE
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuning import TuningRun
from toledo.compiled.kernels import working_seconds
from toledo.metrics.ter import TER
from toledo.text.vocabulary import Vocabulary
from toledo.view.curves import Lines as Curves
from toledo.view.curves import Series

HALVES = ("tune", "test")
LINES = 6000  # of the training text for each model
HELD_OUT = 200  # the last lines of the training text, on which single systems are tuned
TOGETHER = "together"
BEST, WORST = "best system", "worst system"
NUMBERS = (2, 4, 8, 16, 32)  # of systems, in the curve


@dataclass(frozen=True)
class SharedSet:
    """Folders with the same English side, by source language, and the texts to tune on and to test with."""

    folders: Mapping[str, str]
    tune: str
    test: str


SETS = {
    "multi30k": SharedSet({"de": "multi30k-de-en", "fr": "multi30k-fr-en"}, "val", "test2016"),
    "bible": SharedSet({"de": "bible-de-en", "es": "bible-es-en"}, "tune", "test"),
}
PARTS: tuple[dict[str, Any], ...] = (  # how the model of each part of the training text is made
    {"aligner": "hmm"},
    {"aligner": "ibm1", "max_phrase_length": 3},
    {"aligner": "hmm", "max_phrase_length": 2},
    {"aligner": "hmm", "reordering": True},
)
WAYS: dict[str, dict[str, Any]] = {  # how it translates, and for what its weights are tuned
    "beam": {},
    "MBR": {"rule": "mbr", "scale": 0.5},
    "PRO": {"objective": "pro"},
    "MERT": {"objective": "mert"},
    "MERT for chrF": {"objective": "mert", "metric": "chrf"},
}
ROUNDS = 4

PAPER = CombinationSettings(entropy=(3.0,), length="reference", rule="viterbi", folds=0)
METHODS = {"latBLEU": "lattice-bleu", "nbExpBLEU": "list-expected-bleu", "latExpBLEU": "lattice-expected-bleu"}
BIASED = " + biased LM"
SPARSE = ("novel.bigram", "system.1", "words.1", "words.2")
MANY_WEIGHTS = "latExpBLEU, weights of systems, words and pairs"


def conditions() -> Iterator[tuple[str, CombinationSettings]]:
    """The rows of the table: each method, without the feature, and with the language model of the outputs."""
    for name, objective in METHODS.items():
        own = replace(PAPER, objective=objective)  # type: ignore[arg-type]
        yield name, own
        yield f"{name} − novel bigram", replace(own, features=())
        yield name + BIASED, own
    yield MANY_WEIGHTS, replace(PAPER, features=SPARSE, skeleton_weights=True)


CONDITIONS = dict(conditions())
COMPARED = ("latBLEU", "latExpBLEU")  # in the curve


def main() -> None:
    """Do what is not there yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--work", type=Path, default=Path("work/many-systems"), help="folder for models and outputs")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--conditions", default=";".join(CONDITIONS), help="names with ; between them")
    parser.add_argument("--runs", type=int, default=3, help="random orders of the systems in the curve")
    parser.add_argument("--lines", type=int, help=f"lines of the training text for each model [default: {LINES}]")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--figures", type=Path, help="only draw the curves into this directory")
    Size.add_options(parser)
    add_options(parser)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    stored = Stored.of(__file__, options)
    if options.figures:
        draw_curves(stored, options.figures)
        return
    for name in options.sets.split(","):
        bench = Bench(name, options.directory, options.work, stored, Size.of(options))
        bench.run(options.conditions.split(";"), options.runs, options.threads)
    if not options.stale:
        print("\n".join(f"{name}\n\n{table}" for name, table in tables(stored).items()))


class Bench(PairBench):
    """One set: its systems, by the name of source language, part and way, and what combinations of them give."""

    def run(self, wanted: Sequence[str], runs: int, threads: int) -> None:
        """Whatever is not stored: the table, then the curve."""
        for group in (*self.set.folders, TOGETHER):
            for condition in (WORST, BEST, CHOICE, *wanted):
                self._store({"group": group, "condition": condition}, self._members(group), threads)
        every = self._members(TOGETHER)
        for seed in range(1, runs + 1):
            order = np.random.default_rng(seed).permutation(len(every)).tolist()
            for number in (one for one in NUMBERS if one <= len(every)):
                members = [every[place] for place in order[:number]]
                for condition in (BEST, CHOICE, *COMPARED):
                    self._store({"systems": number, "condition": condition, "seed": seed}, members, threads)

    @cached_property
    def set(self) -> SharedSet:
        """Where its files are."""
        return SETS[self.name]

    @property
    def lines(self) -> int:
        """Lines of the training text for each model."""
        return self.size.lines or LINES

    def _members(self, group: str) -> list[str]:
        languages = self.set.folders if group == TOGETHER else (group,)
        return [
            f"{language} {part} {way}" for language in languages for part in range(1, len(PARTS) + 1) for way in WAYS
        ]

    def _store(self, own: Mapping[str, Any], members: Sequence[str], threads: int) -> None:
        key = {"set": self.name, "size": str(self.size), **own}
        if self.stored.done(**key):
            return
        outputs = {half: [self.output(name, half) for name in members] for half in HALVES}
        began = working_seconds()
        texts, scores = self._texts(str(own["condition"]), outputs, members, threads)
        seconds = {"all": working_seconds() - began}
        statistics = {}
        for half in HALVES:
            known = [(text,) for text in self.references[half]]
            statistics[half] = CORPUS_BLEU.corpus_statistics(texts[half], known, threads=1)
            errors = TER().corpus_statistics(texts[half], known, threads=1)
            scores |= {half: CORPUS_BLEU.score(statistics[half].sum(axis=0))}
            scores[f"{half} TER"] = TER().score(errors.sum(axis=0))
        scores |= {"systems": len(members), "novel bigrams": novel_bigrams(texts["test"], outputs["test"])}
        options = {"lines": self.lines, "rounds": self.size.rounds(ROUNDS), "held out": HELD_OUT}
        kept = {"test": statistics["test"]} if "group" in own else {}
        self.stored.add(key, data=self._files, scores=scores, seconds=seconds, statistics=kept, options=options)

    def _texts(
        self, condition: str, outputs: Mapping[str, Sequence[Lines]], members: Sequence[str], threads: int
    ) -> tuple[dict[str, Lines], dict[str, Any]]:
        """Texts of both halves: of the system that is best or worst on the first, of the MBR choice, or combined."""
        if condition in (BEST, WORST):
            known = [(text,) for text in self.references["tune"]]
            rows = [CORPUS_BLEU.corpus_statistics(text, known, threads=1).sum(axis=0) for text in outputs["tune"]]
            found = [CORPUS_BLEU.score(own) for own in rows]
            place = int(np.argmax(found) if condition == BEST else np.argmin(found))
            return {half: outputs[half][place] for half in HALVES}, {"system": members[place]}
        vocabulary = Vocabulary()
        settings = CONDITIONS.get(condition, PAPER)
        known = as_sentences(self.references["tune"], vocabulary)
        general = estimate_model([as_sentences(self.training_text, vocabulary)])
        models = dict.fromkeys(HALVES, general)
        if condition.endswith(BIASED):
            biased = {
                half: estimate_model([as_sentences([text for own in outputs[half] for text in own], vocabulary)])
                for half in HALVES
            }
            bias = likely_bias(general, biased["tune"], known)
            models = {half: add_bias(general, biased[half], bias) for half in HALVES}
        segments = {half: [list(own) for own in zip(*outputs[half], strict=True)] for half in HALVES}
        if condition == CHOICE:
            return {half: choice(segments[half], vocabulary, threads) for half in HALVES}, {}
        references, run = [[text] for text in self.references["tune"]], TuningRun(threads=threads)
        combiner = Combiner.tune(segments["tune"], references, members, vocabulary, models["tune"], settings, run=run)
        texts = {
            half: [list(one.words) for one in combiner.run(segments[half], model=models[half], threads=threads)]
            for half in HALVES
        }
        stages = (combiner.first, combiner.second)
        weights = {**combiner.second.weights.shares, **combiner.second.weights.features}
        evaluations = sum(stage.evaluations for stage in stages)
        return texts, {"weights": sum(value != 0.0 for value in weights.values()), "evaluations": evaluations}

    @cached_property
    def references(self) -> dict[str, Lines]:
        """The English side of both halves."""
        folder = next(iter(self.set.folders.values()))
        names = {"tune": self.set.tune, "test": self.set.test}
        return {half: read_lines(self._file(folder, names[half], "en"))[: self.size.sentences] for half in HALVES}

    @cached_property
    def training_text(self) -> Lines:
        """The English side of what the models are made of."""
        folder = next(iter(self.set.folders.values()))
        return read_lines(self._file(folder, "train", "en"))[: self.lines * len(PARTS)]

    @property
    def _files(self) -> list[Path]:
        return [
            self._file(folder, name, end)
            for language, folder in self.set.folders.items()
            for name in ("train", self.set.tune, self.set.test)
            for end in (language, "en")
        ]

    def _file(self, folder: str, name: str, language: str) -> Path:
        return self.folder / folder / f"{name}.{language}"

    def output(self, system: str, half: str) -> Lines:
        """What a system says, made once."""
        file = self.place / f"{file_name(system)}.{half}"
        if not file.exists():
            self._make(system)
        return read_lines(file)

    def _make(self, system: str) -> None:
        """Translate both halves."""
        language, number, way = system.split(" ", 2)
        how, folder = WAYS[way], self.set.folders[language]
        model = self._model(language, int(number))
        if "objective" in how:
            held_out = [read_lines(self._file(folder, "train", one))[-HELD_OUT:] for one in (language, "en")]
            sources, references = ([" ".join(words) for words in text] for text in held_out)
            rounds = self.size.rounds(ROUNDS)
            tuned = toledo.tune(model, sources, references, tokenized=True, rounds=rounds, threads=1, **how)
            how = {"weights": tuned.weights}
        for half, name in (("tune", self.set.tune), ("test", self.set.test)):
            lines = read_lines(self._file(folder, name, language))[: self.size.sentences]
            texts = model.translate([" ".join(words) for words in lines], tokenized=True, threads=1, **how)
            self._write(f"{system}.{half}", texts)

    def _write(self, name: str, texts: Sequence[str]) -> None:
        (self.place / file_name(name)).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")

    def _model(self, language: str, number: int) -> toledo.Model:
        """The model of a part of the training text, trained once."""
        place = self.place / f"model-{language}-{number}"
        if not place.exists():
            logging.warning("%s: training model %d of %s", self.name, number, language)
            part = slice((number - 1) * self.lines, number * self.lines)
            sides = [
                [" ".join(words) for words in read_lines(self._file(self.set.folders[language], "train", one))[part]]
                for one in (language, "en")
            ]
            toledo.train(*sides, tokenized=True, threads=1, output=place, **PARTS[number - 1])
        return toledo.Model.load(place)


def choice(segments: Sequence[Sequence[list[str]]], vocabulary: Vocabulary, threads: int) -> Lines:
    """For each segment the output that is closest to all others."""
    lattices = [join_networks([], distinct_hypotheses(own, vocabulary), (), vocabulary) for own in segments]
    return [vocabulary.words(one.words.tolist()) for one in consensus_choice(lattices, threads)]


def novel_bigrams(texts: Lines, outputs: Sequence[Lines]) -> int:
    """Bigrams of texts that no output for the segment has."""
    count = 0
    for text, own in zip(texts, zip(*outputs, strict=True), strict=True):
        known = {pair for output in own for pair in pairwise(output)}
        count += sum(pair not in known for pair in pairwise(text))
    return count


def tables(stored: Stored) -> dict[str, str]:
    """For each set a table of combinations, and the curve in numbers."""
    found = {}
    for name in SETS:
        runs = stored.find(set=name)
        size = size_shown(runs)
        own = [run for run in runs if run["key"]["size"] == size]
        for title, table in ((name, table_of_groups(own)), (f"{name} curve", table_of_numbers(own))):
            found[title] = table + caption(size) if table else ""
    return found


def table_of_groups(runs: Sequence[Run]) -> str:
    """The systems of each language, and all of them."""
    rows = []
    for group in dict.fromkeys(run["key"]["group"] for run in runs if "group" in run["key"]):
        own = {run["key"]["condition"]: [run] for run in runs if run["key"].get("group") == group}
        cells = differences(own, BEST, ["test"])
        for condition in (one for one in (WORST, BEST, CHOICE, *CONDITIONS) if one in own):
            (run,) = own[condition]
            scores = run["scores"]
            numbers = [f"{scores[name]:.2f}" for name in ("tune", "test", "test TER")]
            counts = [scores["novel bigrams"], scores.get("weights", ""), scores.get("evaluations", "")]
            label = f"{group}, {scores['systems']} systems"
            time = f"{run['seconds']['all']:.0f}" if condition in CONDITIONS else ""
            rows.append([label, condition, *numbers, *counts, cells[condition], time])
    titles = ["", "", "tune BLEU", "test BLEU", "TER", "novel bigrams", "weights", "evaluations"]
    return markdown([*titles, "minus best system", "p", "CPU s"], rows) if rows else ""


def table_gains(runs: Sequence[Run]) -> dict[str, dict[int, list[float]]]:
    """BLEU on the test minus that of the system that is best on the tuning set, by condition and number of systems."""
    best = {(run["key"]["systems"], run["key"]["seed"]): run["scores"]["test"] for run in _curve(runs, BEST)}
    found: dict[str, dict[int, list[float]]] = {}
    for condition in (CHOICE, *COMPARED):
        own = found.setdefault(condition, {})
        for run in _curve(runs, condition):
            number, seed = run["key"]["systems"], run["key"]["seed"]
            if (number, seed) in best:
                own.setdefault(number, []).append(run["scores"]["test"] - best[number, seed])
    return found


def _curve(runs: Sequence[Run], condition: str) -> list[Run]:
    return [run for run in runs if "systems" in run["key"] and run["key"]["condition"] == condition]


def table_of_numbers(runs: Sequence[Run]) -> str:
    """The gain by the number of systems: the mean over orders."""
    gains = table_gains(runs)
    numbers = sorted({number for own in gains.values() for number in own})
    rows = [
        [number, *(mean_text(own[number]) if number in own else "" for own in gains.values())] for number in numbers
    ]
    return markdown(["systems", *gains], rows) if rows else ""


def draw_curves(stored: Stored, directory: Path) -> None:
    """The gain by the number of systems, with the range of the orders."""
    for name in SETS:
        runs = stored.find(set=name)
        gains = table_gains([run for run in runs if run["key"]["size"] == size_shown(runs)])
        series = [
            Series(
                condition,
                [(number, float(np.mean(values))) for number, values in sorted(own.items())],
                [(number, min(values), max(values)) for number, values in sorted(own.items())],
            )
            for condition, own in gains.items()
            if own
        ]
        if series:
            axis = "BLEU minus best system"
            plot = Curves(series, "systems", axis, whole=True, logarithmic=True)
            save_figure([[(name, plot)]], directory / f"many-systems-{name}.svg")


if __name__ == "__main__":
    main()
