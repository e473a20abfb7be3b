"""A translation model: translate, list, sample, score and explain; load, save and export.

model = toledo.load("model")
model.translate("das Haus ist klein")
model.translate(lines, rule="mbr")
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from toledo.api.files import export_moses
from toledo.api.inputs import OneOrMany, ReferenceTexts, Texts, arguments_of, read_many, read_sources
from toledo.api.model_info import ModelInfo, model_info
from toledo.api.one_or_many import one_or_many
from toledo.api.tables import AddOptions, added
from toledo.compiled.kernels import map_chunks
from toledo.consensus.registry import make_rule, make_search_rule, rule_text
from toledo.consensus.rule import Rule, check_scale
from toledo.errors import InputError, ModelError
from toledo.forest.assemble import prune_to_density
from toledo.forest.forest import Forest
from toledo.formats.docent import import_docent, read_docent_config
from toledo.formats.hypotheses import Entry, nbest_list
from toledo.formats.moses_model import import_model
from toledo.metrics.metric import Metric
from toledo.metrics.shapes import length_error
from toledo.model import DESCRIPTION, PhraseModel
from toledo.progress import Progress, silent
from toledo.reranking.reranker import Reranker
from toledo.results import Hypothesis
from toledo.search.document.translation import DocumentTranslation
from toledo.search.gibbs.diagnostics import ObservedGibbs
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.itg import log_unused_weights
from toledo.search.search import Search, as_given
from toledo.search.settings import SEARCHES, Beam, Gibbs, SearchKind
from toledo.settings import Named
from toledo.text.preparation import Preparation
from toledo.translation import ForcedTranslator, SampledHypotheses, Trace, Translated, Translator
from toledo.tuning.initial import known_features, load_weights, require_known
from toledo.weights import Weights

if TYPE_CHECKING:
    from toledo.api.documents import OracleOptions, TranslateDocumentOptions

log = logging.getLogger(__name__)

LINES_AT_ONCE = 64  # of an iterator of texts
SEGMENTS_AT_ONCE = 4
DEFAULT_RULE = "viterbi"
RERANKING = "reranking"  # the directory of what reranks, in that of a model
SPARSE_REMEDY = "these are sparse features; use the model that was tuned"

GivenWeights: TypeAlias = Weights | Mapping[str, float] | Path | str


@dataclass(frozen=True)
class Decoding:
    """How a model translates; None stands for the default of the model."""

    rule: Named[Rule] | None = None
    metric: Named[Metric] | None = None
    scale: float | None = None
    search: Named[SearchKind] = "beam"
    weights: GivenWeights | None = None
    seed: int = 1
    threads: int | None = None
    progress: Progress = silent
    tokenized: bool = False


class Model:
    """A phrase-based model, and the decision rule that it translates with.

    A `str` is one text and gives one result; several texts, or a file as a `Path`, give a list. A model that was
    trained on raw text takes and gives raw text, unless texts are `tokenized` into its words; any other model takes and
    gives words separated by spaces.
    """

    def __init__(
        self,
        phrase_model: PhraseModel,
        name: str = "",
        rule: Named[Rule] | None = None,
        scale: float | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        own = phrase_model.rule
        self.phrase_model, self.name, self.reranker = phrase_model, name, reranker
        self.rule = own.get("name", DEFAULT_RULE) if rule is None else rule
        self.scale = own.get("scale") if rule is None else scale

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a model directory."""
        folder = Path(path)
        reranker = Reranker.load(folder / RERANKING) if (folder / RERANKING).is_dir() else None
        return cls(PhraseModel.load(folder), folder.name, reranker=reranker)

    @classmethod
    def from_moses(
        cls,
        ini: str | Path | None = None,
        *,
        phrase_table: str | Path | Sequence[str | Path] = (),
        language_models: Sequence[str | Path] = (),
        reordering_table: str | Path | None = None,
        progress: Progress = silent,
    ) -> Model:
        """Make a model from Moses' files, of one phrase table or several; they replace those that a moses.ini names.

        Without a moses.ini, weights are Moses' defaults.
        """
        tables = [phrase_table] if isinstance(phrase_table, str | Path) else [*(phrase_table or ())]
        read = import_model(tables, language_models, reordering_table, ini, progress)
        return cls(read, Path(ini or (tables[0] if tables else "")).stem)

    @classmethod
    def from_docent(
        cls,
        config: str | Path,
        *,
        phrase_table: str | Path | None = None,
        language_models: Sequence[str | Path] = (),
        progress: Progress = silent,
    ) -> Model:
        """Make a model from a configuration of Docent."""
        configuration = read_docent_config(config)
        for note in configuration.notes:
            log.warning("%s: %s", config, note)
        read = import_docent(configuration, Path(config).parent, phrase_table, language_models, progress)
        return cls(read, Path(config).stem)

    @property
    def weights(self) -> Weights:
        """Return the weights of the features."""
        return self.phrase_model.weights

    @property
    def features(self) -> tuple[str, ...]:
        """Return the names of the features, without sparse ones."""
        return self.phrase_model.feature_names

    @property
    def languages(self) -> tuple[str, str]:
        """Return the codes of source and target language, empty ones if they are not known."""
        return self.phrase_model.preparation.languages

    @property
    def signature(self) -> str:
        """Return what this model is, in one line."""
        return self.phrase_model.signature

    def info(self) -> ModelInfo:
        """Return its parts with their numbers of parameters, its weights, and how it was made."""
        return model_info(self.phrase_model, self.name, self.rule, self.scale)

    def __repr__(self) -> str:
        languages = f"{'-'.join(self.languages)}, " if all(self.languages) else ""
        return f"Model({self.name!r}, {languages}{len(self.phrase_model.table):,} phrase pairs)"

    def __str__(self) -> str:
        model = self.phrase_model
        orders = ", ".join(f"{one.order}-grams" for one in model.language_models) or "none"
        at = "" if self.scale is None else f" at scale {self.scale:g}"
        lines = [
            f"model {self.name}: {len(model.table):,} phrase pairs of up to {model.table.longest_source} source words",
            f"language models: {orders}; reordering: {'no' if model.table.reordering is None else 'yes'}",
            "weights: " + ", ".join(f"{name} {self.weights[name]:.4g}" for name in self.features),
            f"rule: {self.rule if isinstance(self.rule, str) else make_rule(self.rule).name}{at}",
            f"reranking: {'no' if self.reranker is None else 'yes'}",
            f"text: {'raw' if model.preparation.raw else 'tokenized'} ({model.preparation.signature})",
        ]
        return "\n".join([*lines, self.signature])

    def __getattr__(self, name: str) -> Any:
        hint = ": did you mean translate?" if name in ("predict", "generate") else ""
        raise AttributeError(f"'Model' object has no attribute {name!r}{hint}")

    def iter_translate(
        self,
        sources: Path | Iterable[str],
        *,
        rule: Named[Rule] | None = None,
        metric: Named[Metric] | None = None,
        scale: float | None = None,
        search: Named[SearchKind] = "beam",
        weights: GivenWeights | None = None,
        tokenized: bool = False,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Iterator[str]:
        """Yield one translation after the other, as `translate` returns them, for texts that come one by one."""
        translator = self.translator(Decoding(rule, metric, scale, search, weights, seed, threads, progress, tokenized))
        if isinstance(sources, Path):
            yield from (found.line for block in translator.blocks(str(sources)) for found in block)
        else:
            texts = iter(sources)
            while block := list(islice(texts, LINES_AT_ONCE)):
                yield from translator.lines(translator.sentences(read_many(block, "sources")))
        translator.report()

    @one_or_many
    def words(self, sources: OneOrMany) -> list[list[str]]:
        """Return texts as the model reads them: its tokens, in its case, rare words rewritten."""
        return [list(self.phrase_model.preparation.source.words(text)) for text in read_sources(sources)]

    @one_or_many
    @arguments_of(iter_translate)
    def translate(self, sources: OneOrMany, **how: Any) -> list[str]:
        """Translate texts; unknown words are copied.

        With `tokenized`, texts are in the words of a model of raw text, and so are its translations. `rule` chooses
        among what the `search` has found, by default the rule of the model. `scale` is the factor of scores before they
        become probabilities, `metric` that of the rule.
        """
        translator = self.translator(Decoding(**how))
        lines = translator.lines(translator.sentences(read_sources(sources)))
        translator.report()
        return lines

    @one_or_many
    @arguments_of(iter_translate)
    def decode(self, sources: OneOrMany, **how: Any) -> list[Translated]:
        """Translate texts, as `translate` does, and return everything that was decided."""
        translator = self.translator(Decoding(**how), forests=True)
        found = list(_results(translator, translator.sentences(read_sources(sources))))
        translator.report()
        return found

    @one_or_many
    def nbest(
        self,
        sources: OneOrMany,
        size: int = 100,
        *,
        distinct: bool = False,
        search: Named[SearchKind] = "beam",
        weights: GivenWeights | None = None,
        tokenized: bool = False,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> list[list[Hypothesis]]:
        """Return the best derivations of each source, or the best `distinct` texts."""
        _require_size(size)
        how = Decoding(DEFAULT_RULE, search=search, weights=weights, seed=seed, tokenized=tokenized)
        translator = self.translator(how)
        made, sentences = translator.search, translator.sentences(read_sources(sources))
        table = None if isinstance(made, GibbsSearch) else made.model.table
        forests = made.forests(sentences, threads, progress)

        def work(first: int, last: int) -> list[list[Hypothesis]]:
            given = sentences[first:last]
            lists = [
                nbest_list(one, made.model.weights, size, distinct=distinct, table=table, source=words)
                for one, words in zip(forests[first:last], given, strict=True)
            ]
            pairs = zip(lists, given, strict=True)
            return [[_hypothesis(entry, words, translator.text) for entry in some.entries] for some, words in pairs]

        parts = map_chunks(work, len(forests), chunk=SEGMENTS_AT_ONCE, threads=threads)
        return [one for part in parts for one in part]

    @one_or_many
    def forest(
        self,
        sources: OneOrMany,
        *,
        density: float | None = None,
        search: Named[SearchKind] = "beam",
        weights: GivenWeights | None = None,
        tokenized: bool = False,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> list[Forest]:
        """Return all derivations that the search found, pruned to a `density` in edges per word if there is one."""
        how = Decoding(DEFAULT_RULE, search=search, weights=weights, seed=seed, tokenized=tokenized)
        translator = self.translator(how)
        made = translator.search
        found = made.forests(translator.sentences(read_sources(sources)), threads, progress)
        if density is None:
            return found
        weighted = made.model.weights
        return [prune_to_density(one, one.scores(weighted), density) if one.edges else one for one in found]

    @one_or_many
    def sample(
        self,
        sources: OneOrMany,
        size: int = 1000,
        *,
        chains: int = 2,
        burn_in: int = 100,
        scale: float | None = None,
        weights: GivenWeights | None = None,
        tokenized: bool = False,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> list[SampledHypotheses]:
        """Draw derivations from the model's distribution p ∝ exp(scale · score).

        The samples are divided among `chains`. By default the scale is 4 over the norm of the weights.
        """
        _require_size(size)
        kind = Gibbs(chains, -(-size // max(chains, 1)), burn_in, scale=scale)
        search, text = kind.search(self._weighted(weights), None, seed), self._text(tokenized)
        sentences = Translator(search, text=text).sentences(read_sources(sources))
        found = search.samples(sentences, threads, progress)
        return [SampledHypotheses(one, words, text) for one, words in zip(found, sentences, strict=True)]

    @one_or_many
    def score(
        self,
        sources: OneOrMany,
        targets: OneOrMany,
        *,
        weights: GivenWeights | None = None,
        tokenized: bool = False,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> list[Hypothesis | None]:
        """Score given translations: the best derivation of each, None where the model cannot produce it."""
        given, texts = read_sources(sources), read_many(targets, "targets")
        if len(given) != len(texts):
            raise length_error("sources", len(given), "targets", len(texts))
        search, text = Beam().search(self._weighted(weights)), self._text(tokenized)
        forced = ForcedTranslator(search, texts, text=text, threads=threads, progress=progress)
        pairs = zip(_results(forced, forced.sentences(given)), texts, strict=True)
        return [None if one.hypothesis is None else replace(one.hypothesis, text=text) for one, text in pairs]

    def explain(self, source: str, target: str | None = None, *, tokenized: bool = False) -> Trace:
        """Show the phrases of a translation and what each contributes, or why the model cannot produce it."""
        search, text = Beam().search(self.phrase_model), self._text(tokenized)
        if target is None:
            translator = Translator(search, text=text, forests=True)
            ((found,),) = translator.parts(translator.sentences([source]))
            return found.trace(0, self.weights)
        forced = ForcedTranslator(search, [target], text=text)
        ((found,),) = forced.parts(forced.sentences([source]))
        return found.trace(0, self.weights, forced.why_not(found, target) if not found.steps else "")

    def translate_document(self, sources: Texts, **how: Unpack[TranslateDocumentOptions]) -> DocumentTranslation:
        """Translate whole documents with models that look beyond the sentence; see `api.documents`."""
        from toledo.api.documents import translate_document  # which imports this module

        return translate_document(self.phrase_model, sources, **how)

    def oracle(
        self, sources: Texts, references: ReferenceTexts | None = None, **how: Unpack[OracleOptions]
    ) -> DocumentTranslation:
        """Search for the highest reachable BLEU."""
        from toledo.api.documents import oracle

        return oracle(self.phrase_model, sources, references, **how)

    def with_weights(self, weights: GivenWeights) -> Model:
        """Return the same model with other weights: a mapping, or a weights file."""
        return Model(self._weighted(weights), self.name, self.rule, self.scale, self.reranker)

    def with_reranker(self, reranker: Reranker | None) -> Model:
        """Return the same model with another reranker, or without one."""
        return Model(self.phrase_model, self.name, self.rule, self.scale, reranker)

    def add(self, **how: Unpack[AddOptions]) -> Model:
        """Return the model with more phrase tables and language models; tune its weights after that."""
        return Model(added(self.phrase_model, **how), self.name, self.rule, self.scale)

    def with_rule(self, rule: Named[Rule], scale: float | None = 1.0) -> Model:
        """Return the same model with another decision rule, which it keeps when it is saved."""
        make_rule(rule)
        if scale is not None:
            check_scale(scale)
        return Model(self.phrase_model, self.name, rule, scale, self.reranker)

    def save(self, path: str | Path) -> None:
        """Write a model directory; an older one is replaced."""
        name = rule_text(self.rule)
        scale = {} if self.scale is None else {"scale": self.scale}
        table = {} if name == DEFAULT_RULE else {"name": name, **scale}
        model = replace(self.phrase_model, rule=table)
        reranker = self.reranker
        more = None if reranker is None else lambda new: reranker.save(new / RERANKING)
        model.save(path, more=more)  # its rule was chosen with the reranker: both or none

    def export(self, path: str | Path, *, format: str = "moses", filter: Texts | None = None) -> None:  # noqa: A002
        """Write the model for Moses; with `filter`, only phrase pairs whose source occurs in these texts."""
        if format != "moses":
            raise InputError(f"no format {format!r} for models", argument="format", remedy="use moses")
        export_moses(self.phrase_model, path, filter=filter)

    def translator(self, decoding: Decoding, *, forests: bool = False, complete: bool = False) -> Translator:
        """Return what translates blocks of lines; `complete` diagnostics are those of a sampler."""
        own = decoding.rule is None
        scale = self.scale if own and decoding.scale is None else decoding.scale
        how = replace(decoding, rule=self.rule if own else decoding.rule, scale=scale)
        search, rule, factor = make_search(self._weighted(decoding.weights), how, complete)
        if decoding.scale is not None and not rule.has_scale and not isinstance(search, GibbsSearch):
            raise InputError(f"rule {rule.name!r} has no scale", argument="scale", remedy="leave `scale` out")
        chosen = None if rule.name == DEFAULT_RULE else rule
        text = self._text(decoding.tokenized)
        return Translator(
            search, chosen, factor, reranker=None if isinstance(search, GibbsSearch) else self.reranker, text=text,
            forests=forests, threads=how.threads, progress=how.progress,
        )  # fmt: skip

    def _text(self, tokenized: bool) -> Preparation:
        prepared = self.phrase_model.preparation
        return prepared.of_words if tokenized else prepared

    def _weighted(self, weights: GivenWeights | None) -> PhraseModel:
        return self.phrase_model if weights is None else reweighted(self.phrase_model, weights)


def load(path: str | Path, *, weights: GivenWeights | None = None) -> Model:
    """Load a model: a model directory, a moses.ini, or a configuration of Docent (XML)."""
    place = Path(path)
    if place.is_dir() or not place.exists():
        model = Model.load(place)
    elif place.suffix == ".ini":
        model = Model.from_moses(place)
    elif place.suffix == ".xml":
        model = Model.from_docent(place)
    else:
        raise ModelError(
            "not a model", file=place, remedy=f"give a directory with {DESCRIPTION}, a moses.ini, or Docent's XML"
        )
    return model if weights is None else model.with_weights(weights)


def _results(translator: Translator, sentences: Sequence[Sequence[str]]) -> Iterator[Translated]:
    lines = (found for part in translator.parts(sentences) for found in part)
    return (translator.result(found, segment) for segment, found in enumerate(lines))


def _hypothesis(entry: Entry, source: Sequence[str], preparation: Preparation) -> Hypothesis:
    text = preparation.target.write(as_given(" ".join(entry.words), source))
    return Hypothesis(text, entry.score, dict(entry.features), alignment=entry.links or None)


def _require_size(size: int) -> None:
    if size < 1:
        raise InputError(f"size is {size}, expected int of at least 1", argument="size")


def make_search(model: PhraseModel, how: Decoding, complete: bool = False) -> tuple[Search[Any], Rule, float]:
    """Return the search, the rule and the scale; a sampler records `complete` diagnostics on request."""
    kind, scale = SEARCHES.make(how.search), how.scale
    rule = make_search_rule(how.rule or DEFAULT_RULE, how.metric, samples=isinstance(kind, Gibbs))
    log_unused_weights(model, type(kind).__name__.lower())
    if isinstance(kind, Gibbs):
        settings = kind if scale is None else replace(kind, scale=scale)
        sampler = ObservedGibbs(model, settings, how.seed, complete)
        if settings.scale is None:
            log.info("sampling at scale %g: 4 over the norm of the weights", sampler.scale)
        return sampler, rule, sampler.scale
    factor = rule.forest_scale if scale is None else scale
    check_scale(factor)
    return kind if isinstance(kind, Search) else kind.search(model, None, how.seed), rule, factor


def reweighted(model: PhraseModel, weights: GivenWeights) -> PhraseModel:
    """Return the model with other weights: a mapping, or a weights file; unknown features are refused."""
    if isinstance(weights, str | Path):
        return load_weights(model, Path(weights))
    given = weights if isinstance(weights, Weights) else Weights(weights, model.weights.frozen.intersection(weights))
    require_known(given, known_features(model), "weights", SPARSE_REMEDY)
    return model.with_weights(given)
