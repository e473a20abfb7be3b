"""Tuning at document level: ranking of recorded states (Smith 2015), and expected BLEU by document chains."""

from toledo.tuning.documents.chains import Chains, ChainSettings, DocumentSamples
from toledo.tuning.documents.consensus import consensus_texts
from toledo.tuning.documents.length import match_length
from toledo.tuning.documents.lists import chain_lists, chain_set
from toledo.tuning.documents.ranking import DocumentPRO, RankingRound, rank_documents
from toledo.tuning.documents.ranking_rounds import tune_by_ranking
from toledo.tuning.documents.trainer import DocumentTrainer
from toledo.tuning.documents.training import TrainingSettings, train_documents

__all__ = [
    "ChainSettings",
    "Chains",
    "DocumentPRO",
    "DocumentSamples",
    "DocumentTrainer",
    "RankingRound",
    "TrainingSettings",
    "chain_lists",
    "chain_set",
    "consensus_texts",
    "match_length",
    "rank_documents",
    "train_documents",
    "tune_by_ranking",
]
