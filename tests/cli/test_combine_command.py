"""`toledo combine` from the outside: raw and tokenised text, systems that are missing, silent or alone."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from toledo.cli.app import app
from toledo.combination.combiner import Combiner
from toledo.combination.tuning import Expander
from toledo.errors import ToledoError

REFERENCE = [
    "The cat sat on the mat.",
    "Peter's house is very small.",
    "We saw the old man in Paris.",
    "It costs 20 euros, she said.",
    "Do you like the new car?",
    "The dog runs after the cat.",
]
SYSTEMS = {
    "A": ["The cat sat on mat.", "Peter's house is small.", "We saw the old man in Paris.",
          "It costs 20 euros, he said.", "Do you like the car?", "The dog runs after the cat."],
    "B": ["The cat sits on the mat.", "Peter's house is very small.", "We saw an old man at Paris.",
          "It cost 20 euros, she said.", "Do you like the new car?", "A dog runs after the cat."],
    "C": ["A cat sat on the mat.", "The house of Peter is very small.", "We saw the old man in Paris.",
          "It costs 20 euro, she said.", "You like the new car?", "The dog runs after cats."],
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ref.en").write_text("\n".join(REFERENCE) + "\n")
    for name, lines in SYSTEMS.items():
        (tmp_path / f"sys.{name}.en").write_text("\n".join(lines) + "\n")
    return tmp_path


FILES = [f"sys.{name}.en" for name in SYSTEMS]


def combine(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["combine", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refusal(*arguments: object) -> str:
    with pytest.raises(ToledoError) as caught:
        CliRunner().invoke(app, ["combine", *map(str, arguments)], catch_exceptions=False)
    assert caught.value.remedy
    return str(caught.value)


def tuned(*options: object, systems: list[str] = FILES) -> dict:
    given = ("-r", "ref.en", "--systems", *systems, "-o", "combo", "--json", "-q", "--threads", 1)
    return json.loads(combine("tune", *options, *given))


def test_raw_text_in_raw_text_out(folder: Path) -> None:
    result = tuned()
    assert [*result["shares"]] == ["A", "B", "C"]
    assert sum(result["shares"].values()) == pytest.approx(1.0)
    assert result["bleu"]["combination"] > max(result["bleu"][name] for name in SYSTEMS)
    assert not (folder / "combo.tuning").exists()
    lines = combine("run", "combo", "--systems", *FILES, "-q").splitlines()
    assert len(lines) == len(REFERENCE)
    assert lines[2] == "We saw the old man in Paris."
    assert all(line[0].isupper() and line[-1] in ".?" and line[-2] != " " for line in lines)
    again = combine("run", "combo", "--systems", *reversed(FILES), "-q", "--threads", 2).splitlines()
    assert again == lines  # systems are known by name
    for rule in ("mbr", "consensus", "lattice-mbr", "max-translation"):
        assert len(combine("run", "combo", "--decide", rule, "--systems", *FILES, "-q").splitlines()) == len(lines)


def test_tokenised_text_stays_as_it_is(folder: Path) -> None:
    for file in (*FILES, "ref.en"):
        path = folder / file
        path.write_text(path.read_text().replace(".", " .").lower())
    tuned("--tokenised", "--bias", 0, "--lm-text", "ref.en", "--lm-order", 3)
    assert Combiner.load("combo").model is not None
    lines = combine("run", "combo", "--systems", *FILES, "-q").splitlines()
    assert lines[2] == "we saw the old man in paris ."


def test_systems_that_are_missing_or_silent(folder: Path) -> None:
    tuned()
    result = CliRunner().invoke(app, ["combine", "run", "combo", "--systems", *FILES[:2]], catch_exceptions=False)
    assert len(result.stdout.splitlines()) == len(REFERENCE)
    assert "no output of C" in result.stderr
    (folder / "sys.B.en").write_text("\n" * len(REFERENCE))
    (folder / "sys.C.en").write_text("\n".join(["", *SYSTEMS["C"][1:]]) + "\n")
    assert combine("run", "combo", "--systems", *FILES, "-q").splitlines()[0] == SYSTEMS["A"][0]
    (folder / "sys.A.en").write_text("\n" * len(REFERENCE))
    assert combine("run", "combo", "--systems", *FILES, "-q").splitlines()[0] == ""
    (folder / "sys.C.en").write_text("\n" * len(REFERENCE))
    assert combine("run", "combo", "--systems", *FILES, "-q").splitlines() == [""] * len(REFERENCE)
    combine("show", "combo", "--systems", *FILES, "-q", "-o", "page.html")


@pytest.mark.parametrize(("options", "bias"), [
    (("--lm-order", 2), 1.0), (("--bias", 0.5), 1.0), (("--bias", 1, "--lm-text", "ref.en", "--lm-order", 2), 1.0),
    (("--bias", 0.5, "--lm-text", "ref.en", "--lm-order", 3), 0.5), (("--bias", 0), 0.0),
])  # fmt: skip
def test_run_has_the_language_model_that_was_tuned_with(
    monkeypatch: pytest.MonkeyPatch, options: tuple[object, ...], bias: float
) -> None:
    used: list[list[int]] = []
    whole = Expander.to_order

    def watched(expander: Expander, *given: object) -> object:
        used.append([order.scores.size for order in expander.model.ngrams.orders] if expander.model else [])
        return whole(expander, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Expander, "to_order", watched)
    result = tuned(*options)
    assert result["bias"] == bias
    assert ("lm" in result["weights"]) == bool(used[0])
    assert bool(used[0]) == (options != ("--bias", 0))
    before = len(used)
    combine("run", "combo", "--systems", *FILES, "-q")
    assert len(used) > before
    assert used == [used[0]] * len(used)  # of the same outputs, it is the same model


def test_one_system_is_its_own_combination() -> None:
    tuned("--entropy", 1, "--entropy", 1, systems=FILES[:1])
    assert combine("run", "combo", "--systems", FILES[0], "-q").splitlines() == SYSTEMS["A"]


def test_lists_vote_by_rank(folder: Path) -> None:
    lists = [{"hypotheses": [line, SYSTEMS["B"][number]]} for number, line in enumerate(SYSTEMS["A"])]
    (folder / "D.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lists))
    result = tuned(systems=["first=D.jsonl", *FILES[1:]])
    assert [*result["shares"]] == ["first", "B", "C"]
    given = ("--systems", "first=D.jsonl", *FILES[1:], "-q")
    assert len(combine("run", "combo", *given).splitlines()) == len(REFERENCE)


def test_scores_rank_a_list(folder: Path) -> None:
    lists = [
        {"id": number, "hypotheses": [{"text": SYSTEMS["B"][number], "score": -2.0}, {"text": line, "score": -1.0}]}
        for number, line in enumerate(SYSTEMS["A"])
    ]
    (folder / "D.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lists))
    plain = tuned()
    assert tuned(systems=["A=D.jsonl", *FILES[1:]])["bleu"]["A"] == plain["bleu"]["A"]


def test_the_picture(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned()
    given = ("--systems", *FILES, "-r", "ref.en", "-q")
    whole, combined = Combiner.run, []

    def counted(combiner: Combiner, outputs: Iterable[Any], *others: Any, **options: Any) -> Iterator[Any]:
        combined.extend(some := list(outputs))
        return whole(combiner, some, *others, **options)

    monkeypatch.setattr(Combiner, "run", counted)
    combine("show", "combo", "--segment", 1, "--segment", 4, "-o", "page.html", *given)
    text = (folder / "page.html").read_text()
    assert "Segment 1" in text
    assert "Segment 4" in text
    assert text.count("<polyline") >= 2
    assert len(combined) == 2  # and no others
    assert "no segment 9" in refusal("show", "combo", "--segment", 9, "-o", "page.html", *given)


def test_what_is_refused(folder: Path) -> None:
    (folder / "short.en").write_text("\n".join(SYSTEMS["A"][:4]) + "\n")
    to = ("-o", "combo", "-q")
    assert "short.en" in refusal("tune", "-r", "ref.en", "--systems", *FILES, "short.en", *to)
    assert "4 lines" in refusal("tune", "-r", "short.en", "--systems", *FILES, *to)
    assert "4 lines" in refusal("tune", "-r", "ref.en", "--source", "short.en", "--systems", *FILES, *to)
    assert "name A" in refusal("tune", "-r", "ref.en", "--systems", *FILES, "A.en", *to)
    assert "no system" in refusal("tune", "-r", "ref.en", *to)
    assert "only once" in refusal("tune", "-r", "ref.en", "--systems", "A=-", "B=-", *to)
    assert "called combination" in refusal("tune", "-r", "ref.en", "--systems", "combination=sys.A.en", *to)
    (folder / "empty.en").write_text("\n" * len(REFERENCE))
    assert "the references are empty" in refusal("tune", "-r", "empty.en", "--systems", *FILES, *to)
    assert "the outputs are empty" in refusal("tune", "-r", "ref.en", "--systems", "empty.en", *to)
    (folder / "odd.en").write_text("a </s>\n" * len(REFERENCE))
    assert "word </s>" in refusal("tune", "--tokenised", "-r", "ref.en", "--systems", *FILES, "odd.en", *to)
    for language in ("english", ""):
        assert "no language" in refusal("tune", "-r", "ref.en", "--language", language, "--systems", *FILES, *to)
    assert "nonsense" in refusal("tune", "-r", "ref.en", "--feature", "nonsense", "--systems", *FILES, *to)
    tuned()
    assert "not tuned with E" in refusal("run", "combo", "--systems", *FILES, "E=short.en")
    assert "ref.en" in refusal("run", "ref.en", "--systems", *FILES)


def warnings(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["combine", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stderr


def test_what_looks_like_a_mistake_is_told(folder: Path) -> None:
    given = ("tune", "-r", "ref.en", "-o", "combo", "--entropy", 1, "--systems")
    told = warnings(*given, *FILES)
    assert "combo is ready" in told
    assert "tokenized" not in told
    assert "R has a BLEU of 100.0" in warnings(*given, *FILES, "R=ref.en")
    assert "nothing to resume" in warnings(*given, *FILES, "--resume")
    for file in FILES:
        (folder / file).write_text((folder / file).read_text().replace(".", " ."))
    assert "look tokenized" in warnings(*given, *FILES)


def test_an_interrupted_tuning_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tuned()
    saved = (folder / "combo" / "combination.toml").read_text()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("toledo.combination.tuning.Expander.to_order", interrupted)
        result = CliRunner().invoke(
            app, ["combine", "tune", "-r", "ref.en", "--systems", *FILES, "-o", "combo", "-q", "--threads", "1"]
        )
        assert result.exit_code != 0
    assert [file.name for file in (folder / "combo.tuning").iterdir()] == ["entropy-1"]
    (folder / "combo.tuning" / "notes").write_text("of somebody else")
    assert "resume" in refusal("tune", "-r", "ref.en", "--systems", *FILES, "-o", "combo", "-q")
    assert "resume" in refusal("tune", "-r", "ref.en", "--entropy", 3, "--systems", *FILES, "-o", "combo", "-q")
    assert tuned("--resume") == whole
    assert [file.name for file in (folder / "combo.tuning").iterdir()] == ["notes"]
    assert (folder / "combo" / "combination.toml").read_text() == saved
