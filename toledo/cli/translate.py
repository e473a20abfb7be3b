"""`toledo translate`: text in, translations out, and whatever else is known about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toledo.cli.common import Quiet, Threads, progress_for, set_up_messages, told
from toledo.cli.forest import Plf, PlfValues
from toledo.cli.rules import (
    CHOICE,
    PRECISION,
    RATIO,
    Decide,
    Gain,
    GainName,
    Precision,
    Ratio,
    RuleName,
    RuleSettings,
    lattice_scale,
    named_rule,
)
from toledo.cli.sampling import (
    BurnIn,
    Chains,
    DiagnosticsFile,
    Iterations,
    ObservedSearch,
    SamplingChoice,
    Seed,
    default_scale,
)
from toledo.cli.scales import ChooseScale, Reference, Scales, described, refuse_named, refuse_options, scale_table
from toledo.cli.searches import (
    PopLimit,
    SearchChoice,
    SearchName,
    SearchOption,
    SpanBeam,
    refuse_other_searches,
    tell_of_joins,
)
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, read_lines, write_lines
from toledo.progress import silent

if TYPE_CHECKING:
    from toledo.cli.searches import Search
    from toledo.cli.translation_outputs import Wanted
    from toledo.cli.translator import Choice
    from toledo.model import Model
    from toledo.progress import Progress

SAMPLING_OPTIONS = ("chains", "iterations", "burn_in", "seed", "diagnostics")
LISTS, GRAPHS, OTHER = "N-best lists and alignments", "Forests and lattices", "Looking closer"


def translate(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="Model directory.")],
    threads: Threads,
    source: Annotated[str, typer.Argument(help="Tokenised text to translate; - is standard input.")] = STANDARD_STREAM,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = STANDARD_STREAM,
    weights: Annotated[Path | None, typer.Option(help="Use these weights instead of the model's.")] = None,
    search: SearchOption = SearchName.beam,
    pop_limit: PopLimit = 400,
    beam: SpanBeam = 100,
    chains: Chains = 2,
    iterations: Iterations = 5000,
    burn_in: BurnIn = 100,
    seed: Seed = 1,
    diagnostics: DiagnosticsFile = None,
    n_best: Annotated[
        Path | None, typer.Option(help="Write n-best lists (.jsonl: as JSON).", rich_help_panel=LISTS)
    ] = None,
    n_best_size: Annotated[int, typer.Option(help="Derivations per segment.", min=1, rich_help_panel=LISTS)] = 100,
    distinct: Annotated[
        bool, typer.Option("--distinct", help="Different texts, not derivations.", rich_help_panel=LISTS)
    ] = False,
    n_best_alignments: Annotated[
        bool, typer.Option("--n-best-alignments", help="Phrases and word links in the lists.", rich_help_panel=LISTS)
    ] = False,
    segmentation: Annotated[
        bool, typer.Option("--segmentation", help="Source words after each phrase: |0-1|.", rich_help_panel=LISTS)
    ] = False,
    alignment: Annotated[
        Path | None, typer.Option(help="Write word links of the translations (0-0 1-1 …).", rich_help_panel=LISTS)
    ] = None,
    forest: Annotated[
        Path | None, typer.Option(help="Directory for the forests of all segments.", rich_help_panel=GRAPHS)
    ] = None,
    lattice: Annotated[
        str | None, typer.Option(help="Write lattices: .plf, .slf, or DIR/ with SLF files.", rich_help_panel=GRAPHS)
    ] = None,
    search_graph: Annotated[
        str | None, typer.Option(help="Write hypergraphs: a file, or DIR/ with one each.", rich_help_panel=GRAPHS)
    ] = None,
    density: Annotated[
        float | None, typer.Option(help="Prune these to so many edges per word.", min=1, rich_help_panel=GRAPHS)
    ] = None,
    plf_values: Plf = PlfValues.probabilities,
    decide: Decide = RuleName.viterbi,
    gain: Gain = GainName.bleu,
    scale: Annotated[
        float | None,
        typer.Option(
            help="Factor of scores; below 1 flattens.",
            show_default="3 for consensus and lattice-mbr, else 1; for gibbs 4 over the norm of the weights",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    hypotheses: Annotated[
        int | None,
        typer.Option(
            help="Choose from so many best texts.",
            min=1,
            show_default="200; 1000 for gibbs",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    precision: Precision = PRECISION,
    ratio: Ratio = RATIO,
    decide_density: Annotated[
        float | None,
        typer.Option(
            help="Edges per word that consensus and lattice-mbr see.",
            min=1,
            show_default="all; 50 for lattice-mbr",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    choose_scale: ChooseScale = False,
    reference: Reference = None,
    scales: Scales = None,
    force: Annotated[
        str | None, typer.Option(help="Score these translations instead of searching.", rich_help_panel=OTHER)
    ] = None,
    trace: Annotated[
        str | None, typer.Option(help="Write how translations came about; - is stderr.", rich_help_panel=OTHER)
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Translate text line by line; unknown words are copied.

    **Examples**

        toledo translate model < test.de > test.out

        toledo translate model test.de --weights tuned.toml --pop-limit 1000 --output test.out

        toledo translate model test.de --n-best test.nbest.gz --n-best-size 200 --distinct > test.out

        toledo translate model test.de --decide lattice-mbr --scale 3 > test.out

        toledo translate model val.de --decide lattice-mbr --choose-scale --reference val.en

        toledo translate model test.de --search itg --decide consensus > test.out

        toledo translate model test.de --search gibbs --decide mbr --diagnostics samples.html > test.out

        toledo translate model test.de --force test.en > scores
    """
    from toledo.cli.speed import Speed
    from toledo.cli.translation_outputs import Wanted, opened
    from toledo.cli.translator import Choice, Translator

    log = set_up_messages(quiet)
    wanted = Wanted(
        output, n_best, n_best_size, distinct, n_best_alignments, segmentation, alignment, forest, lattice,
        search_graph, density, plf_values.value, trace, force is not None, decide is not RuleName.viterbi,
    )  # fmt: skip
    wanted.check()
    refuse_options({} if choose_scale else {"--reference": reference, "--scales": scales}, "only for --choose-scale")
    if choose_scale:
        refuse_options({"--scale": scale, "--diagnostics": diagnostics}, "--choose-scale tries scales, and only prints")
    if force is not None and search is not SearchName.beam:
        raise InputError("--force follows the rules of beam search", remedy="leave out --search")
    refuse_other_searches(context, search)
    sampled = search is SearchName.gibbs
    sampling = SamplingChoice(chains, iterations, burn_in, seed, diagnostics)
    _check_sampling(context, sampling, wanted, sampled)
    settings = RuleSettings(gain, hypotheses or (1000 if sampled else 200), precision, ratio, decide_density)
    loaded, progress = _load(model, weights), progress_for(quiet, told if sampled else silent)
    tell_of_joins(search, loaded)
    if sampled and scale is None and not choose_scale:
        scale = default_scale(loaded)
    choice = Choice(decide, settings, lattice_scale(decide, scale), sampled)
    if sampled:
        chosen: Search = sampling.search(loaded, choice.scale)
    else:
        searching = SearchChoice(search, pop_limit, beam)
        searching.tell(loaded)
        chosen = searching.search(loaded)
    if choose_scale:
        chooser = sampling if sampled else chosen
        _choose_scale(chooser, loaded, choice, source, reference or [], scales, threads, progress, output)
        return
    translator = Translator(chosen, choice, force, threads, progress, wanted.forests)
    speed, lines, words = Speed(), 0, 0
    with opened(wanted, chosen.model, threads) as write:
        for block in translator.blocks(source):
            write(lines, block)
            lines += len(block)
            words += sum(len(found.source) for found in block)
    speed_told = speed.told(lines, words)
    translator.report()
    if isinstance(chosen, ObservedSearch):
        chosen.report()
    log.info("%s", speed_told)


def _check_sampling(context: typer.Context, sampling: SamplingChoice, wanted: Wanted, sampled: bool) -> None:
    """Refuse options of the sampler without it, and with it what needs phrases: its lists have whole derivations."""
    if not sampled:
        refuse_named(context, "only for --search gibbs", *SAMPLING_OPTIONS)
        return
    sampling.check()
    if wanted.trace or wanted.n_best_phrases:
        raise InputError(
            "lists of samples do not know the phrases of their derivations",
            remedy="leave out --trace, --n-best-alignments and JSON lists, or use another --search",
        )


def _choose_scale(
    how: Search | SamplingChoice,
    model: Model,
    choice: Choice,
    source: str,
    reference: list[str],
    scales: str | None,
    threads: int,
    progress: Progress,
    output: str,
) -> None:
    """BLEU of a rule by its scale, on text with references."""
    from toledo.cli.sampled_scales import sampled_scale_table
    from toledo.vocabulary import split_words

    sentences = [split_words(line) for line in read_lines(source)]
    rule = named_rule(choice.rule, choice.settings)
    if isinstance(how, SamplingChoice):
        table = sampled_scale_table(model, how, choice, sentences, reference, scales, threads, progress)
    else:
        forests = how.forests(sentences, threads, progress)
        table = scale_table(rule, forests, how.model.weights, reference, scales, threads, progress)
    write_lines(output, described(table, rule, as_json=False))


def _load(path: Path, weights: Path | None) -> Model:
    """The model, with other weights if there are any."""
    from toledo.cli.known_weights import load_weights
    from toledo.model import Model

    model = Model.load(path)
    return model if weights is None else load_weights(model, weights)
