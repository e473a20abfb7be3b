"""The examples of the page on objectives run as printed."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "objectives.md"


def indented_blocks(text: str) -> list[str]:
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", text, flags=re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks if block.strip()]


def test_the_examples_run() -> None:
    namespace: dict[str, object] = {}
    ran = [block for block in indented_blocks(PAGE.read_text(encoding="utf-8")) if "import" in block]
    for block in ran:
        exec(compile(block, str(PAGE), "exec"), namespace)
    assert len(ran) == 2
    assert namespace["value"] == pytest.approx(-0.8, abs=0.5)
    assert set(namespace["gradient"]) == {"tm", "lm"}
    value, _ = namespace["MatchedWords"]().value_and_gradient(namespace["matched"], {"tm": 1.0, "lm": 1.0})
    assert 3.0 < value < 4.0
