"""Sets of documents for experiments: two parts with document ids and two references, a model, and searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from runs import trained_model

from toledo.files import write_lines
from toledo.formats.documents import read_documents
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.phrases.pruning import filter_for
from toledo.phrases.sparse import sparse_features, target_words
from toledo.sample.corpus import generate
from toledo.search.document.models.semantic import SemanticSpace
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings, HillClimbing
from toledo.text.corpus import Document, ParallelCorpus, Sentences, read_parallel
from toledo.weights import Weights

SENSES = "senses"  # the built-in sample, with words whose senses only documents tell
LANGUAGES = {"de-en": "de", "es-en": "es", SENSES: "talvan"}
SENTENCES = {"train": 8000, "tune": 600, "test": 900}  # of the sample
STEPS = {"beam": 30_000, "random": 100_000}  # of hill climbing for each document, by its start


@dataclass(frozen=True, eq=False)
class DocumentSet:
    """A pair of languages: its folder, where its runs are kept, and how many documents of each part to take.

    `to_tune` is how many to tune on, if all are to be translated.
    """

    pair: str
    folder: Path
    work: Path
    threads: int = 1
    most: int | None = None
    to_tune: int | None = None

    @classmethod
    def of(
        cls, pair: str, data: Path, work: Path, threads: int, most: int | None, to_tune: int | None = None
    ) -> DocumentSet:
        """By the name of the pair; runs on some of the documents are kept apart from those on all."""
        place = pair if most is None else f"{pair}-{most}"
        place += "" if to_tune is None else f"-tuned-on-{to_tune}"
        folder = sample_with_senses(work / "sample") if pair == SENSES else data / f"bible-{pair}"
        return cls(pair, folder, work / place, threads, most, to_tune)

    def __post_init__(self) -> None:
        self.work.mkdir(parents=True, exist_ok=True)

    def documents(self, part: str) -> list[Document]:
        """Those of a part, tune or test, with both references."""
        folder, language = self.folder, LANGUAGES[self.pair]
        references = [str(folder / f"{part}.en"), str(folder / f"{part}.refB.en")]
        text = read_documents(str(folder / f"{part}.{language}"), references, folder / f"{part}.docids")
        return list(text.documents)[: self.to_tune if part == "tune" and self.to_tune else self.most]

    @property
    def files(self) -> list[Path]:
        """What results depend on."""
        ends = ("en", "refB.en", "docids", LANGUAGES[self.pair])
        texts = [self.folder / f"{part}.{end}" for part in ("tune", "test") for end in ends]
        return [*texts, self.folder / f"train.{LANGUAGES[self.pair]}", self.folder / "train.en"]

    @cached_property
    def whole_model(self) -> PhraseModel:
        """Trained on the training part, which is the same for any number of documents."""
        place = self.work.parent / self.pair
        place.mkdir(parents=True, exist_ok=True)
        return trained_model(self.folder, LANGUAGES[self.pair], place, self.threads)

    @cached_property
    def training_text(self) -> ParallelCorpus:
        """In the words of the model."""
        source, target = self.folder / f"train.{LANGUAGES[self.pair]}", self.folder / "train.en"
        return read_parallel(source, target, (self.whole_model.source_vocabulary, self.whole_model.target_vocabulary))

    @cached_property
    def model(self) -> PhraseModel:
        """The same for the documents of both parts."""
        return self.filtered(self.whole_model)

    def filtered(self, model: PhraseModel) -> PhraseModel:
        """Of its table only what the documents need, which changes no translation."""
        ids = [
            model.source_vocabulary.ids(segment.words)
            for part in ("tune", "test")
            for document in self.documents(part)
            for segment in document.segments
        ]
        text = Sentences.from_lengths(np.concatenate(ids), np.array([one.size for one in ids]))
        return replace(model, table=filter_for(model.table, text))

    def model_with_words(self, count: int) -> PhraseModel:
        """With a feature for each of so many of the most frequent target words."""
        if not count:
            return self.model
        return replace(self.model, sparse=sparse_features(self.model.table, [target_words], count))


def sample_with_senses(folder: Path) -> Path:
    """Write the sample once, with the names that files of real data have."""
    if not folder.exists():
        folder.mkdir(parents=True)
        data = generate(1, *SENTENCES.values(), senses=True)
        for name, part in (("train", data.train), ("tune", data.tune), ("test", data.test)):
            write_lines(folder / f"{name}.{LANGUAGES[SENSES]}", part.sources)
            write_lines(folder / f"{name}.docids", part.document_ids)
            for end, lines in zip(("en", "refB.en"), part.references, strict=False):
                write_lines(folder / f"{name}.{end}", lines)
    return folder


def document_statistics(
    documents: Sequence[Document], translations: Sequence[Sequence[Sequence[str]]]
) -> NDArray[np.float64]:
    """The statistics of BLEU of each document."""
    rows = [
        BLEU(smooth_method="none")
        .corpus_statistics(texts, [segment.references for segment in document.segments], threads=1)
        .sum(axis=0)
        for document, texts in zip(documents, translations, strict=True)
    ]
    return np.array(rows)


def search_documents(
    model: PhraseModel, weights: Weights, documents: Sequence[Document], start: str, threads: int
) -> list[list[tuple[str, ...]]]:
    """What hill climbing finds for each sentence of each document."""
    settings = DocumentSettings(HillClimbing(), steps=STEPS[start], start=start)
    results = DocumentSearch(model.with_weights(weights), settings).search(documents, threads=threads)
    return [[translation.words for translation in result.translations] for result in results]


def semantic_space(one: DocumentSet) -> SemanticSpace:
    """Word vectors of the English training text, made once."""
    place = one.work.parent / one.pair / "space"
    if not place.exists():
        SemanticSpace.train(one.folder / "train.en", document_ids=one.folder / "train.docids").save(place)
    return SemanticSpace.load(place)
