"""Tables 1 and 2 of Rosti, Zhang, Matsoukas and Schwartz (2011) on outputs of WMT22: what combination adds, and why.

    python experiments/combination.py ../shared/data
    python experiments/combination.py ../shared/data --table

The directory has `wmt22-syscomb`, and the English sides of three training sets for a general language model. All texts
are tokenized and lower-cased, with one reference. Weights are found on the half `tune`; `test` is only translated. Each
finished condition, choice and single system is a line of experiments/results/combination.jsonl, and what is there is
not done again. Nothing is random. Differences are to the system that is best *on the test*, which is known only with
hindsight, and to the choice among the outputs by MBR that is better on the half `tune`.
"""

from __future__ import annotations

import argparse
import logging
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from runs import Lines, Text, read_lines
from stored import CORPUS_BLEU, Stored, add_options, differences, markdown

from toledo.combination.combiner import Combiner
from toledo.combination.language_models import BiasedModels, add_bias, estimate_model, likely_bias, mix_components
from toledo.combination.lines import as_sentences
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuning import TuningRun
from toledo.compiled.kernels import working_seconds
from toledo.consensus.decide import Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.mbr import MBR
from toledo.consensus.rule import Rule
from toledo.forest.constructors import from_samples
from toledo.language_model.model import LanguageModel
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
    """Settings, whether the language model knows the outputs, and the rule that decides.

    With `bias_by="bleu"` in the settings, the weight of the biased model is that of the best BLEU on the tuning half.
    """

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
    "latExpBLEU + biased LM by BLEU": Condition(CombinationSettings(entropy=ENTROPY, bias_by="bleu")),
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
    parser.add_argument("--pairs", default=",".join(REFERENCES))
    parser.add_argument("--conditions", default=";".join(CONDITIONS), help="names with ; between them")
    parser.add_argument("--threads", type=int, default=1)
    add_options(parser)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    stored = Stored.of(__file__, options)
    for pair in options.pairs.split(","):
        bench = Bench(pair, options.directory, stored, options.threads)
        for name in (*(f"system {one}" for one in bench.systems), *CHOICES, *options.conditions.split(";")):
            if not stored.done(pair=pair, condition=name):
                bench.run(name)
    if not options.stale:
        print("\n".join(f"{name}\n\n{table}" for name, table in tables(stored).items()))


class Bench:
    """One pair: the systems, their outputs, and the references of both halves."""

    def __init__(self, name: str, data: Path, stored: Stored, threads: int) -> None:
        self.name, self.data, self.stored, self.threads = name, data, stored, threads
        self.folder = data / "wmt22-syscomb" / name
        self.systems = [file.name.split(".")[1] for file in sorted((self.folder / "tune").glob("sys.*.en"))]
        self.vocabulary = Vocabulary()

    @cached_property
    def outputs(self) -> dict[str, list[Lines]]:
        """The outputs of all systems for each half."""
        return {half: self._outputs(half) for half in HALVES}

    @cached_property
    def texts(self) -> dict[str, Text]:
        """Both halves."""
        return {half: self._text(half) for half in HALVES}

    @property
    def files(self) -> list[Path]:
        """What results depend on."""
        return [
            *(self.data / folder / "train.en" for folder in GENERAL),
            *(file for half in HALVES for file in (self.folder / half).glob("sys.*.en")),
            *(self.folder / half / f"ref.{REFERENCES[self.name]}.en" for half in HALVES),
        ]

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
        """One condition, choice or single system."""
        scores: dict[str, object] = {}
        began = working_seconds()
        if name in CONDITIONS:
            combiner, bias = self._tuned(CONDITIONS[name])
            weights = combiner.second.weights
            scores |= {"bias": bias, "shares": dict(weights.shares), "weights": dict(weights.features)}
        tuned = working_seconds()
        if name in CONDITIONS:
            texts = {half: self._combined(combiner, CONDITIONS[name].rule, half, bias) for half in HALVES}
        elif name in CHOICES:
            texts = {half: self.choice(CHOICES[name], half) for half in HALVES}
        else:
            place = self.systems.index(name.removeprefix("system "))
            texts = {half: self.outputs[half][place] for half in HALVES}
        seconds = {"tuning": tuned - began, "translating both halves": working_seconds() - tuned}
        statistics = {}
        for half, words in texts.items():
            references = self.texts[half].references
            statistics[half] = self.texts[half].statistics(words)
            errors = TER().corpus_statistics(words, references, threads=1).sum(axis=0)
            scores |= {half: CORPUS_BLEU.score(statistics[half].sum(axis=0)), f"{half} TER": TER().score(errors)}
        scores["novel bigrams"] = self.novel_bigrams(texts["test"], "test")
        key = {"pair": self.name, "condition": name}
        self.stored.add(key, data=self.files, seconds=seconds, scores=scores, statistics=statistics)

    def _tuned(self, condition: Condition) -> tuple[Combiner, float]:
        model: LanguageModel | BiasedModels
        if condition.settings.bias_by == "bleu":
            bias, model = None, BiasedModels(self.general, self._of_outputs("tune"))
        else:
            bias = self.bias if condition.biased else 0.0
            model = self.model("tune", bias)
        combiner = Combiner.tune(
            self.segments("tune"), self.texts["tune"].references, self.systems, self.vocabulary,
            model, replace(condition.settings, bias=bias), run=TuningRun(threads=self.threads),
        )  # fmt: skip
        return combiner, combiner.settings.bias or 0.0

    def _combined(self, combiner: Combiner, rule: Rule, half: str, bias: float) -> Lines:
        found = combiner.run(self.segments(half), rule, model=self.model(half, bias), threads=self.threads)
        return [list(one.words) for one in found]

    def choice(self, rule: MBR, half: str) -> Lines:
        """For each segment the output that is closest to all others."""
        vocabulary = Vocabulary()
        forests = [from_samples([text for text in own if text], vocabulary) for own in self.segments(half)]
        return [vocabulary.words(one.words.tolist()) for one in decide(rule, forests, {}, threads=self.threads)]

    def novel_bigrams(self, texts: Lines, half: str) -> int:
        """Bigrams of texts that no output for the segment has."""
        count = 0
        for text, own in zip(texts, self.segments(half), strict=True):
            known = {pair for output in own for pair in pairwise(output)}
            count += sum(pair not in known for pair in pairwise(text))
        return count


def tables(stored: Stored) -> dict[str, str]:
    """One for each pair: BLEU and TER of both halves, novel bigrams, and two comparisons on the test."""
    found = dict.fromkeys(REFERENCES, "")
    for pair in REFERENCES:
        runs = {run["key"]["condition"]: [run] for run in stored.find(pair=pair)}
        bleu = {half: {name: run["scores"][half] for name, (run,) in runs.items()} for half in HALVES}
        systems = [name for name in runs if name.startswith("system ")]
        if not systems or not CHOICES.keys() <= runs.keys():
            continue
        best = max(systems, key=bleu["test"].__getitem__)
        chosen = max(CHOICES, key=bleu["tune"].__getitem__)
        worst = min(systems, key=bleu["test"].__getitem__)
        wanted = dict.fromkeys((worst, max(systems, key=bleu["tune"].__getitem__), best, *CHOICES, *CONDITIONS))
        groups = {name: runs[name] for name in wanted if name in runs}
        cells = [differences(groups, base, ["test"]) for base in (best, chosen)]
        rows = []
        for name, (run,) in groups.items():
            scores, seconds = run["scores"], run["seconds"].values()
            numbers = [f"{scores[one]:.2f}" for one in ("tune", "tune TER", "test", "test TER")]
            time = " + ".join(f"{one:.0f}" for one in seconds) if name in CONDITIONS else ""
            rows.append([name, *numbers, scores["novel bigrams"], *(own[name] for own in cells), time])
        titles = ["", "tune BLEU", "TER", "test BLEU", "TER", "novel bigrams"]
        titles += [f"minus {best}", "p", f"minus {chosen}", "p", "CPU s"]
        found[pair] = markdown(titles, rows)
    return found


if __name__ == "__main__":
    main()
