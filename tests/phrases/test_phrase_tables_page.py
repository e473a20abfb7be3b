"""The examples of docs/phrase-tables.md run as they stand."""

import re
import subprocess
from pathlib import Path

import pytest
from page_commands import run_page

from toledo.files import read_lines, write_lines
from toledo.model import PhraseModel

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
KENLM name=LM0 order=1 path=lm.arpa
[weight]
Distortion0= 0.3
LM0= 0.5
TranslationModel0= 0.2 0.2 0.2 0.2
"""
ARPA = """
\\data\\
ngram 1=4

\\1-grams:
-1	<unk>
0	<s>
-0.5	</s>
-0.5	house

\\end\\
"""


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines("phrase-table.gz", TABLE)
    write_lines("moses.ini", [INI])
    write_lines("lm.arpa", [ARPA])
    write_lines("test.de", ["ein haus"])
    write_lines("other.gz", ["haus ||| home ||| 0.5 0.5 0.5 0.5", "auto ||| car ||| 1 1 1 1"])
    write_lines("other.arpa", [ARPA.replace("house", "home")])
    write_lines("dev.de", ["haus", "auto haus"])
    write_lines("dev.en", ["home", "car house"])
    printed = run_page(PAGE.read_text(encoding="utf-8"))
    assert "4 phrase pairs\n" in printed
    assert "0 2 a house ((0, 0), (1, 1))" in printed
    assert list(read_lines("moses/phrase-table.gz")) == sorted(TABLE[:3])
    assert "'phrase.forward.1'" in printed
    sizes = [len(PhraseModel.load(name).table) for name in ("both", "backing-off", "filled", "mixed")]
    assert sizes == [6, 5, 6, 6]


def test_duplicates_are_removed_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines("phrase-table.gz", [*TABLE, TABLE[0].replace("0.8", "0.7")])
    (line,) = re.findall(r"^    (zcat .*unique.*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    subprocess.run(["sh", "-c", line], check=True)
    assert list(read_lines("unique.gz")) == TABLE
