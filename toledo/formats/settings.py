"""What to write beside translations. Imports neither NumPy nor Numba, so that the command line can describe it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from toledo.settings import Meta, Settings


@dataclass(frozen=True)
class TranslationFiles(Settings):
    """Files to write besides translations; None for none. A hyphen is standard output."""

    write_nbest: Annotated[str | None, Meta(description="Write n-best lists; JSON if the name ends in .jsonl.")] = None
    nbest: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="Size of the lists. [default: 100]")] = None
    distinct: Annotated[bool, Meta(description="List distinct texts instead of derivations.")] = False
    nbest_alignments: Annotated[bool, Meta(description="Add phrase and word alignments to the lists.")] = False
    mark_phrases: Annotated[bool, Meta(description="Write source positions after each phrase: |0-1|.")] = False
    write_alignment: Annotated[str | None, Meta(description="Write word alignments of the output (0-0 1-1 …).")] = None
    write_forest: Annotated[str | None, Meta(description="Write the forests of all segments into a directory.")] = None
    write_lattice: Annotated[
        str | None, Meta(description="Write lattices: FILE.plf, FILE.slf, or DIR/ with one SLF file per segment.")
    ] = None
    write_search_graph: Annotated[
        str | None, Meta(description="Write hypergraphs: a file, or DIR/ with one file per segment.")
    ] = None
    density: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        Meta(description="Prune written forests and lattices to this many edges per word."),
    ] = None
    plf_values: Annotated[
        Literal["probabilities", "logarithms"] | None,
        Meta(description="Kind of numbers in PLF. [default: probabilities]"),
    ] = None
    write_trace: Annotated[
        str | None, Meta(description="Write the phrases of each translation with their scores; - is standard error.")
    ] = None
    write_diagnostics: Annotated[
        str | None, Meta(description="Write diagnostics of the Gibbs sampler: FILE.json or FILE.html.")
    ] = None

    @property
    def forests(self) -> bool:
        """Return whether the best translations alone are not enough."""
        graphs = (self.write_forest, self.write_lattice, self.write_search_graph)
        return any(one is not None for one in (self.write_nbest, self.write_trace, *graphs))
