"""What is learned about rare words from pairs."""

import numpy as np
import pytest
from rare_twin import compound_pairs, translate

from toledo.phrases.rare_words import PairEvidence, learn_rare_words
from toledo.text.corpus import ParallelCorpus, encode_texts
from toledo.text.rare_words import RareWords
from toledo.text.vocabulary import Vocabulary
from toledo.text.word_variants import UNCHANGED, EndingChange


def corpus_of(sources: list[str], targets: list[str]) -> ParallelCorpus:
    vocabularies = Vocabulary(), Vocabulary()
    sides = (encode_texts(text, one, "texts") for text, one in zip((sources, targets), vocabularies, strict=True))
    return ParallelCorpus(*sides, *vocabularies, np.arange(1, len(sources) + 1))


def learned(below: int = 5, **how: object) -> tuple[RareWords | None, list[str], list[str]]:
    sources, targets, roots = compound_pairs(**how)  # type: ignore[arg-type]
    return learn_rare_words(corpus_of(sources, targets), below, threads=1), sources, roots


@pytest.mark.parametrize("link", ["", "s", "en"])
def test_compounds_and_their_links_are_learned(link: str) -> None:
    rare, sources, roots = learned(link=link)
    assert rare is not None
    assert EndingChange(link, "") in rare.variants.changes.links
    seen = {word for line in sources for word in line.split()}
    new = [(one, other) for one in roots for other in roots if one != other and one + link + other not in seen]
    assert sum(rare.of(one + link + other) == (one, other) for one, other in new) > 0.9 * len(new)
    compounds = [line.split()[3] for line in sources if len(line.split()) == 4]
    assert sum(word in rare.rewritten for word in compounds) > 0.9 * len(compounds)
    assert all(rare.of(root) == (root,) for root in roots)


def test_words_that_only_look_like_compounds_stay() -> None:
    """The same words, but their translations have nothing to do with their parts."""
    rare, _, roots = learned(meaning=False)
    if rare is not None:
        assert not rare.variants.changes.links
        assert not rare.rewritten
        assert rare.of(f"{roots[0]}s{roots[1]}") == (f"{roots[0]}s{roots[1]}",)


def test_a_word_with_pairs_of_its_own_is_judged_by_them() -> None:
    """A compound with another meaning than its parts is not split, though the rule is good."""
    sources, targets, roots = compound_pairs()
    idiom = f"{roots[0]}s{roots[1]}"
    other = [line.replace(idiom, roots[2]) for line in sources]
    pairs = corpus_of([*other, *[f"{idiom} {roots[5]}"] * 4], [*targets, *[f"IDIOM {translate(roots[5])}"] * 4])
    rare = learn_rare_words(pairs, 5, threads=1)
    assert rare is not None
    assert rare.of(idiom) == (idiom,)
    assert rare.of(f"{roots[0]}s{roots[7]}") == (roots[0], roots[7])


def test_frequent_words_are_not_rewritten() -> None:
    rare, sources, _ = learned(below=1)
    assert rare is not None
    assert not rare.rewritten
    for line in sources:
        assert rare.rewrite(line.split()) == line.split()


def test_endings_are_learned() -> None:
    """Words with an ending that changes nothing in the translation."""
    sources, targets, roots = compound_pairs()
    new = set(roots[:5])  # are never seen with the ending
    inflected = [
        " ".join(word if i % 7 or word in new else word + "ova" for word in line.split())
        for i, line in enumerate(sources)
    ]
    rare = learn_rare_words(corpus_of(inflected, targets), 5, threads=1)
    assert rare is not None
    assert EndingChange("ova", "") in rare.variants.changes.endings
    assert all(rare.of(root + "ova") == (root,) for root in new)


def test_pieces_at_hyphens_become_known() -> None:
    sources, targets, roots = compound_pairs(link="-")
    rare = learn_rare_words(corpus_of([*sources, f"{roots[0]}-neu"], [*targets, f"{translate(roots[0])} NEW"]), 5)
    assert rare is not None
    assert rare.of(f"{roots[0]}-neu") == (roots[0], "neu")
    assert "neu" in rare


def test_any_number_of_threads() -> None:
    sources, targets, _ = compound_pairs()
    one, two = (learn_rare_words(corpus_of(sources, targets), 5, threads=number) for number in (1, 3))
    assert one is not None
    assert two is not None
    assert all((one.to_arrays()[name] == two.to_arrays()[name]).all() for name in one.to_arrays())


def test_evidence_is_counted_beyond_chance() -> None:
    """By hand: `ab` stands in two pairs, `A` in both of them and in half of all pairs, `B` in one and in a quarter."""
    pairs = corpus_of(["ab", "ab", "a", "b"], ["A", "A B", "x", "y"])
    a, b = (pairs.target_vocabulary.id(word) for word in "AB")
    own = {"a": frozenset({a}), "b": frozenset({b})}
    evidence = PairEvidence(pairs, [own.get(word, frozenset()) for word in pairs.source_vocabulary])
    assert evidence.of("ab", ("a",)) == (1.0, 0.5)
    assert evidence.of("ab", ("b",)) == (0.5, 0.25)
    assert evidence.of("ab", ("a", "b")) == pytest.approx(((0.5 + 0.75) / 2, (0.125 + 0.375) / 2))
    assert evidence.of("ab", ("ab", "unknown")) is None
    assert not evidence.translatable("unknown")


def test_reserved_words_inside_of_others() -> None:
    pairs = corpus_of(["das haus", "ein haustier"], ["the <unk>house", "a </s>pet"])
    assert learn_rare_words(pairs, 5) is None


def test_nothing_is_learned_from_long_or_empty_lines() -> None:
    assert learn_rare_words(corpus_of(["a " * 200, "a"], ["b " * 200, ""]), 5) is None


def test_too_little_text_says_nothing() -> None:
    rare = learn_rare_words(corpus_of(["das haus", "ein haustier"], ["the house", "a pet"]), 5)
    assert rare is None or not rare.rewritten


def test_nothing_changes_without_compounds() -> None:
    """Links are learned only where parts are translated; `UNCHANGED` is one of them."""
    rare, _, _ = learned(meaning=False, link="")
    assert rare is None or UNCHANGED not in rare.variants.changes.links
