"""A built-in sample corpus: an invented language and English, generated from a seed."""

from toledo.sample.corpus import Pair, Part, SampleCorpus, generate, pairs
from toledo.sample.files import write_sample

__all__ = ["Pair", "Part", "SampleCorpus", "generate", "pairs", "write_sample"]
