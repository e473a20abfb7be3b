from __future__ import annotations

import numpy as np
import pytest
from extraction_twin import encode

from toledo.phrases.lexicon import lexicons_from
from toledo.phrases.training import PhraseTraining, train_phrases

SENTENCES = [([3, 4], [5, 6], [(0, 0), (1, 1)])] * 5 + [([3], [6], [(0, 0)]), ([6, 6], [4], [(0, 0)])]


def test_a_table_holds_the_scores_in_moses_order() -> None:
    corpus, alignments = encode(SENTENCES)
    trained = train_phrases(corpus, alignments, PhraseTraining(reordering=True))
    table = trained.table(corpus.source_vocabulary, corpus.target_vocabulary)
    entry = next(pair for pair in table if (pair.source, pair.target) == (("w3",), ("w5",)))
    assert entry.scores["phrase.forward"] == pytest.approx(np.log(5 / 6))
    assert entry.scores["phrase.backward"] == pytest.approx(0.0)
    assert entry.scores["lexicon.forward"] == pytest.approx(np.log(5 / 6))
    assert entry.scores["lexicon.backward"] == pytest.approx(0.0)
    assert entry.scores["reordering.previous.monotone"] == pytest.approx(np.log(5.5 / 6.5))
    assert (entry.joint_count, entry.source_count, entry.target_count) == (5, 6, 5)
    assert entry.alignment == ((0, 0),)


def test_pruning_leaves_what_is_significant() -> None:
    corpus, alignments = encode(SENTENCES)
    full = train_phrases(corpus, alignments)
    pruned = train_phrases(corpus, alignments, PhraseTraining(pruning="alpha+epsilon"))
    kept = train_phrases(corpus, alignments, PhraseTraining(pruning="alpha-epsilon"))
    numeric = train_phrases(corpus, alignments, PhraseTraining(pruning=0.5))
    vocabularies = corpus.source_vocabulary, corpus.target_vocabulary
    sizes = [len(trained.table(*vocabularies)) for trained in (full, numeric, kept, pruned)]
    assert full.keep is None
    assert pruned.keep is not None
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] > 0
    assert np.array_equal(full.scores, pruned.scores)


def test_given_lexicons_are_used() -> None:
    corpus, alignments = encode(SENTENCES)
    own = lexicons_from(corpus, alignments)
    certain = own._replace(forward=own.forward._replace(probabilities=np.ones_like(own.forward.probabilities)))
    trained = train_phrases(corpus, alignments, PhraseTraining(lexical="model1"), lexicons=certain)
    assert trained.lexicons is certain
    assert np.all(trained.scores[:, 3] >= 0.0)  # sums are not normalized


@pytest.mark.filterwarnings("ignore")
def test_smoothing_reaches_the_scores() -> None:
    corpus, alignments = encode(SENTENCES)
    plain, smooth = (train_phrases(corpus, alignments, PhraseTraining(smoothing=how)) for how in ("none", "kneser-ney"))
    assert not np.allclose(plain.scores[:, 0], smooth.scores[:, 0])
    assert np.array_equal(plain.scores[:, 1], smooth.scores[:, 1])
