"""`toledo combine` from the outside: raw and tokenized text, systems that are missing or silent."""

import json
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import fail, run, succeed

from toledo.combination.combiner import Combiner
from toledo.combination.language_models import BIASES
from toledo.combination.tuning import Expander

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
    return succeed("combine", *arguments)


def refusal(*arguments: object, code: int = 2) -> str:
    message = fail("combine", *arguments, code=code)
    assert "remedy" in message
    return message


def tuned(*options: object, systems: list[str] = FILES) -> dict:
    given = ("-r", "ref.en", "--systems", *systems, "-o", "combo", "--json", "-q", "--threads", 1)
    return json.loads(combine("tune", *options, *given))["result"]


def test_raw_text_in_raw_text_out(folder: Path) -> None:
    result = tuned()
    assert [*result["shares"]] == ["A", "B", "C"]
    assert sum(result["shares"].values()) == pytest.approx(1.0)
    assert result["bleu"]["combination"] > max(result["bleu"][name] for name in SYSTEMS)
    assert not (folder / "combo" / "run").exists()
    lines = combine("run", "combo", "--systems", *FILES, "-q").splitlines()
    assert len(lines) == len(REFERENCE)
    assert lines[2] == "We saw the old man in Paris."
    assert all(line[0].isupper() and line[-1] in ".?" and line[-2] != " " for line in lines)
    again = combine("run", "combo", "--systems", *reversed(FILES), "-q", "--threads", 2).splitlines()
    assert again == lines  # systems are known by name
    for rule in ("mbr", "consensus", "lattice-mbr", "max-translation"):
        assert len(combine("run", "combo", "--rule", rule, "--systems", *FILES, "-q").splitlines()) == len(lines)


def test_tokenized_text_stays_as_it_is(folder: Path) -> None:
    for file in (*FILES, "ref.en"):
        path = folder / file
        path.write_text(path.read_text().replace(".", " .").lower())
    tuned("--tokenized", "--bias", 0, "--lm-text", "ref.en", "--lm-order", 3)
    assert Combiner.load("combo").model is not None
    lines = combine("run", "combo", "--systems", *FILES, "-q").splitlines()
    assert lines[2] == "we saw the old man in paris ."


def test_systems_that_are_missing_or_silent(folder: Path) -> None:
    tuned()
    result = run("combine", "run", "combo", "--systems", *FILES[:2])
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


def test_bleu_chooses_the_weight_of_the_model_of_the_outputs(folder: Path) -> None:
    given = ("--lm-text", "other.en", "--lm-order", 2, "--entropy", 1)
    (folder / "other.en").write_text("The mat sat.\nShe said small euros.\nA dog likes the old car.\n")
    single = {bias: tuned("--bias", bias, *given)["bleu"]["combination"] for bias in BIASES}
    found = tuned("--bias-by", "bleu", *given)
    assert found["bias"] == max(BIASES, key=single.__getitem__)
    assert found["bleu"]["combination"] == max(single.values())
    assert not (folder / "combo" / "run").exists()
    lines = combine("run", "combo", "--systems", *FILES, "-q").splitlines()
    tuned("--bias", found["bias"], *given)
    assert combine("run", "combo", "--systems", *FILES, "-q").splitlines() == lines


def test_synonyms_are_read_from_a_file_and_kept(folder: Path) -> None:
    (folder / "synonyms.txt").write_text("small, little\ncar auto\n")
    tuned("--synonyms", "synonyms.txt")
    (folder / "synonyms.txt").unlink()
    synonyms = Combiner.load("combo").synonyms
    assert synonyms is not None
    assert synonyms.of("small") & synonyms.of("little")
    assert len(combine("run", "combo", "--systems", *FILES, "-q").splitlines()) == len(REFERENCE)
    given = ("tune", "-r", "ref.en", "--systems", *FILES, "-o", "other", "-q", "--synonyms")
    assert "no such file" in refusal(*given, "missing.txt").lower()
    (folder / "synonyms.txt").write_text("small, little\ncar\n")
    assert "synonyms.txt:2" in refusal(*given, "synonyms.txt")


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
    given = (*given, "--sample", 0)
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
    assert "short.en has 4 lines" in refusal("tune", "-r", "short.en", "--systems", *FILES, *to)
    assert "short.en has 4 lines" in refusal("tune", "-r", "ref.en", "--source", "short.en", "--systems", *FILES, *to)
    assert "no reference to tune for" in refusal("tune", "--systems", *FILES, *to)
    assert "two systems or more" in refusal("tune", "-r", "ref.en", "--systems", FILES[0], *to)
    assert "name A" in refusal("tune", "-r", "ref.en", "--systems", *FILES, "A.en", *to)
    assert "no system" in refusal("tune", "-r", "ref.en", *to)
    assert "missing/*.en: no such file" in refusal("tune", "-r", "ref.en", "--systems", "missing/*.en", *to)
    assert "only once" in refusal("tune", "-r", "ref.en", "--systems", "A=-", "B=-", *to)
    assert "called combination" in refusal("tune", "-r", "ref.en", "--systems", *FILES, "combination=sys.A.en", *to)
    (folder / "empty.en").write_text("\n" * len(REFERENCE))
    assert "the references are empty" in refusal("tune", "-r", "empty.en", "--systems", *FILES, *to)
    assert "the outputs are empty" in refusal("tune", "-r", "ref.en", "--systems", "empty.en", "A=empty.en", *to)
    (folder / "odd.en").write_text("a </s>\n" * len(REFERENCE))
    assert "word </s>" in refusal("tune", "--tokenized", "-r", "ref.en", "--systems", *FILES, "odd.en", *to)
    for language in ("english", ""):
        assert "no language" in refusal("tune", "-r", "ref.en", "--language", language, "--systems", *FILES, *to)
    assert "nonsense" in refusal("tune", "-r", "ref.en", "--feature", "nonsense", "--systems", *FILES, *to)
    tuned()
    assert "'E' was not tuned with (A, B, C)" in refusal("run", "combo", "--systems", *FILES, "E=short.en")
    assert "ref.en" in refusal("run", "ref.en", "--systems", *FILES)
    assert "the output is also an input" in refusal("run", "combo", "--systems", *FILES, "-o", FILES[1])
    assert "has no scale" in refusal("run", "combo", "--systems", *FILES, "--rule", "viterbi", "--scale", 2)
    assert "cannot be tuned on lattices" in refusal("tune", "-r", "ref.en", "--metric", "ter", "--systems", *FILES, *to)
    assert "has no metric" in refusal("run", "combo", "--systems", *FILES, "--rule", "consensus", "--metric", "ter")
    assert "--objective" in fail(
        "combine", "tune", "--method", "lattice-bleu", "-r", "ref.en", "--systems", *FILES, *to
    )


def warnings(*arguments: object) -> str:
    result = run("combine", *arguments)
    assert result.exit_code == 0, result.output
    return result.stderr


def test_what_looks_like_a_mistake_is_told(folder: Path) -> None:
    given = ("tune", "-r", "ref.en", "-o", "combo", "--entropy", 1, "--systems")
    told = warnings(*given, *FILES)
    assert "combo is ready" in told
    assert "tokenized" not in told
    assert "R has a BLEU of 100.0" in warnings(*given, *FILES, "R=ref.en")
    assert "nothing to continue" in warnings(*given, *FILES, "--resume")
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
        with pytest.raises(KeyboardInterrupt):
            run("combine", "tune", "-r", "ref.en", "--systems", *FILES, "-o", "combo", "-q", "--threads", "1")
    assert [file.name for file in (folder / "combo" / "run").iterdir()] == ["entropy-3-bias-1"]
    given = ("-r", "ref.en", "--systems", *FILES, "-o", "combo", "-q")
    assert "--resume" in refusal("tune", *given, code=3)
    assert "--resume" in refusal("tune", "--entropy", 1, *given, code=3)
    assert "l2 was 0.0001, is 0.5" in refusal("tune", "--l2", 0.5, "--resume", *given, code=3)
    assert tuned("--resume") == whole
    assert not (folder / "combo" / "run").exists()
    assert (folder / "combo" / "combination.toml").read_text() == saved


def test_reasons_are_printed(folder: Path) -> None:
    tuned()
    text = combine("show", "combo", "--segment", 2, "--systems", *FILES, "-q")
    assert text.startswith("Segment 2: We saw the old man in Paris.")
    assert "95% interval" in text
    found = json.loads(combine("show", "combo", "--segment", 2, "--systems", *FILES, "-q", "--json"))["result"]
    assert found["segments"][0]["result"]["words"][-2]["systems"] == ["A", "B", "C"]
    assert [one["name"] for one in found["systems"]] == [*SYSTEMS]


@contextmanager
def piped(path: Path, text: str) -> Iterator[None]:
    """Write a text to a named pipe as soon as somebody reads it."""
    writer = threading.Thread(target=lambda: path.write_text(text), daemon=True)
    writer.start()
    yield
    writer.join(timeout=60)


def test_outputs_may_be_pipes_and_models_are_silent(folder: Path) -> None:
    tuned()
    expected = combine("run", "combo", "--systems", *FILES, "-q")
    os.mkfifo(folder / "pipe")
    with piped(folder / "pipe", (folder / FILES[0]).read_text()):
        result = run("combine", "run", "combo", "--systems", "A=pipe", *FILES[1:], "--window", 100)
    assert result.stdout == expected
    assert result.stderr == ""
    with piped(folder / "pipe", '{"text": "a"}\n' * len(REFERENCE)):
        assert "lists cannot be read from a pipe" in refusal("run", "combo", "--systems", "A=pipe", *FILES[1:])
    told = run("combine", "run", "combo", "--systems", *FILES, "-v").stderr
    assert "discounts" in told
    assert "at least 1" in refusal("run", "combo", "--systems", *FILES, "--window", 0)


def test_json_names_the_systems_that_vote_for_each_word() -> None:
    tuned()
    rows = [json.loads(line) for line in combine("run", "combo", "--systems", *FILES, "-q", "--json").splitlines()]
    texts = combine("run", "combo", "--systems", *FILES, "-q").splitlines()
    assert [row["text"] for row in rows] == texts
    assert [row["segment"] for row in rows] == list(range(len(REFERENCE)))
    votes = dict(rows[2]["votes"])
    assert votes["paris"] == ["A", "B", "C"]
    assert votes["in"] == ["A", "C"]


def test_a_configuration_repeats_the_run(folder: Path) -> None:
    given = ("-r", "ref.en", "--systems", *FILES, "--entropy", 1, "--feature", "support.1")
    (folder / "run.toml").write_text(combine("tune", *given, "-o", "combo", "--print-config"))
    repeated = json.loads(combine("tune", "--config", "run.toml", "-q", "--json"))["result"]
    assert "support.1" in repeated["weights"]
    assert repeated == tuned("--entropy", 1, "--feature", "support.1")
