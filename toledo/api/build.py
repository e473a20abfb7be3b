"""From sentence pairs to the best model in one call: split, clean, train, tune, refine, choose a rule, test.

    OUTPUT/model            the model, which keeps its weights, its rule and its text processing
    OUTPUT/build.json       all stages with their scores
    OUTPUT/report.html
    OUTPUT/run              the texts as they were split, and the result of each stage

The development set is cut in two, and weights are tuned twice: on each half. The model has their mean. A stage is
scored on the whole set, each half translated with the weights that have not seen it, and stays only if it is better.
The scale of the decision rule is chosen in the same way.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from toledo.api.build_texts import HeldOut, Judged, SplitTexts, split_texts
from toledo.api.evaluate import evaluate
from toledo.api.inputs import Texts, make_metrics, read_texts
from toledo.api.model import Decoding, Model
from toledo.api.pairs import Pairs, read_columns
from toledo.api.refine import refine
from toledo.api.report import report
from toledo.api.rerank import train_reranker, tune_reranker
from toledo.api.runs import Pair
from toledo.api.settings import OBJECTIVE, BuildSettings, Effort, OptionalStage
from toledo.api.train import train
from toledo.api.tune import tune
from toledo.api.tune_rule import ModelTranslations
from toledo.compiled.kernels import working_seconds
from toledo.consensus.registry import make_search_rule
from toledo.consensus.scale import SHARPNESS, Candidate
from toledo.errors import RunError
from toledo.files import require_output_directory
from toledo.metrics.evaluation import Evaluation
from toledo.metrics.metric import Metric
from toledo.metrics.shapes import References
from toledo.progress import Progress, silent
from toledo.refinement.settings import RefineSettings
from toledo.reranking.features import FEATURES
from toledo.reranking.reranker import NAMES
from toledo.results import Result, TableResult, table
from toledo.runs.checkpoint import Checkpoint, digest, write_json
from toledo.settings import Named
from toledo.text.tokenizers import language_code
from toledo.weights import Weights, mean_weights

log = logging.getLogger(__name__)

RESULT, RUN, MODEL, REPORT = "build.json", "run", "model", "report.html"
REFINED, WEIGHTS, RERANKING_WEIGHTS = "refine-table", "weights.toml", "reranking.toml"
KIND = "build"
ROUNDS_AGAIN = 3  # of tuning a model that was refined
SCORED_BY = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}  # tokenizers of BLEU for text without spaces
RULES = ("mbr:size=200,reference_size=200", "lattice-mbr")


@dataclass(frozen=True)
class BuildStage(Result):
    """A stage with its score on the development set, each half translated with weights that were tuned on the other."""

    name: str
    score: float
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
            rows.append(
                [one.name, f"{one.score:.2f}", "yes" if one.kept else "no", f"{one.seconds:.0f} CPU s", one.what]
            )
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
    skip: Sequence[OptionalStage] = (),
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
    them leave the training text. A stage is kept only if it is better on halves of `dev` that weights were not tuned
    on; stages in `skip` are left out. `test` is used once. `lm_text` is further text in the target language. The model
    is saved in `output/model`, with its rule: `load(output / "model").translate(texts)` is all it takes. `resume`
    continues an interrupted build.
    """
    settings = BuildSettings(effort, tuple(skip))
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
        **({"skip": "+".join(sorted(skip))} if skip else {}),
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
        if self.settings.does("rerank"):
            place = self.stage("rerank", place, self.rerank)
        if self.settings.does("rule"):
            place = self.stage("rule", place, self.rule)
        return Model.load(self.folder / place)

    def stage(self, name: str, before: str | None, make: Callable[[Path, Path], tuple[str, float]]) -> str:
        """Do a stage, unless it is done, and return the name of the stage whose model goes on."""
        done = self.stages.find(name)
        if done is None:
            log.info("%s", name)
            began = working_seconds()
            what, score = make(self.folder / (before or ""), self.folder / name)
            kept = before is None or self.better(score)
            done = BuildStage(name, score, kept, what, round(working_seconds() - began, 2))
            self.stages.add(done)
        left_out = "" if done.kept else "; not better: left out"
        log.info("%s: %s %.2f, %s%s", name, self.judge.name, done.score, done.what, left_out)
        return name if done.kept or before is None else before

    def better(self, score: float) -> bool:
        """Whether a score is better than that of all stages that were kept."""
        known = [one.score for one in self.stages.done if one.kept]
        return all(score > one if self.judge.higher_is_better else score < one for one in known)

    def train(self, before: Path, place: Path) -> tuple[str, float]:
        sources, targets = self.texts.train
        given: dict[str, Any] = {**self.training, **self.settings.training, **self.common}
        known = set(targets)  # further text often has them, too, and n-grams that are counted twice mislead
        more = [one for one in given["lm_text"] if one not in known]
        given["lm_text"] = [*targets, *more] if more else None
        model = train(sources, targets, output=place, **given)
        pairs = f"{len(model.phrase_model.table):,} phrase pairs"
        what = f"{pairs}, {given.get('lm_order', 3)}-gram model{', reordering' if given.get('reordering') else ''}"
        return what, self.score([model, model])

    def tune(self, before: Path, place: Path) -> tuple[str, float]:
        how = self.settings.tuning
        score = self.tune_halves(before, place, how, self.halves(before))
        return f"{how['objective']}, mean of both halves", score

    def tune_halves(self, before: Path, place: Path, how: Mapping[str, Any], start: Sequence[Model]) -> float:
        """Tune on each half, save the mean of the weights, and return the score of those of the halves."""
        model, halves = Model.load(before), list[Weights]()
        for which, initial in enumerate([one.weights for one in start]):
            sources, references = self.texts.half(which)
            output = _of_half(place, which)
            given: dict[str, Any] = {**how, "tokenized": self.tokenized, "seed": self.seed, **self.common}
            known = References.per_segment(references)
            tuning = tune(before, sources, known, initial=initial, output=output, resume=_begun(output), **given)
            halves.append(tuning.weights)
            tuning.weights.save(output / WEIGHTS)
        model.with_weights(mean_weights(halves, model.features)).save(place)
        return self.score(self.halves(place))

    def halves(self, place: Path) -> list[Model]:
        """Return a model with the weights that were tuned on each half; those of an untuned model have seen neither."""
        found = list[Model]()
        for which in range(2):
            files = [_of_half(place, which) / name for name in (WEIGHTS, RERANKING_WEIGHTS)]
            model = Model.load(place)
            if files[0].exists():
                model = model.with_weights(Weights.load(files[0]))
            if model.reranker is not None:
                model = model.with_reranker(model.reranker.with_weights(Weights.load(files[1])))
            found.append(model)
        return found

    def score(self, halves: Sequence[Model]) -> float:
        """Score models that were tuned on a half on the other one."""
        total: Any = 0
        for which, model in enumerate(halves):
            sources, references = self.texts.half(1 - which)
            texts = model.translate(sources, tokenized=self.tokenized, **self.common)
            total = total + self.judge.corpus_statistics(texts, references, self.common["threads"], sources).sum(axis=0)
        return float(self.judge.score(total))

    def refine(self, before: Path, place: Path) -> tuple[str, float]:
        """Refine with weights of one half, so that the other half judges all iterations alike; then tune on each."""
        output, halves = place.with_name(REFINED), self.halves(before)
        refined = refine(
            halves[0],
            *self.texts.train,
            tune=_given(self.texts.half(0)),
            dev=_given(self.texts.half(1)),
            tokenized=self.tokenized,
            settings=RefineSettings(keep_weights=True, objective=OBJECTIVE),
            output=output,
            resume=_begun(output),
            seed=self.seed,
            **self.common,
        )
        score = self.tune_halves(output, place, {**self.settings.tuning, "rounds": ROUNDS_AGAIN}, halves)
        return f"{refined.settings.parameters}, {len(refined.iterations) - 1} iterations", score

    def rerank(self, before: Path, place: Path) -> tuple[str, float]:
        """Train a reranker, and tune it on each half with the weights that were tuned on the same half."""
        model, tuned = Model.load(before), list[Weights]()
        networks = self.settings.networks
        reranker = train_reranker(model, *self.texts.train, self.tokenized, networks, self.seed, **self.common)
        for which, one in enumerate(self.halves(before)):
            output, pair = _of_half(place, which), _given(self.texts.half(which))
            tuned.append(tune_reranker(one.with_reranker(reranker), pair, self.tokenized, **self.common).weights)
            output.mkdir(exist_ok=True)
            one.weights.save(output / WEIGHTS)
            tuned[-1].save(output / RERANKING_WEIGHTS)
        model.with_reranker(reranker.with_weights(mean_weights(tuned, NAMES))).save(place)
        return f"{reranker.size}-best, {len(FEATURES)} features", self.score(self.halves(place))

    def rule(self, before: Path, place: Path) -> tuple[str, float]:
        """Choose the rule and the scale by which each half is translated best with the weights of the other one."""
        candidates = [Candidate(make_search_rule(name), sharpness) for name in RULES for sharpness in SHARPNESS]
        found = list[Any]()
        for which, model in enumerate(self.halves(before)):
            sources, references = self.texts.half(1 - which)
            translator = model.translator(Decoding("viterbi", tokenized=self.tokenized, **self.common))
            norm = translator.weights.norm(translator.feature_names)
            own = [replace(one, scale=one.scale / norm) for one in candidates]
            made = ModelTranslations(translator, translator.sentences(sources))
            found.append(np.array(list(made.statistics(self.judge, [tuple(one) for one in references], own))))
        model = Model.load(before)
        translator = model.translator(Decoding("viterbi"))
        best = _best_candidate(self.judge, found[0] + found[1])
        rule = RULES[best // len(SHARPNESS)]
        scale = float(f"{candidates[best].scale / translator.weights.norm(translator.feature_names):.3g}")
        model.with_rule(rule, scale).save(place)
        crossed = [found[which][_best_candidate(self.judge, found[1 - which])] for which in range(2)]
        return f"{rule.partition(':')[0]} at scale {scale:g}", float(self.judge.score(crossed[0] + crossed[1]))

    def finish(self, model: Model, folder: Path) -> Build:
        model.save(folder / MODEL)
        sources, references = self.texts.test
        texts = model.translate(sources, tokenized=self.tokenized, **self.common)
        tokenize = _tokenizer(self.training)
        metrics: list[str | Metric] = ["bleu", "chrf", "ter"]
        if self.judge.name not in ("BLEU", "chrF2", "TER"):
            metrics.append(self.judge)
        groups = References.per_segment(references)
        scored = evaluate(
            texts, groups, sources=sources, metrics=metrics, tokenize=tokenize, threads=self.common["threads"]
        )
        sign = "|".join(f"{name}:{value}" for name, value in self.stages.checkpoint.configuration.items())
        found = Build(
            tuple(self.stages.done), Model.load(folder / MODEL), scored, self.judge.name, self.texts.what, folder, sign
        )
        known = [_of_half(self.folder / "tune", 0), _of_half(self.folder / "tune", 1), self.folder / REFINED]
        histories = [one for one in known if one.exists()]
        report(found, scored, *histories, title=folder.name).save(folder / REPORT)
        write_json(folder / RESULT, found.to_dict())
        self.stages.save("all stages are done")
        return found


def _tokenizer(how: Mapping[str, Any]) -> str | None:
    """Return the tokenizer that BLEU needs for the target text; None for its default."""
    return "none" if how["tokenized"] else SCORED_BY.get(language_code(how["target_language"], "target_language"))


def _best_candidate(judge: Metric, sums: NDArray[np.float64]) -> int:
    """Return the number of the best rule and scale by the statistics of each.

    A scale is judged together with its neighbors, because a single one may be the best by chance.
    """
    by_rule = sums.reshape(len(RULES), len(SHARPNESS), -1)
    padded = np.concatenate([by_rule[:, :1], by_rule, by_rule[:, -1:]], axis=1)
    smooth = (padded[:, :-2] + 2 * by_rule + padded[:, 2:]).reshape(sums.shape)
    scores = np.array([judge.score(one) for one in smooth])
    return int(np.argmax(scores if judge.higher_is_better else -scores))


def _of_half(place: Path, which: int) -> Path:
    """Return the folder of the weights that were tuned on a half."""
    return place.with_name(f"{place.name}-{which}")


def _given(judged: Judged) -> Pair:
    return judged[0], References.per_segment(judged[1])


def _begun(place: Path) -> bool:
    """Whether a stage was interrupted."""
    run = place / "run"
    return run.is_dir() and any(run.iterdir())
