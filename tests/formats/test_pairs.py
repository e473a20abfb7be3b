"""Sentence pairs from TSV, JSON lines and TMX."""

import gzip
from pathlib import Path

import pytest

from toledo.errors import InputError
from toledo.formats.pairs import _units, iter_pairs, read_pairs

PAIRS = [("das Haus", "the house"), ("ein Hund", "a dog")]
JSON = '{"translation": {"de": "das Haus", "en": "the house"}}\n{"en": "a dog", "de": "ein Hund"}\n'
UNIT = '<tu><tuv xml:lang="{}"><seg>{}</seg></tuv><tuv xml:lang="{}"><seg>{}</seg></tuv></tu>'


def tmx(*units: str, head: str = "") -> str:
    body = "\n".join(units)
    start = f'<?xml version="1.0" encoding="UTF-8"?>\n{head}<tmx version="1.4">\n<header/>\n<body>\n'
    return f"{start}{body}\n</body>\n</tmx>\n"


FORMS = {
    "a.tsv": "das Haus\tthe house\t0.9\nein Hund\ta dog\n",
    "a.jsonl": JSON,
    "b.jsonl": '{"source": "das Haus", "target": "the house", "id": 7}\n{"target": "a dog", "source": "ein Hund"}\n',
    "a.tmx": tmx(UNIT.format("de", "das Haus", "en", "the house"), UNIT.format("en", "a dog", "de", "ein Hund")),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_forms(tmp_path: Path, name: str, packed: bool) -> None:
    path = tmp_path / (f"{name}.gz" if packed else name)
    content = FORMS[name].encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    assert read_pairs(path) == read_pairs(str(path)) == PAIRS
    assert list(iter_pairs(path, ("de", "en"))) == PAIRS


@pytest.mark.parametrize("name", ["a.jsonl", "a.tmx"])
def test_languages_choose(tmp_path: Path, name: str) -> None:
    """Codes with regions fit, too; other columns and variants are passed over."""
    (tmp_path / name).write_text(FORMS[name].replace('"de"', '"de-AT"').replace('"en"', '"EN"'))
    assert read_pairs(tmp_path / name, "en", "de") == [(target, source) for source, target in PAIRS]
    assert read_pairs(tmp_path / name, "de-AT", "en_GB") == PAIRS


def test_more_languages_than_two(tmp_path: Path) -> None:
    third = '<tuv xml:lang="fr"><seg>la maison</seg></tuv></tu>'
    unit = UNIT.format("de", "das Haus", "en", "the house").replace("</tu>", third)
    (tmp_path / "a.tmx").write_text(tmx(unit, UNIT.format("de", "x", "en", "y"), unit))
    assert read_pairs(tmp_path / "a.tmx", "fr", "de") == [("la maison", "das Haus")] * 2
    with pytest.raises(InputError, match="languages of this unit: de, en, fr") as caught:
        read_pairs(tmp_path / "a.tmx")
    assert caught.value.line == 5


def test_markup_of_other_programs_goes(tmp_path: Path) -> None:
    marked = 'the <bpt i="1">&lt;b&gt;</bpt><hi>old</hi><ept i="1">&lt;/b&gt;</ept> house &amp; more'
    (tmp_path / "a.tmx").write_text(tmx(UNIT.format("de", "x", "en", marked)))
    assert read_pairs(tmp_path / "a.tmx") == [("x", "the old house & more")]


BOMB = '<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "a\tb\nc\n", "a.tsv:2: no tab"),
        ("a.tsv", "", "a.tsv: there are no sentence pairs"),
        ("a.jsonl", JSON + "{\n", "a.jsonl:3: not a sentence pair"),
        ("a.jsonl", JSON + '{"de": "x", "fr": "y"}\n', "a.jsonl:3: not a sentence pair"),
        ("a.jsonl", '{"de": "x", "en": 1}\n', "a.jsonl:1: not a sentence pair"),
        ("a.jsonl", '{"de": "x", "en": "y", "fr": "z"}\n', "a.jsonl:1: not a sentence pair"),
        ("a.jsonl", '["x", "y"]\n', "a.jsonl:1: not a sentence pair"),
        ("a.tmx", tmx("<tu><tuv>"), "a.tmx:6: not well-formed XML"),
        ("a.tmx", FORMS["a.tmx"][:-30], "a.tmx:6: not well-formed XML"),
        ("a.tmx", tmx(UNIT.format("de", "&b;", "en", "x"), head=BOMB), "a.tmx: defines the entity a"),
        ("a.tmx", tmx(), "a.tmx: there are no sentence pairs"),
        ("a.tmx", "das\tthe\n", "a.tmx:1: not well-formed XML"),
    ],
)
def test_bad_pairs_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as caught:
        read_pairs(tmp_path / name)
    assert message in str(caught.value).replace(f"{tmp_path}/", "")


def test_no_other_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    head = f'<!DOCTYPE tmx [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]>'
    (tmp_path / "a.tmx").write_text(tmx(UNIT.format("de", "&x;", "en", "x"), head=head))
    with pytest.raises(InputError, match="defines the entity x"):
        read_pairs(tmp_path / "a.tmx")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    content = tmx(UNIT.format("de", "schön", "en", "…")).replace("UTF-8", encoding.removesuffix("-sig"))
    (tmp_path / "a.tmx").write_text(content, encoding=encoding)
    assert read_pairs(tmp_path / "a.tmx") == [("schön", "…")]


def test_a_large_memory_is_not_kept(tmp_path: Path) -> None:
    """Units are forgotten as they are read, also in one long line; what has none is refused before it fills memory."""
    text = UNIT.format("de", "x" * 2000, "en", "y")
    (tmp_path / "a.tmx").write_text(tmx(text * 10_000))
    assert max(len(unit.getparent()) for unit in _units(tmp_path / "a.tmx")) < 100
    (tmp_path / "b.tmx").write_text(tmx("<note>x</note>" * 1_000_000))
    with pytest.raises(InputError, match="no sentence pair in 10 MB"):
        read_pairs(tmp_path / "b.tmx")
    (tmp_path / "c.tmx.gz").write_bytes(gzip.compress(FORMS["a.tmx"].encode())[:-20])
    with pytest.raises(InputError, match="damaged gzip file"):
        read_pairs(tmp_path / "c.tmx.gz")
