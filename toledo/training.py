"""From parallel text to a translation model in one call: word alignment, phrase table, language model.

More phrase tables and language models for a model that was trained or imported.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from toledo.errors import InputError
from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.model import PhraseModel, SearchSettings, default_weights, feature_names, lm_feature
from toledo.phrases.extraction import extract_phrases
from toledo.phrases.lexicon import Lexicons
from toledo.phrases.settings import EITHER, TableSettings
from toledo.phrases.several import fill_up, interpolate_tables, interpolation_weights, recoded, unite
from toledo.phrases.table import PhraseTable, WordLinks
from toledo.phrases.training import PhraseTraining, train_phrases
from toledo.phrases.word_alignment.aligner import AlignmentTraining, align, require_eflomal
from toledo.progress import Progress, silent
from toledo.text.corpus import ParallelCorpus, Sentences
from toledo.weights import Weights

log = logging.getLogger(__name__)

GIVEN_ALIGNMENTS, GIVEN_LANGUAGE_MODEL = "alignments", "lm"  # what did not come from the training text
ADDED = "added"  # what was added to a model later
MERGED = ("fill-up", "linear")  # of which no single table is left


@dataclass(frozen=True)
class Training:
    """Settings of training. Pairs with an empty side, or longer than `longest` words, do not enter the phrase table."""

    alignment: AlignmentTraining = field(default_factory=AlignmentTraining)
    phrases: PhraseTraining = field(default_factory=PhraseTraining)
    lm_order: int = 3
    lm_prune: tuple[int, ...] = (0,)
    longest: int = 100
    distortion_limit: int | None = 6


def train(
    corpus: ParallelCorpus,
    config: Training = Training(),
    *,
    alignments: WordLinks | None = None,
    word_lexicons: Lexicons | None = None,
    language_models: tuple[LanguageModel, ...] = (),
    language_model_text: Sentences | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> PhraseModel:
    """Train a model on sentence pairs.

    Give `alignments` (one for each pair) to use instead of aligning words, with their `word_lexicons` if there
    are any; `language_models` (over the corpus's target vocabulary) to use those instead of estimating one, or
    `language_model_text` to estimate it from another text; with both, the estimated one comes first.
    `PhraseModel.training` records what was given.
    """
    given = [GIVEN_ALIGNMENTS] * (alignments is not None)
    given += [GIVEN_LANGUAGE_MODEL] * (bool(language_models) or language_model_text is not None)
    if config.phrases.lexical == "model1" and alignments is not None and word_lexicons is None:
        raise InputError(
            "lexical weights of IBM Model 1 need its lexicons, which given alignments do not have",
            remedy="leave out `alignments`, or use `lexical=alignment`",
        )
    if alignments is None and config.alignment.model == "eflomal":
        require_eflomal()  # before the work, not in the middle of it
    if not language_models or language_model_text is not None:
        text = corpus.target if language_model_text is None else language_model_text
        estimated = LanguageModel(estimate(text, config.lm_order, config.lm_prune, progress))
        language_models = (estimated, *language_models)
    corpus, alignments = _clean(corpus, alignments, config.longest)
    if alignments is None:
        result = align(corpus, config.alignment, threads=threads, progress=progress)
        alignments, word_lexicons = result.alignments, result.lexicons
    phrases = train_phrases(
        corpus,
        alignments,
        config.phrases,
        lexicons=word_lexicons if config.phrases.lexical == "model1" else None,
        threads=threads,
        progress=progress,
    )
    table = phrases.table(corpus.source_vocabulary, corpus.target_vocabulary)
    return PhraseModel(
        table=table,
        language_models=language_models,
        weights=default_weights(feature_names(table, len(language_models))),
        settings=SearchSettings(distortion_limit=config.distortion_limit),
        word_lexicons=word_lexicons,
        training={
            "sentences": len(corpus),
            **({"given": "+".join(given)} if given else {}),
            "config": _as_table(config),
        },
    )


def add_parts(
    model: PhraseModel,
    tables: Sequence[PhraseTable],
    language_models: Sequence[LanguageModel] = (),
    settings: TableSettings = EITHER,
    tuning: ParallelCorpus | None = None,
    threads: int | None = None,
) -> PhraseModel:
    """Return a model with more phrase tables and language models, which come after its own.

    Tables may have other vocabularies, language models and the `tuning` text those of the model. Linear interpolation
    takes the weights of tables from this text. A new score has the weight of the same score of the first table; what
    the language models of the model weigh is divided among all.
    """
    if tables and model.sparse is not None:
        raise InputError("the model has sparse features", remedy="add tables to the model without them, then tune it")
    table = model.table
    if tables:
        own = [recoded(one, model.source_vocabulary, model.target_vocabulary) for one in tables]
        table = _combined([table, *own], settings, tuning, threads)
    merged = bool(tables) and settings.combine_tables in MERGED
    models = (*model.language_models, *language_models)
    before: Mapping[str, Any] = model.training.get(ADDED, {})
    added = {
        "phrase_tables": before.get("phrase_tables", 0) + len(tables),
        "language_models": before.get("language_models", 0) + len(language_models),
        "combine": settings.combine_tables if tables else before.get("combine", settings.combine_tables),
    }
    return replace(
        model,
        table=table,
        language_models=models,
        weights=_weights(model, table, len(models)),
        word_lexicons=None if merged else model.word_lexicons,  # they are not those of all pairs
        training={**model.training, ADDED: added},
    )


def _combined(
    tables: Sequence[PhraseTable], settings: TableSettings, tuning: ParallelCorpus | None, threads: int | None
) -> PhraseTable:
    if settings.combine_tables == "fill-up":
        return fill_up(tables)
    if settings.combine_tables == "linear":
        if tuning is None:
            raise InputError(
                "linear interpolation needs a text to find the weights of tables",
                argument="interpolate_on",
                remedy="give `interpolate_on`, a tuning text and its translation",
            )
        links = align(tuning, AlignmentTraining(), threads=threads).alignments
        longest = max(table.longest_source for table in tables)
        pairs = extract_phrases(tuning, links, longest, threads=threads).pairs
        return interpolate_tables(tables, interpolation_weights(tables, pairs))
    length = settings.back_off_length if settings.combine_tables == "back-off" else 0
    return unite(tables, [length] * len(tables))


def _weights(model: PhraseModel, table: PhraseTable, language_models: int) -> Weights:
    """Return the weights of a model and those of its new features."""
    names = feature_names(table, language_models)
    own, values = model.weights, {**default_weights(names), **model.weights}
    for number, part in enumerate(table.parts):
        for name, column in zip(part.feature_names, part.columns(number), strict=True):
            if column not in own and name in own:
                values[column] = own[name]
    models = len(model.language_models)
    if models and language_models > models:
        share = models / language_models
        values |= {lm_feature(m): own[lm_feature(m)] * share for m in range(models)}
        mean = sum(own[lm_feature(m)] for m in range(models)) / language_models
        values |= {lm_feature(m): mean for m in range(models, language_models)}
    return Weights(values, own.frozen)


def _clean(
    corpus: ParallelCorpus, alignments: WordLinks | None, longest: int
) -> tuple[ParallelCorpus, WordLinks | None]:
    keep = corpus.usable(longest)
    if not keep.any():
        raise InputError(
            f"none of the {len(corpus)} sentence pairs has 1 to {longest} words on both sides",
            remedy="check the files, or allow longer sentences",
        )
    if keep.all():
        return corpus, alignments
    log.info("left out %d pairs that are empty or longer than %d words", np.count_nonzero(~keep), longest)
    return corpus.select(keep), None if alignments is None else alignments.select(keep)


def _as_table(config: Training) -> dict[str, object]:
    """Return a configuration as a table without None, which TOML cannot express."""

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if item is not None}
        return list(value) if isinstance(value, tuple) else value

    table = plain(asdict(config))
    assert isinstance(table, dict)  # noqa: S101 (asdict gives one)
    return table
