"""What two texts do not have in common."""

from hypothesis import given
from hypothesis import strategies as st

from toledo.metrics.analysis.differences import WordPiece, word_pieces

WORDS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=7)


@given(WORDS, WORDS, st.lists(WORDS, max_size=2))
def test_pieces_are_the_texts(first, second, references):
    for words, pieces in zip((first, second), word_pieces(first, second, references), strict=True):
        assert " ".join(piece.text for piece in pieces) == " ".join(words)
        known = {word for reference in references for word in reference}
        assert all(set(piece.text.split()) <= known for piece in pieces if piece.agrees)
        assert all(piece.own or not piece.agrees for piece in pieces)


def test_pieces_say_what_agrees_with_a_reference():
    texts = ["three", "men", "walk", "uphill"], ["three", "men", "are", "walking", "uphill"]
    first, second = word_pieces(*texts, [["men", "are", "walking", "up"]])
    assert first == [
        WordPiece("three men", False, False),
        WordPiece("walk", True, False),
        WordPiece("uphill", False, False),
    ]
    assert second == [
        WordPiece("three men", False, False),
        WordPiece("are walking", True, True),
        WordPiece("uphill", False, False),
    ]
