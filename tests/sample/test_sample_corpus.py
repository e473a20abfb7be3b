"""The sample corpus: the same everywhere, grammatical, and as hard as it should be."""

import hashlib
import re
from collections import Counter, defaultdict
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from toledo.errors import InputError
from toledo.metrics.bleu import BLEU
from toledo.sample.corpus import generate
from toledo.sample.lexicon import CASE_ENDINGS, VOWELS, all_topics, everyday_words, field_pairs, verb_forms, word_tables

ENDINGS = {vowel + suffix for vowel in VOWELS.values() for number in CASE_ENDINGS for suffix in number}
FINITE = re.compile(r"(et|en|em|emos)$|^(som|somos|est|son)$")


@pytest.fixture(scope="module")
def corpus():
    return generate()


@pytest.fixture(scope="module")
def translations(corpus):
    """Topic → Talvan word → counts of the English words linked to it."""
    table = defaultdict(lambda: defaultdict(Counter))
    for source, target, links, document in zip(
        corpus.train.sources,
        corpus.train.references[0],
        corpus.train.alignments,
        corpus.train.document_ids,
        strict=True,
    ):
        said, meant = source.split(), target.split()
        for link in links.split():
            i, j = map(int, link.split("-"))
            table[document.rpartition("-")[2]][said[i]][meant[j]] += 1
    return table


def test_the_text_is_the_same_everywhere(corpus):
    digest = hashlib.sha256()
    for part in (corpus.train, corpus.tune, corpus.test):
        for lines in (part.sources, *part.references, part.alignments, part.document_ids):
            digest.update("\n".join(lines).encode())
    assert digest.hexdigest() == "c645a14ce4d7a1e6174fa841075ead829895fc2aa3c9472951f4d07e9bce8173"


def test_seeds_differ_and_smaller_is_the_beginning_of_larger(corpus):
    small = generate(train=50, tune=5, test=5)
    assert small.train.sources == corpus.train.sources[:50]
    assert small.test.references[1] == corpus.test.references[1][:5]
    assert generate(seed=2, train=50, tune=1, test=1).train.sources != small.train.sources


def test_sizes_and_lengths(corpus):
    assert [len(part) for part in (corpus.train, corpus.tune, corpus.test)] == [10_000, 300, 300]
    assert [len(part.references) for part in (corpus.train, corpus.tune, corpus.test)] == [1, 2, 2]
    for lines in (corpus.train.sources, *corpus.train.references, *corpus.test.references):
        lengths = [len(line.split()) for line in lines]
        assert min(lengths) >= 4
        assert max(lengths) <= 30
        assert 12 <= sum(lengths) / len(lengths) <= 14.5


def test_lines_are_tokenized_lower_case_text(corpus):
    for line in corpus.train.sources + corpus.train.references[0]:
        assert re.fullmatch(r"[a-z'?.,-]+( [a-z'?.,-]+)*", line), line
        assert line[-1] in ".?"


def test_rare_and_unknown_words(corpus):
    known = Counter(word for line in corpus.train.sources for word in line.split())
    words = [word for line in corpus.test.sources for word in line.split()]
    assert 0.01 < sum(word not in known for word in words) / len(words) < 0.05
    assert sum(count == 1 for count in known.values()) > 0.2 * len(known)
    assert len(set(corpus.test.sources) & set(corpus.train.sources)) < 10


def test_two_references_differ_in_wording(corpus):
    first, second = ([line.split() for line in lines] for lines in corpus.test.references)
    metric = BLEU(smooth_method="none")
    score = metric.score(metric.corpus_statistics(first, [[line] for line in second]).sum(axis=0))
    assert 60 < score < 90


def test_articles_agree_with_the_next_word(corpus):
    checked = 0
    for line in corpus.train.sources:
        for word, following in pairwise(line.split()):
            if word[0] in "l" and word[1:] in ENDINGS:
                assert following.endswith(word[1:]), line
                checked += 1
    assert checked > 10_000


def test_subordinate_clauses_end_in_the_finite_verb(corpus):
    conjunctions = re.compile(r", (perke|quan|malke|dum|poske|quod) [^,]* (\S+) \.$")
    ends = [found.group(2) for line in corpus.train.sources if (found := conjunctions.search(line))]
    assert len(ends) > 1000
    assert all(FINITE.search(word) for word in ends)


def test_english_articles_and_third_persons(corpus):
    bases = {forms.base.split()[0] for verb in everyday_words().verbs for forms, _ in verb.english}
    bases -= {forms.past.split()[0] for verb in everyday_words().verbs for forms, _ in verb.english}
    after_auxiliary = {"does", "did", "will", "can", "must", "do"}
    for line in corpus.train.references[0]:
        words = ["", *line.split()]
        for before, word, following in zip(words, words[1:], words[2:], strict=False):
            if word in ("a", "an"):
                assert (word == "an") == (following[0] in "aeiou"), line
            if word in ("he", "she", "it") and before not in after_auxiliary:
                assert following not in bases, line


def test_english_forms():
    assert verb_forms("look_for") == ("look for", "looks for", "looked for", "looked for")
    assert verb_forms("cry").third == "cries"
    assert verb_forms("stir").past == "stirred"
    assert verb_forms("write|wrote|written") == ("write", "writes", "wrote", "written")


def test_alignments_link_existing_words(corpus):
    unlinked, total = 0, 0
    part = corpus.train
    for source, target, links in zip(part.sources, part.references[0], part.alignments, strict=True):
        points = [tuple(map(int, link.split("-"))) for link in links.split()]
        said, meant = source.split(), target.split()
        assert points == sorted(set(points))
        assert all(0 <= i < len(said) and 0 <= j < len(meant) for i, j in points)
        linked = {i for i, _ in points}
        unlinked += sum(i not in linked and word != "," for i, word in enumerate(said))
        total += len(said)
    assert unlinked < 0.02 * total


def test_alignments_link_what_belongs_together(translations):
    for topic in all_topics():
        counts = translations[topic.name]
        assert set(counts["huno"]) == {"dog"}
        assert set(counts["."]) == {"."}
        for name in (*word_tables()["men"], *word_tables()["women"]):
            assert set(counts[name]) <= {name, "of", "to", "'s"}


@pytest.mark.parametrize(
    ("word", "meanings"),
    [
        ("banko", {"market": "bank", "school": "bench"}),
        ("fonta", {"forest": "spring", "school": "source"}),
        ("kordo", {"sea": "rope", "theatre": "string"}),
        ("lingua", {"school": "language", "hospital": "tongue"}),
        ("sala", {"castle": "hall", "hospital": "ward", "sea": "salt"}),
    ],
)
def test_ambiguous_words_depend_on_the_topic(translations, word, meanings):
    for topic, meaning in meanings.items():
        counts = Counter()
        for ending in ENDINGS:
            counts.update(translations[topic][word[:-1] + ending])
        nouns = {english for english in counts if english in meanings.values()}
        assert nouns == {meaning}


def test_many_words_are_ambiguous():
    meanings = defaultdict(set)
    for topic in all_topics():
        for nouns in topic.nouns.values():
            for noun in nouns:
                meanings[noun.stem, noun.gender].add(noun.english[0].singular)
    assert sum(len(english) > 1 for english in meanings.values()) >= 15


def test_idioms_are_not_compositional(translations):
    """The words for `sell smoke` are linked to `talk nonsense`."""
    counts = Counter()
    for topic in all_topics():
        counts.update(translations[topic.name]["fumon"])
    assert set(counts) == {"nonsense"}
    assert counts.total() > 100


def test_documents_are_about_something(corpus):
    documents = [
        list(group)
        for _, group in groupby(zip(corpus.train.document_ids, corpus.train.sources, strict=True), key=lambda x: x[0])
    ]
    assert len({document[0][0] for document in documents}) == len(documents)
    assert all(6 <= len(document) <= 14 for document in documents[:-1])
    names = defaultdict(Counter)  # a word that is the same in both languages is a name
    part = corpus.train
    for document, source, target in zip(part.document_ids, part.sources, part.references[0], strict=True):
        names[document].update(word for word in source.split() if word.isalpha() and word in target.split())
    recurring = sum(any(count > 1 for count in counts.values()) for counts in names.values())
    assert recurring > 0.7 * len(documents)


def test_files_hold_the_corpus(tmp_path):
    corpus = generate(seed=3, train=30, tune=4, test=5)
    corpus.save(tmp_path / "new")
    files = {path.name: path.read_text().splitlines() for path in (tmp_path / "new").iterdir()}
    assert files["train.src"] == corpus.train.sources
    assert files["train.trg"] == corpus.train.references[0]
    assert files["train.align"] == corpus.train.alignments
    assert files["test.trg.1"] == corpus.test.references[1]
    assert files["tune.docids"] == corpus.tune.document_ids
    assert len(files) == 14


def test_negative_sizes_are_refused():
    with pytest.raises(InputError):
        generate(train=-1)


def test_other_files_are_not_written_over(tmp_path: Path) -> None:
    data = generate(1, 20, 5, 5)
    data.save(tmp_path)
    data.save(tmp_path)  # its files are replaced
    (tmp_path / "thesis.tex").write_text("…", encoding="utf-8")
    with pytest.raises(InputError, match=r"the directory holds 'thesis.tex'"):
        data.save(tmp_path)


@pytest.fixture(scope="module")
def senses():
    return generate(train=10, tune=10, test=900, senses=True)


def documents_of(text):
    found = defaultdict(list)
    for source, target, name in zip(text.sources, text.references[0], text.document_ids, strict=True):
        found[name].append((source, target))
    return [*found.values()][:-1], [*found][:-1]  # the last one may be cut


def test_documents_with_senses_come_in_pairs_that_say_the_same(senses):
    documents, names = documents_of(senses.test)
    for first, second, name, other in zip(documents[::2], documents[1::2], names[::2], names[1::2], strict=False):
        assert name.rpartition("-")[0] == other.rpartition("-")[0]
        assert (name.rpartition("-")[2], other.rpartition("-")[2]) in {(a.name, b.name) for a, b in field_pairs()}
        assert [len(source.split()) for source, _ in first] == [len(source.split()) for source, _ in second]


def test_no_translation_of_sentences_can_be_right_in_both_documents(senses):
    """The same sentence has other right words in the two documents at the same places: one text fits only one of them.

    So a system that sees sentences alone translates at most half of these words right, whatever it does.
    """
    documents, _ = documents_of(senses.test)
    shared = different = 0
    english = {
        form: field.name
        for pair in field_pairs()
        for field in pair
        for some in field.ambiguous.values()
        for noun in some
        for forms in noun.english
        for form in forms
    }
    for first, second in zip(documents[::2], documents[1::2], strict=False):
        for (source, one), (same, other) in zip(first, second, strict=True):
            if source != same:
                continue
            shared += 1
            senses_of = [
                [(place, word) for place, word in enumerate(text.split()) if word in english] for text in (one, other)
            ]
            assert bool(senses_of[0]) == (one != other)
            if one == other:
                continue
            different += 1
            assert {english[word] for _, word in senses_of[0]}.isdisjoint(english[word] for _, word in senses_of[1])
            assert [place for place, _ in senses_of[0]] == [place for place, _ in senses_of[1]]
    assert shared > 200
    assert different > 0.35 * shared


def test_a_document_tells_its_senses(senses):
    """Most documents have a word or an adjective of their field; where it is, both languages say it."""
    documents, names = documents_of(senses.test)
    tells = {
        field.name: {noun.stem for some in field.nouns.values() for noun in some} | {cue.stem for cue in field.cues}
        for pair in field_pairs()
        for field in pair
    }
    known = [
        any(
            word.startswith(stem)
            for source, _ in document
            for word in source.split()
            for stem in tells[name.rpartition("-")[2]]
        )
        for document, name in zip(documents, names, strict=True)
    ]
    assert sum(known) > 0.85 * len(known)


def test_stems_with_senses_are_no_other_words(corpus):
    """So they mean what their document says, and nothing else."""
    stems = {
        noun.stem for pair in field_pairs() for field in pair for some in field.ambiguous.values() for noun in some
    }
    words = {word for line in corpus.train.sources for word in line.split()}
    assert not [word for word in words if word.startswith(tuple(stems))]
