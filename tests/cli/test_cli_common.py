"""What all commands share."""

from pathlib import Path

import pytest

from toledo.cli.common import tell_if_new


def test_a_new_run_is_told_of_where_one_was_to_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tell_if_new(tmp_path / "misspelt", False)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "history.json").touch()
    tell_if_new(tmp_path / "kept", True)
    assert not caplog.messages
    tell_if_new(tmp_path / "misspelt", True)
    assert caplog.messages == [f"{tmp_path / 'misspelt'}: nothing to go on with, so a new run begins"]
