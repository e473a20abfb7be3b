"""From parallel text to a translation model in one call: word alignment, phrase table, language model."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field

import numpy as np

from toledo.errors import InputError
from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.model import PhraseModel, SearchSettings, default_weights, feature_names
from toledo.phrases.lexicon import Lexicons
from toledo.phrases.table import WordLinks
from toledo.phrases.training import PhraseTraining, train_phrases
from toledo.phrases.word_alignment.aligner import AlignmentTraining, align, require_eflomal
from toledo.progress import Progress, silent
from toledo.text.corpus import ParallelCorpus, Sentences

log = logging.getLogger(__name__)

GIVEN_ALIGNMENTS, GIVEN_LANGUAGE_MODEL = "alignments", "lm"  # what did not come from the training text


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
    `language_model_text` to estimate it from another text. `PhraseModel.training` records what was given.
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
    if not language_models:
        text = corpus.target if language_model_text is None else language_model_text
        language_models = (LanguageModel(estimate(text, config.lm_order, config.lm_prune, progress)),)
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
