"""The examples of docs/phrase-tables.md run as they stand."""

import re
from pathlib import Path

import pytest

from toledo.files import read_lines, write_lines

PAGE = Path(__file__).resolve().parents[2] / "docs" / "phrase-tables.md"
TABLE = [
    "ein ||| a ||| 0.5 0.5 0.8 0.7 ||| 0-0 ||| 40 50 40 ||| |||",
    "ein haus ||| a house ||| 1 0.4 1 0.3 ||| 0-0 1-1 ||| 3 3 3 ||| |||",
    "haus ||| house ||| 0.75 0.6 1 0.5 ||| 0-0 ||| 4 3 3 ||| |||",
    "hund ||| dog ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||",
]
INI = """
[feature]
Distortion
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=phrase-table.gz
[weight]
Distortion0= 0.3
TranslationModel0= 0.2 0.2 0.2 0.2
"""


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines("phrase-table.gz", TABLE)
    pairs = (line.split(" ||| ")[:2] for line in TABLE)
    write_lines(
        "reordering-table.gz", [f"{source} ||| {target} ||| 0.6 0.2 0.2 0.6 0.2 0.2" for source, target in pairs]
    )
    write_lines("moses.ini", [INI])
    write_lines("test.de", ["ein haus"])
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.startswith("4 phrase pairs with phrase.backward")
    assert list(read_lines("small.gz")) == sorted(TABLE[:3])
    assert len(list(read_lines("small-reordering.gz"))) == 3
