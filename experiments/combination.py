"""Tables 1 and 2 of Rosti, Zhang, Matsoukas and Schwartz (2011) on outputs of WMT22: what combination adds, and why.

    python experiments/combination.py ../shared/data
    python experiments/combination.py ../shared/data --table

The directory has `wmt22-syscomb`, and the English sides of three training sets for a general language model. All texts
are tokenized and lower-cased, with one reference. Weights are found on the half `tune`; `test` is only translated. Each
finished condition, choice and single system is a line of experiments/results/combination.jsonl, and what is there is
not done again. Nothing is random. Differences are to the system that is best *on the test*, which is known only with
hindsight, and to the choice among the outputs by MBR that is better on the half `tune`.

Synonyms are a list made of the training texts, English words that often translate the same German word, or WordNet's
files, if they are in the folder `--wordnet`.

Designs are for what `toledo combine tune` does by default, without a general language model: German is tuned on either
half and either reference, and scored with either and with both, so that it shows what is learned from one reference
alone.
"""

from __future__ import annotations

import argparse
import logging
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

import numpy as np
from differences import signed
from runs import Lines, Text, read_lines
from stored import CORPUS_BLEU, Stored, add_options, differences, markdown

import toledo
from toledo.combination.combiner import Combiner
from toledo.combination.language_models import BiasedModels, add_bias, estimate_model, likely_bias, mix_components
from toledo.combination.lines import as_sentences
from toledo.combination.selection import CHOICE
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuning import TuningRun
from toledo.compiled.kernels import working_seconds
from toledo.consensus.decide import Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.mbr import MBR
from toledo.consensus.rule import Rule
from toledo.forest.constructors import from_samples
from toledo.language_model.model import LanguageModel
from toledo.metrics.chrf import CHRF
from toledo.metrics.ter import TER
from toledo.text.corpus import Sentences, read_sentences
from toledo.text.vocabulary import Vocabulary

HALVES = ("tune", "test")
PARALLEL = ("multi30k-de-en", "bible-de-en")
FEWEST_LINKS, LEAST_SHARE = 5, 0.15  # of words that count as synonyms
GENERAL = ("multi30k-de-en", "bible-de-en", "tanaka-ja-en")
REFERENCES = {"de-en": "A", "cs-en": "C", "ru-en": "A", "ja-en": "A"}
MORE = ("novel.bigram", "novel.trigram", "novel.fourgram", "support.1", "support.2", "support.3", "support.4")
CHOICES = {"MBR choice, BLEU": MBR("bleu"), "MBR choice, chrF": MBR("chrf")}


@dataclass(frozen=True)
class Condition:
    """Settings, whether the language model knows the outputs, the rule that decides, and synonyms.

    With `bias_by="bleu"` in the settings, the weight of the biased model is that of the best BLEU on the tuning half.
    """

    settings: CombinationSettings
    biased: bool = True
    rule: Rule = Viterbi()  # noqa: RUF009 (frozen)
    synonyms: Literal["list", "WordNet"] | None = None


PAPER = CombinationSettings(entropy=(3.0,), skeletons=None, length="reference", rule="viterbi", folds=0)
CONDITIONS = {
    "latBLEU": Condition(replace(PAPER, objective="lattice-bleu"), biased=False),
    "nbExpBLEU": Condition(replace(PAPER, objective="list-expected-bleu"), biased=False),
    "latExpBLEU": Condition(PAPER, biased=False),
    "latExpBLEU − novel bigram": Condition(replace(PAPER, features=()), biased=False),
    "latExpBLEU + biased LM": Condition(PAPER),
    "latExpBLEU + biased LM by BLEU": Condition(replace(PAPER, bias_by="bleu")),
    "latExpBLEU + biased LM − novel bigram": Condition(replace(PAPER, features=())),
    "latExpBLEU + biased LM + list of synonyms": Condition(PAPER, synonyms="list"),
    "latExpBLEU + biased LM + WordNet": Condition(PAPER, synonyms="WordNet"),
    "latExpBLEU + biased LM + support": Condition(replace(PAPER, features=MORE)),
    "latExpBLEU + biased LM + support, consensus": Condition(replace(PAPER, features=MORE), rule=Consensus(size=100)),
}


class Design(NamedTuple):
    """What is tuned on: a pair, its references, and a half; the other half is the test."""

    pair: str
    references: str
    half: str = "tune"

    @property
    def name(self) -> str:
        """For keys and tables."""
        return f"{self.pair}, {' and '.join(self.references)}, {self.half}"

    @property
    def test(self) -> str:
        """The other half."""
        return HALVES[1 - HALVES.index(self.half)]

    @property
    def scored_with(self) -> tuple[str, ...]:
        """Sets of references."""
        return ("A", "B", "AB") if self.pair == "de-en" else (self.references,)


DESIGNS = (
    *(Design("de-en", references, half) for half in HALVES for references in "AB"),
    *(Design(pair, REFERENCES[pair]) for pair in ("ru-en", "ja-en", "cs-en")),
)
DEFAULT, BEST = "default", "best system"
TUNED = {  # settings of what is tuned in a design; the others are scored as they are
    DEFAULT: CombinationSettings(bias=1.0),
    "length of the reference, best path": replace(PAPER, bias=1.0),
}
METRICS = {"BLEU": CORPUS_BLEU, "chrF": CHRF(), "TER": TER()}


def main() -> None:
    """Do what is not there yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--pairs", default=",".join(REFERENCES))
    parser.add_argument("--conditions", default=";".join(CONDITIONS), help="names with ; between them")
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--designs", default=";".join(one.name for one in DESIGNS), help="names with ; between them")
    parser.add_argument("--ways", default=";".join((BEST, CHOICE, *TUNED)), help="rows of designs")
    parser.add_argument("--threads", type=int, default=1)
    add_options(parser)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    stored = Stored.of(__file__, options)
    for pair in filter(None, options.pairs.split(",")):
        bench = Bench(pair, options.directory, stored, options.threads, options.wordnet)
        for name in (*(f"system {one}" for one in bench.systems), *CHOICES, *options.conditions.split(";")):
            if not stored.done(pair=pair, condition=name):
                bench.run(name)
    for design in (one for one in DESIGNS if one.name in options.designs.split(";")):
        bench = Bench(design.pair, options.directory, stored, options.threads)
        for way in options.ways.split(";"):
            if not stored.done(design=design.name, way=way):
                bench.run_design(design, way)
    if not options.stale:
        print("\n".join(f"{name}\n\n{table}" for name, table in tables(stored).items()))


class Bench:
    """One pair: the systems, their outputs, and the references of both halves."""

    def __init__(self, name: str, data: Path, stored: Stored, threads: int, wordnet: Path = Path()) -> None:
        self.name, self.data, self.stored, self.threads, self.wordnet = name, data, stored, threads, wordnet
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
        with TemporaryDirectory() as folder:
            synonyms = self._synonyms(condition, Path(folder))
            combiner = Combiner.tune(
                self.segments("tune"), self.texts["tune"].references, self.systems, self.vocabulary,
                model, replace(condition.settings, bias=bias, synonyms=synonyms), run=TuningRun(threads=self.threads),
            )  # fmt: skip
        return combiner, combiner.settings.bias or 0.0

    def _synonyms(self, condition: Condition, folder: Path) -> str | None:
        """Where they are."""
        if condition.synonyms != "list":
            return str(self.wordnet) if condition.synonyms else None
        sets = [own for name in PARALLEL for own in synonyms_of(*(self._training(name, end) for end in ("de", "en")))]
        (folder / "synonyms.txt").write_text("".join(f"{' '.join(own)}\n" for own in sets), encoding="utf-8")
        return str(folder / "synonyms.txt")

    def _training(self, name: str, end: str) -> list[str]:
        return (self.data / name / f"train.{end}").read_text(encoding="utf-8").splitlines()

    def _combined(self, combiner: Combiner, rule: Rule, half: str, bias: float) -> Lines:
        found = combiner.run(self.segments(half), rule, model=self.model(half, bias), threads=self.threads)
        return [list(one.words) for one in found]

    def choice(self, rule: MBR, half: str) -> Lines:
        """For each segment the output that is closest to all others."""
        vocabulary = Vocabulary()
        forests = [from_samples([text for text in own if text], vocabulary) for own in self.segments(half)]
        return [vocabulary.words(one.words.tolist()) for one in decide(rule, forests, {}, threads=self.threads)]

    def run_design(self, design: Design, way: str) -> None:
        """One row of a design: the system that is best on the half tuned on, the MBR choice, or a combination."""
        began, scores = working_seconds(), {}
        if way in TUNED:
            combiner = self._tuned_by_command(design, TUNED[way])
            scores |= {"chosen": combiner.report.chosen, "values": dict(combiner.report.values)}
        tuned = working_seconds()
        if way in TUNED:
            model = self._of_outputs(design.test)
            found = combiner.run(self.segments(design.test), model=model, threads=self.threads)
            texts = [list(one.words) for one in found]
        elif way == CHOICE:
            texts = self.choice(CHOICES["MBR choice, BLEU"], design.test)
        else:
            texts = self.outputs[design.test][self._best(design)]
        seconds = {"tuning": tuned - began, "combining": working_seconds() - tuned}
        statistics, files = {}, [*(self.folder / half / "docids" for half in HALVES)]
        for references in design.scored_with:
            known = self.references(design.test, references)
            for name, metric in METRICS.items():
                rows = metric.corpus_statistics(texts, known, threads=1)
                scores[references if name == "BLEU" else f"{references} {name}"] = metric.score(rows.sum(axis=0))
                if name == "BLEU":
                    statistics[references] = rows
                    scores[f"{references} length"] = float(rows[:, 0].sum() / rows[:, 1].sum())
            files += [self.folder / half / f"ref.{one}.en" for half in HALVES for one in references]
        files += [file for half in HALVES for file in (self.folder / half).glob("sys.*.en")]
        key = {"design": design.name, "way": way}
        self.stored.add(key, data=dict.fromkeys(files), seconds=seconds, scores=scores, statistics=statistics)

    def _tuned_by_command(self, design: Design, settings: CombinationSettings) -> Combiner:
        documents = (self.folder / design.half / "docids").read_text(encoding="utf-8").splitlines()
        known = self.references(design.half, design.references)
        model, run = self._of_outputs(design.half), TuningRun(threads=self.threads, documents=documents)
        return Combiner.tune(
            self.segments(design.half), known, self.systems, self.vocabulary, model, settings, run=run
        )  # fmt: skip

    def _best(self, design: Design) -> int:
        known = self.references(design.half, design.references)
        rows = [CORPUS_BLEU.corpus_statistics(one, known, threads=1) for one in self.outputs[design.half]]
        return int(np.argmax([CORPUS_BLEU.score(one.sum(axis=0)) for one in rows]))

    def references(self, half: str, names: str) -> list[tuple[list[str], ...]]:
        """The references of each segment of a half."""
        files = [self.folder / half / f"ref.{name}.en" for name in names]
        return list(zip(*map(read_lines, files), strict=True))

    def novel_bigrams(self, texts: Lines, half: str) -> int:
        """Bigrams of texts that no output for the segment has."""
        count = 0
        for text, own in zip(texts, self.segments(half), strict=True):
            known = {pair for output in own for pair in pairwise(output)}
            count += sum(pair not in known for pair in pairwise(text))
        return count


def synonyms_of(sources: list[str], targets: list[str]) -> list[list[str]]:
    """English words that are linked to the same German word often, both seen from it and from them."""
    links: Counter[tuple[str, str]] = Counter()
    found = toledo.align(sources, targets, aligner="ibm1", threads=1)
    for source, target, own in zip(sources, targets, found, strict=True):
        words, others = source.split(), target.split()
        links.update((words[i], others[j]) for i, j in own)
    of_source, of_target = Counter[str](), Counter[str]()
    for (source, target), count in links.items():
        of_source[source] += count
        of_target[target] += count
    sets = defaultdict(list)
    for (source, target), count in links.items():
        often = count >= FEWEST_LINKS and count >= LEAST_SHARE * max(of_source[source], of_target[target])
        if often and target.isalpha():
            sets[source].append(target)
    return [own for own in sets.values() if len(own) > 1]


def tables(stored: Stored) -> dict[str, str]:
    """Those of pairs, and one of designs."""
    return {**pair_tables(stored), "designs": design_table(stored)}


def design_table(stored: Stored) -> str:
    """What each design has more than the MBR choice on the half that is not tuned on."""
    rows = []
    for design in DESIGNS:
        runs = {run["key"]["way"]: [run] for run in stored.find(design=design.name)}
        for references in design.scored_with if CHOICE in runs else ():
            cells = differences(runs, CHOICE, [references])
            (base,) = runs[CHOICE]
            for way in (one for one in (BEST, CHOICE, *TUNED) if one in runs):
                scores = runs[way][0]["scores"]
                names = [references, f"{references} chrF", f"{references} TER"]
                shown = [f"{scores[name]:.2f}" for name in names]
                more = ["–" if way == CHOICE else signed(scores[name] - base["scores"][name]) for name in names[1:]]
                label = f"{way}: {scores['chosen']}" if way == DEFAULT else way
                seconds = runs[way][0]["seconds"]
                time = f"{seconds['tuning']:.0f} + {seconds['combining']:.0f}" if way in TUNED else ""
                length = f"{scores[f'{references} length']:.3f}"
                rows.append([design.name, " and ".join(references), label, *shown, length, cells[way], *more, time])
    titles = ["tuned on", "scored with", "", "BLEU", "chrF", "TER", "length"]
    return markdown([*titles, "BLEU minus MBR choice", "p", "chrF", "TER", "CPU s"], rows)


def pair_tables(stored: Stored) -> dict[str, str]:
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
