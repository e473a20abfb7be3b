"""`toledo combine`: outputs of several systems in, one better output out."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from toledo.cli.combine import options
from toledo.cli.combine.options import Method
from toledo.cli.common import Json, Output, Quiet, Threads, progress_for, require_output_apart, set_up_messages
from toledo.cli.rules import (
    Decide,
    Gain,
    GainName,
    Hypotheses,
    RuleName,
    RuleSettings,
    Scale,
    named_rule,
    refuse_other_rules,
    require_scale,
)
from toledo.errors import InputError
from toledo.files import (
    STANDARD_STREAM,
    atomic_writer,
    read_lines,
    read_segment_lines,
    require_output,
    require_output_directory,
)

if TYPE_CHECKING:
    from toledo.combination.combiner import Combiner

log = logging.getLogger(__name__)

app = typer.Typer(no_args_is_help=True, help="Combine the outputs of several systems into one that is better.")

MODELS = "toledo.language_model"  # estimated on the way: nobody wants to know discounts, or that outputs are few
DESCRIPTION = "combination.toml"  # that of `toledo.combination.combiner`, imported later


@app.command()
def tune(
    reference: options.References,
    output: options.CombinationOutput,
    threads: Threads,
    systems: options.MoreSystems = None,
    more: options.Rest = None,
    source: options.Source = None,
    language: options.Language = "en",
    tokenised: options.Tokenised = False,
    language_model: options.LanguageModels = None,
    lm_text: options.LanguageModelTexts = None,
    lm_order: options.LanguageModelOrder = 5,
    bias: options.Bias = None,
    method: options.MethodOption = Method.lattice_expected_bleu,
    feature: options.Features = None,
    skeletons: options.Skeletons = None,
    entropy: options.Entropies = None,
    l2: options.L2 = 1e-4,
    resume: options.Resume = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find out what each system is worth, on segments with references.

    A system is named by its file (`sys.NAME.en` is NAME), or as NAME=FILE. Files have one line for each segment, or
    n-best lists (Moses' format or JSONL). Texts are raw; with --tokenised they are words with blanks between.

    **Examples**

        toledo combine tune -r ref.en --systems A.en B.en C.en --output combo

        toledo combine tune -r ref.en --systems sys.*.en --lm-text news.en --output combo
    """
    set_up_messages(quiet, without=MODELS)
    from toledo.combination.lines import ModelSources, named_systems, read_systems, tune_lines
    from toledo.combination.settings import CombinationSettings
    from toledo.combination.tuning import TuningRun

    if not language:
        raise InputError("no language ''", remedy="give its code, such as --language de")
    settings = CombinationSettings(language, tokenised, lm_order, bias, method.value, skeletons=skeletons, l2=l2)
    settings = replace(
        settings, features=tuple(feature or settings.features), entropy=tuple(entropy or settings.entropy)
    )
    files = named_systems([*(systems or ()), *(more or ())])
    require_output_directory(output, DESCRIPTION)
    work = TuningRun(Path(f"{output}.tuning"), resume, threads, progress_for(quiet))
    work.require_new()
    segments = list(read_systems([*files.values()]))
    texts = [read_segment_lines(file, len(segments)) for file in reference]
    if source is not None:
        read_segment_lines(source, len(segments))
    sources = ModelSources(language_model or [], [read_lines(file) for file in lm_text or []])
    combiner = tune_lines(segments, list(zip(*texts, strict=True)), [*files], settings, sources, work)
    combiner.save(output)
    work.remove()
    _print_weights(combiner, as_json)
    log.info("%s is ready: toledo combine run %s --systems …", output, output)


@app.command()
def run(
    context: typer.Context,
    directory: options.Directory,
    threads: Threads,
    systems: options.MoreSystems = None,
    more: options.Rest = None,
    decide: Decide = RuleName.viterbi,
    gain: Gain = GainName.bleu,
    scale: Scale = 1.0,
    hypotheses: Hypotheses = 100,
    output: Output = STANDARD_STREAM,
    quiet: Quiet = False,
) -> None:
    """Combine the outputs of the systems that were tuned with, one line for each segment.

    Systems that are missing have no say. The scale is a factor of the one that tuning found.

    **Examples**

        toledo combine run combo --systems A.en B.en C.en > out.en

        toledo combine run combo --systems A.en B.en C.en --decide consensus --output out.en
    """
    set_up_messages(quiet, without=MODELS)
    require_output_apart(context)
    from toledo.combination.combiner import Combiner
    from toledo.combination.lines import combine_texts, in_order, named_systems, read_systems

    require_scale(scale)
    refuse_other_rules(context, decide)
    require_output(output)
    rule = named_rule(decide, RuleSettings(gain, hypotheses))
    combiner = Combiner.load(directory)
    files = in_order(named_systems([*(systems or ()), *(more or ())]), combiner.systems)
    with atomic_writer(output) as stream:
        for line in combine_texts(combiner, read_systems(files), rule, scale, threads=threads):
            stream.write(line.text + "\n")


@app.command()
def show(
    directory: options.Directory,
    threads: Threads,
    output: options.Page,
    systems: options.MoreSystems = None,
    more: options.Rest = None,
    segment: options.Segments = None,
    reference: options.ShownReferences = None,
    source: options.ShownSource = None,
    quiet: Quiet = False,
) -> None:
    """Draw the confusion networks of some segments: words, votes, which systems agree, and the result.

    **Examples**

        toledo combine show combo --segment 0 --segment 6 --output networks.html --systems A.en B.en C.en
    """
    set_up_messages(quiet, without=MODELS)
    from toledo.combination.combiner import Combiner
    from toledo.combination.lines import combine_texts, in_order, named_systems, read_systems
    from toledo.reports.networks import network_page, shown_segment

    require_output(output)
    chosen = sorted(set(segment or [0]))
    combiner = Combiner.load(directory)
    files = in_order(named_systems([*(systems or ()), *(more or ())]), combiner.systems)
    lines = combine_texts(combiner, read_systems(files), only=chosen, threads=threads)
    beside = [list(read_lines(source)) if source else [], *(list(read_lines(file)) for file in reference or [])]
    shown = [shown_segment(combiner, number, line, beside) for number, line in zip(chosen, lines, strict=False)]
    if len(shown) < len(chosen):
        raise InputError(f"there is no segment {chosen[len(shown)]}", remedy="segments are counted from 0")
    weights = combiner.second.weights
    network_page("Combined outputs", shown, weights.shares, weights.features).save(output)


def _print_weights(combiner: Combiner, as_json: bool) -> None:
    """Print what each system is worth, and the weights of features."""
    stage, scores = combiner.second, dict(combiner.bleu)
    weights = {name: value for name, value in stage.weights.features.items() if value or "." not in name}
    if as_json:
        content = {
            "bleu": scores, "shares": dict(stage.weights.shares), "weights": weights, "scale": stage.scale,
            "bias": combiner.settings.bias,
        }  # fmt: skip
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    table = Table("system", "BLEU", "share")
    for name, score in scores.items():
        share = stage.weights.shares.get(name)
        table.add_row(name, f"{score:.2f}", "" if share is None else f"{share:.3f}")
    console = Console(soft_wrap=True, markup=False)
    console.print(table)
    console.print(", ".join(f"{name} {value:.3g}" for name, value in weights.items()), highlight=False)
