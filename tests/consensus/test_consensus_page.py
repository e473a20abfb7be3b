"""The Python examples of the page on decision rules run as printed."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "consensus.md"


def test_the_examples_of_scales_run(capsys: pytest.CaptureFixture[str]) -> None:
    section = PAGE.read_text(encoding="utf-8").split("## The scale", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", section, flags=re.MULTILINE)
    ran = [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks if "import" in block]
    namespace: dict[str, object] = {}
    for block in ran:
        exec(compile(block, str(PAGE), "exec"), namespace)
    assert len(ran) == 2
    assert capsys.readouterr().out == "['the', 'house', 'is', 'little']\n"
    assert len(namespace["table"].rows) == 9
