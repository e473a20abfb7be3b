"""Word alignment as a whole."""

import logging
import resource
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from alignment_twin import encode

from toledo.errors import InputError, ToledoError
from toledo.formats.alignments import read_alignments
from toledo.phrases.word_alignment.aligner import LONGEST, AlignmentTraining, align
from toledo.sample.corpus import generate
from toledo.text.corpus import ParallelCorpus, read_parallel


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    generate(train=1500, tune=1, test=1).save(folder)
    return folder


@pytest.fixture(scope="module")
def corpus(sample: Path) -> ParallelCorpus:
    return read_parallel(sample / "train.src", sample / "train.trg")


def f_measure(found, gold):
    ours, theirs = ({(i, *link) for i in range(len(a)) for link in a[i].tolist()} for a in (found, gold))
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))


def test_gold_links_are_found_and_each_model_is_better_than_the_one_before(sample, corpus):
    gold = read_alignments(sample / "train.align", corpus)
    ibm1 = f_measure(align(corpus, AlignmentTraining("ibm1")).alignments, gold)
    hmm = f_measure(align(corpus).alignments, gold)
    viterbi = f_measure(align(corpus, AlignmentTraining(decoding="viterbi")).alignments, gold)
    assert 0.7 < ibm1 < hmm
    assert hmm > 0.83
    assert viterbi == pytest.approx(hmm, abs=0.01)


def test_the_number_of_threads_changes_nothing(corpus):
    one, two = align(corpus, threads=1), align(corpus, threads=2)
    assert np.array_equal(one.alignments.offsets, two.alignments.offsets)
    assert np.array_equal(one.alignments.links, two.alignments.links)
    assert one.forward_likelihoods == two.forward_likelihoods
    assert one.backward_likelihoods == two.backward_likelihoods
    for lexicon, other in zip(one.lexicons, two.lexicons, strict=True):
        assert all(np.array_equal(*arrays) for arrays in zip(lexicon, other, strict=True))


def test_likelihoods_of_all_iterations_and_progress_are_reported(corpus):
    steps = []

    class Counting:
        def __init__(self, label, total):
            self.total = total

        def __enter__(self):
            return steps.append

        def __exit__(self, *error):
            assert sum(steps) == self.total

    result = align(corpus, AlignmentTraining(iterations_ibm1=2, iterations_hmm=3), progress=Counting)
    assert steps
    assert len(result.forward_likelihoods) == len(result.backward_likelihoods) == 5


@pytest.mark.parametrize("model", ["ibm1", "hmm"])
def test_empty_and_one_word_sentences(model):
    corpus = encode([([3], [4]), ([], [4]), ([3], []), ([], []), ([3, 5], [4, 6]), ([3], [4])])
    found = align(corpus, AlignmentTraining(model)).alignments
    assert [found[i].tolist() for i in range(len(found))] == [[[0, 0]], [], [], [], [[0, 0], [1, 1]], [[0, 0]]]


def test_a_corpus_of_empty_sentences_only():
    found = align(encode([([], [3]), ([], [])]))
    assert found.alignments.offsets.tolist() == [0, 0, 0]
    assert found.lexicons.forward.words.size == 0


def test_sentences_of_500_words_need_little_memory():
    rng = np.random.default_rng(5)
    words = rng.integers(3, 1003, (6, 500))
    corpus = encode([(row.tolist(), row.tolist()) for row in words], 1000)
    align(encode([([3], [4])]))  # compiled before the measurement
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = align(corpus, threads=2).alignments
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes
    assert np.mean(found.links[:, 0] == found.links[:, 1]) > 0.95


def test_longer_sentences_than_fit_are_left_out_with_a_warning(caplog):
    corpus = encode([([3], [4]), ([3] * (LONGEST + 1), [4]), ([3], [4])])
    with caplog.at_level(logging.WARNING):
        found = align(corpus).alignments
    assert [len(found[i]) for i in range(3)] == [1, 0, 1]
    assert "1 sentence pairs with more than 1000 words are not aligned, the first one in line 2" in caplog.text


def test_iterations_are_checked():
    for wrong in ({"iterations_ibm1": 0}, {"iterations_hmm": -1}):
        with pytest.raises(ValueError, match="iteration"):
            AlignmentTraining(**wrong)


def test_a_missing_eflomal_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "eflomal", None)
    with pytest.raises(InputError, match=r"eflomal is not installed\n.*pip install \"toledo-mt\[eflomal\]\""):
        align(encode([([3], [4])]), AlignmentTraining("eflomal"))


def fake_eflomal(forward, backward):
    module = ModuleType("eflomal")
    module.__spec__ = ModuleSpec("eflomal", None)

    class Aligner:
        def align(self, source, target, links_filename_fwd, links_filename_rev):
            assert [list(source), list(target)] == [["3 4\n", "5\n"], ["6 3 4\n", "5\n"]]
            Path(links_filename_fwd).write_text(forward)
            Path(links_filename_rev).write_text(backward)

    module.Aligner = Aligner
    return module


def test_links_of_eflomal_are_symmetrized_here(monkeypatch):
    corpus = encode([([3, 4], [6, 3, 4]), ([], [3]), ([5], [5])])
    monkeypatch.setitem(sys.modules, "eflomal", fake_eflomal("0-0 0-1 1-2\n\n", "0-1 1-2\n0-0\n"))
    config = {"model": "eflomal", "iterations_ibm1": 1}
    found = align(corpus, AlignmentTraining(symmetrization="intersection", **config))
    assert [found.alignments[i].tolist() for i in range(3)] == [[[0, 1], [1, 2]], [], []]
    found = align(corpus, AlignmentTraining(symmetrization="union", **config))
    assert [found.alignments[i].tolist() for i in range(3)] == [[[0, 0], [0, 1], [1, 2]], [], [[0, 0]]]
    assert found.lexicons.forward.words.size


def test_an_eflomal_that_fails_is_noticed(monkeypatch):
    monkeypatch.setitem(sys.modules, "eflomal", fake_eflomal("0-0\n", "0-0\n"))
    with pytest.raises(ToledoError, match="eflomal aligned 1 sentence pairs of 2"):
        align(encode([([3, 4], [6, 3, 4]), ([5], [5])]), AlignmentTraining("eflomal"))
