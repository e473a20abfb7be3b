"""`toledo lm`: estimate, score with, and mix language models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from toledo.cli.common import Json, Quiet, Threads, progress_for, require_output_apart, set_up_messages
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, atomic_writer, require_output, require_output_directory

if TYPE_CHECKING:
    from toledo.language_model.model import LineScores, Perplexity

app = typer.Typer(no_args_is_help=True, help="Estimate language models, score text with them, mix them.")

Text = Annotated[str, typer.Argument(help="Text, one sentence per line; - is standard input.", show_default=False)]
Model = Annotated[str, typer.Argument(help="ARPA file, or a directory that this program wrote.", show_default=False)]
Models = Annotated[list[str], typer.Argument(help="ARPA files or directories, two or more.", show_default=False)]
Output = Annotated[
    str,
    typer.Option("--output", "-o", help="NAME.arpa, NAME.arpa.gz, - for standard output, or else a directory."),
]


@app.command()
def estimate(
    context: typer.Context,
    output: Output,
    text: Text = STANDARD_STREAM,
    order: Annotated[int, typer.Option(help="Length of the longest n-grams.", min=1, max=6)] = 3,
    prune: Annotated[
        str, typer.Option(help="Leave out n-grams that occur so often or less; one number for each order.")
    ] = "0",
    quiet: Quiet = False,
) -> None:
    """Estimate a model with modified Kneser-Ney smoothing, as lmplz does.

    **Examples**

        toledo lm estimate --order 3 --output lm.arpa < train.en

        toledo lm estimate --order 5 --prune "0 0 1" --output lm.arpa.gz train.en
    """
    from toledo.language_model.estimate import estimate as estimate_model
    from toledo.language_model.model import LanguageModel
    from toledo.text.corpus import read_sentences
    from toledo.text.vocabulary import Vocabulary

    set_up_messages(quiet)
    require_output_apart(context)
    progress, vocabulary, thresholds = progress_for(quiet), Vocabulary(), _numbers(prune)
    _require_output(output)
    sentences = read_sentences(text, vocabulary)
    LanguageModel(estimate_model(sentences, order, thresholds, progress), vocabulary).save(output, progress)


@app.command()
def score(
    model: Model,
    threads: Threads,
    text: Text = STANDARD_STREAM,
    perplexity: Annotated[
        bool, typer.Option("--perplexity", help="Print the perplexity of the whole text instead.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the log10 probability of each line; one line in is one line out.

    **Examples**

        toledo lm score lm.arpa < test.en

        toledo lm score lm.arpa.gz --perplexity < test.en
    """
    from toledo.language_model.model import LineScorer, read_language_model
    from toledo.text.corpus import read_sentence_blocks
    from toledo.text.vocabulary import Vocabulary

    set_up_messages(quiet)
    vocabulary = Vocabulary()
    language_model = read_language_model(model, vocabulary, progress_for(quiet))
    if perplexity:
        blocks = read_sentence_blocks(text, vocabulary, grow=False)
        results = [language_model.sentence_perplexity(block, threads) for block in blocks]
        if not results:
            raise InputError("there is no text to score", remedy="give a text of one sentence per line")
        _print_perplexity(sum(results[1:], start=results[0]), as_json)
        return
    scorer = LineScorer(language_model, vocabulary)
    with atomic_writer(STANDARD_STREAM) as stream:
        for scores in scorer.score_file(text, threads):
            stream.writelines(_score_lines(scores, as_json))


@app.command()
def interpolate(
    context: typer.Context,
    models: Models,
    tune: Annotated[str, typer.Option(help="Text to choose the weights on, for the lowest perplexity.")],
    output: Output,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Mix models into one, with the weights that suit a text best; prints each model's weight and perplexity.

    **Examples**

        toledo lm interpolate news.arpa talks.arpa --tune talks.dev.en --output mixed.arpa
    """
    from toledo.language_model.interpolate import interpolate as interpolate_models
    from toledo.language_model.interpolate import tune_weights
    from toledo.language_model.model import LanguageModel, read_language_model
    from toledo.text.corpus import read_sentences
    from toledo.text.vocabulary import Vocabulary

    set_up_messages(quiet)
    require_output_apart(context)
    if len(models) < 2:
        raise InputError("there is only one model to interpolate", remedy="name two or more")
    progress, vocabulary = progress_for(quiet), Vocabulary()
    _require_output(output)
    loaded = [read_language_model(model, vocabulary, progress) for model in models]
    sentences = read_sentences(tune, vocabulary, grow=False)
    weights = tune_weights(loaded, sentences).tolist()
    mixture = interpolate_models(loaded, weights, progress)
    LanguageModel(mixture.ngrams, vocabulary).save(output, progress)
    rows = [
        {
            "model": name,
            "weight": round(weight, 6),
            "perplexity": round(model.sentence_perplexity(sentences).without_unknown, 4),
        }
        for name, weight, model in zip([*models, output], [*weights, 1.0], [*loaded, mixture], strict=True)
    ]
    if output != STANDARD_STREAM:
        _print_rows(rows, as_json)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.replace(",", " ").split()]
    except ValueError:
        raise InputError(
            f"--prune {text!r} is not a list of numbers", remedy='write, for example, --prune "0 0 1"'
        ) from None


def _require_output(path: str) -> None:
    """A bad path should not cost the work."""
    from toledo.language_model.arpa import is_arpa
    from toledo.language_model.model import DESCRIPTION

    if is_arpa(path):
        require_output(path)
    else:
        require_output_directory(path, DESCRIPTION)


def _score_lines(scores: LineScores, as_json: bool) -> Iterator[str]:
    if not as_json:
        return (f"{value:.6f}\n" for value in scores.log10.tolist())
    return (
        json.dumps({"log10": round(value, 6), "words": words, "unknown": unknown}) + "\n"
        for value, words, unknown in zip(*(column.tolist() for column in scores), strict=True)
    )


def _print_perplexity(result: Perplexity, as_json: bool) -> None:
    content = {
        "perplexity": round(result.value, 6),
        "perplexity_without_unknown": round(result.without_unknown, 6),
        "log10": round(result.log10, 6),
        "tokens": result.tokens,
        "unknown": result.unknown,
    }
    if as_json:
        typer.echo(json.dumps(content))
        return
    for name, value in content.items():
        typer.echo(f"{name.replace('_', ' ')}\t{value}")


def _print_rows(rows: list[dict[str, str | float]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(rows))
        return
    for row in rows:
        typer.echo("\t".join(map(str, row.values())))
