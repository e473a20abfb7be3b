"""System combination from end to end: outputs of several systems in, one output out.

    combiner = Combiner.tune(outputs, references, ["A", "B", "C"], vocabulary, model)
    combiner.save("combination")
    for combined in Combiner.load("combination").run(outputs): print(" ".join(combined.words))

`outputs` has for each segment the output of each system: a list of words, or an n-best list of such lists, or nothing.
A combiner is a directory: `combination.toml` with settings, weights and the BLEU of the tuning set, its language model
and its synonyms. `toledo.combination.lines` combines text instead of words.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from toledo import storage
from toledo.combination.alignment import Matcher
from toledo.combination.features import Feature
from toledo.combination.language_models import BIASES, BiasedModels
from toledo.combination.lattice import NetworkLattice, bigram_edges, join_networks
from toledo.combination.network import NetworkPath, Output, best_path, build_networks, distinct_hypotheses
from toledo.combination.settings import CombinationSettings
from toledo.combination.synonyms import Synonyms, read_synonyms
from toledo.combination.tuning import CombinationTuning, Expander, TuningRun, configuration_of, covering
from toledo.combination.votes import References, TunedStage, with_votes
from toledo.consensus.asking import ShownTexts
from toledo.consensus.decide import Viterbi, decide
from toledo.consensus.rule import Rule
from toledo.errors import InputError
from toledo.forest.assemble import split
from toledo.forest.forest import Forest
from toledo.language_model.model import LanguageModel
from toledo.text.vocabulary import Vocabulary

log = logging.getLogger(__name__)

DESCRIPTION, FORMAT = "combination.toml", 2
RESULT = "combination"  # beside the names of systems, in tables of scores
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

    `bleu` has the BLEU of each system and of their combination on the tuning set.
    """

    systems: tuple[str, ...]
    settings: CombinationSettings
    first: TunedStage
    second: TunedStage
    vocabulary: Vocabulary
    model: LanguageModel | None = None
    features: tuple[Feature, ...] = ()
    bleu: Mapping[str, float] = field(default_factory=dict)
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
        """Find weights on a tuning set, for each entropy, and keep those with the highest BLEU there.

        `vocabulary` is that of the language model; words of the outputs join it. Of `BiasedModels` each mixture is
        tuned with, and the best is kept; of equally good ones, that with the smallest bias.
        """
        _check(systems, outputs, references)
        matcher = Matcher(settings.stemmer, read_synonyms(settings.synonyms) if settings.synonyms else None)
        lattices = _lattices(outputs, tuple(systems), settings, vocabulary, matcher)
        _warn_if_large(lattices)

        def tune_with(own: CombinationSettings, mixed: LanguageModel | None) -> Combiner:
            expander = Expander(own, mixed, tuple(features), run.threads, run.progress)
            return cls._tune(CombinationTuning(lattices, references, systems, expander), matcher, run)

        if not isinstance(model, BiasedModels):
            return tune_with(settings, model)
        found = (tune_with(replace(settings, bias=bias), model.mixture(bias)) for bias in BIASES)
        return max(found, key=lambda one: one.bleu[RESULT])

    @classmethod
    def _tune(cls, tuning: CombinationTuning, matcher: Matcher, run: TuningRun) -> Combiner:
        """Return the best combiner of one language model: that of the best entropy."""
        expander, settings = tuning.expander, tuning.expander.settings
        given = configuration_of(tuning, matcher) if run.directory else {}
        tuned = [
            tuning.tune(entropy, run.checkpoint(entropy, settings.bias, {**given, "entropy": str(entropy)}))
            for entropy in dict.fromkeys(settings.entropy)
        ]
        best = max(tuned, key=lambda one: one.bleu)
        log.info("entropy %g is best on the tuning set", best.entropy)
        return cls(
            tuple(tuning.systems),
            replace(settings, entropy=(best.entropy,)),
            best.first,
            best.second,
            tuning.lattices[0].forest.vocabulary,
            expander.model,
            expander.features,
            {**tuning.system_bleu(), RESULT: best.bleu},
            matcher.synonyms,
        )

    def run(
        self,
        outputs: Iterable[Sequence[Output]],
        rule: Rule = Viterbi(),  # noqa: B008 (frozen)
        scale: float = 1.0,
        *,
        model: LanguageModel | None = None,
        threads: int | None = None,
        shown: ShownTexts = ShownTexts(),  # noqa: B008 (frozen)
        first: int = 0,
    ) -> Iterator[CombinedWords]:
        """Combine segment by segment, as they come.

        `scale` is a factor of the γ that gives the distribution its entropy. A `model` that was made with the same
        vocabulary takes the place of the combiner's own, such as one that is biased to the outputs of this very set.
        `shown` is for a rule whose metric is a function: sources of all segments, and what writes the texts of those
        that are combined together, some at a time. `first` is the number of the first segment, for messages.
        """
        expander = Expander(self.settings, model or self.model, self.features, threads)
        matcher = Matcher(self.settings.stemmer, self.synonyms)
        segments, done = iter(outputs), 0
        while block := list(islice(segments, SEGMENTS_AT_ONCE)):
            _check(self.systems, block, done=first + done)
            lattices = _lattices(block, self.systems, self.settings, self.vocabulary, matcher, first + done)
            done += len(block)
            forests = self._forests(lattices, expander)
            weights = covering(self.second.weights, forests[0]).features
            sources = None if shown.sources is None else shown.sources[done - len(block) : done]
            own = replace(shown, sources=sources)
            decisions = decide(rule, forests, weights, scale * self.second.scale, threads, shown=own)
            for lattice, forest, decision in zip(lattices, forests, decisions, strict=True):
                words = tuple(self.vocabulary.words(decision.words.tolist()))
                yield CombinedWords(words, decision.value, lattice, forest)

    def _forests(self, lattices: Sequence[NetworkLattice], expander: Expander) -> list[Forest]:
        bigrams = with_votes(expander.to_bigrams(lattices).forest, lattices)
        ngrams = with_votes(expander.to_order(bigrams, lattices, self.first).forest, lattices)
        return [part for part, _, _ in split(ngrams.decided(self.second.weights.sigma))]

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
            "bleu": self.bleu,
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
        vocabulary = Vocabulary.from_arrays(arrays["vocabulary.bytes"], arrays["vocabulary.offsets"])
        ngrams = {name.removeprefix("ngrams."): array for name, array in arrays.items() if name.startswith("ngrams.")}
        model = LanguageModel.from_arrays(ngrams, len(vocabulary)) if ngrams else None
        first, second = (TunedStage.from_table(stage, file) for stage in stages)
        settings = _settings(content.get("settings"), file)
        bleu = {str(name): float(score) for name, score in content.get("bleu", {}).items()}
        synonyms = Synonyms.from_array(arrays["synonyms"], file) if "synonyms" in arrays else None
        return cls(tuple(systems), settings, first, second, vocabulary, model, tuple(features), bleu, synonyms)


def _settings(table: Any, file: Path) -> CombinationSettings:
    try:
        return CombinationSettings(**table)
    except (TypeError, InputError):
        raise InputError("the settings are not those of this version", file=file, remedy="tune again") from None


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
