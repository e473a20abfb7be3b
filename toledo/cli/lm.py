"""`toledo lm`: train language models, score text with them, mix them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from toledo.cli.messages import json_lines, print_result, progress_for, require_apart
from toledo.cli.options import COMMON, Common, Threads, flag, repeated
from toledo.files import STANDARD_STREAM, atomic_writer

if TYPE_CHECKING:
    from toledo.language_model.model import LineScores

Text = Annotated[str, Parameter(help="Text, one sentence per line; - is standard input.")]
LM = Annotated[str, Parameter(help="ARPA file, or a directory written by Toledo.")]
LMOutput = Annotated[
    str, Parameter(alias="-o", help="NAME.arpa, NAME.arpa.gz or - (standard output); else a directory.")
]


def train(
    text: Text = STANDARD_STREAM,
    *,
    output: LMOutput,
    order: Annotated[int, Parameter(help="Length of the longest n-grams, from 1 to 6.")] = 3,
    prune: Annotated[
        tuple[int, ...],
        repeated("Drop n-grams that occur at most this often: once for unigrams (0), bigrams, and so on."),
    ] = (0,),
    document_ids: Annotated[
        Path | None,
        Parameter(
            help="File with the document id of each line: contexts then reach across sentences, with <br> between."
        ),
    ] = None,
    common: Common = COMMON,
) -> None:
    """Estimate an n-gram model with modified Kneser-Ney smoothing, as lmplz does.

    With --document-ids it is a model of documents, for the document model `context`.

    **Examples**

        toledo lm train --order 3 -o lm.arpa < train.en
        toledo lm train train.en --order 5 --prune 0 --prune 0 --prune 1 -o lm.arpa.gz
    """
    from toledo.language_model.model import LanguageModel

    require_apart(output, text)
    LanguageModel.require_output(output)
    progress = progress_for(common)
    model = LanguageModel.train(text, order, prune=prune, document_ids=document_ids, progress=progress)
    model.save(output, progress)
    if common.json and output != STANDARD_STREAM:
        print_result("lm train", {"output": output, "order": order, "ngrams": model.counts}, common)


def score(
    model: LM,
    text: Text = STANDARD_STREAM,
    *,
    perplexity: Annotated[bool, flag("Print the perplexity of the whole text instead.")] = False,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Print the log10 probability of each line.

    **Examples**

        toledo lm score lm.arpa < test.en
        toledo lm score lm.arpa.gz --perplexity < test.en
    """
    from toledo.language_model.model import LanguageModel

    loaded = LanguageModel.load(model, progress_for(common))
    if perplexity:
        print_result("lm score", loaded.perplexity(text, threads=threads), common)
        return
    with atomic_writer(STANDARD_STREAM) as stream:
        done = 0
        for block in loaded.score_file(text, threads):
            lines = (
                json_lines(_rows(block, done)) if common.json else (f"{value:.6f}" for value in block.log10.tolist())
            )
            stream.writelines(f"{line}\n" for line in lines)
            stream.flush()
            done += block.log10.size


def mix(
    *models: LM,
    dev: Annotated[str, Parameter(help="Development text to fit the weights to; - is standard input.")],
    output: LMOutput,
    common: Common = COMMON,
) -> None:
    """Interpolate models, with weights fitted to a development text; print each model's weight and perplexity.

    **Examples**

        toledo lm mix news.arpa talks.arpa --dev talks.dev.en -o mixed.arpa
    """
    from toledo.language_model.model import LanguageModel

    require_apart(output, dev, *models)
    LanguageModel.require_output(output)
    progress = progress_for(common)
    loaded = [LanguageModel.load(model, progress) for model in models]
    mixture = LanguageModel.mix(loaded, dev, progress)
    mixture.save(output, progress)
    if output != STANDARD_STREAM:
        rows = zip([*models, output], [*mixture.weights, 1.0], mixture.perplexities, strict=True)
        named = [dict(zip(("model", "weight", "perplexity"), row, strict=True)) for row in rows]
        print_result("lm mix", named if common.json else _table(named), common)


def _rows(block: LineScores, done: int) -> Iterator[dict[str, Any]]:
    for place, (value, words, unknown) in enumerate(zip(*(column.tolist() for column in block), strict=True)):
        yield {"segment": done + place, "log10": round(value, 6), "words": words, "unknown": unknown}


def _table(rows: list[dict[str, Any]]) -> str:
    return "\n".join("\t".join(map(str, row.values())) for row in rows)
