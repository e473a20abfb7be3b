"""XML-RPC: calls are read without entities, answers and faults are written."""

from __future__ import annotations

from typing import Any

from lxml import etree

from toledo.serve.problems import ServeError

MOST_BYTES = 1_000_000
DEEPEST = 16  # structs and arrays within each other
PARSE, NO_METHOD = -503, -506  # codes of faults, those of xmlrpc-c
LARGEST_INT = 1 << 31


class XMLRPCFault(Exception):  # noqa: N818  (as the protocol calls it)
    """A call that cannot be answered."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def read_call(body: bytes) -> tuple[str, list[Any]]:
    """Return the method and the parameters of a call; refuse what is not XML, and any document type."""
    if len(body) > MOST_BYTES:
        raise ServeError(413, "too-large", "The call is too large", f"At most {MOST_BYTES / 1e6:g} MB.")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True, huge_tree=False
    )
    if b"<!" in body.replace(b"<![CDATA[", b"").replace(b"<!--", b""):
        raise ServeError(400, "not-xml", "The call has a document type, which is not allowed")
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise ServeError(400, "not-xml", "The call is not XML", str(getattr(error, "msg", error))) from None
    if root.tag != "methodCall":
        raise XMLRPCFault(PARSE, "Not a method call")
    return (root.findtext("methodName") or "").strip(), [_value(one, 0) for one in root.findall("params/param/value")]


def _value(element: Any, depth: int) -> Any:
    """Return a value; one without a type is a string."""
    if depth > DEEPEST:
        raise XMLRPCFault(PARSE, "Values are nested too deeply")
    inner = next(iter(element.iterchildren("*")), None)
    if inner is None:
        return element.text or ""
    text = inner.text or ""
    try:
        if inner.tag in ("int", "i4", "i8"):
            return int(text)
        if inner.tag == "double":
            return float(text)
    except ValueError:
        raise XMLRPCFault(PARSE, f"Not a number: {text[:40]!r}") from None
    if inner.tag == "boolean":
        return text.strip() == "1"
    if inner.tag == "array":
        return [_value(one, depth + 1) for one in inner.findall("data/value")]
    if inner.tag == "struct":
        return {one.findtext("name") or "": _member(one, depth) for one in inner.findall("member")}
    return text


def _member(element: Any, depth: int) -> Any:
    value = element.find("value")
    if value is None:
        raise XMLRPCFault(PARSE, "A member without a value")
    return _value(value, depth + 1)


def write_answer(value: Any) -> bytes:
    """Return the answer to a call."""
    root = etree.Element("methodResponse")
    _write(etree.SubElement(etree.SubElement(root, "params"), "param"), value)
    return _text(root)


def write_fault(fault: XMLRPCFault) -> bytes:
    """Return a fault as the answer to a call."""
    root = etree.Element("methodResponse")
    _write(etree.SubElement(root, "fault"), {"faultCode": fault.code, "faultString": fault.text})
    return _text(root)


def _text(root: Any) -> bytes:
    found: bytes = etree.tostring(root, encoding="utf-8", xml_declaration=True)
    return found


def _write(parent: Any, value: Any) -> None:
    element = etree.SubElement(parent, "value")
    if isinstance(value, bool):
        etree.SubElement(element, "boolean").text = str(int(value))
    elif isinstance(value, int) and -LARGEST_INT <= value < LARGEST_INT:
        etree.SubElement(element, "int").text = str(value)
    elif isinstance(value, int | float):
        etree.SubElement(element, "double").text = repr(float(value))
    elif isinstance(value, dict):
        struct = etree.SubElement(element, "struct")
        for name, one in value.items():
            member = etree.SubElement(struct, "member")
            etree.SubElement(member, "name").text = name
            _write(member, one)
    elif isinstance(value, list):
        data = etree.SubElement(etree.SubElement(element, "array"), "data")
        for one in value:
            _write(data, one)
    else:
        etree.SubElement(element, "string").text = "".join(filter(_allowed, str(value)))


def _allowed(character: str) -> bool:
    """Whether XML can have a character."""
    number = ord(character)
    return number in (9, 10, 13) or 32 <= number < 0xD800 or 0xE000 <= number < 0xFFFE or number > 0xFFFF
