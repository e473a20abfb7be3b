"""`toledo combine`: outputs of several systems in, one better output out."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from toledo.cli.messages import json_lines, print_result, progress_for, require_apart
from toledo.cli.options import COMMON, Common, Output, OutputDirectory, References, Resume, Threads, command, repeated
from toledo.combination.settings import CombinationOptions
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, atomic_writer, require_output

if TYPE_CHECKING:
    from toledo.api.combination import Combination

log = logging.getLogger(__name__)

Systems = Annotated[
    tuple[str, ...],
    Parameter(
        consume_multiple=True,
        negative="",
        show_default=False,
        help="Outputs, one file per system: A.en B.en, or NAME=FILE.",
    ),
]
Directory = Annotated[Path, Parameter(help="Directory written by `toledo combine tune`.")]
Rule = Annotated[str | None, Parameter(help="Decision rule, as NAME or NAME:key=value,…. [default: that of tuning]")]
Scale = Annotated[
    float | None,
    Parameter(help="Factor applied to the scale found by tuning. [default: that of tuning; with --rule: 1]"),
]
Metric = Annotated[str | None, Parameter(alias="-m", help="Metric of the rule, as NAME or NAME:key=value,….")]


@command
def tune(
    *,
    systems: Systems = (),
    reference: References = (),
    source: Annotated[Path | None, Parameter(alias="-s", help="Source text, to check the number of segments.")] = None,
    output: OutputDirectory,
    lm_text: Annotated[tuple[Path, ...], repeated("Text to estimate a language model from.")] = (),
    language_model: Annotated[tuple[Path, ...], repeated("Language model: ARPA file, or a directory.")] = (),
    document_ids: Annotated[
        Path | None,
        Parameter(help="File with the document id of each segment; documents stay whole in cross-validation."),
    ] = None,
    settings: CombinationOptions,
    resume: Resume = False,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Learn the weight of each system from segments with references.

    A system is named after its file (`sys.NAME.en` is NAME), or as NAME=FILE. Files have one line per segment, or are
    n-best lists (Moses format or JSONL). Texts are raw, or words separated by spaces with --tokenized. Finished stages
    are saved in OUTPUT/run; --resume continues an interrupted run and gives the same result.

    Cross-validation chooses among tuned weights, equal shares and the MBR choice of the outputs. Lengths are
    relative to the reference; a warning tells if the combination is longer than the outputs.

    **Examples**

        toledo combine tune -r ref.en --systems A.en B.en C.en -o combo
        toledo combine tune -r ref.en --systems sys.*.en --lm-text news.en -o combo
        toledo combine tune -r ref.en --systems sys.*.en --synonyms /usr/share/wordnet -o combo
        toledo combine tune -r ref.en --systems one=A.en two=B.en --entropy 1 --entropy 2 --entropy 3 -o combo
        toledo combine tune -r ref.en --systems sys.*.en --document-ids ids --length reference -o combo
        toledo combine tune -r ref.en --systems sys.*.en --feature system.1 --feature words.1 -o combo
        toledo combine tune -r ref.en --systems sys.*.en --objective lattice-bleu --metric bleu --metric ter -o combo
    """
    if not reference:
        raise InputError("there is no reference to tune for", remedy="give --reference FILE, once for each reference")
    from toledo.api.combination import Combination
    from toledo.combination.lines import named_systems

    combination = Combination.tune(
        named_systems(systems),
        list(reference),
        sources=source,
        lm_text=lm_text,
        language_models=language_model,
        document_ids=document_ids,
        **vars(settings),
        output=output,
        resume=resume,
        threads=threads,
        progress=progress_for(common),
    )
    print_result("combine tune", combination, common)
    log.info("%s is ready: toledo combine run %s --systems …", output, output)


def run(
    directory: Directory,
    *,
    systems: Systems = (),
    rule: Rule = None,
    metric: Metric = None,
    scale: Scale = None,
    source: Annotated[Path | None, Parameter(alias="-s", help="Source text, for metrics that need it.")] = None,
    window: Annotated[
        int,
        Parameter(help="Segments whose outputs the language model and the case of words are learned from together."),
    ] = 4000,
    output: Output = STANDARD_STREAM,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Combine outputs with tuned weights, one line per segment.

    Systems are identified by name; a missing system has no vote. Files may be pipes: segments are read in windows, in
    memory that does not grow with their number.

    **Examples**

        toledo combine run combo --systems A.en B.en C.en > out.en
        toledo combine run combo --systems A.en B.en C.en --rule consensus -o out.en
        toledo combine run combo --systems A.en B.en C.en --rule mbr:size=200 --metric chrf --json > out.jsonl
        toledo combine run combo --systems A.en B.en C.en --rule mbr --metric mypackage.scores:judge -s test.de > out.en
    """
    combination, files = _load(directory, systems, output, source)
    how: dict[str, Any] = {
        "rule": rule, "metric": metric, "scale": scale, "sources": source, "window": window, "threads": threads,
    }  # fmt: skip
    if common.json:
        lines = json_lines(one.to_dict() for one in combination.iter_decode(files, **how))
    else:
        lines = combination.iter_run(files, **how)
    with atomic_writer(output) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def show(
    directory: Directory,
    *,
    systems: Systems = (),
    segment: Annotated[tuple[int, ...], repeated("Segment to show, counted from 0.")] = (0,),
    sample: Annotated[
        int, Parameter(help="Number of segments, from the first, for the parts of systems in the results; 0 for none.")
    ] = 100,
    rule: Rule = None,
    metric: Metric = None,
    scale: Scale = None,
    reference: References = (),
    source: Annotated[Path | None, Parameter(alias="-s", help="Source text to show with the networks.")] = None,
    output: Annotated[
        Path | None, Parameter(alias="-o", help="HTML page to write. [default: print text]", show_default=False)
    ] = None,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Show why segments were combined as they are: words, who votes for them, and the scores of the best texts.

    The difference to the runner-up is split into votes, language model and other features. The part of each system in
    the results has an interval from bootstrapping segments. Prints text, or JSON with --json; -o writes a page with
    drawings.

    **Examples**

        toledo combine show combo --systems A.en B.en C.en
        toledo combine show combo --segment 0 --segment 6 --systems A.en B.en C.en -o networks.html
        toledo combine show combo --systems A.en B.en C.en -s test.de -r test.en --json
    """
    combination, files = _load(directory, systems, output, *reference, source)
    explained = combination.explain(
        files, segment, sample=sample, rule=rule, metric=metric, scale=scale, sources=source, references=reference,
        threads=threads,
    )  # fmt: skip
    if output is not None:
        explained.page.save(output)
    if output is None or common.json:
        print_result("combine show", explained, common)


def _load(
    directory: Path, systems: tuple[str, ...], output: str | Path | None, *others: Path | None
) -> tuple[Combination, dict[str, Path]]:
    """Return a combination and the files of systems, after a look at the output."""
    from toledo.api.combination import Combination
    from toledo.combination.lines import named_systems

    files = named_systems(systems)
    require_apart(output, *files.values(), *others)
    if output is not None:
        require_output(output)
    return Combination.load(directory), files
