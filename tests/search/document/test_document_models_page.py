"""The examples of the page on document models run, and all count what they say."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from page_commands import run_page
from small_models import small_model

PAGE = Path(__file__).parents[3] / "docs" / "document-models.md"
SENTENCES = ["das haus ist klein", "das ist das das haus", "klein klein ist", "das haus"]
IDS = ["a", "a", "a", "b"]


@pytest.fixture(autouse=True)
def model_and_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page finds where it runs."""
    monkeypatch.chdir(tmp_path)
    small_model().save("model")
    Path("data").mkdir()
    for name, lines in (("test.src", SENTENCES), ("test.docids", IDS)):
        Path("data", name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_the_examples() -> None:
    function, python_class, compiled = PAGE.read_text("utf-8").split("\n## ")
    names: dict[str, Any] = {}
    for part, feature in ((function, "repeats"), (python_class, "stutter"), (compiled, "listed")):
        assert len(run_page(part, names).splitlines()) == 1
        check(names, feature)
    models = {names["Stutter"](): 1.0, names["listed_words"]: 1.5}
    settings = {"document_ids": names["ids"], "document_models": models, "steps": 500}
    names["found"] = names["model"].translate_document(names["source"], **settings)
    check(names, "stutter", "listed")


def check(names: dict[str, Any], *features: str) -> None:
    """Check the features of all documents, and their scores, which are sums of features times weights."""
    weights = {**names["model"].weights, "repeats": -2.0, "stutter": -2.0, "listed": 1.5}
    if len(features) > 1:
        weights["stutter"] = 1.0
    for document in names["found"]:
        texts = [text.split() for text in document.texts]
        twice = sum(a == b for text in texts for a, b in pairwise(text))
        counts = {"listed": sum(word in ("house", "small") for text in texts for word in text)}
        for feature in features:
            assert document.features[feature] == counts.get(feature, twice)
        score = sum(weights[name] * value for name, value in document.features.items())
        assert document.score == pytest.approx(score, abs=1e-6)
