"""`toledo translate`: text in, translations out, and whatever else is known about them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from toledo.cli.scales import ChooseScale, Reference, Scales, described, numbers_of, references_of, scale_table
from toledo.cli.translate import options
from toledo.cli.translate.sampling import (
    BurnIn,
    Chains,
    DiagnosticsFile,
    Iterations,
    SamplingChoice,
    Seed,
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
    from toledo.consensus.rule import Rule
    from toledo.model import Model
    from toledo.progress import Progress
    from toledo.search.search import Search
    from toledo.translation import Translator

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
    from toledo.translation import ForcedTranslator, Translator

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
    rule = None if decide is RuleName.viterbi else named_rule(decide, settings, samples=sampled)
    sampler = sampling.search(loaded, scale) if sampled else None
    if sampler is not None:
        chosen: Search[Any] = sampler
        if scale is None and not choose_scale:
            scale = sampler.scale
            log.info("sampling at scale %g: 4 over the norm of the weights", scale)
    else:
        searching = SearchChoice(search, pop_limit, beam)
        searching.tell(loaded)
        chosen = searching.search(loaded)
    if choose_scale:
        _choose_scale(chosen, rule, source, reference or [], scales, threads, progress, output)
        return
    if force is not None:
        translator: Translator = ForcedTranslator(chosen, force, threads=threads, progress=progress)
    else:
        factor = lattice_scale(decide, scale)
        translator = Translator(chosen, rule, factor, forests=wanted.forests, threads=threads, progress=progress)
    _write(translator, source, wanted)
    if sampler is not None:
        sampling.report(sampler)


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
        if given["decide"] is not RuleName.viterbi:
            raise InputError("--force scores translations, --decide chooses them", remedy="choose one of both")
        refuse_named(context, "--force does not search", "pop_limit")
    if given["n_best"] is None:
        refuse_named(context, "n-best lists without a place to write them: there is no --n-best FILE", *OF_LISTS)
    if not str(given["lattice"]).removesuffix(".gz").endswith(".plf"):
        refuse_named(context, "only for --lattice FILE.plf", "plf_values")
    refuse_other_searches(context, search)
    refuse_other_rules(context, given["decide"], samples=sampled)
    if not sampled:
        refuse_named(context, "only for --search gibbs", *OF_SAMPLES)


def _write(translator: Translator, source: str, wanted: Wanted) -> None:
    """Translate block by block, and say how it went."""
    from toledo.cli.speed import Speed
    from toledo.cli.translate.outputs import opened

    speed, lines, words = Speed(), 0, 0
    with opened(wanted, translator.model, translator.threads) as write:
        for block in translator.blocks(source):
            write(lines, block)
            lines += len(block)
            words += sum(len(found.source) for found in block)
    speed_told = speed.told(lines, words)
    translator.report()
    log.info("%s", speed_told)


def _choose_scale(
    search: Search[Any],
    rule: Rule | None,
    source: str,
    reference: list[str],
    scales: str | None,
    threads: int,
    progress: Progress,
    output: str,
) -> None:
    """BLEU of a rule by its scale, on text with references."""
    from toledo.consensus.decide import Viterbi
    from toledo.search.gibbs.search import GibbsSearch
    from toledo.text.vocabulary import split_words
    from toledo.translation import sampled_scale_table

    sentences = [split_words(line) for line in read_lines(source)]
    if isinstance(search, GibbsSearch):
        references, numbers = references_of(reference, len(sentences)), numbers_of(scales) if scales else None
        table = sampled_scale_table(search, rule, sentences, references, numbers, threads=threads, progress=progress)
    else:
        forests = search.forests(sentences, threads, progress)
        table = scale_table(rule or Viterbi(), forests, search.model.weights, reference, scales, threads, progress)
    write_lines(output, described(table, rule or Viterbi(), as_json=False))


def _load(path: Path, weights: Path | None) -> Model:
    """The model, with other weights if there are any."""
    from toledo.model import Model
    from toledo.tuning.initial import load_weights

    model = Model.load(path)
    return model if weights is None else load_weights(model, weights)
