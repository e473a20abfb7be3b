"""BLEU, chrF and TER as statistics that add up; significance of differences."""

from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import ChrF
from toledo.metrics.metric import Metric
from toledo.metrics.prepared import PreparedReferences, prepare_references
from toledo.metrics.ter import TER

__all__ = ["BLEU", "TER", "ChrF", "Metric", "PreparedReferences", "prepare_references"]
