"""Tables 1 and 2 of Rosti, Zhang, Matsoukas and Schwartz (2011) on outputs of WMT22: what combination adds, and why.

    python experiments/combination.py ../shared/data --work combination
    python experiments/combination.py ../shared/data --work combination --table

The directory has `wmt22-syscomb`, and the English sides of three training sets for a general language model. All texts
are tokenized and lower-cased, with one reference. Weights are found on the half `tune`; `test` is only translated. Each
finished condition is a line of WORK/PAIR/runs.jsonl beside its outputs, and what is there is not done again. p is that
of a paired bootstrap over segments (10,000 samples): against the system that is best *on the test*, and against the
better one of two choices among the outputs by MBR.
"""

from __future__ import annotations

import argparse
import logging
import time
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from runs import Lines, Run, Runs, Text, compare, file_name, read_lines

from toledo.combination.combiner import Combiner
from toledo.combination.language_models import add_bias, estimate_model, likely_bias, mix_components
from toledo.combination.lines import as_sentences
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuning import TuningRun
from toledo.consensus.decide import Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.mbr import MBR
from toledo.consensus.rule import Rule
from toledo.forest.constructors import from_samples
from toledo.language_model.model import LanguageModel
from toledo.metrics.bleu import BLEU
from toledo.metrics.ter import TER
from toledo.text.corpus import Sentences, read_sentences
from toledo.text.vocabulary import Vocabulary

HALVES = ("tune", "test")
GENERAL = ("multi30k-de-en", "bible-de-en", "tanaka-ja-en")
REFERENCES = {"de-en": "A", "cs-en": "C", "ru-en": "A", "ja-en": "A"}
MORE = ("novel.bigram", "novel.trigram", "novel.fourgram", "support.1", "support.2", "support.3", "support.4")
CHOICES = {"MBR choice, BLEU": MBR("bleu"), "MBR choice, chrF": MBR("chrf")}


@dataclass(frozen=True)
class Condition:
    """Settings, whether the language model knows the outputs, and the rule that decides."""

    settings: CombinationSettings
    biased: bool = True
    rule: Rule = Viterbi()  # noqa: RUF009 (frozen)


ENTROPY = (3.0,)
CONDITIONS = {
    "latBLEU": Condition(CombinationSettings(entropy=ENTROPY, objective="lattice-bleu"), biased=False),
    "nbExpBLEU": Condition(CombinationSettings(entropy=ENTROPY, objective="list-expected-bleu"), biased=False),
    "latExpBLEU": Condition(CombinationSettings(entropy=ENTROPY), biased=False),
    "latExpBLEU − novel bigram": Condition(CombinationSettings(entropy=ENTROPY, features=()), biased=False),
    "latExpBLEU + biased LM": Condition(CombinationSettings(entropy=ENTROPY)),
    "latExpBLEU + biased LM − novel bigram": Condition(CombinationSettings(entropy=ENTROPY, features=())),
    "latExpBLEU + biased LM + support": Condition(CombinationSettings(entropy=ENTROPY, features=MORE)),
    "latExpBLEU + biased LM + support, consensus": Condition(
        CombinationSettings(entropy=ENTROPY, features=MORE), rule=Consensus(size=100)
    ),
}


def main() -> None:
    """Do what is not there yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--work", type=Path, default=Path("combination"))
    parser.add_argument("--pairs", default=",".join(REFERENCES))
    parser.add_argument("--conditions", default=";".join(CONDITIONS), help="names with ; between them")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="only print the tables")
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    benches = [Bench(name, options.directory, options.work, options.threads) for name in options.pairs.split(",")]
    for bench in benches:
        if not options.table:
            for name in options.conditions.split(";"):
                bench.run(name)
        print_table(bench)
        print_weights(bench)


class Bench:
    """One pair: the systems, their outputs, and the references of both halves."""

    def __init__(self, name: str, data: Path, work: Path, threads: int) -> None:
        self.name, self.data, self.threads = name, data, threads
        self.folder = data / "wmt22-syscomb" / name
        self.systems = [file.name.split(".")[1] for file in sorted((self.folder / "tune").glob("sys.*.en"))]
        self.outputs = {half: self._outputs(half) for half in HALVES}
        self.texts = {half: self._text(half) for half in HALVES}
        self.runs = Runs(work / name, ("condition",))
        self.vocabulary = Vocabulary()

    def _outputs(self, half: str) -> list[Lines]:
        return [read_lines(self.folder / half / f"sys.{system}.en") for system in self.systems]

    def _text(self, half: str) -> Text:
        folder, number = self.folder / half, REFERENCES[self.name]
        return Text.read(folder / f"src.{self.name[:2]}", [folder / f"ref.{number}.en"])

    def segments(self, half: str) -> list[list[list[str]]]:
        """For each segment the output of each system."""
        return [list(own) for own in zip(*self.outputs[half], strict=True)]

    @cached_property
    def general(self) -> LanguageModel:
        """A mixture for the references of the tuning set."""
        files = [self.data / folder / "train.en" for folder in GENERAL]
        models = [estimate_model([read_sentences(file, self.vocabulary)]) for file in files]
        return mix_components(models, self._references)

    @cached_property
    def _references(self) -> Sentences:
        return as_sentences([own[0] for own in self.texts["tune"].references], self.vocabulary)

    def model(self, half: str, bias: float) -> LanguageModel:
        """The general model, mixed with one of the outputs of a half."""
        return add_bias(self.general, self._of_outputs(half), bias) if bias else self.general

    def _of_outputs(self, half: str) -> LanguageModel:
        return estimate_model([as_sentences([text for own in self.outputs[half] for text in own], self.vocabulary)])

    @cached_property
    def bias(self) -> float:
        """The weight of the biased model with the lowest perplexity on the references of the tuning set."""
        return likely_bias(self.general, self._of_outputs("tune"), self._references)

    def run(self, name: str) -> None:
        """One condition, unless it is there."""
        if (name,) in self.runs.all():
            return
        condition, began = CONDITIONS[name], time.process_time()
        bias = self.bias if condition.biased else 0.0
        settings = replace(condition.settings, bias=bias)
        references = self.texts["tune"].references
        combiner = Combiner.tune(
            self.segments("tune"), references, self.systems, self.vocabulary, self.model("tune", bias), settings,
            run=TuningRun(threads=self.threads),
        )  # fmt: skip
        tuned = time.process_time()
        for half in HALVES:
            model = self.model(half, bias)
            found = combiner.run(self.segments(half), condition.rule, model=model, threads=self.threads)
            self.runs.write_text(f"{name}.{half}", [one.words for one in found])
        weights = combiner.second.weights
        run: Run = {"condition": name, "bias": bias, "shares": dict(weights.shares), "weights": dict(weights.features)}
        run |= {"scale": combiner.second.scale, "tuning": tuned - began, "running": time.process_time() - tuned}
        self.runs.add(run)

    def single(self, half: str) -> dict[str, float]:
        """BLEU of each system."""
        text = self.texts[half]
        outputs = zip(self.systems, self.outputs[half], strict=True)
        return {
            system: BLEU(smooth_method="none").score(text.statistics(lines).sum(axis=0)) for system, lines in outputs
        }

    def choice(self, rule: MBR, half: str) -> Lines:
        """For each segment the output that is closest to all others."""
        vocabulary = Vocabulary()
        forests = [from_samples([text for text in own if text], vocabulary) for own in self.segments(half)]
        return [vocabulary.words(one.words.tolist()) for one in decide(rule, forests, {}, threads=self.threads)]

    def alike(self, half: str) -> float:
        """BLEU of an output against another one, in the median of all pairs of systems."""
        texts = [[[line] for line in lines] for lines in self.outputs[half]]
        pairs = permutations(range(len(texts)), 2)
        metric = BLEU(smooth_method="none")
        found = [metric.corpus_statistics(self.outputs[half][a], texts[b]).sum(axis=0) for a, b in pairs]
        return float(np.median([metric.score(statistics) for statistics in found]))

    def within_reach(self, half: str) -> float:
        """BLEU of the outputs with the highest BLEU of each segment (with 1 added to counts)."""
        rows = np.array([self.texts[half].statistics(lines) for lines in self.outputs[half]])
        metric = BLEU(smooth_method="add-k", effective_order=True)
        best = np.argmax([metric.scores(some) for some in rows], axis=0)
        return BLEU(smooth_method="none").score(rows[best, np.arange(best.size)].sum(axis=0))

    def novel_bigrams(self, texts: Lines, half: str) -> int:
        """Bigrams of texts that no output for the segment has."""
        count = 0
        for text, own in zip(texts, self.segments(half), strict=True):
            known = {pair for output in own for pair in pairwise(output)}
            count += sum(pair not in known for pair in pairwise(text))
        return count


def print_table(bench: Bench) -> None:
    """Table 1 and 2: BLEU and TER of both halves, novel bigrams and p on the test."""
    scores = {half: bench.single(half) for half in HALVES}
    best, worst = (pick(scores["tune"], key=scores["tune"].__getitem__) for pick in (max, min))
    top = max(scores["test"], key=scores["test"].__getitem__)
    rows: dict[str, dict[str, Lines]] = {
        f"{label}, {system}": dict(
            zip(HALVES, (bench.outputs[half][bench.systems.index(system)] for half in HALVES), strict=True)
        )
        for label, system in (("worst", worst), ("best on tune", best), ("best on test", top))
    }
    rows |= {name: {half: bench.choice(rule, half) for half in HALVES} for name, rule in CHOICES.items()}
    runs = bench.runs.all()
    for (name,) in runs:
        rows[name] = {half: read_lines(bench.runs.work / file_name(f"{name}.{half}")) for half in HALVES}
    statistics = {name: bench.texts["test"].statistics(texts["test"]) for name, texts in rows.items()}
    single = statistics[f"best on test, {top}"]
    chosen = max(
        (statistics[name] for name in CHOICES), key=lambda one: BLEU(smooth_method="none").score(one.sum(axis=0))
    )
    alike, reach = bench.alike("test"), bench.within_reach("test")
    print(f"\n{bench.name}, {len(bench.systems)} systems; two have {alike:.0f} BLEU against each other in the median,")
    print(f"and the best output of each segment would have {reach:.1f} on the test\n")
    print("| | tune BLEU | TER | test BLEU | TER | novel bigrams | p, best system | p, MBR choice | CPU s |")
    print("|" + "---|" * 9)
    for name, texts in rows.items():
        cells = [f"{value:.2f}" for half in HALVES for value in scores_of(bench.texts[half], texts[half])]
        novel = bench.novel_bigrams(texts["test"], "test")
        run = runs.get((name,))
        seconds = f"{run['tuning']:.0f} + {run['running']:.0f}" if run else ""
        tests = [compare(statistics[name], base) for base in (single, chosen)]
        print(f"| {name} | {' | '.join(cells)} | {novel} | {' | '.join(tests)} | {seconds} |", flush=True)


def print_weights(bench: Bench) -> None:
    """What the systems and features weigh in each condition."""
    runs = bench.runs.all()
    if not runs:
        return
    features = list(dict.fromkeys(name for run in runs.values() for name, weight in run["weights"].items() if weight))
    print(f"\n{bench.name}, shares of systems and weights of features\n")
    print(f"| | {' | '.join(name for (name,) in runs)} |\n|" + "---|" * (1 + len(runs)))
    rows = [(name, "shares") for name in bench.systems] + [(name, "weights") for name in features]
    for name, kind in rows:
        print(f"| {name} | {' | '.join(f'{run[kind].get(name, 0.0):.3g}' for run in runs.values())} |")
    biases = [f"{run['bias']:g}" for run in runs.values()]
    print(f"| weight of the biased LM | {' | '.join(biases)} |")


def scores_of(text: Text, translations: Lines) -> tuple[float, float]:
    """BLEU and TER."""
    errors: NDArray[np.float64] = TER().corpus_statistics(translations, text.references, threads=1)
    return BLEU(smooth_method="none").score(text.statistics(translations).sum(axis=0)), TER().score(errors.sum(axis=0))


if __name__ == "__main__":
    main()
