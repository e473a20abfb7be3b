"""Train phrase and word probabilities (He and Deng 2012)."""

from __future__ import annotations

import logging
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from toledo.api.align import Alignments
from toledo.api.inputs import Texts
from toledo.api.model import Model
from toledo.api.pairs import encode_pairs, prepare_pairs, read_columns
from toledo.api.runs import ModelOrPath, Pair, as_model, begin_run, digest_model, read_set, save_result
from toledo.errors import InputError, RunError
from toledo.files import require_readable
from toledo.formats.alignments import read_alignments
from toledo.model import DESCRIPTION, PhraseModel
from toledo.progress import Progress, silent
from toledo.refinement.procedure import Procedure
from toledo.refinement.settings import RefineSettings
from toledo.results import TableResult, plain, table
from toledo.runs.checkpoint import RUN as HISTORY
from toledo.runs.checkpoint import read_header
from toledo.runs.history import History, Round
from toledo.settings import refuse_unused
from toledo.text.corpus import ParallelCorpus
from toledo.text.preparation import Preparation
from toledo.text.rare_words import rewrite_sources
from toledo.text.settings import Cleaning
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.settings import TUNERS

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Refinement(TableResult):
    """The refined model, and all iterations with their scores on the development set; number 0 is the baseline.

    `best` is the number of the iteration that the model comes from, `settings` those with all defaults filled in.
    """

    model: Model
    history: History
    settings: RefineSettings

    @property
    def iterations(self) -> tuple[Round, ...]:
        """Return the baseline and all iterations."""
        return self.history.all_rounds

    @property
    def best(self) -> int:
        """Return the number of the iteration with the best score."""
        return self.history.best

    @property
    def reason(self) -> str:
        """Return why refining ended."""
        return self.history.stopped

    @property
    def signature(self) -> str:  # type: ignore[override]
        """Return how the model was refined."""
        names = ("parameters", "method", "distance", "level", "on", "folds", "tau", "lexicon_tau", "sharpness")
        settings = "|".join(f"{name}:{getattr(self.settings, name)}" for name in names)
        return f"{settings}|version:{version('toledo-mt')}"

    def to_dict(self) -> dict[str, Any]:
        """Return the iterations as JSON-ready values."""
        own = {name: getattr(self, name) for name in ("best", "reason", "signature")}
        found: dict[str, Any] = plain({"iterations": self.rows_as_dicts(), **own, "settings": vars(self.settings)})
        return found

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each iteration."""
        names = ("number", "stage", "trained", "objective", "score", "details", "weights", "seconds")
        return [{name: getattr(one, name) for name in names} for one in self.iterations]

    def __repr__(self) -> str:
        score = f"{self.history.metric}={self.history.best_score:.2f}"
        return f"Refinement({len(self.iterations) - 1} iterations, {score}, best={self.best})"

    def __str__(self) -> str:
        rows = [["iteration", "trained", "objective", "expected BLEU", "best of lists", "dev BLEU", "CPU s"]]
        for one in self.iterations:
            figures = [""] * 3
            if one.objective is not None:
                expected, best = 100 * one.details["expected"], one.details["best_of_lists"]
                figures = [f"{one.objective:.5f}", f"{expected:.2f}", f"{best:.2f}"]
            number = f"{one.number} {'*' if one.number == self.best else ' '}"
            trained = ", ".join(one.trained) or "baseline"
            rows.append([number, trained, *figures, f"{one.score:.2f}", f"{one.seconds:.1f}"])
        settings = self.settings
        own = {"phrase": [settings.tau], "lexicon": [settings.lexicon_tau]}
        taus = dict.fromkeys(own.get(settings.parameters, [settings.tau, settings.lexicon_tau]))
        shown = " and ".join(f"{tau:g}" for tau in taus if tau is not None)
        lines = [*table(rows, left=[0, 1]), f"* the refined model; τ = {shown}, {self.reason}"]
        if not self.best:
            lines.append("No iteration is better than the baseline: try another tau, sharpness or method.")
        return "\n".join(lines)


def refine(
    model: ModelOrPath,
    sources: Texts,
    targets: Texts,
    *,
    tune: Pair,
    dev: Pair,
    tokenized: bool = False,
    settings: RefineSettings | None = None,
    alignments: Texts | Alignments | None = None,
    output: str | Path,
    resume: bool = False,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress = silent,
) -> Refinement:
    """Train phrase and word probabilities for the highest expected BLEU of the model's training text.

    Texts are those that the model was trained on, raw or tokenized; with `tokenized`, they are in the words of a model
    of raw text. They are translated, fold by fold by models that have not seen them. Probabilities of phrases and words
    in good translations grow, those in bad ones shrink. After each iteration weights are tuned on `tune`, and the model
    with the best score on `dev` is saved in `output`. All steps are kept in its folder `run`: `resume` continues an
    interrupted run to the same result, and uses the translations again for other values of `tau` or `method`.
    """
    settings = settings or RefineSettings()
    _refuse_unused(settings, alignments is not None)
    work = begin_run(output, resume, model)
    assert work is not None  # noqa: S101 (there is an output)
    tuner = TUNERS.make(settings.tuning_objective)
    if isinstance(alignments, str | Path):
        require_readable(alignments)
    loaded = as_model(model)
    text, known = loaded.preparation.of_words if tokenized else loaded.preparation, loaded.source_vocabulary
    if alignments is not None and (text.raw or text.source.rare is not None):
        what = "tokenized text" if text.raw else "a model that keeps rare words as they are"
        remedy = "give tokenized text with `tokenized=True`, or leave `alignments` out"
        raise InputError(
            f"`alignments` can only be used with {what}",
            argument="alignments",
            remedy=remedy if text.raw else "leave `alignments` out, or train with `rare_words=keep`",
        )
    sets = read_set(tune, "tune", text, known), read_set(dev, "dev", text, known)
    corpus = training_corpus(loaded, sources, targets, text)
    given = alignments.pharaoh_lines() if isinstance(alignments, Alignments) else alignments
    links = None if given is None else read_alignments(given, corpus)
    _begin(work, Path(output), resume)
    configuration = {"model": digest_model(model)}
    write = text.target.write if text.raw else None
    procedure = Procedure(loaded, corpus, *sets, tuner, work, links, configuration, seed, threads, progress, write)
    refined = procedure.run(settings)
    used = settings.resolved()
    made = {name: value for name, value in vars(used).items() if value is not None}
    found = save_result(refined.model, output, refining={**made, **refined.history.summary})
    return Refinement(found, refined.history, used)


def training_corpus(model: PhraseModel, sources: Texts, targets: Texts, text: Preparation) -> ParallelCorpus:
    """Return the training text in the words of the model, without the pairs that its training left out."""
    cleaned, rare = model.training.get("cleaning"), text.source.rare
    vocabularies = model.source_vocabulary if rare is None else Vocabulary(), model.target_vocabulary
    if not text.raw and cleaned is None:
        corpus = encode_pairs(sources, targets, vocabularies)
    else:
        cleaning = None if cleaned is None else Cleaning(**cleaned["settings"])
        corpus = prepare_pairs(read_columns(sources, targets), text, cleaning).encode(vocabularies)
    return corpus if rare is None else rewrite_sources(corpus, rare, model.source_vocabulary)


def _begin(work: Path, output: Path, resume: bool) -> None:
    """Refuse to replace an unfinished run; remove a finished one unless it is to be used again."""
    if resume or not work.exists() or not any(work.iterdir()):
        return
    histories = list(work.glob(f"refinement-*/{HISTORY}"))
    if not (output / DESCRIPTION).exists() or not histories or not all(read_header(one).stopped for one in histories):
        raise RunError(
            f"{output}: holds an unfinished run",
            remedy="continue it with `resume=True`, choose another `output`, or remove this one",
        )
    log.warning("%s: replacing a finished run", output)
    shutil.rmtree(work)


def _refuse_unused(settings: RefineSettings, aligned: bool) -> None:
    """Refuse settings that the others leave nothing to do for."""
    if settings.method != "lbfgs":
        refuse_unused(settings, "only for `method=lbfgs`", "steps", "distance")
    for name, kind in (("nbest", "lists"), ("density", "forests"), ("num_samples", "samples")):
        if settings.on != kind:
            refuse_unused(settings, f"only for `on={kind}`", name)
    if settings.parameters == "phrase":
        refuse_unused(settings, "`parameters=phrase` trains no lexicons", "lexicon_tau")
    if settings.parameters == "lexicon" and settings.lexicon_tau is not None:
        refuse_unused(settings, "`parameters=lexicon` looks at `lexicon_tau`", "tau")
    if settings.keep_weights:
        refuse_unused(settings, "with `keep_weights=True` the baseline is not tuned", "rounds")
    if not settings.tune_every:
        refuse_unused(settings, "with `tune_every=0` weights are not tuned again", "rounds_again")
    if aligned and settings.num_folds == 1:
        why = "with `folds=1` no other models are trained"
        raise InputError(f"`alignments`: {why}", argument="alignments", remedy="leave `alignments` out")
