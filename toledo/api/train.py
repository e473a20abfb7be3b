"""Train a phrase-based model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from toledo.api.align import Alignments, alignment_training
from toledo.api.files import Pairs, encode_pairs
from toledo.api.inputs import Texts
from toledo.api.model import Model
from toledo.files import require_output_directory, require_readable
from toledo.formats.alignments import read_alignments
from toledo.language_model.model import LanguageModel, read_language_model
from toledo.model import DESCRIPTION
from toledo.phrases.settings import IBM1, LexicalWeights, Pruning, Smoothing, Symmetrization, TrainSettings
from toledo.phrases.training import PhraseTraining
from toledo.progress import Progress, silent
from toledo.settings import Named
from toledo.text.corpus import encode_texts
from toledo.training import Training
from toledo.training import train as train_model

log = logging.getLogger(__name__)


def train(  # one argument for each setting
    sources: Texts | Pairs,
    targets: Texts | None = None,
    *,
    aligner: Named[IBM1] = "hmm",
    alignments: Texts | Alignments | None = None,
    symmetrize: Symmetrization = "grow-diag-final-and",
    max_phrase_length: int = 5,
    lexical: LexicalWeights = "alignment",
    smoothing: Smoothing = "none",
    prune_phrases: Pruning | float = "none",
    reordering: bool = False,
    lm_order: int = 3,
    lm_text: Texts | None = None,
    language_models: Sequence[LanguageModel | str | Path] = (),
    max_sentence_length: int = 100,
    distortion_limit: int | None = 6,
    output: str | Path | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> Model:
    """Train a phrase-based model: word alignment, phrase table, language model.

    `sources` and `targets` are files or texts with blanks between words, line by line translations of each other;
    `sources` alone are pairs. `alignments` (Pharaoh format) replace those of `aligner`. The language model is that of
    the targets, or of `lm_text`, or `language_models` are used as they are. With `output`, the model is saved there.
    """
    settings = TrainSettings(
        aligner if isinstance(aligner, str) else type(aligner).__name__,
        symmetrize,
        max_phrase_length,
        lexical,
        smoothing,
        prune_phrases,
        reordering,
        lm_order,
        max_sentence_length,
        distortion_limit,
    )
    config = _configuration(settings, aligner)
    if output is not None:
        require_output_directory(output, DESCRIPTION)  # a bad path should not cost the work
    files = [one for one in (alignments, lm_text, *language_models) if isinstance(one, str | Path)]
    require_readable(*(file for file in files if not Path(file).is_dir()))
    corpus = encode_pairs(sources, targets)
    vocabulary = corpus.target_vocabulary
    text = None if lm_text is None else encode_texts(lm_text, vocabulary, "lm_text")
    models = tuple(
        one.with_vocabulary(vocabulary)
        if isinstance(one, LanguageModel)
        else read_language_model(one, vocabulary, progress)
        for one in language_models
    )
    given = alignments.pharaoh_lines() if isinstance(alignments, Alignments) else alignments
    model = train_model(
        corpus,
        config,
        alignments=None if given is None else read_alignments(given, corpus),
        language_models=models,
        language_model_text=text,
        threads=threads,
        progress=progress,
    )
    log.info("%d phrase pairs from %d sentence pairs", len(model.table), model.training["sentences"])
    if output is not None:
        model.save(output)
        log.info("model: %s\nsignature: %s", output, model.signature)
    return Model(model, "" if output is None else Path(output).name)


def _configuration(settings: TrainSettings, aligner: Named[IBM1]) -> Training:
    phrases = PhraseTraining(
        max_length=settings.max_phrase_length,
        smoothing=settings.smoothing,
        lexical=settings.lexical,
        reordering=settings.reordering,
        pruning=settings.prune_phrases,
    )
    return Training(
        alignment=alignment_training(aligner, settings.symmetrize),
        phrases=phrases,
        lm_order=settings.lm_order,
        longest=settings.max_sentence_length,
        distortion_limit=settings.distortion_limit,
    )
