"""Machine translation by expectation and consensus.

    import toledo
    toledo.choose(samples)                     # minimum Bayes risk among several outputs
    toledo.evaluate(hypotheses, references)    # BLEU, chrF and TER with intervals
    toledo.compare(systems, references)        # with significance tests

Names are imported when they are first used.
"""

from __future__ import annotations

import difflib
import sys
from importlib import import_module
from typing import Any

__version__ = "0.2.0.dev0"

_MODULES = {  # module → names
    "api.align": "Aligner Alignments align",
    "api.build": "Build BuildStage build",
    "api.choose": "choose choose_many iter_choose tune_votes",
    "api.combination": "Combination combine",
    "api.combination_results": "Combined ExplainedCombination",
    "api.demo": "demo",
    "api.document_examples": "DecodingExamples bleu_examples",
    "api.documents": "DocumentTuning oracle translate_document tune_documents",
    "api.refine": "Refinement refine",
    "api.rerank": "Reranking rerank",
    "api.tune": "Tuning tune tune_lists",
    "api.evaluate": "compare evaluate",
    "api.files": "read_forests read_lists write_documents write_forests write_lists",
    "api.inputs": "Runs",
    "api.model_info": "ModelInfo",
    "api.model": "Model load",
    "api.opinions": "cluster expected_score select",
    "api.names": "get names register",
    "api.report": "report",
    "api.train": "train",
    "api.tune_rule": "RuleRow RuleTuning tune_rule",
    "api.warm_up": "warm_up",
    "consensus.choice": "Choice Choices Ranked",
    "consensus.opinions": "Opinion Opinions",
    "consensus.rerank": "Rerank",
    "consensus.rule": "Rule",
    "consensus.votes": "SystemVote SystemVotes",
    "consensus.fewer_calls": "AggregateMBR BudgetMBR EliminationMBR HalvingMBR LowRankMBR ProxyMBR PruningMBR",
    "consensus.mbr": "MBR",
    "consensus.fast_consensus": "Consensus",
    "consensus.lattice_mbr": "LatticeMBR",
    "consensus.variational": "Variational",
    "consensus.decide": "MaxDerivation MaxTranslation Viterbi",
    "forest.forest": "Forest",
    "formats.documents": "read_documents",
    "formats.pairs": "read_pairs",
    "language_model.model": "LanguageModel Perplexity",
    "metrics.metric": "Metric",
    "metrics.bleu": "BLEU",
    "metrics.chrf": "CHRF",
    "metrics.ter": "TER",
    "metrics.comet": "COMET COMETKiwi",
    "metrics.embeddings": "Embeddings",
    "metrics.vectors": "VectorMetric",
    "metrics.utility": "utility",
    "metrics.given": "ScoredTexts",
    "metrics.shapes": "References",
    "metrics.score": "Score ScoreInterval",
    "metrics.significance.testing": "Test",
    "metrics.evaluation": "Comparison Evaluation",
    "metrics.analysis.analysis": "SegmentAnalysis",
    "metrics.analysis.pairs": "PairAnalysis SegmentDifference",
    "metrics.analysis.segment_table": "SegmentTable",
    "view.page": "Page",
    "refinement.settings": "RefineSettings",
    "reports.document_examples": "DecodingExample",
    "results": "Hypothesis Result SampleList",
    "sample.corpus": "ExampleData ExampleText example_data",
    "search.document.models.semantic": "SemanticSpace",
    "search.document.settings": "DocumentSettings",
    "search.document.translation": "DocumentTranslation TranslatedDocument",
    "serve.server": "Server serve",
    "serve.settings": "ServerLimits",
    "tuning.settings": "DocumentGradient DocumentLists DocumentPRO OnlineMIRA",
    "translation": "SampledHypotheses Trace Translated",
    "weights": "Weights",
    "progress": "Progress",
    "errors": "InputError MissingExtraError ModelError RunError ToledoError UnknownNameError",
}
_EXPORTS = {name: module for module, names in _MODULES.items() for name in names.split()}
_HINTS = {  # what newcomers type first → what to call
    "corpus_bleu": "toledo.metrics.corpus_bleu",
    "sentence_bleu": "toledo.metrics.sentence_bleu",
    "corpus_chrf": "toledo.metrics.corpus_chrf",
    "sentence_chrf": "toledo.metrics.sentence_chrf",
    "corpus_ter": "toledo.metrics.corpus_ter",
    "sentence_ter": "toledo.metrics.sentence_ter",
    "decode": "toledo.choose",
    "mbr": "toledo.choose",
}

__all__ = ["__version__", *_EXPORTS]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        value = getattr(import_module(f"toledo.{_EXPORTS[name]}"), name)
        value = sys.modules.get(f"toledo.{name}", value)  # the package `serve` can be called
        globals()[name] = value
        return value
    close = difflib.get_close_matches(name, [*_EXPORTS], n=1)
    hint = _HINTS.get(name) or (f"toledo.{close[0]}" if close else "")
    raise AttributeError(f"module 'toledo' has no attribute {name!r}" + (f": did you mean {hint}?" if hint else ""))


def __dir__() -> list[str]:
    return sorted([*globals(), *_EXPORTS])
