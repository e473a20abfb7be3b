"""Word vectors of a text with two topics, and what their cosines are worth."""

from pathlib import Path

import numpy as np
import pytest

from toledo.errors import InputError
from toledo.search.document.models.semantic import SemanticModel, SemanticSpace

TOPICS = [[f"{topic}{k}" for k in range(12)] for topic in ("sea", "law")]


def text(seed: int, documents: int = 60) -> list[list[list[str]]]:
    rng = np.random.default_rng(seed)
    return [[["the", *rng.choice(TOPICS[d % 2], 6).tolist(), "."] for _ in range(5)] for d in range(documents)]


def test_words_of_a_topic_are_near_each_other(tmp_path: Path) -> None:
    space = SemanticSpace.from_documents(text(1), dimensions=4, stop_words=1, min_count=3, context=10)
    assert "the" not in space.words
    unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    alike = np.array([[one[:3] == two[:3] for two in space.words] for one in space.words])
    assert cosines[alike].mean() > cosines[~alike].mean() + 0.3
    assert space.worth[-1] > 0 > space.worth[space.worth.size // 2]
    again = SemanticSpace.from_documents(text(1), dimensions=4, stop_words=1, min_count=3, context=10)
    np.testing.assert_array_equal(space.vectors, again.vectors)
    space.save(tmp_path / "space")
    back = SemanticSpace.load(tmp_path / "space")
    assert back.words == space.words
    np.testing.assert_array_equal(back.vectors, space.vectors)
    np.testing.assert_array_equal(back.worth, space.worth)


def test_too_little_text_and_no_context_are_refused() -> None:
    with pytest.raises(InputError, match="too few for 50 dimensions"):
        SemanticSpace.from_documents(text(1, 10))
    space = SemanticSpace(("a",), np.ones((1, 2), np.int32), np.zeros(3))
    with pytest.raises(ValueError, match="at least 1"):
        SemanticModel(space, 0)
