"""Synonyms from files in WordNet's format and from lists match in part, in tuning and wherever a combiner is used."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_outputs import NAMES, REFERENCES, SEGMENTS

from toledo.combination.alignment import EDIT, PARTIAL, Matcher
from toledo.combination.combiner import Combiner
from toledo.combination.network import build_networks, distinct_hypotheses
from toledo.combination.settings import CombinationSettings
from toledo.combination.synonyms import Synonyms, read_synonyms
from toledo.combination.tuning import TuningRun
from toledo.errors import InputError, RunError
from toledo.runs.checkpoint import RUN
from toledo.text.vocabulary import Vocabulary

LICENCE = "  1 This software and database is provided under a licence.  \n  2 All rights reserved.  \n"
TEN = ["ten", "tenner", "decade", "x", "tensome", "decennary", "denary", "decuple", "tenfold", "deca"]
SETS = {
    "noun": [["car", "auto", "automobile", "motor_vehicle"], ["car", "gondola"], ["goose"], ["goose", "fathead"],
             ["Man", "adult_male"], ["man", "piece"], TEN, ["glass", "spyglass"]],
    "verb": [["buy", "purchase"], ["go", "travel", "move"], ["rid", "free"], ["ride"], ["plan", "design"]],
    "adj": [["big(a)", "large"], ["asleep(p)", "dozing"]],
    "adv": [["quickly", "rapidly"]],
}  # fmt: skip
EXCEPTIONS = {"noun": "geese goose\n", "verb": "went go\nbore bear\nbore design\n"}
LETTERS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


def data_file(part: str) -> str:
    """Sets as wndb(5WN) writes them: offset, lexicographer's file, type, words in hex, words, pointers, gloss."""
    text = LICENCE
    for words in SETS[part]:
        listed = " ".join(f"{word} 0" for word in words)
        pointers = "001 @ 00001740 n 0000"
        frames = " 01 + 08 00" if part == "verb" else ""
        text += f'{len(text):08d} 03 {LETTERS[part]} {len(words):02x} {listed} {pointers}{frames} | a gloss; "so"  \n'
    return text


@pytest.fixture
def wordnet(tmp_path: Path) -> Path:
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for part in SETS:
        (folder / f"data.{part}").write_text(data_file(part))
    for part, lines in EXCEPTIONS.items():
        (folder / f"{part}.exc").write_text(lines)
    return folder


@pytest.mark.parametrize(("one", "other", "same"), [
    ("car", "automobile", True), ("Cars", "AUTO", True), ("car", "gondolas", True), ("auto", "gondola", False),
    ("car", "motor_vehicle", False), ("geese", "fatheads", True), ("men", "pieces", True),
    ("riding", "free", False), ("ridded", "free", False), ("rids", "freed", True), ("riding", "rides", True),
    ("planes", "design", True), ("buying", "purchased", True),
    ("went", "moves", True), ("bore", "plan", True), ("larger", "biggest", False), ("larger", "big", True),
    ("asleep", "dozing", True), ("quickly", "rapidly", True),
    ("glass", "spyglasses", True), ("glas", "glass", False), ("ten", "deca", True), ("buy", "car", False),
    ("unheard", "unheard", False),
])  # fmt: skip
def test_words_of_a_set_and_their_forms_are_synonyms(wordnet: Path, one: str, other: str, same: bool) -> None:
    synonyms = read_synonyms(wordnet)
    assert bool(synonyms.of(one) & synonyms.of(other)) == same
    assert Matcher("", synonyms).costs([one, other, "zzz"])[0, 2] == EDIT
    if one != other:
        assert Matcher("", synonyms).costs([one, other])[0, 1] == Matcher("", synonyms).costs([other, one])[0, 1]
        assert Matcher("", synonyms).costs([one, other])[0, 1] == (PARTIAL if same else EDIT)


def test_costs_are_those_of_all_pairs(wordnet: Path) -> None:
    synonyms = read_synonyms(wordnet)
    words = ["car", "Automobile", "house", "cars", "gondola", "auto", "buy", "unheard"]
    costs = Matcher("english", synonyms).costs(words)
    plain = Matcher("english").costs(words)
    for i, one in enumerate(words):
        for j, other in enumerate(words):
            shared = i != j and bool(synonyms.of(one) & synonyms.of(other))
            assert costs[i, j] == (PARTIAL if shared else plain[i, j])
    assert (costs != plain).sum() == 2 * 7  # car and cars with Automobile, gondola and auto, and Automobile with auto
    assert (np.diag(costs) == 0).all()


def test_lists_have_one_set_per_line_in_any_language(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("Auto, Wagen,PKW\n\nklein\tgering  winzig\n")
    matcher = Matcher("german", read_synonyms(tmp_path / "list.txt"))
    assert matcher.costs(["wagen", "pkw", "gering", "Klein"]).tolist() == [
        [0, PARTIAL, EDIT, EDIT], [PARTIAL, 0, EDIT, EDIT], [EDIT, EDIT, 0, PARTIAL], [EDIT, EDIT, PARTIAL, 0]
    ]  # fmt: skip
    assert matcher.signature.startswith("exact+case+stems.german+synonyms.")
    (tmp_path / "list.txt").write_text("Auto, Wagen\n")
    assert Matcher("german", read_synonyms(tmp_path / "list.txt")).signature != matcher.signature
    assert Matcher().costs(["car", "automobile"])[0, 1] == EDIT


@pytest.mark.parametrize(("name", "line", "message"), [
    ("data.noun", "car auto", r"data\.noun:3: expected a set of nouns"),
    ("data.noun", "00000100 03 v 01 go 0 000 | x", r"data\.noun:3: expected a set of nouns"),
    ("data.verb", "00000100 03 v 02 go 0 000 | x", r"data\.verb:3: .*2 words"),
    ("data.verb", "00000100 03 v 01 go 0 move 0 000 | x", r"data\.verb:3: .*1 words"),
    ("data.adj", "00000100 03 a 00 000 | x", r"data\.adj:3: .*0 words"),
    ("data.adv", "00000100 03 r 02 fast 0 | x", r"data\.adv:3: .*2 words"),
    ("noun.exc", "geese", r"noun\.exc:3: expected an irregular form"),
])  # fmt: skip
def test_files_of_another_format_are_refused_with_their_line(wordnet: Path, name: str, line: str, message: str) -> None:
    before = LICENCE if name.startswith("data") else "mice mouse\noxen ox\n"
    (wordnet / name).write_text(f"{before}{line}\n")
    with pytest.raises(InputError, match=message):
        read_synonyms(wordnet)


def test_lists_without_synonyms_are_refused(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("car auto\ncar, Car\n")
    with pytest.raises(InputError, match=r"list\.txt:2: the set of 'car' has no other word"):
        read_synonyms(tmp_path / "list.txt")
    (tmp_path / "list.txt").write_text("\n")
    with pytest.raises(InputError, match="no set of two words"):
        read_synonyms(tmp_path / "list.txt")
    with pytest.raises(InputError, match=r"there is no data\.noun"):
        read_synonyms(tmp_path)
    with pytest.raises(InputError):
        read_synonyms(tmp_path / "missing")


def test_synonyms_share_a_column(wordnet: Path) -> None:
    def said_beside_car(matcher: Matcher) -> set[str]:
        vocabulary = Vocabulary()
        texts = [text.split() for text in ("a car red stopped", "a automobile stopped")]
        table = build_networks(distinct_hypotheses(texts, vocabulary), vocabulary, matcher)[0].table
        column = next(row for row in table.tolist() if vocabulary.id("car") in row)
        return {vocabulary.words([word])[0] for word in column if word >= 0}

    assert said_beside_car(Matcher("english", read_synonyms(wordnet))) == {"car", "automobile"}
    assert said_beside_car(Matcher("english")) == {"car"}


def tuned(synonyms: Path | None, run: TuningRun = TuningRun()) -> Combiner:  # noqa: B008 (frozen)
    settings = CombinationSettings(steps=3, entropy=(1.0,), synonyms=None if synonyms is None else str(synonyms))
    return Combiner.tune(SEGMENTS, REFERENCES, NAMES, Vocabulary(), settings=settings, run=run)


def test_a_saved_combiner_has_its_synonyms_with_it(wordnet: Path, tmp_path: Path) -> None:
    combiner = tuned(wordnet)
    assert combiner.synonyms == read_synonyms(wordnet)
    combiner.save(tmp_path / "combination")
    for file in wordnet.iterdir():
        file.unlink()
    loaded = Combiner.load(tmp_path / "combination")
    assert loaded.synonyms == combiner.synonyms
    texts = [[text.split() for text in ("a car red stopped", "a automobile stopped", "")]]
    with_them, without = next(loaded.run(texts)), next(replace(loaded, synonyms=None).run(texts))
    assert with_them.lattice.networks[0].edits.tolist() != without.lattice.networks[0].edits.tolist()
    with pytest.raises(InputError, match="damaged"):
        Synonyms.from_array(np.frombuffer(b"noun car\nnumeral two", np.uint8), "combination.toml")


def test_other_synonyms_are_another_run(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("cat tomcat\n")
    work = tmp_path / "run"
    tuned(tmp_path / "list.txt", TuningRun(work))
    assert "synonyms." in json.loads((work / "entropy-1" / RUN).read_text())["configuration"]["words match by"]
    (tmp_path / "moved.txt").write_text("cat tomcat\n")
    tuned(tmp_path / "moved.txt", TuningRun(work, resume=True))
    (tmp_path / "list.txt").write_text("cat kitty\n")
    with pytest.raises(RunError, match="words match by"):
        tuned(tmp_path / "list.txt", TuningRun(work, resume=True))


INSTALLED = Path("/usr/share/wordnet")


@pytest.mark.skipif(not (INSTALLED / "data.noun").exists(), reason="WordNet is not installed")
def test_wordnet_itself_is_read() -> None:
    synonyms = read_synonyms(INSTALLED)
    assert len(synonyms.sets) > 20_000
    for one, other in [("cars", "automobile"), ("bought", "purchase"), ("bigger", "large"), ("children", "kids")]:
        assert synonyms.of(one) & synonyms.of(other)
    assert not synonyms.of("car") & synonyms.of("house")
    assert Synonyms.from_array(synonyms.to_array(), "") == synonyms
