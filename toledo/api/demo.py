"""Everything that the package does, on the example data, in a few minutes."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from toledo.api.align import Alignments, align
from toledo.api.combination import Combination
from toledo.api.evaluate import compare, evaluate
from toledo.api.model import Model
from toledo.api.refine import refine
from toledo.api.report import SECONDS
from toledo.api.train import train
from toledo.api.tune import tune
from toledo.api.tune_rule import tune_rule
from toledo.combination.pictures import segment_cards, weight_cards
from toledo.compiled.kernels import working_seconds
from toledo.consensus.scale import scales_for
from toledo.errors import InputError
from toledo.files import write_lines
from toledo.forest.assemble import prune_by_posterior, prune_to_density
from toledo.forest.drawing import to_drawing
from toledo.forest.forest import Forest
from toledo.forest.inside_outside import distribution
from toledo.progress import Progress, silent
from toledo.refinement.settings import RefineSettings
from toledo.reports.demo import DrawnForest, Findings, Tour, alignment_quality, demo_page
from toledo.reports.documents import courses_of
from toledo.reports.posteriors import Example, shaded
from toledo.reports.scores import ScoreTable, score_table
from toledo.runs.checkpoint import write_json
from toledo.runs.history import History
from toledo.sample.corpus import ExampleData, example_data
from toledo.search.document.translation import DocumentTranslation
from toledo.search.gibbs.search import default_scale
from toledo.view.markup import Markup
from toledo.view.page import Page

log = logging.getLogger("toledo.demo")

MOST_LINES, ROUNDS, EXAMPLES, SMALLEST = 200, 3, 3, 100
SEARCH = "beam:pop_limit=100"
WITH_SIZE = ("max-translation", "mbr", "consensus", "forest-consensus")
RULES = ("viterbi", *(f"{name}:size=100" for name in WITH_SIZE), "lattice-mbr")
SAMPLER = "gibbs:chains=1,iterations=500,burn_in=50"
SAMPLED = "sampled MBR"
JUDGED, SOME = 100, slice(3, None, 3)  # segments that choose the scale of a rule, and a few of all scales
SYSTEMS = 3
SHORT = range(6, 10)  # words of a sentence whose network or forest is small enough to look at
CONSISTENCY, COOLING, STEPS = 20.0, "annealing:start=0.3,end=0.02", 50_000
REFINING = RefineSettings(
    "phrase", folds=2, nbest=30, search="beam:pop_limit=30", objective="mert", tune_every=0, keep_weights=True
)
SHOWN_EDGES, SHOWN_POSTERIOR = 5.0, 0.05  # of the drawn forest: edges per word, and the smallest posterior


def demo(output: str | Path = "demo", *, size: int = 10_000, seed: int = 1) -> Page:
    """Run every part of Toledo on the example data: train, tune, decide, combine, translate documents, refine.

    `size` is the number of sentence pairs to train on. All files, and `report.html`, are written to `output`.
    """
    return demo_page(run_demo(output, size, seed))


def run_demo(
    output: str | Path,
    size: int,
    seed: int,
    *,
    threads: int | None = None,
    progress: Progress = silent,
    trained: Callable[[], None] = lambda: None,
) -> Tour:
    """Run all steps, write the report, and return what was found; `trained` is called after the first model."""
    if size < SMALLEST:
        raise InputError(f"`size` is {size}, expected an int of at least {SMALLEST}", argument="size")
    lines = min(MOST_LINES, size // 5)
    steps = _Steps(Path(output), example_data(train=size, tune=lines, test=lines, seed=seed), threads, progress)
    tour = steps.run(trained)
    demo_page(tour).save(steps.output / "report.html")
    return tour


class _Steps:
    """The steps of the demo: each writes files, logs scores, and adds systems to compare."""

    def __init__(self, output: Path, data: ExampleData, threads: int | None, progress: Progress) -> None:
        self.output, self.data, self.threads, self.progress = output, data, threads, progress
        self.common: dict[str, Any] = {"threads": threads, "progress": progress}
        self.dev = data.tune.sources, data.tune.references
        self.systems: dict[str, list[str]] = {}
        self.seconds: dict[str, float] = {}

    def run(self, trained: Callable[[], None]) -> Tour:
        output = self.output
        log.info("1. A parallel corpus: %s", output / "sample")
        self.data.save(output / "sample", self.progress)
        log.info("2. Word alignment, phrase table, language model: %s", output / "model")
        model, alignments = self.train()
        trained()
        log.info("3. Weights by MERT: %s", output / "mert")
        tuned, mert = self.tune("mert", "MERT")
        log.info("4. Weights by CoBLEU: %s", output / "cobleu")
        _, cobleu = self.tune("cobleu", "CoBLEU")
        log.info("5. Decision rules, with the weights of MERT: %s", output / "rules")
        chosen = self.decide(tuned)
        log.info("6. Three systems, and their combination: %s", output / "combination")
        network = self.combine(tuned)
        log.info("7. Whole documents: %s", output / "documents")
        courses = courses_of(self.documents(tuned))
        log.info("8. The phrase table trained for expected BLEU: %s", output / "refined")
        refinement = self.refine(alignments)
        log.info("9. The report: %s", output / "report.html")
        quality = alignment_quality(alignments.pharaoh_lines(), self.data.train.alignments)
        return Tour(
            Findings(model.phrase_model, quality, self.data),
            self.compare(self.systems, "scores.json"),
            {"MERT": mert, "CoBLEU": cobleu},
            self.compare({name: self.systems[f"decide, {name}"] for name in chosen}, "rules/scores.json", "decide, "),
            *self.pictures(tuned, chosen),
            network,
            courses,
            refinement,
        )

    def note(self, what: str, texts: Sequence[str], began: float, file: str) -> list[str]:
        """Write translations of the test text and log their scores; `began` is when the work for them did."""
        self.systems[what], self.seconds[what] = list(texts), working_seconds() - began
        (self.output / file).parent.mkdir(parents=True, exist_ok=True)
        write_lines(self.output / file, texts)
        found = evaluate(texts, self.data.test.references, tokenize="none", interval=None, threads=self.threads)
        scores = ", ".join(f"{one.name} {one.score:.2f}" for one in found.scores.values())
        log.info("   %s: %s", what, scores)
        return self.systems[what]

    def compare(self, systems: Mapping[str, list[str]], file: str, prefix: str = "") -> ScoreTable:
        """Compare systems with the first of them, and keep the result as `toledo compare` prints it."""
        found = compare(systems, self.data.test.references, tokenize="none", threads=self.threads)
        result = {"command": "compare", "version": version("toledo-mt"), "result": found.to_dict()}
        seconds = {name: round(self.seconds[prefix + name], 2) for name in systems}
        write_json(self.output / file, {**result, SECONDS: seconds})
        return score_table(found.to_dict(), file, seconds)

    def translate(self, model: Model, sources: Sequence[str]) -> list[str]:
        return model.translate(sources, search=SEARCH, **self.common)

    def train(self) -> tuple[Model, Alignments]:
        """Train a model with default weights; the word alignment is made once more, to look at and for refinement."""
        began, text = working_seconds(), self.data.train
        model = train(
            text.sources, text.targets, tokenized=True, rare_words="keep", output=self.output / "model", **self.common
        )
        self.note("train, default weights", self.translate(model, self.data.test.sources), began, "default.out")
        return model, align(text.sources, text.targets, **self.common)

    def tune(self, objective: str, name: str) -> tuple[Model, History]:
        """Tune the weights, and translate with them."""
        began, directory = working_seconds(), self.output / objective
        tuning = tune(
            self.output / "model", *self.dev, objective=objective, rounds=ROUNDS, search=SEARCH, output=directory,
            **self.common,
        )  # fmt: skip
        model = Model.load(directory)
        self.note(f"tune, {name}", self.translate(model, self.data.test.sources), began, f"{objective}.out")
        return model, tuning.best

    def decide(self, model: Model) -> dict[str, list[str]]:
        """Translate by each rule, with the scale that is best on a part of the tuning text, and by MBR from samples."""
        began, text = working_seconds(), self.data.tune
        tuning = tune_rule(
            model, tuple(one[:JUDGED] for one in text.references), sources=text.sources[:JUDGED], rules=RULES,
            scales=scales_for(model.weights, model.features)[SOME], search=SEARCH, **self.common,
        )  # fmt: skip
        chosen = {}
        for rule in RULES:
            name, rows = rule.partition(":")[0], [row for row in tuning.rows if row.rule == rule]
            scale = max(rows, key=lambda row: (row.score, -abs(math.log(row.scale)))).scale
            texts = model.translate(
                self.data.test.sources, rule=rule, scale=None if name == "viterbi" else scale, search=SEARCH,
                **self.common,
            )  # fmt: skip
            chosen[name] = self.note(f"decide, {name}", texts, began, f"rules/{name}.out")
            began = working_seconds()
        texts = model.translate(self.data.test.sources, rule="mbr:size=100", search=SAMPLER, **self.common)
        chosen[SAMPLED] = self.note(f"decide, {SAMPLED}", texts, began, "rules/sampled-mbr.out")
        return chosen

    def combine(self, tuned: Model) -> list[Markup]:
        """Train three systems, each on a third of the text, and combine them."""
        text, dev, test = self.data.train, {}, {}
        folder = self.output / "combination"
        folder.mkdir(exist_ok=True)
        for number in range(1, SYSTEMS + 1):
            began, name = working_seconds(), f"third {number}"
            part = slice(number - 1, None, SYSTEMS)
            directory = folder / f"third-{number}"
            train(text.sources[part], text.targets[part], tokenized=True, output=directory, **self.common)
            model = Model.load(directory).with_weights(tuned.weights)
            dev[name], test[name] = (self.translate(model, one.sources) for one in (self.data.tune, self.data.test))
            self.note(f"combine, {name} alone", test[name], began, f"combination/third-{number}.out")
        began = working_seconds()
        combination = Combination.tune(
            dev, self.data.tune.references, tokenized=True, bias=1.0, lm_order=4, entropy=(1.0,),
            output=folder / "tuned", **self.common,
        )  # fmt: skip
        self.note("combine, all three", combination.run(test, threads=self.threads), began, "combination/test.out")
        opinions = [len(set(texts)) for texts in zip(*test.values(), strict=True)]
        number = self.worth_seeing(opinions)[0]
        sources, targets = self.data.test.sources, self.data.test.targets
        explained = combination.explain(
            test, [number], sample=0, sources=sources, references=targets, threads=self.threads
        )
        shares, weights = combination.shares, combination.weights
        return [*segment_cards(explained.segments[0], list(shares)), weight_cards(shares, weights)]

    def documents(self, model: Model) -> DocumentTranslation:
        """Translate whole documents, with a model of consistency."""
        began, text, folder = working_seconds(), self.data.test, self.output / "documents"
        folder.mkdir(exist_ok=True)
        search: dict[str, Any] = {"accept": COOLING, "steps": STEPS, "record": "logarithmic", **self.common}
        models, ids = {"consistency": CONSISTENCY}, text.document_ids
        found = model.translate_document(
            text.sources, document_ids=ids, document_models=models, references=text.references, **search
        )
        found.write_trace(folder / "trace.jsonl")
        self.note("documents, consistency", found.texts, began, "documents/test.out")
        return found

    def refine(self, alignments: Alignments) -> History:
        """Train the phrase table for expected BLEU, with the weights of MERT."""
        began, text, directory = working_seconds(), self.data.train, self.output / "refined"
        refined = refine(
            self.output / "mert", text.sources, text.targets, tune=self.dev, dev=self.dev, settings=REFINING,
            alignments=alignments, output=directory, **self.common,
        )  # fmt: skip
        texts = self.translate(Model.load(directory), self.data.test.sources)
        self.note("refine, phrase table", texts, began, "refined.out")
        return refined.history

    def worth_seeing(self, interest: Sequence[float]) -> list[int]:
        """Return the numbers of segments: short ones first, of these the most interesting."""
        lengths = [len(text.split()) for text in self.data.test.sources]
        return sorted(range(len(lengths)), key=lambda i: (lengths[i] not in SHORT, -interest[i], lengths[i], i))

    def pictures(self, model: Model, chosen: Mapping[str, list[str]]) -> tuple[DrawnForest, list[Example]]:
        """Draw the forest of a short sentence, and posteriors of sentences that the rules translate differently."""
        texts, test = list(zip(*chosen.values(), strict=True)), self.data.test
        numbers = self.worth_seeing([len(set(own)) for own in texts])[:EXAMPLES]
        forests = model.forest([test.sources[number] for number in numbers], search=SEARCH, threads=self.threads)
        scale = default_scale(model.phrase_model)
        examples = [
            Example(
                f"Sentence {number + 1} of the test text",
                shaded(forest, scale * forest.scores(model.weights), _by_text(forest, chosen, texts[number])),
                test.sources[number],
                list(dict.fromkeys(reference[number] for reference in test.references)),
            )
            for number, forest in zip(numbers, forests, strict=True)
        ]
        return _drawn(forests[0], model, scale), examples


def _drawn(forest: Forest, model: Model, scale: float) -> DrawnForest:
    """Draw the most probable part of a forest, with its share of the probability."""
    small = prune_to_density(forest, forest.scores(model.weights), SHOWN_EDGES)
    small = prune_by_posterior(small, scale * small.scores(model.weights), SHOWN_POSTERIOR)
    part, whole = (
        distribution(one.shape, scale * one.scores(model.weights)).log_partition[0] for one in (small, forest)
    )
    return DrawnForest(to_drawing(small, scale * small.scores(model.weights)), math.exp(part - whole))


def _by_text(forest: Forest, rules: Iterable[str], texts: Iterable[str]) -> dict[str, list[int]]:
    """Return each text once, as ids, by the names of the rules that chose it."""
    names: dict[str, list[str]] = {}
    for rule, text in zip(rules, texts, strict=True):
        names.setdefault(text, []).append(rule)
    return {", ".join(own): forest.vocabulary.ids(text.split()).tolist() for text, own in names.items()}
