"""The steps of `toledo demo`, made of the functions that the commands call: each leaves files and rows of a table."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from toledo.cli.document.outputs import Outputs
from toledo.cli.evaluate import Scoring, score_systems
from toledo.cli.rules import RuleName, RuleSettings, named_rule
from toledo.cli.tour.report_files import SECONDS, scores_of
from toledo.combination.combiner import Combiner
from toledo.combination.lines import LineFormat, combine_lines, model_of_outputs, output_words, read_outputs
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuning import TuningRun
from toledo.compiled.kernels import working_seconds
from toledo.consensus.decide import decide
from toledo.consensus.scale import choose_scale, scales_for
from toledo.files import atomic_writer, write_lines
from toledo.forest.forest import Forest
from toledo.formats.documents import read_documents
from toledo.model import Model
from toledo.phrases.table import WordLinks
from toledo.phrases.word_alignment.aligner import align
from toledo.progress import Progress, silent
from toledo.refinement.procedure import Procedure
from toledo.refinement.settings import RefineSettings
from toledo.reports.networks import Segment as NetworkSegment
from toledo.reports.networks import shown_segment
from toledo.reports.scores import Scores
from toledo.runs.checkpoint import RUN
from toledo.runs.history import History
from toledo.sample.corpus import write_sample
from toledo.search.beam.search import BeamSearch
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.consistency import LexicalConsistency
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings
from toledo.search.gibbs.search import GibbsSearch, default_scale
from toledo.search.settings import Beam, Gibbs
from toledo.text.corpus import ParallelCorpus, Segment, read_parallel, read_segments
from toledo.text.vocabulary import Vocabulary
from toledo.training import train
from toledo.tuning.loop import LoopSettings, TuningSet, tune
from toledo.tuning.tuner import Tuner
from toledo.tuning.tuners.mert import MERT
from toledo.weights import Weights

log = logging.getLogger("toledo.demo")

Texts = Sequence[Sequence[str]]
Ids = Sequence[tuple[int, ...]]  # of the words of each sentence

MOST_LINES, POPS, ROUNDS, HYPOTHESES = 200, 100, 3, 100
SAMPLES, BURN_IN = 500, 50
SCORES = "scores.json"
JUDGED, SOME = 100, slice(3, None, 3)  # of all scales, a few
DECIDE, SAMPLED = "decide, ", "sampled MBR"
SYSTEMS, SHORT = 3, (6, 9)  # words of a sentence whose network or forest is small enough to look at
CONSISTENCY, STEPS, COOLING = 20.0, 50_000, DocumentAnnealing(0.3, 0.02)
REFINING = RefineSettings("phrase", folds=2, nbest=30, search="beam:pop_limit=30", tune_every=0, keep_weights=True)


@dataclass(frozen=True)
class Sizes:
    """Sentences to train, tune and test with."""

    train: int
    tune: int
    test: int

    @classmethod
    def of(cls, train: int) -> Sizes:
        """Small texts for a small training text."""
        return cls(train, min(MOST_LINES, train // 5), min(MOST_LINES, train // 5))


@dataclass(frozen=True)
class Outcome:
    """Translations of the test text, and the CPU seconds of making them, without compilation."""

    what: str
    lines: Sequence[str]
    seconds: float


@dataclass
class Demo:
    """Where files go, how to work, and what has come out so far."""

    output: Path
    threads: int
    progress: Progress = silent
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def sample(self) -> Path:
        """The directory of the sample."""
        return self.output / "sample"

    @cached_property
    def corpus(self) -> ParallelCorpus:
        """The training text."""
        return read_parallel(self.sample / "train.src", self.sample / "train.trg")

    @cached_property
    def tuning(self) -> list[Segment]:
        """The text to tune on, with its references."""
        return self._text("tune")

    @cached_property
    def test(self) -> list[Segment]:
        """The text to test on, with its references."""
        return self._text("test")

    def _text(self, part: str) -> list[Segment]:
        return read_segments(self.sample / f"{part}.src", [self.sample / f"{part}.trg.{n}" for n in range(2)])

    def translate(self, model: Model, segments: Sequence[Segment]) -> Texts:
        """The best translations of a text."""
        search = BeamSearch(model, Beam(POPS))
        found = search.translate([one.words for one in segments], self.threads, self.progress)
        return [one.words for one in found]

    def forests(self, model: Model, segments: Sequence[Segment]) -> list[Forest]:
        """The lattices of a text."""
        search = BeamSearch(model, Beam(POPS))
        return search.forests([one.words for one in segments], self.threads, self.progress)

    def note(self, what: str, texts: Texts, began: float, file: str) -> None:
        """Write translations of the test text, and say what they score; `began` is when the work for them did."""
        seconds = working_seconds() - began
        lines = [" ".join(words) for words in texts]
        (self.output / file).parent.mkdir(parents=True, exist_ok=True)
        write_lines(self.output / file, lines)
        self.outcomes.append(Outcome(what, lines, seconds))
        (scored,) = self.score(self.outcomes[-1:], test="none").systems
        log.info("   %s: %s", what, ", ".join(f"{name} {value:.2f}" for name, value in scored.scores.items()))

    def score(self, outcomes: Sequence[Outcome], file: str = "", test: str = "bootstrap") -> Scores:
        """Compare outcomes with the first of them; kept in a file if one is named, as by `toledo evaluate --json`."""
        references = [[" ".join(reference) for reference in one.references] for one in self.test]
        how = Scoring(tokenize="none", test=test, threads=self.threads)
        content = score_systems({one.what: one.lines for one in outcomes}, references, how)
        for system, one in zip(content["systems"], outcomes, strict=True):
            system[SECONDS] = round(one.seconds, 2)
        if file:
            _write_json(self.output / file, content)
        return scores_of(content, file)


def make_sample(demo: Demo, sizes: Sizes, seed: int) -> None:
    """Write the sample."""
    write_sample(demo.sample, seed, sizes.train, sizes.tune, sizes.test, demo.progress)


def train_model(demo: Demo) -> tuple[Model, WordLinks]:
    """A model with default weights, and the word alignment that it came from."""
    began = working_seconds()
    aligned = align(demo.corpus, threads=demo.threads, progress=demo.progress)
    trained = train(
        demo.corpus,
        alignments=aligned.alignments,
        word_lexicons=aligned.lexicons,
        threads=demo.threads,
        progress=demo.progress,
    )
    own = {name: value for name, value in trained.training.items() if name != "given"}  # nobody else has aligned
    replace(trained, training=own).save(demo.output / "model")
    model = Model.load(demo.output / "model")
    demo.note("train, default weights", demo.translate(model, demo.test), began, "default.out")
    return model, aligned.alignments


def tune_weights(demo: Demo, model: Model, tuner: Tuner, name: str) -> tuple[Model, History]:
    """The model with weights that a tuner found, and how it found them."""
    began = working_seconds()
    tuning = TuningSet(
        lambda weights: demo.forests(model.with_weights(weights), demo.tuning),
        [one.references for one in demo.tuning],
        f"pop limit {POPS}",
    )
    settings = LoopSettings(rounds=ROUNDS, threads=demo.threads)
    result = tune(tuner, model.weights, tuning, settings, progress=demo.progress)
    directory = demo.output / name.lower()
    directory.mkdir(exist_ok=True)
    result.weights.save(directory / "weights.toml")
    result.history.save(directory / "history.json")
    tuned = model.with_weights(result.weights)
    demo.note(f"tune, {name}", demo.translate(tuned, demo.test), began, f"{name.lower()}/test.out")
    return tuned, result.history


def choose(demo: Demo, model: Model) -> dict[str, Ids]:
    """What each decision rule chooses from the same lattices, and MBR from samples.

    Scales are those that are best on a part of the tuning text.
    """
    began = working_seconds()
    forests, judged = demo.forests(model, demo.test), demo.tuning[:JUDGED]
    known = demo.forests(model, judged)
    scales = scales_for(model.weights, model.feature_names)[SOME]
    chosen: dict[str, Ids] = {}
    for name in RuleName:
        if name is RuleName.max_derivation:  # the same as viterbi
            continue
        rule, scale = named_rule(name, RuleSettings(size=HYPOTHESES)), 1.0
        if name is not RuleName.viterbi:
            references = [one.references for one in judged]
            scale = choose_scale(
                rule, known, model.weights, references, scales, threads=demo.threads, progress=demo.progress
            ).best.scale
        found = decide(rule, forests, model.weights, scale, demo.threads, demo.progress)
        chosen[name.value] = [tuple(one.words.tolist()) for one in found]
        demo.note(f"{DECIDE}{name.value}", _words(model, chosen[name.value]), began, f"rules/{name.value}.out")
        began = working_seconds()
    return chosen


def choose_from_samples(demo: Demo, model: Model) -> dict[str, Ids]:
    """What MBR chooses from samples of a Gibbs sampler."""
    began = working_seconds()
    settings = Gibbs(1, SAMPLES, BURN_IN, scale=default_scale(model))
    sentences = [one.words for one in demo.test]
    samples = GibbsSearch(model, settings).forests(sentences, demo.threads, demo.progress)
    rule = named_rule(RuleName.mbr, RuleSettings(size=HYPOTHESES), samples=True)
    found = decide(rule, samples, model.weights, 1.0, demo.threads, demo.progress)
    chosen = [tuple(one.words.tolist()) for one in found]
    demo.note(f"{DECIDE}{SAMPLED}", _words(model, chosen), began, "rules/sampled-mbr.out")
    return {SAMPLED: chosen}


def score_all(demo: Demo) -> tuple[Scores, Scores]:
    """Everything compared with the first model, and the decision rules with the usual one."""
    rules = [replace(one, what=one.what.removeprefix(DECIDE)) for one in demo.outcomes if one.what.startswith(DECIDE)]
    return demo.score(demo.outcomes, SCORES), demo.score(rules, f"rules/{SCORES}")


def _words(model: Model, texts: Ids) -> Texts:
    return [model.target_vocabulary.words(list(text)) for text in texts]


def train_systems(demo: Demo, weights: Weights) -> dict[str, tuple[Texts, Texts]]:
    """Three systems, each trained on a third of the text: what they say to the tuning and the test text."""
    systems = {}
    for number in range(SYSTEMS):
        began = working_seconds()
        name, directory = f"third {number + 1}", demo.output / "combination" / f"third-{number + 1}"
        directory.parent.mkdir(exist_ok=True)
        part = demo.corpus.select(np.arange(len(demo.corpus)) % SYSTEMS == number)
        train(part, threads=demo.threads, progress=demo.progress).save(directory)
        model = Model.load(directory).with_weights(weights)
        systems[name] = demo.translate(model, demo.tuning), demo.translate(model, demo.test)
        demo.note(f"combine, {name} alone", systems[name][1], began, f"combination/third-{number + 1}.out")
    return systems


def combine(demo: Demo, systems: Mapping[str, tuple[Texts, Texts]]) -> tuple[NetworkSegment, Mapping[str, float]]:
    """Tune a combination, run it on the test text; gives a segment to look at, and the shares of the systems."""
    began = working_seconds()
    lines, vocabulary = LineFormat(), Vocabulary()
    tuning, test = (
        list(read_outputs(lines, [[[" ".join(words)] for words in own] for own in zip(*texts, strict=True)]))
        for texts in zip(*systems.values(), strict=True)
    )
    settings = CombinationSettings(tokenized=True, bias=1.0, lm_order=4, entropy=(1.0,))
    biased = model_of_outputs(lines, tuning, vocabulary, settings.lm_order)
    combiner = Combiner.tune(
        [output_words(lines, one) for one in tuning], [one.references for one in demo.tuning], [*systems],
        vocabulary, biased, settings, run=TuningRun(threads=demo.threads, progress=demo.progress),
    )  # fmt: skip
    own = model_of_outputs(lines, test, vocabulary, settings.lm_order)
    found = list(combine_lines(combiner, test, model=own, threads=demo.threads))
    demo.note("combine, all three", [one.combined.words for one in found], began, "combination/test.out")
    combiner.save(demo.output / "combination" / "tuned")
    opinions = [float(len({tuple(text[i]) for _, text in systems.values()})) for i in range(len(found))]
    number = worth_seeing(demo.test, opinions)[0]
    segment = demo.test[number]
    beside = [[""] * number + [" ".join(text)] for text in (segment.words, segment.references[0])]
    return shown_segment(combiner, number, found[number], beside), combiner.second.weights.shares


def worth_seeing(segments: Sequence[Segment], interest: Sequence[float]) -> list[int]:
    """Numbers of segments: those of which a picture is small come first, of these the most interesting ones."""
    low, high = SHORT
    lengths = [len(one.words) for one in segments]
    return sorted(range(len(segments)), key=lambda i: (not low <= lengths[i] <= high, -interest[i], lengths[i], i))


def translate_documents(demo: Demo, model: Model) -> Path:
    """Documents by local search with a model of consistency; gives the file of the states on the way."""
    began = working_seconds()
    references = [str(demo.sample / f"test.trg.{number}") for number in range(2)]
    text = read_documents(str(demo.sample / "test.src"), references, demo.sample / "test.docids")
    settings = DocumentSettings(COOLING, steps=STEPS, record="logarithmic")
    weights = Weights({**model.weights, LexicalConsistency.name: CONSISTENCY, BLEUModel.name: 0.0})  # BLEU is watched
    search = DocumentSearch(model, settings, [LexicalConsistency(), BLEUModel()], weights)
    results = search.search(text.documents, threads=demo.threads, progress=demo.progress)
    trace = demo.output / "documents" / "trace.jsonl"
    trace.parent.mkdir(exist_ok=True)
    Outputs(str(trace.with_name("test.out")), trace).write(text, results)
    texts = [part.words for one in results for part in one.translations]
    demo.note("documents, consistency", texts, began, "documents/test.out")
    return trace


def refine(demo: Demo, model: Model, alignments: WordLinks) -> History:
    """The phrase table trained for expected BLEU, with the weights as they are."""
    began = working_seconds()
    directory = demo.output / "refined"
    with TemporaryDirectory(dir=demo.output, prefix="refining-") as work:
        corpus = read_parallel(
            demo.sample / "train.src", demo.sample / "train.trg", (model.source_vocabulary, model.target_vocabulary)
        )
        procedure = Procedure(
            model, corpus, demo.tuning, demo.tuning, MERT(), Path(work) / "steps", alignments, threads=demo.threads,
            progress=demo.progress,
        )  # fmt: skip
        refined = procedure.run(REFINING)
        refined.model.save(directory)
        demo.note("refine, phrase table", demo.translate(refined.model, demo.test), began, "refined.out")
    _write_json(demo.output / "refinement" / RUN, refined.history.to_json())
    return refined.history


def _write_json(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    with atomic_writer(path) as stream:
        json.dump(content, stream, indent=1, ensure_ascii=False)
