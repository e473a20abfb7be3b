import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
from command_line import fail, run, succeed

from toledo.cli import app
from toledo.cli.messages import print_result
from toledo.cli.options import COMMON, Common, References, Seed, command
from toledo.errors import InputError, RunError
from toledo.settings import Meta, Settings


@dataclass(frozen=True)
class Cooking(Settings):
    """Settings of a command that exists only here."""

    eggs: Annotated[int, Meta(ge=1, description="Number of eggs.")] = 2
    salt: Annotated[bool, Meta(description="Add salt.")] = False


@command
def cook(
    pan: Path, *, reference: References = (), seed: Seed = 1, settings: Cooking = Cooking(), common: Common = COMMON
) -> None:
    """Cook something.

    **Examples**

        toledo cook pan --eggs 3
    """
    if pan.name == "lost":
        raise InputError("no such pan", file=pan, line=3, remedy="`eggs=3` with these `references`")
    if pan.name == "burnt":
        raise RunError("an unfinished run is in the directory", remedy="`resume=True` continues it")
    result = {"pan": str(pan), "eggs": settings.eggs, "salt": settings.salt, "seed": seed, "references": len(reference)}
    print_result("cook", result, common)


@pytest.fixture(autouse=True)
def kitchen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "COMMANDS", {"Kitchen": {"cook": f"{__name__}:cook"}})
    monkeypatch.setitem(sys.modules, __name__, sys.modules[cook.__module__])


def test_settings_are_options() -> None:
    out = succeed("cook", "pan", "--eggs", 3, "--salt", "-r", "a", "-r", "b", "--seed", 7)
    assert out == "{'pan': 'pan', 'eggs': 3, 'salt': True, 'seed': 7, 'references': 2}\n"


def test_help_has_the_texts_of_settings() -> None:
    out = succeed("cook", "--help")
    assert "Number of eggs." in out
    assert "toledo cook pan --eggs 3" in out
    assert "--no-salt" not in out


def test_ranges_are_those_of_the_settings() -> None:
    err = fail("cook", "pan", "--eggs", 0)
    assert "eggs is 0: expected int of at least 1" in err


def test_unknown_options_are_refused() -> None:
    assert "Did you mean --eggs?" in fail("cook", "pan", "--egs", 3)
    assert "there is no option --decide: it is --rule now" in fail("cook", "pan", "--decide", "mbr")


def test_json() -> None:
    content = json.loads(succeed("cook", "pan", "--json"))
    assert content["command"] == "cook"
    assert content["result"]["eggs"] == 2


def test_errors_name_options_and_end_with_their_code() -> None:
    err = fail("cook", "lost")
    assert "lost:3: no such pan" in err
    assert "remedy: --eggs 3 with these --reference\n" in err
    assert "`resume=True` continues it" in fail("cook", "burnt", code=3)
    content = json.loads(fail("cook", "lost", "--json"))["error"]
    assert content["type"] == "InputError"
    assert (content["file"], content["line"]) == ("lost", 3)


def test_options_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text("[cook]\neggs = 5\nsalt = true\n")
    assert "'eggs': 5, 'salt': True" in succeed("cook", "pan", "--config", file)
    assert "'eggs': 6, 'salt': True" in succeed("cook", "pan", "--config", file, "--eggs", 6)
    file.write_text("[cook]\negs = 5\n")
    assert "egs" in fail("cook", "pan", "--config", file)
    assert "no such file" in fail("cook", "pan", "--config", tmp_path / "none.toml")


def test_a_printed_configuration_repeats_the_run(tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text(succeed("cook", "pan", "--eggs", 4, "-r", "a", "--print-config"))
    assert "'eggs': 4" in succeed("cook", "--config", file)
    assert "'references': 1" in succeed("cook", "--config", file)


def test_a_hyphen_is_standard_input_or_output() -> None:
    assert "'pan': '-'" in succeed("cook", "-", "-r", "-", "--eggs", 3)
    assert "\0" not in fail("cook", "pan", "--eggs", "-")


def test_no_command_shows_help() -> None:
    assert "cook" in succeed()
    assert run("fry").exit_code == 2


@pytest.mark.parametrize("arguments", [["--help"], ["choose", "--help"], ["tune", "--help"]])
def test_help_needs_neither_numpy_nor_numba(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom toledo.cli.app import run\n"
        f"try: run({arguments!r})\nexcept SystemExit: pass\n"
        "assert not {'numpy', 'numba', 'scipy', 'sacrebleu'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
