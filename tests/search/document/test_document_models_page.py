"""The examples of the page on document models run, and both count what they say."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from small_models import small_model

from toledo.search.document.state import DocumentResult

PAGE = Path(__file__).parents[3] / "docs" / "document-models.md"
SENTENCES = ["das haus ist klein", "das ist das das haus", "klein klein ist", "das haus"]
IDS = ["a", "a", "a", "b"]


@pytest.fixture(autouse=True)
def model_and_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page finds where it runs."""
    monkeypatch.chdir(tmp_path)
    small_model().save("model")
    Path("sample").mkdir()
    for name, lines in (("test.src", SENTENCES), ("test.docids", IDS)):
        Path("sample", name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec("\n".join(blocks[:2]), names)
    result: DocumentResult = names["result"]
    texts = [one.words for one in result.translations]
    assert result.features["stutter"] == sum(one == two for text in texts for one, two in pairwise(text))
    assert result.score == pytest.approx(score_of(result, names["weights"]), abs=1e-6)
    exec("\n".join(blocks[2:]), names)
    result = names["result"]
    texts = [one.words for one in result.translations]
    assert result.features["listed"] == sum(word in ("house", "small") for text in texts for word in text)
    assert result.score == pytest.approx(score_of(result, names["weights"]), abs=1e-6)
    both = names["DocumentSearch"](
        names["model"],
        names["DocumentSettings"](steps=500),
        [names["Stutter"](), names["word_list"](names["model"], ["the"])],
        names["Weights"]({**names["weights"], "stutter": 1.0}),
    )
    (result,) = both.search([names["document"]])
    assert result.score == pytest.approx(score_of(result, both.weights), abs=1e-6)
    assert len(capsys.readouterr().out.splitlines()) == 2


def score_of(result: DocumentResult, weights: dict[str, float]) -> float:
    return sum(weights[name] * value for name, value in result.features.items())
