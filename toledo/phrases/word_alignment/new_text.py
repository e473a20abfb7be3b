"""An aligner that is kept: trained once, then used for sentence pairs that it has not seen.

    aligner = Aligner.train(sources, targets)
    aligner.align(["das Haus"], ["the house"])[0]              # [[0, 0], [1, 1]]

Texts are tokenized. The probability of a pair of words is the trained one; a pair that training never saw together has
none, but for words that are new: they are explained by new words of the other side (NEW_PAIR), or else by any word or
NULL (NEW_WORD), so that the jumps of the HMM decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.compiled.kernels import kernel
from toledo.errors import InputError, ModelError
from toledo.phrases.lexicon import NULL, Lexicon, Lexicons, check_lexicon
from toledo.phrases.settings import ALIGNERS
from toledo.phrases.table import Alignments
from toledo.phrases.word_alignment.aligner import (
    LONGEST,
    AlignmentResult,
    AlignmentTraining,
    AlignmentWork,
    OneWayModel,
    align,
    both_directions,
    one_way_links,
    with_gaps,
)
from toledo.phrases.word_alignment.direction import Direction, cooccurrences
from toledo.phrases.word_alignment.hmm import WEIGHTS, Transitions
from toledo.phrases.word_alignment.symmetrize import OneWay, Symmetrization, symmetrize
from toledo.progress import Progress, silent
from toledo.settings import Named
from toledo.text.corpus import ParallelCorpus, Sentences, read_parallel, refuse_reserved_words, sentences_from
from toledo.text.vocabulary import UNKNOWN, Vocabulary

Texts = Path | Iterable[str]
DESCRIPTION, FORMAT = "aligner.toml", 1
NEW_PAIR, NEW_WORD, NEVER = np.float32(0.1), np.float32(0.001), np.float32(1e-30)
SIDES = ("forward", "backward")


@dataclass(frozen=True, eq=False)
class Aligner:
    """Trained models of both directions with their vocabularies; `lexicons` are those of IBM Model 1."""

    config: AlignmentTraining
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    lexicons: Lexicons
    models: tuple[OneWayModel, OneWayModel]

    @classmethod
    def train(
        cls,
        sources: Texts,
        targets: Texts,
        *,
        aligner: Named[Any] = "hmm",
        symmetrize: Symmetrization = "grow-diag-final-and",
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Aligner:
        """Train on sentence pairs."""
        corpus = _corpus(sources, targets, (Vocabulary(), Vocabulary()))
        return train_aligner(corpus, aligner, symmetrize, threads, progress)[0]

    def align(self, sources: Texts, targets: Texts, *, threads: int | None = None) -> Alignments:
        """Align the words of sentence pairs; those of the training text get the links that training gave them."""
        own = (Vocabulary(self.source_vocabulary), Vocabulary(self.target_vocabulary))  # new words join a copy
        return self.align_corpus(_corpus(sources, targets, own), threads)

    def align_corpus(self, corpus: ParallelCorpus, threads: int | None = None) -> Alignments:
        """Align sentence pairs whose first words are numbered as the aligner's are."""
        keep = corpus.usable(LONGEST)
        kept = corpus if keep.all() else corpus.select(keep)
        directions = both_directions(kept)
        sizes = len(self.source_vocabulary), len(self.target_vocabulary)
        models = (
            _for_text(self.models[0], directions[0], *sizes, threads),
            _for_text(self.models[1], directions[1], *sizes[::-1], threads),
        )
        links = one_way_links(directions, models, self.config, AlignmentWork(threads, lambda steps: None))
        both = OneWay(kept.source.offsets, kept.target.offsets, *links)
        alignments = symmetrize(both, self.config.symmetrization, threads)
        return alignments if kept is corpus else with_gaps(alignments, keep)

    def save(self, directory: str | Path) -> None:
        """Write a directory atomically."""
        arrays: dict[str, NDArray[Any]] = {}
        for name, vocabulary in (("source", self.source_vocabulary), ("target", self.target_vocabulary)):
            arrays |= {f"{name}.{key}": array for key, array in vocabulary.to_arrays().items()}
        for side, lexicon, model in zip(SIDES, self.lexicons, self.models, strict=True):
            arrays |= {f"{side}.ibm1.{key}": array for key, array in lexicon._asdict().items()}
            arrays |= {f"{side}.{key}": array for key, array in model.lexicon._asdict().items()}
            if model.transitions is not None:
                arrays[f"{side}.jumps"] = model.transitions.weights
                arrays[f"{side}.null"] = np.array([model.transitions.null])
        storage.save(directory, DESCRIPTION, {"format": FORMAT, "settings": asdict(self.config)}, arrays)

    @classmethod
    def load(cls, directory: str | Path) -> Aligner:
        """Read what `save` wrote."""
        file = Path(directory) / DESCRIPTION
        if not file.exists():
            raise ModelError(f"{directory} is not an aligner", file=file, remedy="check the path, or train one")
        content, arrays = storage.load(directory, DESCRIPTION)
        try:
            if content["format"] != FORMAT:
                raise ValueError(f"format {content['format']}, this version reads {FORMAT}")
            config = AlignmentTraining(**content["settings"])
            source, target = (
                Vocabulary.from_arrays(arrays[f"{name}.bytes"], arrays[f"{name}.offsets"])
                for name in ("source", "target")
            )
            sizes = {"forward": (len(source), len(target)), "backward": (len(target), len(source))}
            ibm1 = Lexicons(*(_lexicon(arrays, f"{side}.ibm1", *sizes[side]) for side in SIDES))
            forward, backward = (_model(arrays, side, *sizes[side]) for side in SIDES)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"damaged aligner: {error}", file=file, remedy="restore it or train it again") from None
        return cls(config, source, target, ibm1, (forward, backward))


def train_aligner(
    corpus: ParallelCorpus,
    aligner: Named[Any] = "hmm",
    symmetrization: Symmetrization = "grow-diag-final-and",
    threads: int | None = None,
    progress: Progress = silent,
) -> tuple[Aligner, AlignmentResult]:
    """Train on a corpus; also return its alignments."""
    settings = ALIGNERS.make(aligner)
    config = AlignmentTraining(model=settings.name, symmetrization=symmetrization, **asdict(settings))
    if config.model == "eflomal":
        remedy = "align all text at once, or train hmm or ibm1"
        raise InputError("eflomal cannot be kept for new text", argument="aligner", remedy=remedy)
    result = align(corpus, config, threads=threads, progress=progress)
    trained = Aligner(config, corpus.source_vocabulary, corpus.target_vocabulary, result.lexicons, result.models)
    return trained, result


def _corpus(sources: Texts, targets: Texts, vocabularies: tuple[Vocabulary, Vocabulary]) -> ParallelCorpus:
    if isinstance(sources, Path) and isinstance(targets, Path):
        return read_parallel(sources, targets, vocabularies)
    if isinstance(sources, str | Path) or isinstance(targets, str | Path):
        raise InputError("sources and targets must be two lists of texts, or two files", remedy="give a Path for each")
    sides = [_encode(texts, vocabulary) for texts, vocabulary in zip((sources, targets), vocabularies, strict=True)]
    if len(sides[0]) != len(sides[1]):
        what = f"sources has {len(sides[0])} segments, targets {len(sides[1])}"
        raise InputError(what, argument="targets", remedy="give one target for each source")
    return ParallelCorpus(sides[0], sides[1], *vocabularies, np.arange(1, len(sides[0]) + 1))


def _encode(texts: Iterable[str], vocabulary: Vocabulary) -> Sentences:
    words, lengths = vocabulary.encode_lines([text.encode() for text in texts])
    refuse_reserved_words(None, 0, words, lengths, UNKNOWN)
    return sentences_from(words, lengths)


def _for_text(model: OneWayModel, direction: Direction, given: int, words: int, threads: int | None) -> OneWayModel:
    """Return the model with the lexicon that the words of a text need; `given` and `words` were known in training."""
    needed = cooccurrences(direction, threads)
    probabilities = _probabilities(model.lexicon, needed, given, words)
    return model._replace(lexicon=needed._replace(probabilities=probabilities))


@kernel
def _probabilities(trained: Lexicon, needed: Lexicon, given_words: int, words: int) -> NDArray[np.float32]:
    """Look up the pairs of one lexicon in another; the words of a row are sorted in both."""
    result = np.zeros(needed.words.size, np.float32)
    for given in range(needed.offsets.size - 1):
        known = given + 1 < trained.offsets.size
        place, end = (trained.offsets[given], trained.offsets[given + 1]) if known else (0, 0)
        for entry in range(needed.offsets[given], needed.offsets[given + 1]):
            word = needed.words[entry]
            while place < end and trained.words[place] < word:
                place += 1
            if word >= words:
                result[entry] = NEW_PAIR if given >= given_words else NEW_WORD
            elif place < end and trained.words[place] == word:
                result[entry] = trained.probabilities[place]
            if given == NULL and result[entry] == 0.0:  # some word must explain it
                result[entry] = NEVER
    return result


def _lexicon(arrays: dict[str, NDArray[Any]], name: str, given: int, words: int) -> Lexicon:
    lexicon = Lexicon(*(arrays[f"{name}.{key}"] for key in Lexicon._fields))
    check_lexicon(lexicon, given, words)
    return lexicon


def _model(arrays: dict[str, NDArray[Any]], side: str, given: int, words: int) -> OneWayModel:
    lexicon = _lexicon(arrays, side, given, words)
    if f"{side}.jumps" not in arrays:
        return OneWayModel(lexicon)
    weights, null = arrays[f"{side}.jumps"], float(arrays[f"{side}.null"][0])
    if weights.shape != (2, WEIGHTS) or not (weights > 0.0).all() or not 0.0 <= null <= 1.0:
        raise ValueError("jumps of another model")
    return OneWayModel(lexicon, Transitions(weights, null))
