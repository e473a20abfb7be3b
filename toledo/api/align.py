"""Align the words of sentence pairs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, overload

from toledo.api.corpora import Pairs, encode_pairs
from toledo.api.inputs import Texts
from toledo.formats.alignments import alignment_lines
from toledo.formats.moses_writing import write_lexicon
from toledo.phrases.settings import ALIGNERS, IBM1, Symmetrization
from toledo.phrases.word_alignment.aligner import AlignmentResult, AlignmentTraining
from toledo.phrases.word_alignment.aligner import align as align_words
from toledo.progress import Progress, silent
from toledo.results import Result
from toledo.settings import Named
from toledo.text.vocabulary import Vocabulary

log = logging.getLogger(__name__)

Link = tuple[int, int]  # positions of a source and a target word, from 0


@dataclass(frozen=True, repr=False, eq=False)
class Alignments(Sequence[list[Link]], Result):
    """The links of each sentence pair, and the lexicons of IBM Model 1 that were trained on the way."""

    result: AlignmentResult
    vocabularies: tuple[Vocabulary, Vocabulary]
    aligner: str
    symmetrize: Symmetrization

    def __len__(self) -> int:
        return len(self.result.alignments)

    @overload
    def __getitem__(self, index: int) -> list[Link]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[Link]]: ...

    def __getitem__(self, index: int | slice) -> list[Link] | list[list[Link]]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        links = self.result.alignments[range(len(self))[index]]
        return [(source, target) for source, target in links.tolist()]

    def __str__(self) -> str:
        return "\n".join(self.pharaoh_lines())

    def __repr__(self) -> str:
        return f"Alignments({len(self)} sentence pairs, {self.signature})"

    @property
    def signature(self) -> str:  # type: ignore[override]
        """How the links were found."""
        return f"aligner:{self.aligner}|symmetrize:{self.symmetrize}"

    def pharaoh_lines(self) -> Iterator[str]:
        """Yield a line such as `0-0 1-2` for each sentence pair."""
        return alignment_lines(self.result.alignments)

    def to_pharaoh(self) -> str:
        """Return the links in Pharaoh format, a line for each sentence pair."""
        return f"{self}\n"

    def to_dict(self) -> dict[str, Any]:
        """Return all links, ready for JSON."""
        return {"alignments": list(self), "aligner": self.aligner, "signature": self.signature}

    def write_lexicons(self, directory: str | Path) -> None:
        """Write the lexicons of IBM Model 1 as Moses has them: lex.f2e.gz and lex.e2f.gz."""
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        write_lexicon(folder / "lex.f2e.gz", self.result.lexicons.forward, *self.vocabularies)
        write_lexicon(folder / "lex.e2f.gz", self.result.lexicons.backward, *self.vocabularies[::-1])


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

    Words stand between blanks. `aligner` is "hmm", "ibm1" or "eflomal" (an extra), also with settings, such as
    "hmm:iterations_ibm1=5,iterations_hmm=8". `symmetrize` joins the alignments of both directions.
    """
    settings = alignment_training(aligner, symmetrize)
    corpus = encode_pairs(sources, targets)
    result = align_words(corpus, settings, threads=threads, progress=progress)
    log.info("%d links in %d sentence pairs", len(result.alignments.links), len(corpus))
    vocabularies = corpus.source_vocabulary, corpus.target_vocabulary
    return Alignments(result, vocabularies, aligner if isinstance(aligner, str) else settings.model, symmetrize)


def alignment_training(aligner: Named[IBM1], symmetrize: Symmetrization) -> AlignmentTraining:
    """Return the settings of an aligner that users name."""
    made = ALIGNERS.make(aligner)
    model: Any = type(made).__name__.lower()
    return AlignmentTraining(model=model, symmetrisation=symmetrize, **asdict(made))
