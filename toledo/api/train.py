"""Train a phrase-based model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from toledo.api.align import Alignments, alignment_training
from toledo.api.inputs import Texts, read_texts
from toledo.api.model import Model
from toledo.api.pairs import Languages, Pairs, PreparedPairs, encode_words, prepare_pairs, read_columns, warn_of_doubt
from toledo.api.tables import GivenLanguageModel, GivenTable, TuningText, extend, read_language_models
from toledo.errors import InputError
from toledo.files import require_output_directory, require_readable
from toledo.formats.alignments import read_alignments
from toledo.formats.giza import read_giza
from toledo.model import DESCRIPTION
from toledo.phrases.rare_words import learn_rare_words
from toledo.phrases.settings import (
    EITHER,
    IBM1,
    LexicalWeights,
    Pruning,
    RareWordChoice,
    Smoothing,
    Symmetrization,
    TableCombination,
    TableSettings,
    TrainSettings,
)
from toledo.phrases.table import WordLinks
from toledo.phrases.training import PhraseTraining
from toledo.progress import Progress, silent
from toledo.settings import Named
from toledo.text.corpus import ParallelCorpus, Sentences, encode_texts
from toledo.text.preparation import Preparation, TextSide, make_side
from toledo.text.rare_words import RareWords, rewrite_sources
from toledo.text.settings import Cleaning
from toledo.text.tokenizers import PieceModel, Tokenizer, language_code
from toledo.text.vocabulary import Vocabulary
from toledo.training import Training
from toledo.training import train as train_model

log = logging.getLogger(__name__)

ENOUGH_PAIRS = 10_000  # to rewrite rare words by default


def train(  # one argument for each setting
    sources: Texts | Pairs,
    targets: Texts | None = None,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    source_tokenizer: Named[Tokenizer] | None = None,
    target_tokenizer: Named[Tokenizer] | None = None,
    tokenized: bool = False,
    clean: bool | Cleaning | None = None,
    aligner: Named[IBM1] = "hmm",
    alignments: Texts | Alignments | None = None,
    giza: tuple[str | Path, str | Path] | None = None,
    symmetrize: Symmetrization = "grow-diag-final-and",
    max_phrase_length: int = 5,
    lexical: LexicalWeights = "alignment",
    smoothing: Smoothing = "none",
    prune_phrases: Pruning | float = "none",
    reordering: bool = False,
    lm_order: int = 3,
    rare_words: RareWordChoice | None = None,
    rare_below: int = 5,
    lm_text: Texts | None = None,
    language_models: Sequence[GivenLanguageModel] = (),
    phrase_tables: Sequence[GivenTable] = (),
    combine_tables: TableCombination = "either",
    back_off_length: int = EITHER.back_off_length,
    interpolate_on: TuningText | None = None,
    max_sentence_length: int = 100,
    distortion_limit: int | None = 6,
    output: str | Path | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> Model:
    """Train a phrase-based model: word alignment, phrase table, language model.

    `sources` and `targets` are files or texts, line by line translations of each other; `sources` alone are pairs (TSV,
    TMX, JSON lines, or tuples). Texts are raw, and so will translations be: the model keeps how text becomes words, by
    the rules of both languages (ISO codes; by default those of English). With `tokenized`, words are separated by
    spaces. Unfit pairs of raw text are left out; `clean` changes that. Rare source words, seen less than `rare_below`
    times, and unknown ones are rewritten as words that the model knows, or kept (`rare_words`). `alignments` (Pharaoh
    format) of tokenized text replace those of `aligner`; so do those of GIZA++, two files that end in A3.final
    (`giza`). The language model is that of the targets, or of `lm_text`, or `language_models` are used as they are;
    with both, that of the text comes first. `phrase_tables`, files of Moses or directories of models, are added as
    `Model.add` does. With `output`, the model is saved there.
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
        rare_words,
        rare_below,
        max_sentence_length,
        distortion_limit,
    )
    config, several = _configuration(settings, aligner), TableSettings(combine_tables, back_off_length)
    if output is not None:
        require_output_directory(output, DESCRIPTION)  # a bad path should not cost the work
    given = (alignments, *(giza or ()), lm_text, *language_models, *phrase_tables, *(interpolate_on or ()))
    files = [one for one in given if isinstance(one, str | Path)]
    require_readable(*(file for file in files if not Path(file).is_dir()))
    languages, tokenizers = (source_language, target_language), (source_tokenizer, target_tokenizer)
    cleaning = _cleaning(clean, tokenized, max_sentence_length)
    if tokenized and any(tokenizers):
        raise InputError("tokenized text needs no tokenizer", argument="tokenized", remedy="leave one of them out")
    _check_given(alignments, giza, ready=tokenized and cleaning is None, rewritten=rare_words == "rewrite")
    preparation, report = _sides_of_words(languages), None
    if tokenized and cleaning is None:
        corpus = encode_words(sources, targets, languages=languages)
    else:
        columns = read_columns(sources, targets, languages)
        if not tokenized:
            preparation = _sides(columns, languages, tokenizers)
        prepared = _prepared(columns, preparation, cleaning)
        corpus, preparation, report = prepared.encode(), prepared.preparation, prepared.report
    rare = _rare_words(settings, corpus, preparation, threads) if alignments is None and giza is None else None
    if rare is not None:
        corpus = rewrite_sources(corpus, rare)
        preparation = replace(preparation, source=replace(preparation.source, rare=rare))
    vocabulary = corpus.target_vocabulary
    model = train_model(
        corpus,
        config,
        alignments=_given_links(alignments, giza, corpus, symmetrize, threads),
        language_models=read_language_models(language_models, vocabulary, progress),
        language_model_text=None if lm_text is None else _lm_text(lm_text, preparation, vocabulary),
        threads=threads,
        progress=progress,
    )
    model = replace(model, preparation=preparation)
    if report is not None:
        model = replace(model, training={**model.training, "cleaning": report.to_table()})
        log.info("%s", report)
    log.info("%d phrase pairs from %d sentence pairs", len(model.table), model.training["sentences"])
    if phrase_tables:
        model = extend(model, phrase_tables, settings=several, interpolate_on=interpolate_on, threads=threads)
    if output is not None:
        model.save(output)
        log.info("model: %s\nsignature: %s", output, model.signature)
    return Model(model, "" if output is None else Path(output).name)


def _rare_words(
    settings: TrainSettings, corpus: ParallelCorpus, preparation: Preparation, threads: int | None
) -> RareWords | None:
    """Return how rare source words are rewritten, if they are and if the pairs speak for it.

    By default a small text is taken as it is: most of its words are rare, and it says little about them.
    """
    wanted = settings.rare_words or ("rewrite" if len(corpus) >= ENOUGH_PAIRS else "keep")
    if wanted == "keep" or isinstance(preparation.source.tokenizer, PieceModel):
        return None
    rare = learn_rare_words(corpus, settings.rare_below, threads)
    if rare is not None:
        log.info("rare words: %d of %d source words are rewritten", len(rare.rewritten), len(rare.variants.counts))
    return rare


def _check_given(
    alignments: Texts | Alignments | None, giza: tuple[str | Path, str | Path] | None, *, ready: bool, rewritten: bool
) -> None:
    """Refuse alignments of text that would change, and two kinds of them."""
    if alignments is not None and giza is not None:
        raise InputError("`alignments` and `giza` exclude each other", argument="giza", remedy="give one of them")
    given = "alignments" if alignments is not None else "giza" if giza is not None else ""
    if given and not ready:
        remedy = "tokenize the text first, and give `tokenized=True`; clean it before words are aligned"
        raise InputError(
            f"`{given}` can only be used with tokenized text that is not cleaned", argument=given, remedy=remedy
        )
    if given and rewritten:
        remedy = "leave one of them out"
        raise InputError(f"`{given}` links words that `rare_words` would rewrite", argument=given, remedy=remedy)


def _given_links(
    alignments: Texts | Alignments | None,
    giza: tuple[str | Path, str | Path] | None,
    corpus: ParallelCorpus,
    symmetrize: Symmetrization,
    threads: int | None,
) -> WordLinks | None:
    """Return the links that users have instead of aligning words."""
    if giza is not None:
        return read_giza(giza, corpus, symmetrize, threads)
    if alignments is None:
        return None
    return read_alignments(alignments.pharaoh_lines() if isinstance(alignments, Alignments) else alignments, corpus)


def _cleaning(clean: bool | Cleaning | None, tokenized: bool, max_length: int) -> Cleaning | None:
    """Return which pairs to leave out before training: by default, tokenized text is taken as it is."""
    if isinstance(clean, Cleaning):
        return clean
    return Cleaning(max_length=max_length) if clean or (clean is None and not tokenized) else None


def _sides_of_words(languages: Languages) -> Preparation:
    codes = zip(languages, ("source_language", "target_language"), strict=True)
    return Preparation(*(TextSide(language_code(language, argument)) for language, argument in codes))


def _sides(
    columns: tuple[list[str], list[str]],
    languages: Languages,
    tokenizers: tuple[Named[Tokenizer] | None, Named[Tokenizer] | None],
) -> Preparation:
    """Return both sides of raw text, whose case is not known yet."""
    source = make_side(languages[0], tokenizers[0], columns[0])
    return Preparation(source, make_side(languages[1], tokenizers[1], columns[1], target=True))


def _prepared(
    columns: tuple[list[str], list[str]], preparation: Preparation, cleaning: Cleaning | None
) -> PreparedPairs:
    """Return pairs as words, with all that was learned from them; warn if they do not look as they should."""
    if not warn_of_doubt(preparation.source, columns[0], "sources"):
        warn_of_doubt(preparation.target, columns[1], "targets")
    return prepare_pairs(columns, preparation, cleaning, learn=preparation.raw)


def _lm_text(given: Texts, preparation: Preparation, vocabulary: Vocabulary) -> Sentences:
    if not preparation.raw:
        return encode_texts(given, vocabulary, "lm_text")
    texts = [" ".join(preparation.target.words(text)) for text in read_texts(given, "lm_text")]
    return encode_texts(texts, vocabulary, "lm_text")


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
