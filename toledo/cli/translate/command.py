"""`toledo translate`: text in, translations out, and whatever else is known about them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from toledo.cli.common import (
    Output,
    Quiet,
    Threads,
    progress_for,
    refuse_named,
    require_output_apart,
    set_up_messages,
    told,
)
from toledo.cli.forest.commands import Plf, PlfValues
from toledo.cli.rules import (
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
    refuse_other_rules,
)
from toledo.cli.scales import ChooseScale, Reference, Scales, described, scale_table
from toledo.cli.translate import options
from toledo.cli.translate.sampling import (
    BurnIn,
    Chains,
    DiagnosticsFile,
    Iterations,
    ObservedSearch,
    SamplingChoice,
    Seed,
    default_scale,
)
from toledo.cli.translate.searches import (
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
    from toledo.cli.translate.outputs import Wanted
    from toledo.cli.translate.searches import Search
    from toledo.cli.translate.translator import Choice, Translator
    from toledo.model import Model
    from toledo.progress import Progress

log = logging.getLogger(__name__)

OF_SAMPLES = ("chains", "iterations", "burn_in", "seed", "diagnostics")
OF_LISTS = ("n_best_size", "distinct", "n_best_alignments")


def translate(  # long because it has many options, a line each
    context: typer.Context,
    model: options.ModelDirectory,
    threads: Threads,
    source: options.Source = STANDARD_STREAM,
    output: Output = STANDARD_STREAM,
    weights: options.WeightsFile = None,
    search: SearchOption = SearchName.beam,
    pop_limit: PopLimit = 400,
    beam: SpanBeam = 100,
    chains: Chains = 2,
    iterations: Iterations = 5000,
    burn_in: BurnIn = 100,
    seed: Seed = 1,
    diagnostics: DiagnosticsFile = None,
    n_best: options.NBest = None,
    n_best_size: options.NBestSize = 100,
    distinct: options.Distinct = False,
    n_best_alignments: options.NBestAlignments = False,
    segmentation: options.Segmentation = False,
    alignments: options.Alignments = None,
    forest: options.ForestDirectory = None,
    lattice: options.Lattice = None,
    search_graph: options.SearchGraph = None,
    density: options.Density = None,
    plf_values: Plf = PlfValues.probabilities,
    decide: Decide = RuleName.viterbi,
    gain: Gain = GainName.bleu,
    scale: options.Scale = None,
    hypotheses: options.Hypotheses = None,
    precision: Precision = PRECISION,
    ratio: Ratio = RATIO,
    decide_density: options.DecideDensity = None,
    choose_scale: ChooseScale = False,
    reference: Reference = None,
    scales: Scales = None,
    force: options.Force = None,
    trace: options.Trace = None,
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
    from toledo.cli.translate.outputs import Wanted
    from toledo.cli.translate.translator import Choice, Translator

    set_up_messages(quiet)
    require_output_apart(context)
    wanted = Wanted(
        output, n_best, n_best_size, distinct, n_best_alignments, segmentation, alignments, forest, lattice,
        search_graph, density, plf_values.value, trace, force is not None, decide is not RuleName.viterbi,
    )  # fmt: skip
    wanted.check()
    _refuse_unused(context)
    sampled, sampling = search is SearchName.gibbs, SamplingChoice(chains, iterations, burn_in, seed, diagnostics)
    if sampled:
        sampling.check()
        wanted.require_no_phrases()
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
    else:
        _write(Translator(chosen, choice, force, threads, progress, wanted.forests), chosen, source, wanted)


def _refuse_unused(context: typer.Context) -> None:
    """Options that would be ignored: of other searches and rules, and of outputs that are not written."""
    given = context.params
    search, sampled = given["search"], given["search"] is SearchName.gibbs
    if given["choose_scale"]:
        outputs = ("n_best", "alignments", "segmentation", "forest", "lattice", "search_graph", "force", "trace")
        refuse_named(context, "--choose-scale tries scales, and only prints", "scale", "diagnostics", *outputs)
    else:
        refuse_named(context, "only for --choose-scale", "reference", "scales")
    if given["force"] is not None:
        if search is not SearchName.beam:
            raise InputError("--force follows the rules of beam search", remedy="leave out --search")
        refuse_named(context, "--force does not search", "pop_limit")
    if given["n_best"] is None:
        refuse_named(context, "n-best lists without a place to write them: there is no --n-best FILE", *OF_LISTS)
    if not str(given["lattice"]).removesuffix(".gz").endswith(".plf"):
        refuse_named(context, "only for --lattice FILE.plf", "plf_values")
    refuse_other_searches(context, search)
    refuse_other_rules(context, given["decide"], samples=sampled)
    if not sampled:
        refuse_named(context, "only for --search gibbs", *OF_SAMPLES)


def _write(translator: Translator, search: Search, source: str, wanted: Wanted) -> None:
    """Translate block by block, and say how it went."""
    from toledo.cli.speed import Speed
    from toledo.cli.translate.outputs import opened

    speed, lines, words = Speed(), 0, 0
    with opened(wanted, search.model, translator.threads) as write:
        for block in translator.blocks(source):
            write(lines, block)
            lines += len(block)
            words += sum(len(found.source) for found in block)
    speed_told = speed.told(lines, words)
    translator.report()
    if isinstance(search, ObservedSearch):
        search.report()
    log.info("%s", speed_told)


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
    from toledo.cli.translate.sampled_scales import sampled_scale_table
    from toledo.text.vocabulary import split_words

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
    from toledo.model import Model
    from toledo.tuning.initial import load_weights

    model = Model.load(path)
    return model if weights is None else load_weights(model, weights)
