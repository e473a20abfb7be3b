"""Words that WordNet has as synonyms match in part; a stand-in has the part of its interface that is used."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace

import pytest

from toledo.combination import alignment
from toledo.combination.alignment import EDIT, PARTIAL, Matcher

SENSES = {"car": ["car.n.01", "cable_car.n.01"], "automobile": ["car.n.01"], "house": ["house.n.01"]}


@dataclass(frozen=True)
class Sense:
    """A set of synonyms."""

    label: str

    def name(self) -> str:
        return self.label


@pytest.fixture
def wordnet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    corpus = ModuleType("nltk.corpus")
    corpus.wordnet = SimpleNamespace(synsets=lambda word: [Sense(one) for one in SENSES.get(word, [])])
    monkeypatch.setitem(sys.modules, "nltk", ModuleType("nltk"))
    monkeypatch.setitem(sys.modules, "nltk.corpus", corpus)
    alignment._wordnet.cache_clear()
    yield
    alignment._wordnet.cache_clear()


@pytest.fixture
def no_wordnet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    alignment._wordnet.cache_clear()
    yield
    alignment._wordnet.cache_clear()


@pytest.mark.usefixtures("wordnet")
def test_synonyms_match_in_part() -> None:
    words = ["car", "Automobile", "house", "cars", "unheard"]
    costs = Matcher().costs(words)
    assert costs.tolist()[0] == [0, PARTIAL, EDIT, PARTIAL, EDIT]
    assert (costs == costs.T).all()
    assert Matcher().signature == "exact+case+stems.english+wordnet"
    assert Matcher(synonyms=False).costs(words)[0, 1] == EDIT
    assert Matcher("german").costs(words)[0, 1] == EDIT


@pytest.mark.usefixtures("no_wordnet")
def test_without_wordnet_there_are_no_synonyms() -> None:
    assert Matcher().costs(["car", "automobile"])[0, 1] == EDIT
    assert Matcher().signature == "exact+case+stems.english"
