"""From sentence pairs to the best model in one call: split, clean, train, tune, refine, choose a rule, test.

    OUTPUT/model            the model, which keeps its weights, its rule and its text processing
    OUTPUT/build.json       all stages with their scores
    OUTPUT/report.html
    OUTPUT/run              the texts as they were split, and the result of each stage

The development set is cut in two: weights are tuned on one half, and the other one judges each stage, so that a stage
stays only if it helps on text that weights were not tuned on. The scale of the decision rule is chosen there, too. At
the end weights are tuned on both halves.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from toledo.api.build_texts import HeldOut, Judged, SplitTexts, split_texts
from toledo.api.evaluate import evaluate
from toledo.api.inputs import Texts, make_metrics, read_texts
from toledo.api.model import Model
from toledo.api.pairs import Pairs, read_columns
from toledo.api.refine import refine
from toledo.api.report import report
from toledo.api.runs import Pair
from toledo.api.settings import BuildSettings, Effort
from toledo.api.train import train
from toledo.api.tune import Tuning, tune
from toledo.api.tune_rule import tune_rule
from toledo.compiled.kernels import working_seconds
from toledo.consensus.scale import norm_of
from toledo.errors import RunError
from toledo.files import require_output_directory
from toledo.metrics.evaluation import Evaluation
from toledo.metrics.metric import Metric
from toledo.metrics.shapes import References
from toledo.progress import Progress, silent
from toledo.refinement.settings import RefineSettings
from toledo.results import Result, TableResult, table
from toledo.runs.checkpoint import Checkpoint, digest, write_json
from toledo.settings import Named
from toledo.text.tokenizers import language_code

log = logging.getLogger(__name__)

RESULT, RUN, MODEL, REPORT = "build.json", "run", "model", "report.html"
KIND = "build"
AGAIN, ROUNDS_AGAIN = "tune again", 3
SCORED_BY = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}  # tokenizers of BLEU for text without spaces
RULES = ("mbr:size=200,reference_size=200", "lattice-mbr")


@dataclass(frozen=True)
class BuildStage(Result):
    """A stage with its score on the half of the development set that it has not seen.

    The last tuning sees both halves: it has no score.
    """

    name: str
    score: float | None
    kept: bool
    what: str
    seconds: float


@dataclass(frozen=True)
class Build(TableResult):
    """All stages, the model that they led to, and its scores on the test set, which is used once."""

    stages: tuple[BuildStage, ...]
    model: Model
    test: Evaluation
    metric: str
    split: str
    output: Path
    sign: str = field(default="", repr=False)

    @property
    def signature(self) -> str:  # type: ignore[override]
        """Return how the model was built."""
        return self.sign

    @property
    def report(self) -> Path:
        """Return the page with all stages."""
        return self.output / REPORT

    def to_dict(self) -> dict[str, Any]:
        """Return the stages and the scores, ready for JSON."""
        found = {"stages": self.rows_as_dicts(), "metric": self.metric, "split": self.split}
        return {**found, "test": self.test.to_dict(), "model": str(self.output / MODEL), "signature": self.signature}

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each stage."""
        return [one.to_dict() for one in self.stages]

    def __str__(self) -> str:
        rows = [["stage", f"dev {self.metric}", "kept", "time", "what"]]
        for one in self.stages:
            score = "" if one.score is None else f"{one.score:.2f}"
            rows.append([one.name, score, "yes" if one.kept else "no", f"{one.seconds:.0f} CPU s", one.what])
        scores = ", ".join(f"{one.name} {one.cell()}" for one in self.test.scores.values())
        last = f"test: {scores} ({self.split}); model: {self.output / MODEL}"
        return "\n".join([*table(rows, left=[0, 4]), last])


def build(  # one argument for each setting
    sources: Texts | Pairs,
    targets: Texts | None = None,
    *,
    dev: Pair | None = None,
    test: Pair | None = None,
    document_ids: Texts | None = None,
    lm_text: Texts | None = None,
    effort: Effort = "standard",
    metric: Named[Metric] = "bleu",
    source_language: str | None = None,
    target_language: str | None = None,
    tokenized: bool = False,
    output: str | Path,
    resume: bool = False,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress = silent,
) -> Build:
    """Split, clean, train, tune, refine, choose a rule, and test: from sentence pairs to the best model.

    Texts are raw; with `tokenized`, words are separated by spaces. Without `dev` and `test`, each gets 1,000 pairs or 5
    % of them, whichever is less, drawn by `seed` (whole documents if there are `document_ids`). Pairs that occur in
    them leave the training text. A stage is kept only if it is better on a half of `dev` that weights were not tuned
    on; `test` is used once. `lm_text` is further text in the target language. The model is saved in `output/model`,
    with its rule: `load(output / "model").translate(texts)` is all it takes. `resume` continues an interrupted build.
    """
    settings = BuildSettings(effort)
    folder = Path(output)
    if not (resume and (folder / RUN).is_dir()):
        require_output_directory(folder, RESULT, RUN)
    columns = read_columns(sources, targets, (source_language, target_language))
    split = split_texts(columns, HeldOut(dev, test, document_ids, seed))
    more = [] if lm_text is None else read_texts(lm_text, "lm_text")
    languages = {"source_language": source_language, "target_language": target_language, "tokenized": tokenized}
    tokenize = _tokenizer(languages)
    (judge,) = make_metrics([metric], tokenize, False).values()
    configuration = {
        "version": version("toledo-mt"),
        "effort": effort,
        "metric": judge.get_signature(1),
        "seed": seed,
        **languages,
        "texts": digest([columns, split.dev, split.test, more]),
    }
    common: dict[str, Any] = {"threads": threads, "progress": progress}
    stages = _Stages(Checkpoint(folder / RUN, configuration, resume))
    builder = _Builder(settings, split, judge, stages, {**languages, "lm_text": more}, seed, common)
    model = builder.run()
    return builder.finish(model, folder)


class _SavedStages(msgspec.Struct):
    stages: list[BuildStage] = []


class _Stages:
    """The stages that are done, on disk after each of them."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint, self.done = checkpoint, list[BuildStage]()
        found = checkpoint.load(KIND, _SavedStages)
        directory = checkpoint.directory
        if found is None and not checkpoint.file.is_file() and directory.is_dir() and any(directory.iterdir()):
            raise RunError(f"{directory}: holds another run", remedy="choose another `output`, or remove this one")
        if found is None:
            shutil.rmtree(checkpoint.directory, ignore_errors=True)  # of a finished build
            self.save()
        else:
            self.done = found.stages

    def find(self, name: str) -> BuildStage | None:
        """Return a stage that is done."""
        return next((one for one in self.done if one.name == name), None)

    def add(self, stage: BuildStage) -> None:
        """Keep a stage: its result is complete."""
        self.done.append(stage)
        self.save()

    def save(self, stopped: str = "") -> None:
        rows = [vars(one) for one in self.done]  # not rounded: later stages are compared with them
        self.checkpoint.save({"kind": KIND, "stages": rows, "stopped": stopped})


@dataclass
class _Builder:
    """One stage after the other; each begins with the model of the last one that was kept."""

    settings: BuildSettings
    texts: SplitTexts
    judge: Metric
    stages: _Stages
    training: dict[str, Any]
    seed: int
    common: dict[str, Any]

    @property
    def tokenized(self) -> bool:
        return bool(self.training["tokenized"])

    @property
    def folder(self) -> Path:
        return self.stages.checkpoint.directory

    def run(self) -> Model:
        place = self.stage("train", None, self.train)
        place = self.stage("tune", place, self.tune)
        if self.settings.refines(len(self.texts.train[0])):
            place = self.stage("refine", place, self.refine)
        if self.settings.effort != "quick":
            place = self.stage("rule", place, self.rule)
            if all(one.kept for one in self.stages.done if one.name == "tune"):
                place = self.stage(AGAIN, place, self.tune_again, judged=False)
        return Model.load(self.folder / place)

    def stage(self, name: str, before: str | None, make: Callable[[Path, Path], str], *, judged: bool = True) -> str:
        """Do a stage, unless it is done, and return the name of the stage whose model goes on."""
        place = name.replace(" ", "-")
        done = self.stages.find(name)
        if done is None:
            log.info("%s", name)
            began = working_seconds()
            what = make(self.folder / (before or ""), self.folder / place)
            score = self.score(Model.load(self.folder / place)) if judged else None
            kept = score is None or before is None or self.better(score)
            done = BuildStage(name, score, kept, what, round(working_seconds() - began, 2))
            self.stages.add(done)
        shown = "" if done.score is None else f": {self.judge.name} {done.score:.2f}"
        log.info("%s%s, %s%s", name, shown, done.what, "" if done.kept else "; not better: left out")
        return place if done.kept or before is None else before

    def better(self, score: float) -> bool:
        """Whether a score is better than that of all stages that were kept."""
        known = [one.score for one in self.stages.done if one.kept and one.score is not None]
        return all(score > one if self.judge.higher_is_better else score < one for one in known)

    def score(self, model: Model) -> float:
        sources, references = self.texts.check
        texts = model.translate(sources, tokenized=self.tokenized, **self.common)
        statistics = self.judge.corpus_statistics(texts, references, self.common["threads"], sources)
        return float(self.judge.score(statistics.sum(axis=0)))

    def train(self, before: Path, place: Path) -> str:
        sources, targets = self.texts.train
        given: dict[str, Any] = {**self.training, **self.settings.training, **self.common}
        given["lm_text"] = [*targets, *given["lm_text"]] if given["lm_text"] else None
        model = train(sources, targets, output=place, **given)
        pairs = f"{len(model.phrase_model.table):,} phrase pairs"
        return f"{pairs}, {given.get('lm_order', 3)}-gram model{', reordering' if given.get('reordering') else ''}"

    def tune(self, before: Path, place: Path) -> str:
        tuning = self.tuned(before, place, self.texts.tune, self.settings.tuning)
        runs = f", best of {len(tuning.runs)} runs" if len(tuning.runs) > 1 else ""
        return f"{self.settings.tuning['objective']}, {len(tuning.best.rounds)} rounds{runs}"

    def tuned(self, before: Path, place: Path, judged: Judged, how: Mapping[str, Any]) -> Tuning:
        sources, references = judged
        given: dict[str, Any] = {**how, "tokenized": self.tokenized, "seed": self.seed, **self.common}
        return tune(before, sources, References.per_segment(references), output=place, resume=_begun(place), **given)

    def refine(self, before: Path, place: Path) -> str:
        refined = refine(
            before,
            *self.texts.train,
            tune=_given(self.texts.tune),
            dev=_given(self.texts.check),
            tokenized=self.tokenized,
            settings=RefineSettings(keep_weights=True),
            output=place,
            resume=_begun(place),
            seed=self.seed,
            **self.common,
        )
        return f"{refined.settings.parameters}, {len(refined.iterations) - 1} iterations"

    def rule(self, before: Path, place: Path) -> str:
        sources, references = _given(self.texts.check)
        given: dict[str, Any] = {"tokenized": self.tokenized, "seed": self.seed, **self.common}
        model = Model.load(before)
        found = tune_rule(model, references, sources=sources, rules=RULES, metric=self.judge, **given)
        found.save(place)
        return f"{found.best.rule.partition(':')[0]} at scale {found.best.scale:g}"

    def tune_again(self, before: Path, place: Path) -> str:
        """Tune on the whole development set; the scale times the norm of the weights stays what it was."""
        self.tuned(before, place, self.texts.dev, {**self.settings.tuning, "rounds": ROUNDS_AGAIN, "runs": 1})
        old, new = Model.load(before), Model.load(place)
        if old.scale is not None:
            norms = [norm_of(one.weights, one.features) for one in (old, new)]
            new.with_rule(old.rule, old.scale * norms[0] / norms[1]).save(place)
        return f"on all {len(self.texts.dev[0]):,} segments"

    def finish(self, model: Model, folder: Path) -> Build:
        model.save(folder / MODEL)
        sources, references = self.texts.test
        texts = model.translate(sources, tokenized=self.tokenized, **self.common)
        tokenize = _tokenizer(self.training)
        metrics: list[str | Metric] = ["bleu", "chrf", "ter"]
        if self.judge.name not in ("BLEU", "chrF2", "TER"):
            metrics.append(self.judge)
        known = References.per_segment(references)
        scored = evaluate(
            texts, known, sources=sources, metrics=metrics, tokenize=tokenize, threads=self.common["threads"]
        )
        sign = "|".join(f"{name}:{value}" for name, value in self.stages.checkpoint.configuration.items())
        found = Build(
            tuple(self.stages.done), Model.load(folder / MODEL), scored, self.judge.name, self.texts.what, folder, sign
        )
        histories = [self.folder / name for name in ("tune", "refine") if (self.folder / name).exists()]
        report(found, scored, *histories, title=folder.name).save(folder / REPORT)
        write_json(folder / RESULT, found.to_dict())
        self.stages.save("all stages are done")
        return found


def _tokenizer(how: Mapping[str, Any]) -> str | None:
    """Return the tokenizer that BLEU needs for the target text; None for its default."""
    return "none" if how["tokenized"] else SCORED_BY.get(language_code(how["target_language"], "target_language"))


def _given(judged: Judged) -> Pair:
    return judged[0], References.per_segment(judged[1])


def _begun(place: Path) -> bool:
    """Whether a stage was interrupted."""
    run = place / "run"
    return run.is_dir() and any(run.iterdir())
