"""A translation model: translate, list, sample, score and explain; load, save and export.

model = toledo.load("model")
model.translate("das Haus ist klein")
model.translate(lines, rule="mbr")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from toledo.api.decoding import (
    DEFAULT_RULE,
    DecodeArguments,
    Decoding,
    GivenWeights,
    OneOrMany,
    SearchArguments,
    WeightArguments,
    make_search,
    read_many,
    read_sentences,
    reweighted,
)
from toledo.api.exchange import export_moses, import_docent, import_moses
from toledo.api.inputs import ReferenceTexts, Texts
from toledo.compiled.kernels import map_chunks
from toledo.consensus.rule import Rule, check_scale, make_rule, rule_text
from toledo.errors import InputError, ModelError
from toledo.forest.assemble import prune_to_density
from toledo.forest.forest import Forest
from toledo.formats.hypotheses import Entry, nbest_list
from toledo.metrics.metric import Metric
from toledo.metrics.shapes import length_error
from toledo.model import DESCRIPTION, PhraseModel
from toledo.progress import Progress, silent
from toledo.results import Hypothesis
from toledo.search.document.translation import DocumentTranslation
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.settings import Beam, Gibbs, SearchKind
from toledo.search.weighted_model import as_given
from toledo.settings import Named
from toledo.translation import ForcedTranslator, SampledHypotheses, Trace, Translated, Translator
from toledo.weights import Weights

if TYPE_CHECKING:
    from toledo.api.documents import OracleOptions, TranslateDocumentOptions

LINES_AT_ONCE = 64  # of an iterator of texts
SEGMENTS_AT_ONCE = 4


class Model:
    """A phrase-based model, and the decision rule that it translates with; words stand between blanks.

    A `str` is one text and gives one result; several texts, or a file as a `Path`, give a list.
    """

    def __init__(
        self,
        phrase_model: PhraseModel,
        name: str = "",
        rule: Named[Rule] | None = None,
        scale: float | None = None,
    ) -> None:
        own = phrase_model.rule
        self.phrase_model, self.name = phrase_model, name
        self.rule = own.get("name", DEFAULT_RULE) if rule is None else rule
        self.scale = own.get("scale") if rule is None else scale

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a model directory."""
        return cls(PhraseModel.load(path), Path(path).name)

    @classmethod
    def from_moses(
        cls,
        ini: str | Path | None = None,
        *,
        phrase_table: str | Path | None = None,
        language_models: Sequence[str | Path] = (),
        reordering_table: str | Path | None = None,
        progress: Progress = silent,
    ) -> Model:
        """Make a model from Moses' files; files given here replace those that a moses.ini names."""
        read = import_moses(
            ini,
            phrase_table=phrase_table,
            language_models=language_models,
            reordering_table=reordering_table,
            progress=progress,
        )
        return cls(read, Path(ini or phrase_table or "").stem)

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
        read = import_docent(config, phrase_table=phrase_table, language_models=language_models, progress=progress)
        return cls(read, Path(config).stem)

    @property
    def weights(self) -> Weights:
        """The weights of the features."""
        return self.phrase_model.weights

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features, without sparse ones."""
        return self.phrase_model.feature_names

    @property
    def signature(self) -> str:
        """What this model is, in one line."""
        return self.phrase_model.signature

    def __repr__(self) -> str:
        return f"Model({self.name!r}, {len(self.phrase_model.table):,} phrase pairs)"

    def __str__(self) -> str:
        model = self.phrase_model
        orders = ", ".join(f"{one.order}-grams" for one in model.language_models) or "none"
        at = "" if self.scale is None else f" at scale {self.scale:g}"
        lines = [
            f"model {self.name}: {len(model.table):,} phrase pairs of up to {model.table.longest_source} source words",
            f"language models: {orders}; reordering: {'no' if model.table.reordering is None else 'yes'}",
            "weights: " + ", ".join(f"{name} {self.weights[name]:.4g}" for name in self.features),
            f"rule: {self.rule if isinstance(self.rule, str) else make_rule(self.rule).name}{at}",
        ]
        return "\n".join([*lines, self.signature])

    def __getattr__(self, name: str) -> Any:
        hint = ": did you mean translate?" if name in ("predict", "generate") else ""
        raise AttributeError(f"'Model' object has no attribute {name!r}{hint}")

    @overload
    def translate(  # type: ignore[overload-overlap]
        self, sources: str, **how: Unpack[DecodeArguments]
    ) -> str: ...
    @overload
    def translate(self, sources: Path | Iterable[str], **how: Unpack[DecodeArguments]) -> list[str]: ...

    def translate(
        self,
        sources: OneOrMany,
        *,
        rule: Named[Rule] | None = None,
        metric: Named[Metric] | None = None,
        scale: float | None = None,
        search: Named[SearchKind] = "beam",
        weights: GivenWeights | None = None,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> str | list[str]:
        """Translate texts; unknown words are copied.

        `rule` chooses among what the `search` has found, by default the rule of the model. `scale` is the factor of
        scores before they become probabilities, `metric` that of the rule.
        """
        how = Decoding(rule, metric, scale, search, weights, seed)
        translator = self.translator(how, threads=threads, progress=progress)
        lines = translator.lines(read_sentences(sources))
        translator.report()
        return lines[0] if isinstance(sources, str) else lines

    @overload
    def decode(  # type: ignore[overload-overlap]
        self, sources: str, **how: Unpack[DecodeArguments]
    ) -> Translated: ...
    @overload
    def decode(self, sources: Path | Iterable[str], **how: Unpack[DecodeArguments]) -> list[Translated]: ...

    def decode(
        self,
        sources: OneOrMany,
        *,
        rule: Named[Rule] | None = None,
        metric: Named[Metric] | None = None,
        scale: float | None = None,
        search: Named[SearchKind] = "beam",
        weights: GivenWeights | None = None,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Translated | list[Translated]:
        """Translate texts, as `translate` does, and return everything that was decided."""
        how = Decoding(rule, metric, scale, search, weights, seed)
        translator = self.translator(how, forests=True, threads=threads, progress=progress)
        found = list(_results(translator, read_sentences(sources)))
        translator.report()
        return found[0] if isinstance(sources, str) else found

    def iter_translate(
        self,
        sources: Path | Iterable[str],
        *,
        rule: Named[Rule] | None = None,
        metric: Named[Metric] | None = None,
        scale: float | None = None,
        search: Named[SearchKind] = "beam",
        weights: GivenWeights | None = None,
        seed: int = 1,
        threads: int | None = None,
    ) -> Iterator[str]:
        """Yield one translation after the other, for texts that need not all be there yet."""
        translator = self.translator(Decoding(rule, metric, scale, search, weights, seed), threads=threads)
        if isinstance(sources, Path):
            yield from (found.line for block in translator.blocks(str(sources)) for found in block)
        else:
            texts = iter(sources)
            while block := list(islice(texts, LINES_AT_ONCE)):
                yield from translator.lines(read_sentences(block))
        translator.report()

    @overload
    def nbest(  # type: ignore[overload-overlap]
        self, sources: str, size: int = ..., *, distinct: bool = ..., **how: Unpack[SearchArguments]
    ) -> list[Hypothesis]: ...
    @overload
    def nbest(
        self, sources: Path | Iterable[str], size: int = ..., *, distinct: bool = ..., **how: Unpack[SearchArguments]
    ) -> list[list[Hypothesis]]: ...

    def nbest(
        self,
        sources: OneOrMany,
        size: int = 100,
        *,
        distinct: bool = False,
        search: Named[SearchKind] = "beam",
        weights: GivenWeights | None = None,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> list[Hypothesis] | list[list[Hypothesis]]:
        """Return the best derivations of each source, or the best texts if they are to be `distinct`."""
        _require_size(size)
        made = self.translator(Decoding(DEFAULT_RULE, search=search, weights=weights, seed=seed)).search
        sentences, table = read_sentences(sources), None if isinstance(made, GibbsSearch) else made.model.table
        forests = made.forests(sentences, threads, progress)

        def work(first: int, last: int) -> list[list[Hypothesis]]:
            lists = [
                nbest_list(one, made.model.weights, size, distinct=distinct, table=table) for one in forests[first:last]
            ]
            pairs = zip(lists, sentences[first:last], strict=True)
            return [[_hypothesis(entry, words) for entry in some.entries] for some, words in pairs]

        parts = map_chunks(work, len(forests), chunk=SEGMENTS_AT_ONCE, threads=threads)
        found = [one for part in parts for one in part]
        return found[0] if isinstance(sources, str) else found

    @overload
    def forest(  # type: ignore[overload-overlap]
        self, sources: str, *, density: float | None = ..., **how: Unpack[SearchArguments]
    ) -> Forest: ...
    @overload
    def forest(
        self, sources: Path | Iterable[str], *, density: float | None = ..., **how: Unpack[SearchArguments]
    ) -> list[Forest]: ...

    def forest(
        self,
        sources: OneOrMany,
        *,
        density: float | None = None,
        search: Named[SearchKind] = "beam",
        weights: GivenWeights | None = None,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Forest | list[Forest]:
        """Return all derivations that the search found, pruned to a `density` in edges per word if there is one."""
        made = self.translator(Decoding(DEFAULT_RULE, search=search, weights=weights, seed=seed)).search
        found = made.forests(read_sentences(sources), threads, progress)
        if density is not None:
            scores = (one.scores(made.model.weights) for one in found)
            found = [
                prune_to_density(one, own, density) if one.edges else one
                for one, own in zip(found, scores, strict=True)
            ]
        return found[0] if isinstance(sources, str) else found

    @overload
    def sample(  # type: ignore[overload-overlap]
        self,
        sources: str,
        size: int = ...,
        *,
        chains: int = ...,
        burn_in: int = ...,
        scale: float | None = ...,
        **how: Unpack[WeightArguments],
    ) -> SampledHypotheses: ...
    @overload
    def sample(
        self,
        sources: Path | Iterable[str],
        size: int = ...,
        *,
        chains: int = ...,
        burn_in: int = ...,
        scale: float | None = ...,
        **how: Unpack[WeightArguments],
    ) -> list[SampledHypotheses]: ...

    def sample(
        self,
        sources: OneOrMany,
        size: int = 1000,
        *,
        chains: int = 2,
        burn_in: int = 100,
        scale: float | None = None,
        weights: GivenWeights | None = None,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> SampledHypotheses | list[SampledHypotheses]:
        """Draw derivations from the model's distribution p ∝ exp(scale · score).

        The samples are divided among `chains`. By default the scale is 4 over the norm of the weights.
        """
        _require_size(size)
        kind = Gibbs(chains, -(-size // max(chains, 1)), burn_in, scale=scale)
        sentences = read_sentences(sources)
        found = kind.search(self._weighted(weights), None, seed).samples(sentences, threads, progress)
        results = [SampledHypotheses(one, words) for one, words in zip(found, sentences, strict=True)]
        return results[0] if isinstance(sources, str) else results

    @overload
    def score(  # type: ignore[overload-overlap]
        self,
        sources: str,
        targets: str,
        *,
        weights: GivenWeights | None = ...,
        threads: int | None = ...,
        progress: Progress = ...,
    ) -> Hypothesis | None: ...
    @overload
    def score(
        self,
        sources: Path | Iterable[str],
        targets: Path | Iterable[str],
        *,
        weights: GivenWeights | None = ...,
        threads: int | None = ...,
        progress: Progress = ...,
    ) -> list[Hypothesis | None]: ...

    def score(
        self,
        sources: OneOrMany,
        targets: OneOrMany,
        *,
        weights: GivenWeights | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Hypothesis | list[Hypothesis | None] | None:
        """Score given translations: the best derivation of each, None where the model cannot produce it."""
        sentences, texts = read_sentences(sources), read_many(targets, "targets")
        if len(sentences) != len(texts):
            raise length_error("sources", len(sentences), "targets", len(texts))
        forced = ForcedTranslator(Beam().search(self._weighted(weights)), texts, threads=threads, progress=progress)
        pairs = zip(_results(forced, sentences), texts, strict=True)
        found = [None if one.hypothesis is None else replace(one.hypothesis, text=text) for one, text in pairs]
        return found[0] if isinstance(sources, str) else found

    def explain(self, source: str, target: str | None = None) -> Trace:
        """Show the phrases of a translation and what each contributes, or why the model cannot produce it."""
        search, words = Beam().search(self.phrase_model), read_sentences(source)
        if target is None:
            ((found,),) = Translator(search, forests=True).parts(words)
            return found.trace(0, self.weights)
        forced = ForcedTranslator(search, [target])
        ((found,),) = forced.parts(words)
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
        return Model(self._weighted(weights), self.name, self.rule, self.scale)

    def with_rule(self, rule: Named[Rule], scale: float | None = 1.0) -> Model:
        """Return the same model with another decision rule, which it keeps when it is saved."""
        make_rule(rule)
        if scale is not None:
            check_scale(scale)
        return Model(self.phrase_model, self.name, rule, scale)

    def save(self, path: str | Path) -> None:
        """Write a model directory; one that is there already is replaced whole."""
        name = rule_text(self.rule)
        scale = {} if self.scale is None else {"scale": self.scale}
        table = {} if name == DEFAULT_RULE else {"name": name, **scale}
        replace(self.phrase_model, rule=table).save(path)

    def export(self, path: str | Path, *, format: str = "moses", filter: Texts | None = None) -> None:  # noqa: A002
        """Write the model for Moses; with `filter`, only phrase pairs whose source occurs in these texts."""
        if format != "moses":
            raise InputError(f"no format {format!r} for models", argument="format", remedy="use moses")
        export_moses(self.phrase_model, path, filter=filter)

    def translator(
        self,
        decoding: Decoding,
        *,
        forests: bool = False,
        complete: bool = False,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Translator:
        """Return what translates blocks of lines; `complete` diagnostics are those of a sampler."""
        own = decoding.rule is None
        scale = self.scale if own and decoding.scale is None else decoding.scale
        how = replace(decoding, rule=self.rule if own else decoding.rule, scale=scale)
        search, rule, factor = make_search(self._weighted(decoding.weights), how, complete)
        if decoding.scale is not None and not rule.has_scale and not isinstance(search, GibbsSearch):
            raise InputError(f"rule {rule.name!r} has no scale", argument="scale", remedy="leave `scale` out")
        chosen = None if rule.name == DEFAULT_RULE else rule
        return Translator(search, chosen, factor, forests=forests, threads=threads, progress=progress)

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


def _hypothesis(entry: Entry, source: Sequence[str]) -> Hypothesis:
    text = as_given(" ".join(entry.words), source)
    return Hypothesis(text, entry.score, dict(entry.features), alignment=entry.links or None)


def _require_size(size: int) -> None:
    if size < 1:
        raise InputError(f"size is {size}, expected int of at least 1", argument="size")
