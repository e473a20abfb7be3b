"""Files dropped on a page have the lines that all readers of Toledo see; files that are not ours are not found."""

from small_server import Client

from toledo.serve.pages.asked import lines_of


def test_lines_end_at_line_feeds_alone() -> None:
    assert lines_of("one\u2028half\r\ntwo\x0c\u0085\n\nthree") == ["one\u2028half", "two\x0c\u0085", "", "three"]
    assert lines_of("one\n") == ["one"]
    assert lines_of("") == []


def test_a_file_that_is_not_ours_is_not_found(client: Client) -> None:
    assert client.get("/static/main.js").status == 200
    assert client.get("/static/passwd").status == 404
