"""`toledo choose` from the outside."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import fail, run, succeed

CATS = ["The cat sat on the mat.", "A cat sat on the mat.", "The cat is sitting on a mat.", "Cats!"]
TRAINS = ["He waited an hour for the train.", "He waited one hour for the train.", "Trains wait."]
JSONL = "".join(json.dumps({"hypotheses": texts}) + "\n" for texts in (CATS, TRAINS))
NBEST = "0 ||| a b c ||| lm= -1 ||| -1\n0 ||| a b d ||| lm= -2 ||| -9\n0 ||| x y ||| lm= -3 ||| -9\n"


def test_samples_of_one_system() -> None:
    assert succeed("choose", input=JSONL).splitlines() == [CATS[0], TRAINS[1]]
    plain = "".join(f"{line}\n" for line in CATS)
    assert succeed("choose", "-", "-n", 4, input=plain).splitlines() == [CATS[0]]


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_metrics(metric: str) -> None:
    assert succeed("choose", "--metric", metric, input=JSONL).splitlines()[0] in CATS


@pytest.mark.parametrize(
    "rule", ["viterbi", "max-translation", "mbr:size=2", "consensus", "forest-consensus", "lattice-mbr:precision=0.8"]
)
def test_every_rule(rule: str) -> None:
    assert succeed("choose", "--rule", rule, input=NBEST).strip() in ("a b c", "a b d", "x y")


@pytest.mark.parametrize(
    "options",
    [
        ("--aggregate",),
        ("--prune", 0.9),
        ("--budget", 8),
        ("--rule", "elimination-mbr:proxy=bleu"),
        ("--rule", "rerank:feature=lm"),
    ],
)
def test_rules_with_fewer_calls(options: tuple[object, ...]) -> None:
    assert succeed("choose", *options, input=NBEST).strip() in ("a b c", "a b d")


def test_rules_that_narrow() -> None:
    """The last text has the lowest feature; among the others MBR decides."""
    lines = "".join(
        f"0 ||| {text} ||| judge= {value} ||| 0\n" for text, value in (("x y", 3), ("a b c", 2), ("a b", 1))
    )
    assert succeed("choose", "--metric", "bleu", input=lines).strip() == "a b"
    narrowed = ("--rule", "rerank:feature=judge,keep=2", "--rule", "mbr:metric=bleu")
    assert succeed("choose", *narrowed, input=lines).strip() == "x y"


def test_paid_calls_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "paid.py").write_text(
        "from pathlib import Path\n\n"
        "def judge(hypotheses, references, sources):\n"
        "    with Path('calls').open('a') as log:\n"
        "        log.write('x' * len(hypotheses))\n"
        "    return [-abs(len(h) - len(r)) for h, r in zip(hypotheses, references)]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    options = ("--metric", "paid:judge", "--cache", "scores.sqlite", "--json")
    first = json.loads(succeed("choose", *options, input=JSONL).splitlines()[0])
    again = json.loads(succeed("choose", *options, input=JSONL).splitlines()[0])
    assert first == again
    assert (first["num_calls"], len(Path("calls").read_text())) == (16, 16 + 9)


def test_outputs_of_several_systems(tmp_path: Path) -> None:
    files = []
    for number, line in enumerate(CATS[:3]):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_text(f"{line}\n")
    assert succeed("choose", *files).strip() == CATS[0]


def test_scores_and_scale() -> None:
    assert succeed("choose", "--rule", "max-translation", input=NBEST).strip() == "a b c"
    shares = [
        json.loads(succeed("choose", *options, "--json", input=NBEST))["ranking"][0]["probability"]
        for options in ([], ["--uniform"], ["--scale", 0.1])
    ]
    assert shares[1] == pytest.approx(1 / 3, abs=1e-6)
    assert shares[1] < shares[2] < shares[0]


def test_log_probabilities() -> None:
    texts = [{"text": "a b", "logprob": -1.0}, {"text": "a c", "logprob": -3.0}, {"text": "x", "logprob": -9}]
    out = succeed("choose", "--logprobs", "sum", "--json", input=json.dumps({"hypotheses": texts}) + "\n")
    ranking = {one["text"]: one["probability"] for one in json.loads(out)["ranking"]}
    assert ranking["a c"] / ranking["a b"] == pytest.approx(math.exp(-2.0), abs=1e-5)


def test_features_and_their_weights(tmp_path: Path) -> None:
    (tmp_path / "weights.toml").write_text('[weights]\n"lm" = -10.0\n')
    options = ("--feature-weights", tmp_path / "weights.toml", "--rule", "viterbi")
    assert succeed("choose", *options, input=NBEST).strip() == "x y"


def test_references_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "human.txt").write_text("Cats!\n")
    out = succeed("choose", "-r", tmp_path / "human.txt", "--num-references", 1, input=JSONL.splitlines()[0] + "\n")
    assert out.strip() == "Cats!"


def test_rankings_and_json() -> None:
    lines = succeed("choose", "--nbest", 2, input=JSONL).splitlines()
    assert [line.split(" ||| ")[0] for line in lines] == ["0", "0", "1", "1"]
    assert lines[0].split(" ||| ")[1] == CATS[0]
    first = json.loads(succeed("choose", "--json", input=JSONL).splitlines()[0])
    assert first["text"] == CATS[0]
    assert first["score"] == pytest.approx(59.811044)
    assert first["confidence"] == pytest.approx(0.749287)


def test_output_files(tmp_path: Path) -> None:
    (tmp_path / "lists.jsonl").write_text(JSONL)
    succeed("choose", tmp_path / "lists.jsonl", "-o", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text().splitlines()[0] == CATS[0]
    assert "the output is also an input" in fail("choose", tmp_path / "lists.jsonl", "-o", tmp_path / "lists.jsonl")
    assert (tmp_path / "lists.jsonl").read_text() == JSONL


def test_empty_lists_give_empty_lines() -> None:
    finished = run("choose", input='{"hypotheses": []}\n' + JSONL)
    assert finished.exit_code == 0
    assert finished.stdout.splitlines() == ["", CATS[0], TRAINS[1]]


RAW = ["the  old\u00a0house\tis small ", "  the old house is\u3000small", "a\u2028b"]


@pytest.mark.parametrize("text", RAW)
@pytest.mark.parametrize("form", ["text", "strings", "objects", "lines"])
def test_texts_stay_exactly_as_given(text: str, form: str) -> None:
    objects = [{"text": one} for one in (text, text, "x")]
    lines = {
        "text": f"{text}\n{text}\nx\n",
        "strings": json.dumps({"hypotheses": [text, text, "x"]}) + "\n",
        "objects": json.dumps({"hypotheses": objects}) + "\n",
        "lines": "".join(json.dumps({"id": 0, **one}) + "\n" for one in objects),
    }
    options = ["-n", "3"] if form == "text" else []
    assert succeed("choose", *options, input=lines[form]) == f"{text}\n"


def test_line_ends_inside_a_text_become_blanks() -> None:
    assert succeed("choose", input=json.dumps({"hypotheses": ["a\nb", "a\nb", "x"]}) + "\n") == "a b\n"
    out = succeed("choose", "--json", input=json.dumps({"hypotheses": ["a\nb", "a\nb", "x"]}) + "\n")
    assert json.loads(out)["text"] == "a\nb"


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        (["--rule", "mbrr"], JSONL, "did you mean 'mbr'?"),
        (["--rule", "mbr:sizes=3"], JSONL, "size"),
        (["-n", "3"], "a\nb\nc\nd\n", "multiple of 3"),
        ([], "one\ntwo\n", "how many lines"),
        (["--scale", "0"], JSONL, "scale"),
        (["--logprobs", "sum"], JSONL, "log probability"),
        ([], "", "empty"),
    ],
)
def test_bad_input(options: list[str], text: str, message: str) -> None:
    assert message in fail("choose", *options, input=text)


def test_on_a_pipe_each_line_is_answered_at_once() -> None:
    command = [sys.executable, "-m", "toledo", "choose", "--metric", "bleu", "--threads", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(json.dumps({"hypotheses": [f"a {number}", f"a {number}", "b"]}).encode() + b"\n")
            assert process.stdout.readline() == f"a {number}\n".encode()  # and only now the next line is written
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


def test_markup_has_no_votes(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "ref.txt"):
        (tmp_path / name).write_text("src,mt\ns,t\n")
    told = fail("tune-votes", tmp_path / "a.csv", tmp_path / "b.csv", "-r", tmp_path / "ref.txt", "-o", tmp_path / "v")
    assert "plain texts of several systems" in told
