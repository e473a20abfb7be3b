"""Combine the outputs of several systems into one.

    combination = Combination.tune({"one": a, "two": b, "three": c}, references)
    combination.run({"one": d, "two": e, "three": f})

What is written while tuning, and how text is read and written, is in `toledo.combination.lines`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack

import toledo
from toledo.api.combination_results import Combined, ExplainedCombination
from toledo.api.inputs import (
    Lists,
    ReferenceTexts,
    Runs,
    Texts,
    arguments_of,
    name_systems,
    read_groups,
    read_texts,
    require_as_many,
    text_file,
)
from toledo.api.runs import RUN, begin_run
from toledo.combination.combiner import DESCRIPTION, Combiner
from toledo.combination.explanation import explain_segment, parts_of_votes, system_parts
from toledo.combination.features import Feature
from toledo.combination.goals import TextScores
from toledo.combination.lines import ModelSources, best_first, in_order, read_hypotheses, tune_lines
from toledo.combination.network import NULL
from toledo.combination.selection import CHOICE, RESULT, TuningReport
from toledo.combination.settings import BiasCriterion, CombinationObjective, CombinationSettings, LengthTarget
from toledo.combination.streaming import WINDOW, CombinedLine, StreamDecoding, combine_texts
from toledo.combination.tuning import BEST_TEXTS, TuningRun, rule_of
from toledo.consensus.choosing import as_hypotheses
from toledo.consensus.registry import make_search_rule
from toledo.consensus.rule import Rule, check_scale
from toledo.errors import InputError
from toledo.files import read_lines, require_readable
from toledo.forest.forest import Forest
from toledo.formats.forest_files import side_by_side
from toledo.language_model.model import LanguageModel
from toledo.metrics.metric import Metric
from toledo.progress import Progress, silent
from toledo.results import DECIMALS, TableResult, table
from toledo.settings import Named
from toledo.text.corpus import describe_value
from toledo.view.page import Page
from toledo.weights import Weights

EXPLAINED = 100  # segments that the parts of systems are from

SystemOutputs: TypeAlias = "Mapping[str, Texts | Lists] | Sequence[Texts | Lists]"


class CombinationArguments(TypedDict, total=False):
    """Named arguments of tuning."""

    sources: Texts | None
    language: str
    tokenized: bool
    lm_text: Texts | Sequence[Texts]
    language_models: Sequence[LanguageModel | str | Path]
    lm_order: int
    bias: float | None
    bias_by: BiasCriterion
    objective: CombinationObjective
    metrics: Sequence[str]
    features: Sequence[str | Feature]
    skeletons: int | None
    entropy: Sequence[float]
    l2: float
    sparse_l2: float
    min_segments: int
    skeleton_weights: bool
    length: LengthTarget | None
    folds: int
    select_by: Sequence[str]
    document_ids: Texts | None
    synonyms: str | Path | None
    output: str | Path | None
    resume: bool
    progress: Progress


@dataclass(frozen=True, eq=False)
class Combination(TableResult):
    """The weights of systems, and everything needed to combine other outputs of the same systems."""

    combiner: Combiner

    @classmethod
    def tune(
        cls,
        systems: SystemOutputs,
        references: ReferenceTexts,
        *,
        sources: Texts | None = None,
        language: str = "en",
        tokenized: bool = False,
        lm_text: Texts | Sequence[Texts] = (),
        language_models: Sequence[LanguageModel | str | Path] = (),
        lm_order: int = 5,
        bias: float | None = None,
        bias_by: BiasCriterion = "perplexity",
        objective: CombinationObjective = "lattice-expected-bleu",
        metrics: Sequence[str] = ("bleu",),
        features: Sequence[str | Feature] = ("novel.bigram",),
        skeletons: int | None = 10,
        entropy: Sequence[float] = (3.0,),
        l2: float = 1e-4,
        sparse_l2: float = 1e-2,
        min_segments: int = 3,
        skeleton_weights: bool = False,
        length: LengthTarget | None = None,
        rule: str = "mbr",
        scale: float = 0.3,
        folds: int = 2,
        select_by: Sequence[str] = ("bleu", "ter"),
        document_ids: Texts | None = None,
        synonyms: str | Path | None = None,
        output: str | Path | None = None,
        resume: bool = False,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Combination:
        """Learn the weight of each system from segments with references.

        Systems are texts or lists by name. Texts are raw, of this `language`, or `tokenized`. `lm_text` (a text, or
        files) and `language_models` make the language model, beside one of the outputs, whose weight is `bias`. By
        default perplexity on the references chooses it; with `bias_by="bleu"` the combination is tuned for each of nine
        weights, and BLEU chooses. `synonyms` is the directory of WordNet's files, or a file with a set of synonyms on
        each line; they match in part when outputs are aligned. With `output` the combination is saved there, and so is
        each finished stage.

        Tuning goes by expected BLEU, or by the `metrics` of other objectives ("bleu", "0.5*ter"). With one reference,
        texts are penalized if they are shorter than the MBR choice of the outputs, not than the reference (`length`).
        `rule`, at `scale` times the tuned scale, decides in `run`. Cross-validation on `folds` parts of whole documents
        (`document_ids` has one for each segment; else blocks of segments) chooses among tuned weights of each
        `entropy`, equal shares, and the MBR choice of the outputs, by BLEU − TER or another sum of metrics
        (`select_by`). Features such as "words.1" and "system.2" have many weights (`sparse_l2`, `min_segments`).
        """
        _require_named(objective)
        names = tuple(name for name in features if isinstance(name, str))
        functions = [one for one in features if not isinstance(one, str)]
        settings = CombinationSettings(
            language=language, tokenized=tokenized, lm_order=lm_order, bias=bias, bias_by=bias_by, objective=objective,
            metrics=_tuple(metrics), features=names, skeletons=skeletons, entropy=tuple(entropy), l2=l2,
            sparse_l2=sparse_l2, min_segments=min_segments, skeleton_weights=skeleton_weights, length=length, rule=rule,
            scale=scale, folds=folds, select_by=_tuple(select_by), synonyms=None if synonyms is None else str(synonyms),
        )  # fmt: skip
        rule_of(settings)
        named = _named(systems)
        if taken := {RESULT, CHOICE} & named.keys():
            raise InputError(f"no system can be called {min(taken)}", argument="systems", remedy="give it another name")
        models = ModelSources(language_models, _texts(lm_text, "lm_text"))
        documents = None if document_ids is None else read_texts(document_ids, "document_ids")
        run = TuningRun(begin_run(output, resume, marker=DESCRIPTION), resume, threads, progress, documents)
        run.require_new()
        files = [one for one in (*language_models, synonyms) if isinstance(one, str | Path)]
        require_readable(*(one for one in files if not Path(one).is_dir()))
        segments = list(_segments(named, list(named)))
        groups = read_groups(references, segments, "systems")
        if sources is not None:
            require_as_many("systems", segments, "sources", read_texts(sources, "sources"))
        if documents is not None:
            require_as_many("systems", segments, "document_ids", documents)
        combiner = tune_lines(segments, groups, [*named], settings, models, run, functions)
        if output is not None:
            combiner.save(output, keep=RUN)
            run.remove()
        return cls(combiner)

    def iter_run(
        self,
        systems: SystemOutputs,
        *,
        rule: Named[Rule] | None = None,
        metric: Named[Metric] | None = None,
        scale: float | None = None,
        size: int = BEST_TEXTS,
        sources: Texts | None = None,
        window: int = WINDOW,
        threads: int | None = None,
    ) -> Iterator[str]:
        """Combine segment by segment as `run` does, for long texts and for pipes: memory is bounded."""
        how: dict[str, Any] = {"rule": rule, "metric": metric, "scale": scale, "size": size, "window": window}
        lines = self._lines(systems, sources=sources, threads=threads, **how)
        return (line.text for line in lines)

    @arguments_of(iter_run)
    def run(self, systems: SystemOutputs, **how: Any) -> list[str]:
        """Combine the outputs of the systems into one.

        Systems are known by name, in any order; a missing one has no vote. Without a rule, that of tuning decides, or
        the MBR choice of the outputs if that was chosen. `scale` is a factor of the one that tuning found, by default
        that of tuning, and 1 for a `rule` that is given; a rule by name looks at the `size` best texts. A metric that
        is a function compares texts as they would be written, those of some segments in each call; `sources` are for
        it. Language model and case are learned from the outputs of `window` segments in a row.
        """
        return list(self.iter_run(systems, **how))

    @arguments_of(iter_run)
    def iter_decode(self, systems: SystemOutputs, **how: Any) -> Iterator[Combined]:
        """Combine segment by segment as `decode` does: memory is bounded."""
        lines = self._lines(systems, **how)
        return (
            Combined(line.text, line.combined.value, self._votes(line), segment) for segment, line in enumerate(lines)
        )

    @arguments_of(iter_run)
    def decode(self, systems: SystemOutputs, **how: Any) -> list[Combined]:
        """Combine as `run` does, with scores, and with the systems that vote for each word."""
        return list(self.iter_decode(systems, **how))

    def forest(self, systems: SystemOutputs, *, threads: int | None = None) -> list[Forest]:
        """Return the lattice of each segment, with votes as base scores; `weights` are for its features."""
        return [line.combined.forest for line in self._lines(systems, threads=threads)]

    def explain(
        self,
        systems: SystemOutputs,
        segments: Sequence[int] = (0,),
        *,
        sample: int = EXPLAINED,
        sources: Texts | None = None,
        references: Texts | Sequence[Texts] = (),
        **how: Any,
    ) -> ExplainedCombination:
        """Tell why some segments were combined as they are: networks, votes, and scores beside those of the runner-up.

        The parts of systems in the results are from the first `sample` segments, and from those that are explained.
        `references` are one text, or several, to show with the sources. Other arguments are those of `run`.
        """
        if min(segments, default=0) < 0 or not segments:
            raise InputError("no such segment", argument="segments", remedy="segments are counted from 0")
        given = None if sources is None else read_texts(sources, "sources")
        beside = [given or [], *_texts(references, "references")]
        wanted = sorted({*range(sample), *segments})
        explained, parts = [], []
        for number, line in zip(wanted, self._lines(systems, only=wanted, sources=given, **how), strict=False):
            parts.append(parts_of_votes(self.combiner.path(line.combined), self.combiner.second.weights.sigma))
            if number in segments:
                explained.append(explain_segment(self.combiner, number, line, beside))
        if missing := sorted({*segments} - {one.number for one in explained}):
            remedy = "segments are counted from 0"
            raise InputError(f"there is no segment {missing[0]}", argument="segments", remedy=remedy)
        known = tuple(system_parts(self.combiner, parts if sample else []))
        return ExplainedCombination(tuple(explained), known, self.weights, len(parts) if sample else 0, self.signature)

    @arguments_of(explain)
    def show(self, systems: SystemOutputs, *segments: Any, **how: Any) -> Page:
        """Draw the confusion networks of some segments, with all that `explain` tells."""
        return self.explain(systems, *segments, **how).page

    def save(self, path: str | Path) -> None:
        """Write a directory; an older one is replaced. Features that are functions are left out."""
        self.combiner.save(path)

    @classmethod
    def load(cls, path: str | Path, *, features: Sequence[Feature] = ()) -> Combination:
        """Read what `save` wrote; features that are functions must be given again."""
        return cls(Combiner.load(path, features))

    @property
    def systems(self) -> tuple[str, ...]:
        """Return the names of the systems."""
        return self.combiner.systems

    @property
    def shares(self) -> Mapping[str, float]:
        """Return the weight of each system's vote."""
        return self.combiner.second.weights.shares

    @property
    def weights(self) -> Weights:
        """Return the weights of the features."""
        return self.combiner.second.weights.features

    @property
    def bleu(self) -> Mapping[str, float]:
        """Return the BLEU of each system, of their MBR choice and of their combination on the tuning set."""
        return self.combiner.bleu

    @property
    def report(self) -> TuningReport:
        """Return scores on the tuning set, those of all candidates by cross-validation, and which was chosen."""
        return self.combiner.report

    @property
    def signature(self) -> str:  # type: ignore[override]
        """Return how the outputs are combined."""
        settings = self.combiner.settings
        text = "tokenized" if settings.tokenized else f"language:{settings.language}"
        entropy = ",".join(f"{one:g}" for one in settings.entropy)
        return (
            f"systems:{len(self.systems)}|objective:{settings.objective}|entropy:{entropy}|bias:{settings.bias:g}"
            f"|length:{settings.length}|chosen:{self.report.chosen}|{text}|version:{toledo.__version__}"
        )

    def __str__(self) -> str:
        rows = [["system", "BLEU", "TER", "length", "share"]]
        for name, one in self.report.scores.items():
            share = f"{self.shares[name]:.3f}" if name in self.shares else ""
            rows.append([name, *_cells(one), share])
        lines = table(rows, left=[0])
        if self.report.validated:
            rows = [["cross-validated", "BLEU", "TER", "length", "value"]]
            for name, one in self.report.validated.items():
                value = f"{self.report.values[name]:.2f}" + (" *" if name == self.report.chosen else "  ")
                rows.append([name, *_cells(one), value])
            lines += ["", *(line.rstrip() for line in table(rows, left=[0]))]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Combination({', '.join(self.systems)}; BLEU {self.bleu[RESULT]:.2f})"

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each system, one for their MBR choice and one for the combination."""
        scores = self.report.scores.items()
        return [{"system": name, **one._asdict(), "share": self.shares.get(name)} for name, one in scores]

    def to_dict(self) -> dict[str, Any]:
        """Return scores, shares and weights, ready for JSON."""
        weights = {name: value for name, value in self.weights.items() if value or "." not in name}
        scores = {
            column: {name: getattr(one, column) for name, one in self.report.scores.items()}
            for column in ("bleu", "ter", "length")
        }
        found: dict[str, Any] = {**scores, "shares": self.shares, "weights": weights}
        found |= {f"validated {name}": one._asdict() for name, one in self.report.validated.items()}
        rounded = {
            key: {name: round(value, DECIMALS) for name, value in values.items()} for key, values in found.items()
        }
        numbers = {"scale": round(self.combiner.second.scale, DECIMALS), "bias": self.combiner.settings.bias}
        return {**rounded, **numbers, "chosen": self.report.chosen, "signature": self.signature}

    def _lines(
        self,
        systems: SystemOutputs,
        *,
        only: Sequence[int] | None = None,
        sources: Texts | None = None,
        threads: int | None = None,
        scale: float | None = None,
        window: int = WINDOW,
        **rule: Any,
    ) -> Iterator[CombinedLine]:
        if window < 1:
            remedy = "give a number of segments, such as 4000"
            raise InputError(f"window is {window}, expected an int of at least 1", argument="window", remedy=remedy)
        how = StreamDecoding(_rule(scale=scale, **rule), scale, threads, window)
        given = in_order(_named(systems), self.systems)
        segments = _segments(dict(zip(self.systems, given, strict=True)), self.systems)
        texts = None if sources is None else _lines_of(sources, "sources")
        return combine_texts(self.combiner, segments, how, only=only, sources=texts)

    def _votes(self, line: CombinedLine) -> tuple[tuple[str, tuple[str, ...]], ...]:
        path = self.combiner.path(line.combined)
        if path is None:
            return ()
        arcs = path.network.arcs()
        spoken = [arc for arc in path.arcs if arcs.words[arc] != NULL]
        voters = [arcs.systems[arcs.vote_offsets[arc] : arcs.vote_offsets[arc + 1]].tolist() for arc in spoken]
        names = (tuple(self.systems[system] for system in one) for one in voters)
        return tuple(zip(line.combined.words, names, strict=True))


def combine(
    systems: SystemOutputs,
    *,
    tune: tuple[SystemOutputs, ReferenceTexts],
    rule: Named[Rule] | None = None,
    metric: Named[Metric] | None = None,
    scale: float | None = None,
    size: int = BEST_TEXTS,
    threads: int | None = None,
    **settings: Unpack[CombinationArguments],
) -> list[str]:
    """Combine the outputs of systems that are tuned on other outputs of theirs, `tune`, which have references.

    Further arguments are those of `Combination.tune`; `sources` are those of the outputs to combine.
    """
    sources = settings.pop("sources", None)
    combination = Combination.tune(*tune, threads=threads, **settings)
    how: dict[str, Any] = {"rule": rule, "metric": metric, "scale": scale, "size": size}
    return combination.run(systems, sources=sources, threads=threads, **how)


def _require_named(objective: object) -> None:
    """Refuse functions of texts as objectives: the lattices of a combination have far too many texts to ask for."""
    if not isinstance(objective, str):
        raise InputError(
            f"objective is {describe_value(objective)}: weights are tuned by gradients of expected n-grams, which a "
            "metric of whole texts does not have",
            argument="objective",
            remedy="tune for BLEU, and let the metric choose: run(systems, rule='mbr', metric=…)",
        )


def _rule(
    rule: Named[Rule] | None = None,
    metric: Named[Metric] | None = None,
    scale: float | None = None,
    size: int = BEST_TEXTS,
) -> Rule | None:
    """Return the rule that is asked for; None for that of tuning."""
    if scale is not None:
        check_scale(scale)
    if size < 1:
        raise InputError(f"size is {size}, expected an int of at least 1", argument="size")
    if rule is None and metric is None:
        return None
    made = make_search_rule("mbr" if rule is None else rule, metric, size=size)
    if scale not in (None, 1.0) and not made.has_scale:
        raise InputError(f"rule {made.name!r} has no scale", argument="scale", remedy="leave `scale` out")
    return made


def _cells(scores: TextScores) -> list[str]:
    return [f"{scores.bleu:.2f}", f"{scores.ter:.2f}", f"{scores.length:.3f}"]


def _tuple(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _named(systems: SystemOutputs) -> dict[str, Any]:
    named = name_systems(systems)
    if len(named) < 2:
        raise InputError("a combination needs two systems or more", argument="systems", remedy="give more systems")
    return named


def _segments(systems: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[list[str]]]:
    """Yield for each segment what each system says; nothing for systems that are None."""
    present = [name for name in names if systems[name] is not None]
    places = [
        str(given) if isinstance(given := systems[name], str | PathLike) else f"system {name!r}" for name in present
    ]
    for said in side_by_side([_outputs(name, systems[name]) for name in present], places):
        own = dict(zip(present, said, strict=True))
        yield [own.get(name, []) for name in names]


def _outputs(name: str, given: Any) -> Iterator[list[str]]:
    """Yield what a system says to each segment, best first."""
    argument = f"systems[{name!r}]"
    if isinstance(given, Runs):
        raise InputError(f"{argument} has several runs", argument="systems", remedy="give each run its own name")
    if isinstance(given, str | PathLike):
        yield from read_hypotheses(text_file(given, argument))
        return
    if isinstance(given, bytes | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"{argument} is a {type(given).__name__}, expected texts")
    for segment, one in enumerate(given):
        samples = [one] if isinstance(one, str) or hasattr(one, "text") else one
        found = as_hypotheses(samples, f"{argument}[{segment}]")
        texts = [sample.text for sample in found]
        scores = [sample.logprob if sample.score is None else sample.score for sample in found]
        yield [text for text in best_first(texts, scores) if text.strip()]


def _lines_of(texts: Texts, argument: str) -> Iterable[str]:
    """Return texts one by one: those of a file are not read at once."""
    return read_lines(text_file(texts, argument)) if isinstance(texts, str | PathLike) else read_texts(texts, argument)


def _texts(given: Texts | Sequence[Texts], argument: str) -> list[list[str]]:
    """Return one text, or several."""
    if isinstance(given, str | PathLike):
        return [read_texts(given, argument)]
    items: list[Any] = list(given)
    if items and all(isinstance(item, str) for item in items):
        return [read_texts(items, argument)]
    return [read_texts(item, argument) for item in items]
