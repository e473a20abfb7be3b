"""`toledo translate --search gibbs --choose-scale`: samples of their own for each scale."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from toledo.cli.rules import named_rule
from toledo.cli.scales import numbers_of, references_of
from toledo.cli.translate.sampling import SamplingChoice
from toledo.cli.translate.translator import Choice, Translator
from toledo.consensus.scale import ScaleTable, choose_sampled_scale, scales_for
from toledo.model import Model
from toledo.progress import Progress
from toledo.text.vocabulary import split_words

log = logging.getLogger(__name__)


def sampled_scale_table(
    model: Model,
    sampling: SamplingChoice,
    choice: Choice,
    sentences: Sequence[list[str]],
    reference: Sequence[str],
    scales: str | None,
    threads: int,
    progress: Progress,
) -> ScaleTable:
    """BLEU for each scale, of the very translations that the command gives with that `--scale`."""
    references = references_of(reference, len(sentences))
    numbers = scales_for(model.weights, model.feature_names) if scales is None else numbers_of(scales)

    def translate(scale: float) -> list[Sequence[str]]:
        log.info("sampling at scale %g", scale)
        at_scale = replace(choice, scale=scale)
        translator = Translator(sampling.search(model, scale), at_scale, None, threads, progress, forests=False)
        return [split_words(line) for line in translator.lines(sentences)]

    rule = named_rule(choice.rule, choice.settings, samples=True)
    return choose_sampled_scale(rule, translate, numbers, references, threads=threads)
