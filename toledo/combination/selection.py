"""Which weights are used: those tuned at some entropy, none but equal shares, or the MBR choice of the outputs.

BLEU on the segments that weights were tuned on is too good by half a point or more, and it cannot tell whether tuning
did any good. So the tuning set is cut into parts of whole documents, and each part is combined with weights tuned on
the others. Texts are scored by BLEU − TER, or another goal: TER sees padding where BLEU does not. Weights tuned on half
of the segments are worse than those that are used in the end, though, and those look too good on their own segments;
the value of tuned weights is the mean of both scores. Equal shares and the MBR choice need no references: one score is
all.

Tuned weights are used if they are better than the MBR choice, unless equal shares are better by more than two standard
errors of the difference. Otherwise the better one of the MBR choice and equal shares is used.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.combination.alignment import Matcher
from toledo.combination.goals import Goal, Judge, PreparedGoal, TextScores, WordIds, as_tables, from_tables, metrics_of
from toledo.combination.settings import LengthTarget
from toledo.combination.tuning import CombinationTuning, TunedStages, TuningRun
from toledo.errors import InputError
from toledo.runs.checkpoint import Checkpoint
from toledo.text.vocabulary import Vocabulary

log = logging.getLogger(__name__)

RESULT, CHOICE, EQUAL = "combination", "MBR choice", "equal shares"  # beside names of systems, and of candidates
FEWEST_SEGMENTS = 40  # to cross-validate
BLOCK = 10  # consecutive segments that stay together where documents are not known
CLEARLY = 2.0  # standard errors by which equal shares must be better than tuned ones, which suit unequal systems
OTHER_LENGTH = 0.01  # the share by which a combination may differ from the outputs' mean length


@dataclass(frozen=True)
class TuningReport:
    """Scores of the systems, their MBR choice and their combination on the tuning set, and of all candidates.

    `validated` has the scores of candidates for segments that they were not tuned on, and `values` what was compared:
    for tuned weights the mean of the goal there and on their own segments. Both are empty without cross-validation.
    `chosen` names the candidate.
    """

    scores: Mapping[str, TextScores] = field(default_factory=dict)
    validated: Mapping[str, TextScores] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    chosen: str = ""

    def to_table(self) -> dict[str, Any]:
        """Return the report for a TOML file."""
        tables = {"scores": as_tables(self.scores), "validated": as_tables(self.validated)}
        return {**tables, "values": dict(self.values), "chosen": self.chosen}

    @classmethod
    def from_table(cls, table: Mapping[str, Any], file: object) -> TuningReport:
        """Read what `to_table` returned."""
        try:
            scores, validated = (from_tables(table[name]) for name in ("scores", "validated"))
            values = {str(name): float(value) for name, value in table["values"].items()}
            return cls(scores, validated, values, str(table["chosen"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError("the report of tuning is damaged", file=str(file), remedy="tune again") from None


@dataclass(frozen=True, eq=False)
class Selection:
    """Chooses among candidates for one language model; `choice` is the MBR choice of each segment."""

    tuning: CombinationTuning
    choice: Sequence[WordIds]
    matcher: Matcher
    run: TuningRun = TuningRun()  # noqa: RUF009 (frozen)

    def select(self) -> tuple[TunedStages, TuningReport]:
        """Return the weights that are best, and how they compare with others."""
        settings = self.tuning.expander.settings
        entropies = [*dict.fromkeys(settings.entropy)]
        parts = self.parts()
        if not parts:
            return self._on_tuning_set(entropies)
        texts = self.validated_texts(parts, entropies)
        tuned, final = dict[str, TunedStages](), dict[str, list[WordIds]]()
        for entropy in entropies:
            tuned[tuned_at(entropy)] = stages = self._tuned(entropy)
            final[tuned_at(entropy)] = self.tuning.texts(stages)
        values = {name: 0.5 * (self._value(texts[name]) + self._value(final[name])) for name in tuned}
        best = max(values, key=values.__getitem__)
        tuned[EQUAL] = tuned[CHOICE] = self.tuning.untuned(tuned[best].entropy)
        final |= {CHOICE: list(self.choice), EQUAL: self.tuning.texts(tuned[EQUAL])}
        values = {name: self._value(final[name]) for name in (CHOICE, EQUAL)} | values
        noise = self._goal.noise(final[EQUAL], texts[best], self.documents)
        log.info("standard error of equal shares against tuned weights: %.2f", noise)
        chosen = choose(values, best, noise)
        validated = {name: self.judge(texts.get(name, final[name])) for name in values}
        return tuned[chosen], TuningReport(self._scores(final[chosen]), validated, values, chosen)

    def _on_tuning_set(self, entropies: Sequence[float]) -> tuple[TunedStages, TuningReport]:
        """Return the weights whose texts are best on the set that they were tuned on."""
        found = [(stages, self.tuning.texts(stages)) for stages in map(self._tuned, entropies)]
        values = [self._value(texts) for _, texts in found]
        stages, texts = found[int(np.argmax(values))]
        return stages, TuningReport(self._scores(texts), chosen=tuned_at(stages.entropy))

    def parts(self) -> list[NDArray[np.int64]]:
        """Return the segments of each part for cross-validation; nothing if there is none, or too few segments."""
        size, folds = len(self.choice), self.tuning.expander.settings.folds
        if not folds:
            return []
        parts = deal(self.documents, folds)
        if size < FEWEST_SEGMENTS or not all(part.size for part in parts):
            log.info("too few segments or documents to cross-validate: the tuning set itself chooses the entropy")
            return []
        return parts

    @cached_property
    def documents(self) -> Sequence[str]:
        """The document of each segment; blocks of segments where documents are not known."""
        size = len(self.choice)
        documents = self.run.documents or [str(number // BLOCK) for number in range(size)]
        if len(documents) != size:
            raise InputError(
                f"{size} segments, but documents of {len(documents)}", argument="document_ids", remedy="give one each"
            )
        return documents

    def validated_texts(
        self, parts: Sequence[NDArray[np.int64]], entropies: Sequence[float]
    ) -> dict[str, list[WordIds]]:
        """Return for each entropy the texts of all segments, each with weights tuned on parts that it is not in."""
        found: dict[str, list[WordIds]] = {tuned_at(entropy): [*self.choice] for entropy in entropies}
        pieces = [self.tuning.part(segments) for segments in parts]
        for number, segments in enumerate(parts):
            others = np.sort(np.concatenate([*parts[:number], *parts[number + 1 :]]))
            training = pieces[1 - number] if len(pieces) == 2 else self.tuning.part(others)
            for entropy in entropies:
                stages = training.tune(entropy, self._checkpoint(training, entropy, f"-without-part-{number + 1}"))
                for segment, text in zip(segments.tolist(), pieces[number].texts(stages), strict=True):
                    found[tuned_at(entropy)][segment] = text
        return found

    def _tuned(self, entropy: float) -> TunedStages:
        return self.tuning.tune(entropy, self._checkpoint(self.tuning, entropy))

    def _checkpoint(self, tuning: CombinationTuning, entropy: float, part: str = "") -> Checkpoint | None:
        return self.run.checkpoint(tuning, self.matcher, entropy, part)

    @cached_property
    def judge(self) -> Judge:
        """What scores texts."""
        return Judge(self.tuning.references, self._vocabulary)

    @cached_property
    def _goal(self) -> PreparedGoal:
        metrics = metrics_of(self.tuning.expander.settings.select_by)
        return Goal(self.tuning.references, metrics).prepare(self._vocabulary)

    @property
    def _vocabulary(self) -> Vocabulary:
        return self.tuning.lattices[0].forest.vocabulary

    def _value(self, texts: Sequence[WordIds]) -> float:
        return self._goal.value(texts)

    def _scores(self, combined: Sequence[WordIds]) -> dict[str, TextScores]:
        systems = {name: self.tuning.outputs(system) for system, name in enumerate(self.tuning.systems)}
        return {name: self.judge(texts) for name, texts in {**systems, CHOICE: self.choice, RESULT: combined}.items()}


def tuned_at(entropy: float) -> str:
    """Return the name of a candidate."""
    return f"tuned, entropy {entropy:g}"


def choose(values: Mapping[str, float], tuned: str, noise: float) -> str:
    """Return the name of the candidate to use; `tuned` is the best of those that were tuned."""
    if values[tuned] > values[CHOICE]:
        return EQUAL if values[EQUAL] > values[tuned] + CLEARLY * noise else tuned
    return EQUAL if values[EQUAL] > values[CHOICE] else CHOICE


def deal(documents: Sequence[str], folds: int) -> list[NDArray[np.int64]]:
    """Return the segments of each of some parts: each document goes to the part that has fewest segments so far."""
    parts: list[list[int]] = [[] for _ in range(folds)]
    members: dict[str, list[int]] = {}
    for segment, document in enumerate(documents):
        members.setdefault(document, []).append(segment)
    for own in members.values():
        min(parts, key=len).extend(own)
    return [np.array(sorted(part), np.int64) for part in parts]


def tell(report: TuningReport, length: LengthTarget | None) -> None:
    """Say what was chosen, and warn where tuning did not help or where the combination is padded.

    `length` is what tuning asked for.
    """
    if report.values:
        log.info("cross-validated: %s", ", ".join(f"{name} {value:.2f}" for name, value in report.values.items()))
    if report.chosen == CHOICE:
        log.warning(
            "tuned weights are no better than the MBR choice of the outputs by cross-validation, so that is what `run`"
            " gives: other systems or more segments to tune on may help"
        )
        return
    if report.chosen == EQUAL:
        log.warning(
            "tuned weights are no better than equal shares by cross-validation, so all systems have the same share"
        )
    scores = report.scores
    systems = [one.length for name, one in scores.items() if name not in (RESULT, CHOICE)]
    longer = scores[RESULT].length / max(float(np.mean(systems)), 1e-9) - 1.0
    if abs(longer) > OTHER_LENGTH:
        log.warning(
            "the combination is %.1f %% %s than the outputs are on average%s",
            abs(100.0 * longer),
            "longer" if longer > 0.0 else "shorter",
            ": tuning asked for the length of the reference; see `length=consensus`" if length == "reference" else "",
        )
    if scores[RESULT].ter > scores[CHOICE].ter:
        log.warning(
            "TER on the tuning set is %.2f, that of the MBR choice of the outputs %.2f: the combination may be padded",
            scores[RESULT].ter,
            scores[CHOICE].ter,
        )
