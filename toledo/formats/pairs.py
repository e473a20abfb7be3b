"""Sentence pairs in one file: TSV, JSON lines of Hugging Face, or TMX.

    das Haus<TAB>the house
    {"translation": {"de": "das Haus", "en": "the house"}}     also without "translation", and with other columns
    <tu><tuv xml:lang="de"><seg>das Haus</seg></tuv><tuv xml:lang="en"><seg>the house</seg></tuv></tu>

Files are read pair by pair, so that they need not fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from lxml import etree

from toledo.files import file_error, read_chunks, read_lines

JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
COLUMNS = (("source", "target"), ("src", "trg"), ("src", "tgt"))  # of flat JSON, if languages do not name them
LANGUAGE = ("{http://www.w3.org/XML/1998/namespace}lang", "lang")
CODES = ("bpt", "ept", "it", "ph", "ut")  # elements of TMX whose content is markup of another program
MOST_CHARACTERS = 10_000_000  # between two pairs of TMX, which would all have to be kept in memory

TextPair = tuple[str, str]


def read_pairs(
    path: str | Path, source_language: str | None = None, target_language: str | None = None
) -> list[TextPair]:
    """Read sentence pairs from TSV, JSON lines (.jsonl) or TMX (.tmx), packed or not.

    A line of TSV has source and target, and columns after them are ignored. The languages choose columns of JSON and
    the variants of TMX; without them, the first of two is the source.
    """
    pairs = list(iter_pairs(path, (source_language or "", target_language or "")))
    if not pairs:
        raise file_error(path, None, "there are no sentence pairs", "check that this is the file you mean")
    return pairs


def iter_pairs(path: str | Path, languages: TextPair = ("", "")) -> Iterator[TextPair]:
    """Yield the sentence pairs of a file, in the format that its name says."""
    name = str(path).lower().removesuffix(".gz")
    if name.endswith(JSON_ENDINGS):
        return _json_pairs(path, languages)
    return _tmx_pairs(path, languages) if name.endswith(".tmx") else _tsv_pairs(path)


def _tsv_pairs(path: str | Path) -> Iterator[TextPair]:
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) < 2:
            remedy = "write TSV, or name the file .jsonl or .tmx if it is JSON lines or TMX"
            raise file_error(path, number, "no tab between source and target", remedy)
        yield fields[0], fields[1]


def _json_pairs(path: str | Path, languages: TextPair) -> Iterator[TextPair]:
    names: TextPair | None = None
    for number, line in enumerate(read_lines(path), start=1):
        row = _row(line)
        names = names or _columns(row, languages)
        pair = [] if names is None else [row.get(name) for name in names]
        if not pair or not all(isinstance(text, str) for text in pair):
            shown = names or (languages[0] or "de", languages[1] or "en")
            remedy = f'write {{"translation": {{"{shown[0]}": "…", "{shown[1]}": "…"}}}}'
            raise file_error(path, number, "not a sentence pair", f"{remedy}, or say which languages it has")
        yield str(pair[0]), str(pair[1])


def _row(line: str) -> Mapping[str, Any]:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    inner = found.get("translation", found) if isinstance(found, dict) else {}
    return inner if isinstance(inner, dict) else {}


def _columns(row: Mapping[str, Any], languages: TextPair) -> TextPair | None:
    """Return the names of the columns of source and target."""
    known = [_find(row, code) for code in languages]
    if all(known):
        return known[0], known[1]
    for names in COLUMNS:
        if {*names} <= {*row}:
            return names
    if len(row) != 2 or any(code and not name for code, name in zip(languages, known, strict=True)):
        return None
    first, second = row
    return (second, first) if known[0] == second or known[1] == first else (first, second)


def _find(names: Mapping[str, Any], code: str) -> str:
    """Return the name that is a language code, or the code with a region (de-DE); nothing if there is none."""
    plain = {name.lower().replace("_", "-"): name for name in names}
    wanted = code.lower().replace("_", "-")
    if not wanted:
        return ""
    fitting = (name for key, name in plain.items() if key.partition("-")[0] == wanted.partition("-")[0])
    return plain.get(wanted) or next(fitting, "")


def _tmx_pairs(path: str | Path, languages: TextPair) -> Iterator[TextPair]:
    """Read translation units as they come; entities are refused, and no other file is opened.

    A unit that lacks one of both languages is passed over, as memories of several languages have them.
    """
    chosen = languages
    for unit in _units(path):
        variants: dict[str, str] = {}
        for variant in unit.iterfind("tuv"):
            code = next((variant.get(name) for name in LANGUAGE if variant.get(name)), "")
            segment = variant.find("seg")
            if segment is not None:
                variants.setdefault(str(code), "".join(_text(segment)))
        if not all(chosen):
            chosen = _first_two(path, unit.sourceline, variants, languages)
        names = [_find(variants, code) for code in chosen]
        if all(names):
            yield variants[names[0]], variants[names[1]]


def _first_two(path: str | Path, line: int, variants: Mapping[str, str], languages: TextPair) -> TextPair:
    """Return the languages of the first unit, which must be two unless they are given."""
    if len(variants) != 2 or any(languages):
        found = ", ".join(variants) or "none"
        raise file_error(
            path, line, f"languages of this unit: {found}", "name two of them as source and target language"
        )
    first, second = variants
    return first, second


def _units(path: str | Path) -> Iterator[Any]:
    parser = etree.XMLPullParser(
        events=("start", "end"), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    depth = waiting = 0
    try:
        for chunk in read_chunks(path):
            parser.feed(chunk)
            waiting += len(chunk)
            for event, element in parser.read_events():
                depth += 1 if event == "start" else -1
                if event == "start" and depth == 1:
                    _refuse_definitions(path, element)
                elif event == "end" and element.tag == "tu":
                    yield element
                    waiting = 0
                    _forget(element)
            if waiting > MOST_CHARACTERS:
                raise file_error(path, None, "no sentence pair in 10 MB", "check that this is TMX, with units `tu`")
        parser.close()
    except etree.XMLSyntaxError as error:
        message = f"not well-formed XML: {str(error.msg).partition(', line ')[0].strip()}"
        raise file_error(path, error.lineno or 1, message, "correct this line, or make the file again") from None


def _refuse_definitions(path: str | Path, root: Any) -> None:
    """Refuse a document type that defines entities, which can grow without end."""
    document_type = root.getroottree().docinfo.internalDTD
    if document_type is not None and any(True for _ in document_type.iterentities()):
        name = next(iter(document_type.iterentities())).name
        remedy = "write characters themselves, and &amp; &lt; &gt; for the three that must not stand alone"
        raise file_error(path, None, f"defines the entity {name}, which is not allowed", remedy)


def _forget(unit: Any) -> None:
    """Remove a unit and those before it from the tree."""
    unit.clear()
    while unit.getprevious() is not None:
        del unit.getparent()[0]


def _text(element: Any) -> Iterator[str]:
    """Yield the text of a segment, without the markup of other programs in it."""
    if element.tag in CODES:
        return
    yield element.text or ""
    for child in element:
        yield from _text(child)
        yield child.tail or ""
