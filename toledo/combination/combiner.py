"""System combination from end to end: outputs of several systems in, one output out.

    combiner = Combiner.tune(outputs, references, ["A", "B", "C"], vocabulary, model)
    combiner.save("combination")
    for combined in Combiner.load("combination").run(outputs): print(" ".join(combined.words))

`outputs` has for each segment the output of each system: a list of words, or an n-best list of such lists, or nothing.
A combiner is a directory: `combination.toml` with settings, weights and scores of the tuning set, its language model
and its synonyms. `toledo.combination.lines` combines text instead of words.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from toledo import storage
from toledo.combination.alignment import Matcher
from toledo.combination.features import Feature
from toledo.combination.goals import consensus_choice
from toledo.combination.language_models import BIASES, BiasedModels
from toledo.combination.lattice import NetworkLattice, bigram_edges, join_networks
from toledo.combination.network import NetworkPath, Output, best_path, build_networks, distinct_hypotheses
from toledo.combination.selection import CHOICE, RESULT, Selection, TuningReport, tell
from toledo.combination.settings import CombinationSettings, LengthTarget
from toledo.combination.synonyms import Synonyms, read_synonyms
from toledo.combination.tuning import CombinationTuning, Expander, TuningRun, covering, rule_of
from toledo.combination.votes import References, TunedStage, with_votes
from toledo.consensus.asking import ShownTexts
from toledo.consensus.decide import decide
from toledo.consensus.rule import Decision, Rule
from toledo.errors import InputError
from toledo.forest.forest import Forest
from toledo.language_model.model import LanguageModel
from toledo.text.vocabulary import Vocabulary

log = logging.getLogger(__name__)

DESCRIPTION, FORMAT = "combination.toml", 3
SEGMENTS_AT_ONCE = 16  # that are read before the first is written
MANY_EDGES = 20_000_000  # some ten gigabytes


@dataclass(frozen=True, eq=False)
class CombinedWords:
    """The result for a segment: words, what they are worth to the decision rule, and where they come from.

    `forest` is the lattice of the last stage, expanded and pruned, with the votes as base scores.
    """

    words: tuple[str, ...]
    value: float
    lattice: NetworkLattice
    forest: Forest


@dataclass(frozen=True, eq=False)
class Combiner:
    """All that is needed to combine the outputs of some systems, in the order of `systems`.

    `report` has scores on the tuning set, and which candidate was chosen there.
    """

    systems: tuple[str, ...]
    settings: CombinationSettings
    first: TunedStage
    second: TunedStage
    vocabulary: Vocabulary
    model: LanguageModel | None = None
    features: tuple[Feature, ...] = ()
    report: TuningReport = field(default_factory=TuningReport)
    synonyms: Synonyms | None = None

    @classmethod
    def tune(
        cls,
        outputs: Sequence[Sequence[Output]],
        references: References,
        systems: Sequence[str],
        vocabulary: Vocabulary,
        model: LanguageModel | BiasedModels | None = None,
        settings: CombinationSettings = CombinationSettings(),  # noqa: B008 (frozen)
        features: Sequence[Feature] = (),
        run: TuningRun = TuningRun(),  # noqa: B008 (frozen)
    ) -> Combiner:
        """Find weights on a tuning set and keep those that are best on segments that they were not tuned on.

        `vocabulary` is that of the language model; words of the outputs join it. Of `BiasedModels` each mixture is
        tuned with, and the one with the best BLEU on the tuning set is kept; of equally good ones, that with the
        smallest bias.
        """
        _check(systems, outputs, references)
        settings = replace(settings, length=settings.length or _length(references))
        matcher = Matcher(settings.stemmer, read_synonyms(settings.synonyms) if settings.synonyms else None)
        lattices = _lattices(outputs, tuple(systems), settings, vocabulary, matcher)
        _warn_if_large(lattices)
        choice = [one.words for one in consensus_choice(lattices, run.threads)]
        lengths = np.array([text.size for text in choice], np.float64) if settings.length == "consensus" else None

        def tune_with(own: CombinationSettings, mixed: LanguageModel | None, how: TuningRun = run) -> Combiner:
            expander = Expander(own, mixed, tuple(features), run.threads, run.progress)
            tuning = CombinationTuning(lattices, references, systems, expander, lengths)
            return cls._selected(Selection(tuning, choice, matcher, how))

        if not isinstance(model, BiasedModels):
            found = tune_with(settings, model)
        else:
            every = (tune_with(replace(settings, bias=bias, folds=0), model.mixture(bias)) for bias in BIASES)
            best = max(every, key=lambda one: one.bleu[RESULT])
            found = tune_with(replace(settings, bias=best.settings.bias), best.model, replace(run, resume=True))
        tell(found.report, settings.length)
        return found

    @classmethod
    def _selected(cls, selection: Selection) -> Combiner:
        """Return the best combiner of one language model."""
        tuning = selection.tuning
        stages, report = selection.select()
        return cls(
            tuple(tuning.systems),
            replace(tuning.expander.settings, entropy=(stages.entropy,)),
            stages.first,
            stages.second,
            tuning.lattices[0].forest.vocabulary,
            tuning.expander.model,
            tuning.expander.features,
            report,
            selection.matcher.synonyms,
        )

    @property
    def bleu(self) -> dict[str, float]:
        """The BLEU of each system, of their MBR choice and of their combination on the tuning set."""
        return {name: one.bleu for name, one in self.report.scores.items()}

    def run(
        self,
        outputs: Iterable[Sequence[Output]],
        rule: Rule | None = None,
        scale: float | None = None,
        *,
        model: LanguageModel | None = None,
        threads: int | None = None,
        shown: ShownTexts = ShownTexts(),  # noqa: B008 (frozen)
        first: int = 0,
    ) -> Iterator[CombinedWords]:
        """Combine segment by segment, as they come.

        Without a rule, that of the settings decides, or the MBR choice of the outputs if tuning was no better. `scale`
        is a factor of the γ that gives the distribution its entropy; without one it is 1 for a rule that is given.

        A `model` that was made with the same vocabulary takes the place of the combiner's own, such as one that is
        biased to the outputs of this very set. `shown` is for a rule whose metric is a function: sources of all
        segments, and what writes the texts of those that are combined together, some at a time. `first` is the number
        of the first segment, for messages.
        """
        expander = Expander(self.settings, model or self.model, self.features, threads)
        matcher = Matcher(self.settings.stemmer, self.synonyms)
        segments, done = iter(outputs), 0
        while block := list(islice(segments, SEGMENTS_AT_ONCE)):
            _check(self.systems, block, done=first + done)
            lattices = _lattices(block, self.systems, self.settings, self.vocabulary, matcher, first + done)
            done += len(block)
            forests = self._forests(lattices, expander)
            sources = None if shown.sources is None else shown.sources[done - len(block) : done]
            own = replace(shown, sources=sources)
            if rule is None and scale is None and self.report.chosen == CHOICE:
                decisions = consensus_choice(lattices, threads)
            else:
                decisions = self._decide(rule, scale, forests, threads, own)
            for lattice, forest, decision in zip(lattices, forests, decisions, strict=True):
                words = tuple(self.vocabulary.words(decision.words.tolist()))
                yield CombinedWords(words, decision.value, lattice, forest)

    def _forests(self, lattices: Sequence[NetworkLattice], expander: Expander) -> list[Forest]:
        bigrams = with_votes(expander.to_bigrams(lattices).forest, lattices)
        return expander.decided(bigrams, lattices, self.first, self.second)

    def _decide(
        self, rule: Rule | None, scale: float | None, forests: Sequence[Forest], threads: int | None, shown: ShownTexts
    ) -> list[Decision]:
        if scale is None:
            scale = self.settings.scale if rule is None else 1.0
        weights = covering(self.second.weights, forests[0]).features
        chosen = rule_of(self.settings) if rule is None else rule
        return decide(chosen, forests, weights, scale * self.second.scale, threads, shown=shown)

    def path(self, combined: CombinedWords) -> NetworkPath | None:
        """Return the way of a result through the network that has most votes for it."""
        words = [combined.lattice.forest.vocabulary.add(word) for word in combined.words]
        return best_path(combined.lattice.networks, words, self.second.weights.sigma)

    def save(self, directory: str | Path, keep: str = "") -> None:
        """Write a directory atomically; features that are functions are not part of it. A folder `keep` in it stays."""
        arrays: dict[str, Any] = {f"vocabulary.{name}": array for name, array in self.vocabulary.to_arrays().items()}
        if self.model is not None:
            arrays |= {f"ngrams.{name}": array for name, array in self.model.to_arrays().items()}
        if self.synonyms is not None:
            arrays["synonyms"] = self.synonyms.to_array()
        settings = {name: value for name, value in asdict(self.settings).items() if value is not None}
        stages = [stage.to_table() for stage in (self.first, self.second)]
        content = {
            "format": FORMAT,
            "systems": list(self.systems),
            "settings": settings,
            "stages": stages,
            "report": self.report.to_table(),
        }
        storage.save(directory, DESCRIPTION, content, arrays, keep)

    @classmethod
    def load(cls, directory: str | Path, features: Sequence[Feature] = ()) -> Combiner:
        """Read what `save` wrote; features that are functions must be given again."""
        file = Path(directory) / DESCRIPTION
        if not file.exists():
            remedy = "check the path, or tune a combination first"
            raise InputError(f"no such file, so {directory} is not a combination", file=file, remedy=remedy)
        content, arrays = storage.load(directory, DESCRIPTION)
        stages, systems = content.get("stages"), content.get("systems")
        known = content.get("format") == FORMAT and {"vocabulary.bytes", "vocabulary.offsets"} <= arrays.keys()
        if not known or not isinstance(stages, list) or len(stages) != 2 or not systems:
            raise InputError("is not a combination that this version can read", file=file, remedy="tune again")
        with storage.assembling(file, "tune again"):
            return cls._assemble(content, arrays, file, tuple(features))

    @classmethod
    def _assemble(
        cls, content: storage.Table, arrays: dict[str, storage.Array], file: Path, features: tuple[Feature, ...]
    ) -> Combiner:
        vocabulary = Vocabulary.from_arrays(arrays["vocabulary.bytes"], arrays["vocabulary.offsets"])
        ngrams = {name.removeprefix("ngrams."): array for name, array in arrays.items() if name.startswith("ngrams.")}
        model = LanguageModel.from_arrays(ngrams, len(vocabulary)) if ngrams else None
        first, second = (TunedStage.from_table(stage, file) for stage in content["stages"])
        settings = _settings(content.get("settings"), file)
        report = TuningReport.from_table(content.get("report", {}), file)
        synonyms = Synonyms.from_array(arrays["synonyms"], file) if "synonyms" in arrays else None
        systems = storage.strings(content, "systems")
        return cls(systems, settings, first, second, vocabulary, model, features, report, synonyms)


def _settings(table: Any, file: Path) -> CombinationSettings:
    try:
        return CombinationSettings(**table)
    except (TypeError, InputError):
        raise InputError("the settings are not those of this version", file=file, remedy="tune again") from None


def _length(references: References) -> LengthTarget:
    """Return whose length to ask for: with one reference, the consensus is the better guess."""
    return "consensus" if all(len(own) == 1 for own in references) else "reference"


def _lattices(
    outputs: Sequence[Sequence[Output]],
    systems: tuple[str, ...],
    settings: CombinationSettings,
    vocabulary: Vocabulary,
    matcher: Matcher,
    done: int = 0,
) -> list[NetworkLattice]:
    lattices = []
    for number, own in enumerate(outputs, start=done + 1):
        hypotheses = distinct_hypotheses(own, vocabulary)
        try:
            networks = build_networks(hypotheses, vocabulary, matcher, skeletons=settings.skeletons)
        except InputError as error:
            raise InputError(f"segment {number}: {error.message}", remedy=error.remedy) from None
        lattices.append(join_networks(networks, hypotheses, systems, vocabulary))
    return lattices


def _warn_if_large(lattices: Sequence[NetworkLattice]) -> None:
    """Say what helps before memory runs out."""
    edges = sum(map(bigram_edges, lattices))
    if edges > MANY_EDGES:
        log.warning(
            "large lattices, of about %d million edges: fewer skeletons (such as 3) need less time and memory",
            edges // 1_000_000,
        )


def _check(
    systems: Sequence[str], outputs: Sequence[Sequence[Output]], references: References | None = None, done: int = 0
) -> None:
    """Refuse outputs of other numbers of systems or segments; `done` segments came before."""
    if not systems or len(set(systems)) != len(systems):
        raise InputError("there are no systems, or two have the same name", remedy="give each system a different name")
    for number, own in enumerate(outputs, start=done + 1):
        if len(own) != len(systems):
            raise InputError(
                f"segment {number} has outputs of {len(own)} systems, not of {len(systems)}",
                remedy="give one of each system for each segment, an empty one if there is none",
            )
    if references is not None and (len(references) != len(outputs) or not outputs):
        raise InputError(f"{len(outputs)} segments, but references for {len(references)}", remedy="give one set each")
