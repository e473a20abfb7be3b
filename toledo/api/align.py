"""Align the words of sentence pairs, and keep the aligner for new ones.

aligner = Aligner.train(sources, targets)
aligner.align(["das Haus"], ["the house"])[0]              # [(0, 0), (1, 1)]
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, overload

from toledo import storage
from toledo.api.inputs import Texts, arguments_of
from toledo.api.pairs import Pairs, encode_words
from toledo.errors import InputError, ModelError
from toledo.files import require_output_directory
from toledo.formats.alignments import alignment_lines
from toledo.formats.moses_writing import write_lexicon
from toledo.phrases.lexicon import Lexicons
from toledo.phrases.settings import ALIGNERS, IBM1, Symmetrization
from toledo.phrases.table import WordLinks
from toledo.phrases.word_alignment.aligner import AlignmentTraining, BothModels, align_new, from_arrays, to_arrays
from toledo.phrases.word_alignment.aligner import align as align_words
from toledo.progress import Progress, silent
from toledo.results import Result
from toledo.settings import Named
from toledo.text.vocabulary import Vocabulary

log = logging.getLogger(__name__)

DESCRIPTION, FORMAT = "aligner.toml", 1

Link = tuple[int, int]  # positions of a source and a target word, from 0


def align(
    sources: Texts | Pairs,
    targets: Texts | None = None,
    *,
    aligner: Named[IBM1] = "hmm",
    symmetrize: Symmetrization = "grow-diag-final-and",
    threads: int | None = None,
    progress: Progress = silent,
) -> Alignments:
    """Align the words of sentence pairs.

    Words are separated by spaces. `aligner` is "hmm", "ibm1" or "eflomal" (an extra), also with settings, such as
    "hmm:iterations_ibm1=5,iterations_hmm=8". `symmetrize` joins the alignments of both directions. The result keeps the
    aligner, which can align new sentence pairs.
    """
    config = alignment_training(aligner, symmetrize)
    corpus = encode_words(sources, targets)
    found = align_words(corpus, config, threads=threads, progress=progress)
    log.info("%d links in %d sentence pairs", len(found.alignments.links), len(corpus))
    vocabularies = corpus.source_vocabulary, corpus.target_vocabulary
    return Alignments(found.alignments, Aligner(config, vocabularies, found.lexicons, found.models))


@dataclass(frozen=True, repr=False, eq=False)
class Aligner:
    """Trained models of both directions; `lexicons` are those of IBM Model 1, `vocabularies` of source and target."""

    config: AlignmentTraining
    vocabularies: tuple[Vocabulary, Vocabulary]
    lexicons: Lexicons
    models: BothModels

    @staticmethod
    @arguments_of(align)
    def train(*pairs: Any, **how: Any) -> Aligner:
        """Train on sentence pairs; arguments as those of `align`."""
        require_kept(alignment_training(how.get("aligner", "hmm")))
        return align(*pairs, **how).aligner

    def align(self, sources: Texts | Pairs, targets: Texts | None = None, *, threads: int | None = None) -> Alignments:
        """Align the words of sentence pairs; those of the training text get the links that training gave them."""
        require_kept(self.config)
        source, target = self.vocabularies
        corpus = encode_words(sources, targets, (Vocabulary(source), Vocabulary(target)))  # new words join a copy
        return Alignments(align_new(corpus, self.models, (len(source), len(target)), self.config, threads), self)

    def __repr__(self) -> str:
        source, target = map(len, self.vocabularies)
        return f"Aligner({self.signature}, {source:,} source words, {target:,} target words)"

    @property
    def signature(self) -> str:
        """Return how words are aligned."""
        defaults = asdict(AlignmentTraining())
        own = {name: value for name, value in asdict(self.config).items() if value != defaults[name]}
        given = ",".join(f"{name}={own[name]}" for name in own if name not in ("model", "symmetrization"))
        name = f"{self.config.model}:{given}" if given else self.config.model
        return f"aligner:{name}|symmetrize:{self.config.symmetrization}"

    def write_lexicons(self, directory: str | Path) -> None:
        """Write the lexicons of IBM Model 1 as Moses has them: lex.f2e.gz and lex.e2f.gz."""
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        write_lexicon(folder / "lex.f2e.gz", self.lexicons.forward, *self.vocabularies)
        write_lexicon(folder / "lex.e2f.gz", self.lexicons.backward, *self.vocabularies[::-1])

    @staticmethod
    def require_output(directory: str | Path) -> None:
        """Refuse a path that `save` cannot write, before any work is done for it."""
        require_output_directory(directory, DESCRIPTION)

    def save(self, directory: str | Path) -> None:
        """Write a directory atomically."""
        require_kept(self.config)
        arrays = to_arrays(self.lexicons, self.models)
        for name, vocabulary in zip(("source", "target"), self.vocabularies, strict=True):
            arrays |= {f"{name}.{key}": array for key, array in vocabulary.to_arrays().items()}
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
            lexicons, models = from_arrays(arrays, (len(source), len(target)))
        except storage.DAMAGE as error:
            raise ModelError(f"damaged aligner: {error}", file=file, remedy="restore it or train it again") from None
        return cls(config, (source, target), lexicons, models)


@dataclass(frozen=True, repr=False, eq=False)
class Alignments(Sequence[list[Link]], Result):
    """The links of each sentence pair, and the aligner that found them."""

    links: WordLinks
    aligner: Aligner

    def __len__(self) -> int:
        return len(self.links)

    @overload
    def __getitem__(self, index: int) -> list[Link]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[Link]]: ...

    def __getitem__(self, index: int | slice) -> list[Link] | list[list[Link]]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        links = self.links[range(len(self))[index]]
        return [(source, target) for source, target in links.tolist()]

    def __str__(self) -> str:
        return "\n".join(self.pharaoh_lines())

    def __repr__(self) -> str:
        return f"Alignments({len(self)} sentence pairs, {self.signature})"

    @property
    def signature(self) -> str:  # type: ignore[override]
        """Return how the words were aligned."""
        return self.aligner.signature

    def pharaoh_lines(self) -> Iterator[str]:
        """Yield a line such as `0-0 1-2` for each sentence pair."""
        return alignment_lines(self.links)

    def to_pharaoh(self) -> str:
        """Return the links in Pharaoh format, a line for each sentence pair."""
        return f"{self}\n"

    def to_dict(self) -> dict[str, Any]:
        """Return all links, ready for JSON."""
        return {"alignments": list(self), "signature": self.signature}


def require_kept(config: AlignmentTraining) -> None:
    """Refuse an aligner that cannot align new text."""
    if config.model == "eflomal":
        remedy = "align all text at once, or train hmm or ibm1"
        raise InputError("eflomal cannot be kept for new text", argument="aligner", remedy=remedy)


def alignment_training(aligner: Named[IBM1], symmetrize: Symmetrization = "grow-diag-final-and") -> AlignmentTraining:
    """Return the settings of an aligner that users name."""
    made = ALIGNERS.make(aligner)
    model: Any = type(made).__name__.lower()
    return AlignmentTraining(model=model, symmetrization=symmetrize, **asdict(made))
