"""`toledo combine`: outputs of several systems in, one better output out."""

from __future__ import annotations

import json
import logging
import re
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
from toledo.files import STANDARD_STREAM, atomic_writer, require_output, require_output_directory

if TYPE_CHECKING:
    from toledo.combination.combiner import Combiner

log = logging.getLogger(__name__)

app = typer.Typer(no_args_is_help=True, help="Combine the outputs of several systems into one that is better.")

STEMS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
LANGUAGE = re.compile(r"[a-z]{2,3}")  # a code of ISO 639
ENTROPIES = (1.0, 3.0)
MODELS = "toledo.language_model"  # estimated on the way: nobody wants to know discounts, or that outputs are few
DESCRIPTION, FEATURES = "combination.toml", ("novel.bigram",)  # those of `toledo.combination`, imported later


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
    from toledo.cli.combine.running import (
        Work,
        general_model,
        read_segments,
        reference_words,
        system_scores,
        tune_each,
        warn_if_useless,
        warn_of_tokens,
    )
    from toledo.cli.combine.system_outputs import RESULT, named_systems
    from toledo.combination.lines import Lines, as_sentences, choose_model, model_of_outputs, output_words
    from toledo.combination.tuning import Settings
    from toledo.text.vocabulary import Vocabulary

    files = named_systems([*(systems or ()), *(more or ())])
    if not LANGUAGE.fullmatch(language):
        raise InputError(f"no language {language!r}", remedy="give its code, such as --language de")
    require_output_directory(output, DESCRIPTION)
    work = Work(Path(f"{output}.tuning"), resume, threads, progress_for(quiet))
    work.require_new()
    lines, vocabulary = Lines("" if tokenised else language), Vocabulary()
    segments = read_segments(lines, [*files.values()])
    warn_of_tokens(segments, lines)
    references = reference_words(lines, reference, len(segments), source)
    settings = Settings(
        method=method.value, language=STEMS.get(language, ""), skeletons=skeletons, l2=l2,
        raw=lines.language, features=tuple(feature or FEATURES),
    )  # fmt: skip
    known = as_sentences([text for texts in references for text in texts], vocabulary)
    general = general_model(lines, language_model or [], lm_text or [], lm_order, known, vocabulary)
    biased = model_of_outputs(lines, segments, vocabulary, lm_order if general is None else general.order)
    model, settings = choose_model(general, biased, known, settings, bias)
    log.info("language model: weight %.1f for the outputs", settings.bias)
    words = [output_words(lines, one) for one in segments]
    tuned = tune_each(words, references, [*files], vocabulary, model, settings, entropy or ENTROPIES, work)
    combiner = max(tuned, key=tuned.__getitem__)
    log.info("entropy %g is best on the tuning set", combiner.settings.entropy)
    combiner.with_model(general).save(output)
    work.remove()
    scores = {**system_scores(words, references, combiner.systems, threads), RESULT: tuned[combiner]}
    warn_if_useless(scores)
    _print_weights(combiner, scores, as_json)
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
    from toledo.cli.combine.running import combined_segments

    require_scale(scale)
    refuse_other_rules(context, decide)
    require_output(output)
    rule = named_rule(decide, RuleSettings(gain, hypotheses))
    _, segments = combined_segments(directory, [*(systems or ()), *(more or ())], rule, scale, threads)
    with atomic_writer(output) as stream:
        for line in segments:
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
    from toledo.cli.combine.running import combined_segments, lines_beside, shown_segment
    from toledo.consensus.decide import Viterbi
    from toledo.reports.networks import network_page

    require_output(output)
    wanted = sorted(set(segment or [0]))
    given = [*(systems or ()), *(more or ())]
    combiner, segments = combined_segments(directory, given, Viterbi(), 1.0, threads, wanted)
    beside = lines_beside(source, reference or [])
    shown = [shown_segment(combiner, number, line, beside) for number, line in zip(wanted, segments, strict=False)]
    if len(shown) < len(wanted):
        raise InputError(f"there is no segment {wanted[len(shown)]}", remedy="segments are counted from 0")
    weights = combiner.second.weights
    network_page("Combined outputs", shown, weights.shares, weights.features).save(output)


def _print_weights(combiner: Combiner, scores: dict[str, float], as_json: bool) -> None:
    """What each system is worth, and the weights of features."""
    stage = combiner.second
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
