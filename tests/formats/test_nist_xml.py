"""Test sets in XML: NIST's form and WMT's, SGM that is no XML, and files that are wrong."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.formats.documents import (
    MarkedDocument,
    MarkedSegment,
    MarkedText,
    TextSet,
    read_documents,
    read_text_sets,
    write_text_sets,
    write_translations,
)
from toledo.text.corpus import Document

SOURCE = """<?xml version="1.0" encoding="UTF-8"?>
<mteval>
<srcset setid="small" srclang="de">
<doc docid="a" genre="news">
<p>
<seg id="1">das haus &amp; hof</seg>
<seg id="2">ist
  klein</seg>
</p>
<p><seg id="3">ja</seg></p>
</doc>
<doc docid="b"><seg id="1">nein</seg></doc>
</srcset>
</mteval>
"""
REFERENCES = """<refset setid="small" srclang="de" trglang="en" refid="A">
<doc docid="b"><seg id="1">no</seg></doc>
<doc docid="a"><seg id="2">is small</seg><seg id="1">the house</seg><seg id="3">yes</seg></doc>
</refset>"""
WMT = """<dataset id="wmt99">
<collection id="general">
<doc id="a" origlang="de" domain="news">
<src lang="de"><p><seg id="1">das haus</seg><seg id="2">ist klein</seg></p></src>
<ref lang="en" translator="A"><p><seg id="1">the house</seg><seg id="2">is small</seg></p></ref>
<ref lang="en" translator="B"><p><seg id="1">the home</seg><seg id="2">is little</seg></p></ref>
<hyp system="X" lang="en"><p><seg id="1">house</seg><seg id="2">small</seg></p></hyp>
</doc>
</collection>
</dataset>
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("src.xml").write_text(SOURCE)
    Path("ref.xml").write_text(REFERENCES)
    Path("wmt.xml").write_text(WMT)
    return tmp_path


def words(documents: list[Document]) -> dict[str, list[str]]:
    return {one.identifier: [" ".join(part.words) for part in one.segments] for one in documents}


def refusal(content: str, name: str = "bad.xml") -> InputError:
    Path(name).write_text(content)
    with pytest.raises(InputError) as caught:
        read_documents(name)
    assert caught.value.file == name
    assert caught.value.remedy
    return caught.value


def test_documents_and_references_belong_together_by_ids() -> None:
    text = read_documents("src.xml", ["ref.xml"])
    assert words(text.documents) == {"a": ["das haus & hof", "ist klein", "ja"], "b": ["nein"]}
    segments = [part for one in text.documents for part in one.segments]
    assert [part.index for part in segments] == [0, 1, 2, 3]
    assert [part.references for part in segments] == [
        (("the", "house"),), (("is", "small"),), (("yes",),), (("no",),)
    ]  # fmt: skip
    Path("ref.en").write_text("the house\nis small\nyes\nno\n")
    assert read_documents("src.xml", ["ref.en", "ref.xml"]).documents[0].segments[1].references == (
        ("is", "small"),
        ("is", "small"),
    )


def test_the_form_of_wmt() -> None:
    text = read_text_sets("wmt.xml")
    assert text.form == "wmt"
    assert [(one.kind, one.name) for one in text.sets] == [
        ("source", ""), ("reference", "A"), ("reference", "B"), ("translation", "X")
    ]  # fmt: skip
    (document,) = read_documents("wmt.xml", ["wmt.xml"]).documents
    assert document.segments[1].references == (("is", "small"), ("is", "little"))
    write_translations("out.xml", read_documents("wmt.xml"), [["the house", "is < small"]], "mine")
    assert Path("out.xml").read_text() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n<dataset id="wmt99">\n<doc id="a" origlang="de" domain="news">\n'
        '<hyp system="mine">\n<p>\n<seg id="1">the house</seg>\n<seg id="2">is &lt; small</seg>\n</p>\n</hyp>\n'
        "</doc>\n</dataset>\n"
    )


def test_translations_have_the_shape_of_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    text = read_documents("src.xml")
    lines = [["the house", "is small", "yes"], ["no"]]
    write_translations("out.xml", text, lines)
    (found,) = read_text_sets("out.xml").sets
    assert (found.kind, found.name, found.attributes["srclang"]) == ("translation", "toledo", "de")
    source = read_text_sets("src.xml").sets[0]
    for document, original, texts in zip(found.documents, source.documents, lines, strict=True):
        assert (document.identifier, document.attributes) == (original.identifier, original.attributes)
        assert [part.text for part in document.segments] == texts
        for part, other in zip(document.segments, original.segments, strict=True):
            assert (part.identifier, part.paragraph) == (other.identifier, other.paragraph)
    write_translations("out.txt", text, lines)
    assert Path("out.txt").read_text() == "the house\nis small\nyes\nno\n"
    write_translations("-", text, lines)
    assert capsys.readouterr().out == Path("out.xml").read_text()


def test_text_with_document_ids() -> None:
    Path("text").write_text("das haus\nist klein\nja\n")
    Path("ids").write_text("x\nx\ny\n")
    text = read_documents("text", ["text"], "ids")
    assert words(text.documents) == {"x": ["das haus", "ist klein"], "y": ["ja"]}
    assert words(read_documents("text").documents) == {"": ["das haus", "ist klein", "ja"]}
    write_translations("out.sgm", text, [["the house", "is small"], ["yes"]])
    assert '<doc docid="y" sysid="toledo">\n<seg id="1">yes</seg>\n</doc>' in Path("out.sgm").read_text()
    with pytest.raises(InputError, match="which is text"):
        read_documents("text", ["ref.xml"])
    for content, message in (
        ("x\nx\n", "number of lines"),
        ("x\ny\nx\n", "first in line 1"),
        ("x\n\ny\n", "no document"),
    ):
        Path("ids").write_text(content)
        with pytest.raises(InputError, match=message) as caught:
            read_documents("text", (), "ids")
        assert caught.value.remedy
    with pytest.raises(InputError, match="already has documents"):
        read_documents("src.xml", (), "ids")


def test_sgm_is_laxer_than_xml() -> None:
    content = (
        '<refset setid="x" srclang=any trglang=any>\n<DOC sysid="r1" docid=d>\n<hl>\n'
        "<SEG id=1> AT&T &amp; co . </SEG>\n</hl>\n<p>\n<seg id=2> a < b &copy 5 &#38;</seg>\n</DOC>\n"
        '<doc sysid="r2" docid=d><seg id=1>x</seg><seg id=2>y</seg></doc>\n</refset>\n'
    )
    Path("old.sgm.gz").write_bytes(gzip.compress(content.encode()))
    first, second = read_text_sets("old.sgm.gz").sets
    assert (first.name, second.name) == ("r1", "r2")
    assert [part.text for part in first.documents[0].segments] == ["AT&T & co .", "a < b &copy 5 &#38;"]
    refusal(content)
    assert "ends inside" in refusal(content[:200], "cut.sgm").message
    assert "does not end" in refusal(content.replace("</SEG>", ""), "cut.sgm").message
    assert "does not end" in refusal(content.replace("y</seg>", ""), "cut.sgm").message


@pytest.mark.parametrize("size", range(60, len(SOURCE) - 1, 23))
def test_a_file_that_ends_early_is_refused(size: int) -> None:
    assert "not well-formed" in refusal(SOURCE[:size]).message


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("</mteval>\n", "", "not well-formed", 14),
        ("&amp;", "&", "not well-formed", 6),
        ('docid="b"', 'docid="a"', "a second document a", 12),
        ('<seg id="2">', '<seg id="1">', "a second segment 1", 7),
        ('<seg id="2">', "<seg>", "<seg> without id", 7),
        ('docid="b"', "", "<doc> without docid", 12),
        ('<seg id="1">nein</seg>', "", "without segments", 12),
        ("<seg", "<sog", "", None),
        ("srcset", "sourceset", "outside of a set", 4),
        ("srcset", "refset", "has no source", None),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, message: str, line: int | None) -> None:
    error = refusal(SOURCE.replace(old, new))
    assert message in error.message
    assert line is None or error.line == line


def test_entities_and_other_files_are_not_followed() -> None:
    bomb = '<!DOCTYPE m [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>\n'
    assert "entity a" in refusal(SOURCE.replace("<mteval>", f"{bomb}<mteval>")).message
    outside = '<!DOCTYPE m [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n'
    assert "entity a" in refusal(SOURCE.replace("<mteval>", f"{outside}<mteval>").replace("&amp;", "&a;")).message
    hidden = '<!DOCTYPE m SYSTEM "a>b" [<!ENTITY % a "ha">%a;]>\n'
    assert "entity a" in refusal(SOURCE.replace("<mteval>", f"{hidden}<mteval>").replace("small", "&a;")).message
    Path("doctype.xml").write_text(SOURCE.replace("<mteval>", '<!DOCTYPE mteval SYSTEM "mteval.dtd">\n<mteval>'))
    assert len(read_documents("doctype.xml").documents) == 2
    Path("latin.xml").write_bytes(SOURCE.replace("ja", "jä").encode("latin1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_documents("latin.xml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<seg id="3">yes</seg>', "", "reference A has no segment 3 of document a"),
        ('<seg id="3">yes</seg>', '<seg id="3">yes</seg><seg id="4">more</seg>', "the source has no segment 4"),
        ('docid="b"', 'docid="c"', "reference A has no document b"),
        ("</refset>", '<doc docid="c"><seg id="1">x</seg></doc></refset>', "the source has no document c"),
        ("refset", "tstset", "has no reference, but translation"),
    ],
)
def test_other_ids_in_a_reference(old: str, new: str, message: str) -> None:
    Path("ref.xml").write_text(REFERENCES.replace(old, new))
    with pytest.raises(InputError, match=message) as caught:
        read_documents("src.xml", ["ref.xml"])
    assert caught.value.file == "ref.xml"
    assert caught.value.remedy


texts = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp", "Cn")), max_size=12)
names = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=6)


@given(
    form=st.sampled_from(["nist", "wmt"]),
    content=st.dictionaries(names, st.dictionaries(names, texts, min_size=1, max_size=3), min_size=1, max_size=3),
    kinds=st.lists(st.sampled_from(["reference", "translation"]), max_size=3),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, form: str, content: dict[str, dict[str, str]], kinds: list[str]
) -> None:
    documents = tuple(
        MarkedDocument(name, tuple(MarkedSegment(key, " ".join(text.split(" "))) for key, text in parts.items()))
        for name, parts in content.items()
    )
    stripped = tuple(
        MarkedDocument(one.identifier, tuple(MarkedSegment(p.identifier, " ".join(w for w in p.text.split(" ") if w))
                                             for p in one.segments)) for one in documents
    )  # fmt: skip
    sets = [TextSet("source", documents), *(TextSet(kind, documents, str(i)) for i, kind in enumerate(kinds))]
    path = tmp_path_factory.mktemp("sets") / "text.xml"
    write_text_sets(path, MarkedText(form, tuple(sets)))
    found = read_text_sets(path)
    assert found.form == form
    assert [(one.kind, one.name, one.documents) for one in found.sets] == [
        (one.kind, one.name, stripped) for one in sets
    ]


def test_characters_that_xml_cannot_have_are_replaced(folder: Path) -> None:
    Path("text").write_text("a \x01 b\n")
    write_translations("out.xml", read_documents("text"), [["a \x01\uffff b"]])
    (found,) = read_text_sets("out.xml").sets
    assert found.documents[0].segments[0].text == "a \ufffd\ufffd b"


PIECES = st.sampled_from(
    ["", " ", "\n", "<", ">", "&", ";", '"', "/", "=", "\x00", "é", "</seg>", "<seg>", "</doc>", "<doc docid='a'>",
     "<p>", "<dataset>", "<src>", "<!--", "-->", "<![CDATA[", "]]>", "<!DOCTYPE x [<!ENTITY a 'b'>]>", "&a;", "<?x?>"]
)  # fmt: skip


@pytest.mark.parametrize("name", ["file.xml", "file.sgm"])
@pytest.mark.parametrize("content", [SOURCE, WMT], ids=["nist", "wmt"])
@settings(max_examples=60)
@given(data=st.data())
def test_damage_is_named(
    tmp_path_factory: pytest.TempPathFactory, name: str, content: str, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(content)))
        end = min(len(content), begin + data.draw(st.sampled_from([0, 0, 1, 2, 5, 1000])))
        content = content[:begin] + data.draw(PIECES) + content[end:]
    path = tmp_path_factory.mktemp("damaged") / name
    path.write_text(content)
    error = error_of(path)
    assert error is None or (error.file == str(path) and error.remedy)


def error_of(path: Path) -> InputError | None:
    try:
        assert all(document.segments for document in read_documents(path).documents)
    except InputError as error:
        return error
    return None


def test_real_files(shared_folder: Path) -> None:
    folder = shared_folder / "data" / "bible-de-en"
    text = read_documents(folder / "xml" / "test.src.xml", [folder / "xml" / "test.ref.xml"])
    lines = read_documents(folder / "test.de", [folder / "test.en", folder / "test.refB.en"], folder / "test.docids")
    assert text.documents == lines.documents
    (document,) = read_documents(shared_folder / "peers" / "docent-50" / "input.xml").documents
    assert len(document.segments) == 50


def test_sgm_with_more_lines_than_lxml_can_number() -> None:
    segments = "".join(f"<seg id={number}> a <hl> b </seg>\n" for number in range(70_000))
    content = f"<srcset setid=x srclang=any>\n<doc docid={'d' * 200_000}>\n{segments}</doc>\n</srcset>\n"
    Path("long.sgm").write_text(content)
    (one,) = read_text_sets("long.sgm").sets
    assert len(one.documents[0].segments) == 70_000
    assert one.documents[0].segments[-1].text == "a b"
    assert refusal(content.replace("id=69999", "id="), "long.sgm").line is None
