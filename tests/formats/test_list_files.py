"""Lists as services and tools write them: each format is made here after its documentation, and read."""

import gzip
import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import fail, run, succeed

import toledo
from toledo.errors import InputError
from toledo.results import SampleList

CAT, KITTEN, SHORT = "The cat sat on the mat.", "A cat sat on the mat.", "Cats!"
TEXTS = [CAT, KITTEN, SHORT]


def lines(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def chat(texts: list[str | None], logprobs: list[list[float]] | None = None) -> dict[str, object]:
    choices = [
        {
            "index": place,
            "message": {"role": "assistant", "content": text, "refusal": None if text else "I cannot help."},
            "logprobs": None if logprobs is None else {"content": [{"logprob": one} for one in logprobs[place]]},
            "finish_reason": "stop",
        }
        for place, text in enumerate(texts)
    ]
    return {"id": "chatcmpl-7", "object": "chat.completion", "model": "m", "choices": choices}


def batch(name: str, texts: list[str | None]) -> dict[str, object]:
    return {"id": f"batch_{name}", "custom_id": name, "response": {"body": chat(texts)}, "error": None}


def read(folder: Path, name: str, content: str | bytes, **how: object) -> list[SampleList]:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return toledo.read_lists(folder / name, **how)


def texts_of(lists: list[SampleList]) -> list[list[str]]:
    return [[one.text for one in samples] for samples in lists]


RESPONSES = {
    "chat": chat(TEXTS),
    "chat with parts": {"id": "c", "choices": [{"message": {"content": [{"type": "text", "text": t}]}} for t in TEXTS]},
    "completions": {"id": "cmpl-1", "choices": [{"index": i, "text": text} for i, text in enumerate(TEXTS)]},
    "batch": batch("s1", [*TEXTS]),
    "vLLM": {"request_id": "4", "prompt": "p", "outputs": [{"text": text, "token_ids": [1]} for text in TEXTS]},
    "TGI": {
        "generated_text": CAT,
        "details": {"tokens": [], "best_of_sequences": [{"generated_text": text, "tokens": []} for text in TEXTS[1:]]},
    },
    "pipeline": [{"generated_text": text} for text in TEXTS],
    "chat pipeline": [{"generated_text": [{"role": "user", "content": "?"}, {"content": text}]} for text in TEXTS],
    "lm-eval": {"doc_id": 0, "doc": {}, "target": "?", "resps": [TEXTS], "filtered_resps": [CAT]},
    "array": TEXTS,
    "usual names": {"prompt": "?", "completions": TEXTS},
    "objects": {"candidates": [{"translation": text} for text in TEXTS]},
    "own": {"hypotheses": TEXTS},
}


@pytest.mark.parametrize("name", RESPONSES)
def test_responses_as_lines_and_in_documents(tmp_path: Path, name: str) -> None:
    row = RESPONSES[name]
    assert texts_of(read(tmp_path, "x.jsonl", lines(row))) == [TEXTS]
    assert (
        texts_of(read(tmp_path, "y", lines(row, row) if name not in ("batch", "vLLM", "lm-eval") else lines(row)))[0]
        == TEXTS
    )
    for indent in (None, 2):
        assert texts_of(read(tmp_path, "x.json", json.dumps([row], indent=indent))) == [TEXTS]
    assert texts_of(read(tmp_path, "x.jsonl.gz", gzip.compress(lines(row).encode()))) == [TEXTS]
    assert succeed("choose", tmp_path / "x.jsonl") == f"{CAT}\n"
    assert toledo.choose_many([row]).texts == [CAT]


ONE_SAMPLE = {
    "responses": {
        "id": "resp_1",
        "object": "response",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": "The cat "}, {"text": "sat."}]},
        ],
    },
    "Anthropic": {"id": "msg_1", "role": "assistant", "content": [{"type": "text", "text": "The cat sat."}]},
    "Anthropic batch": {
        "custom_id": "s1",
        "result": {
            "type": "succeeded",
            "message": {"content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "The cat sat."}]},
        },
    },
    "TGI in an array": [{"generated_text": "The cat sat.", "details": {"tokens": []}}],
}


@pytest.mark.parametrize("name", ONE_SAMPLE)
def test_responses_with_one_sample(tmp_path: Path, name: str) -> None:
    assert texts_of(read(tmp_path, "x.jsonl", lines(ONE_SAMPLE[name]))) == [["The cat sat."]]
    finished = run("choose", tmp_path / "x.jsonl")
    assert finished.stdout == "The cat sat.\n"
    assert "nothing to choose from" in finished.stderr


LOGPROBS = {
    "chat": (chat(["a", "b"], [[-1.0, -2.0], [-4.0]]), [-3.0, -4.0], [-1.5, -4.0]),
    "completions": (
        {"choices": [{"text": "a", "logprobs": {"token_logprobs": [None, -1.0, -2.0]}}]},
        [-3.0],
        [-1.5],
    ),
    "vLLM": ({"outputs": [{"text": "a", "cumulative_logprob": -6.0, "token_ids": [5, 6, 7]}]}, [-6.0], [-2.0]),
    "TGI": (
        {
            "generated_text": "a",
            "details": {
                "tokens": [{"logprob": -1.0}, {"logprob": -1.0}],
                "best_of_sequences": [{"generated_text": "b", "tokens": [{"logprob": -3.0}]}],
            },
        },
        [-2.0, -3.0],
        [-1.0, -3.0],
    ),
    "own": (
        {"hypotheses": [{"text": "a", "logprobs": [-1, -3]}, {"text": "b", "logprob": -9, "num_tokens": 3}]},
        [-4.0, -9.0],
        [-2.0, -3.0],
    ),
    "lists": ({"texts": ["a", "b"], "logprobs": [[-1, -3], [-8]]}, [-4.0, -8.0], [-2.0, -8.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", LOGPROBS)
def test_log_probabilities(tmp_path: Path, name: str) -> None:
    row, sums, means = LOGPROBS[name]
    (samples,) = read(tmp_path, "x.jsonl", lines(row))
    assert [one.logprob for one in samples] == sums
    assert [one.logprob / one.num_tokens for one in samples] == means
    for kind, values in (("sum", sums), ("mean", means)):
        ranking = json.loads(succeed("choose", tmp_path / "x.jsonl", "--logprobs", kind, "--json"))["ranking"]
        shares = {one["index"]: one["probability"] for one in ranking}
        weights = [math.exp(value) for value in values]
        assert [shares[place] for place in range(len(values))] == pytest.approx(
            [w / sum(weights) for w in weights], abs=1e-6
        )


def test_log_probabilities_in_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "hyps.txt").write_text("a b\na c\nx\ny\n")
    (tmp_path / "lprobs.txt").write_text("-1\n-2\n-3\n-1\n")
    options = (
        "choose",
        tmp_path / "hyps.txt",
        "-n",
        2,
        "--logprobs",
        tmp_path / "lprobs.txt",
        "--rule",
        "max-translation",
    )
    assert succeed(*options).splitlines() == ["a b", "y"]
    (tmp_path / "lprobs.txt").write_text("-1\n-2\n-3\n")
    assert "lprobs.txt: ends at segment 1" in fail(*options)
    (tmp_path / "lprobs.txt").write_text("-1\n-2\n-3\nlow\n")
    assert "lprobs.txt:4: 'low' is not a number" in fail(*options)
    assert "no number of tokens" in fail(
        "choose", "--logprobs", "mean", input='{"hypotheses": [{"text": "a", "logprob": -1}]}\n'
    )


def test_ids_and_other_keys_are_handed_through(tmp_path: Path) -> None:
    row = {
        "id": "s/7",
        "hypotheses": ["a\nb", "a\nb", "c"],
        "scores": [-1, -1, -2],
        "lang": "de",
        "tags": [1, {"x": 2}],
    }
    (samples,) = read(tmp_path, "x.jsonl", lines(row))
    assert (samples.id, [one.score for one in samples]) == ("s/7", [-1.0, -1.0, -2.0])
    found = json.loads(succeed("choose", tmp_path / "x.jsonl", "--json"))
    assert (found["id"], found["extra"], found["text"]) == ("s/7", {"lang": "de", "tags": [1, {"x": 2}]}, "a\nb")
    choice = toledo.choose_many([row])[0]
    assert (choice.id, choice.extra) == ("s/7", {"lang": "de", "tags": [1, {"x": 2}]})
    assert toledo.choose_many([row]).rows_as_dicts()[0]["id"] == "s/7"


def test_failures_are_left_out_and_named_once(tmp_path: Path) -> None:
    rows = [
        batch("s1", ["a b", None, "a b", "x"]),
        {"custom_id": "s2", "response": None, "error": {"code": "expired", "message": "the batch expired"}},
        {
            "custom_id": "s3",
            "response": {"status_code": 400, "body": {"error": {"message": "bad request"}}},
            "error": None,
        },
        {"custom_id": "s4", "response": {"body": {"choices": []}}, "error": None},
        {"custom_id": "s5", "result": {"type": "errored", "error": {"error": {"message": "overloaded"}}}},
        {"custom_id": "s6", "result": {"type": "canceled"}},
    ]
    (tmp_path / "x.jsonl").write_text(lines(*rows))
    finished = run("choose", tmp_path / "x.jsonl")
    assert finished.stdout.splitlines() == ["a b", "", "", "", "", ""]
    expected = "6: s1 (I cannot help.), s2 (the batch expired), s3 (bad request), s4 (no samples), s5 (overloaded), …"
    assert finished.stderr.count("left out") == 1
    assert expected in finished.stderr
    assert "x.jsonl:1: s1: I cannot help." in fail("choose", tmp_path / "x.jsonl", "--strict")
    found = json.loads(succeed("choose", tmp_path / "x.jsonl", "--json").splitlines()[0])
    assert sorted(one["index"] for one in found["ranking"]) == [0, 3]  # places in the response
    assert toledo.choose_many([[{"generated_text": None}, {"generated_text": "b"}]])[0].index == 1
    nulls = lines({"hypotheses": ["a b", None, "a b"]}, {"hypotheses": ["a", "b", "b"], "scores": [-1, None, -3]})
    finished = run("choose", input=nulls)
    assert finished.stdout.splitlines() == ["a b", "a"]
    assert "2: line 1 (no text), line 2 (no score)" in finished.stderr
    assert "no row has a text" in fail("choose", input=lines(chat([None]), {"error": {"message": "rate limit"}}))


def test_batches_are_put_in_the_order_of_their_requests(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text(lines(batch("s2", ["b"] * 2), batch("s1", ["a"] * 2)))
    (tmp_path / "in.jsonl").write_text(lines(*({"custom_id": f"s{n}", "url": "/v1"} for n in (1, 2, 3))))
    assert succeed("choose", tmp_path / "out.jsonl").splitlines() == ["b", "a"]
    finished = run("choose", tmp_path / "out.jsonl", "--requests", tmp_path / "in.jsonl")
    assert finished.stdout.splitlines() == ["a", "b", ""]
    assert "out.jsonl: 1 segments are missing: s3" in finished.stderr
    (tmp_path / "ids.txt").write_text("s1\ns2\n")
    found = toledo.read_lists(tmp_path / "out.jsonl", requests=tmp_path / "ids.txt")
    assert [samples.id for samples in found] == ["s1", "s2"]
    (tmp_path / "ids.txt").write_text("s1\n")
    assert "'s2' is not among the requests" in fail(
        "choose", tmp_path / "out.jsonl", "--requests", tmp_path / "ids.txt"
    )
    (tmp_path / "ids.txt").write_text("s1\ns2\ns1\n")
    assert "'s1' occurs twice" in fail("choose", tmp_path / "out.jsonl", "--requests", tmp_path / "ids.txt")
    (tmp_path / "chat.jsonl").write_text(lines(chat(["a"])))
    assert "no ids" in fail("choose", tmp_path / "chat.jsonl", "--requests", tmp_path / "in.jsonl")
    assert "'s1' occurs twice" in fail("choose", input=lines(batch("s1", ["a"]), batch("s1", ["b"])))


def test_batches_of_several_models_are_joined_by_id(tmp_path: Path) -> None:
    (tmp_path / "A.jsonl").write_text(lines(batch("s1", ["a b"]), batch("s2", ["c d"])))
    (tmp_path / "B.jsonl").write_text(lines(batch("s2", ["c d", "c d"]), batch("s1", ["x y", "x y"])))
    finished = run("choose", tmp_path / "A.jsonl", f"beta={tmp_path / 'B.jsonl'}", "--json")
    found = [json.loads(line) for line in finished.stdout.splitlines()]
    assert [(one["id"], one["text"], one["system"]) for one in found] == [("s1", "x y", "B"), ("s2", "c d", "A")]
    assert "chosen: B 1, A 1" in finished.stderr


def test_fairseq_logs_are_put_in_order(tmp_path: Path) -> None:
    log = (
        "2024-01-01 | INFO | fairseq | loading\nS-1\tquelle\nT-1\tgoal\n"
        "H-1\t-0.5\tx y .\nD-1\t-0.5\tx y.\nP-1\t-0.5 -0.5\nS-0\tkatze\n"
        "H-0\t-0.25\tthe cat .\nD-0\t-0.25\tthe cat.\nP-0\t-1 -2\n"
        "H-0\t-0.75\ta cat .\nD-0\t-0.75\ta cat.\nP-0\t-1\n"
    )
    lists = read(tmp_path, "generate-test.txt", log)
    assert texts_of(lists) == [["the cat.", "a cat."], ["x y."]]
    assert [one.score for one in lists[0]] == [-0.25, -0.75]
    assert lists[0][0].logprob == pytest.approx(-3 * math.log(2))
    assert lists[0][0].num_tokens == 2
    raw = "".join(line + "\n" for line in log.splitlines() if line[0] != "D")
    assert texts_of(read(tmp_path, "raw", raw)) == [["the cat .", "a cat ."], ["x y ."]]
    assert succeed("choose", tmp_path / "raw", tmp_path / "raw").splitlines()[1] == "x y ."
    with pytest.raises(InputError, match="no hypotheses"):
        read(tmp_path, "sources", "S-0\ta\nT-0\tb\n")
    with pytest.raises(InputError, match="'high' is not a number") as caught:
        read(tmp_path, "bad", "H-0\t-1\ta\nH-1\thigh\tb\n")
    assert caught.value.line == 2


def test_mbrs_output(tmp_path: Path) -> None:
    rows = [
        {"rank": rank, "sentence": text, "selected_idx": 3, "expected_score": score}
        for rank, text, score in [(0, "a", 9.0), (1, "b", 8.0), (0, "c", 7.0)]
    ]
    lists = read(tmp_path, "x.jsonl", lines(*rows))
    assert texts_of(lists) == [["a", "b"], ["c"]]
    assert lists[0][1].score == 8.0


def test_comet_document_has_systems(tmp_path: Path) -> None:
    document = {
        name: [{"src": "s", "mt": text, "ref": "r", "COMET": score}] * 2
        for name, text, score in [("A.en", CAT, 0.9), ("B.en", KITTEN, 0.8), ("C.en", SHORT, 0.1)]
    }
    lists = read(tmp_path, "comet.json", json.dumps(document, indent=4))
    assert texts_of(lists) == [TEXTS, TEXTS]
    assert [(one.system, one.score) for one in lists[1]] == [("A.en", 0.9), ("B.en", 0.8), ("C.en", 0.1)]
    finished = run("choose", tmp_path / "comet.json", "--json")
    assert json.loads(finished.stdout.splitlines()[0])["system"] == "A.en"
    assert "chosen: A.en 2" in finished.stderr
    document["A.en"] = document["A.en"][:1]
    (tmp_path / "comet.json").write_text(json.dumps(document))
    assert "different numbers of segments (A.en: 1, B.en: 2" in fail("choose", tmp_path / "comet.json")


def test_tables_with_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('src,mt,ref,COMET\ns,"The cat, sat\ndown.",r,0.9\nt,x,r,0.5\n')
    (tmp_path / "b.csv").write_text("src,mt,ref,COMET\ns,The cat sat.,r,0.8\nt,x y,r,0.7\n")
    lists = toledo.read_lists(tmp_path / "a.csv")
    assert texts_of(lists) == [["The cat, sat\ndown."], ["x"]]
    assert (lists[0][0].score, dict(lists[0].extra)) == (0.9, {"src": "s", "ref": "r"})
    found = [
        json.loads(line) for line in succeed("choose", tmp_path / "a.csv", tmp_path / "b.csv", "--json").splitlines()
    ]
    assert [one["system"] for one in found] == ["a", "b"]
    (tmp_path / "c.csv").write_text("id,text\nq1,a b\nq2,c\nq1,a b\nq1,z\n")  # rows of a segment need not be together
    assert texts_of(toledo.read_lists(tmp_path / "c.csv")) == [["a b", "a b", "z"], ["c"]]
    (tmp_path / "d.tsv").write_text(f"src\tone\ttwo\tthree\nk\t{CAT}\t{KITTEN}\t{SHORT}\n")
    systems = [f"--field=text={name}" for name in ("one", "two", "three")]
    found = json.loads(succeed("choose", tmp_path / "d.tsv", *systems, "--field=id=src", "--json"))
    assert (found["text"], found["system"], found["id"]) == (CAT, "one", "k")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("a,b\n1,2\n", 2, "no text in a row with the keys a, b"),
        ("id,text\n1\n", 2, "1 cells for 2 columns"),
        ('id,text\n1,"a\n', 2, "not a table"),
        ('id,text\n1,"a" b\n', 2, "not a table"),
        ("id,id\n1,2\n", 1, "two columns have the same name"),
        ("text,score\na,high\n", 2, "'high' is not a number"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, content: str, line: int, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, "x.csv", content)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "x.csv"), line)
    assert caught.value.remedy


def test_fields_are_keys_or_paths(tmp_path: Path) -> None:
    row = {
        "key": 4,
        "candidates": [
            {"content": {"parts": [{"text": "a "}, {"text": "b"}]}, "avg": -1.5},
            {"content": {}, "avg": -1},
        ],
    }
    how = {"text": "candidates[].content.parts[].text", "score": "candidates[].avg", "id": "key"}
    (samples,) = read(tmp_path, "x.jsonl", lines(row), fields=how)
    assert ([(one.text, one.score) for one in samples], samples.id) == ([("a b", -1.5)], 4)
    with pytest.raises(InputError, match="no field 'texts'"):
        toledo.read_lists(tmp_path / "x.jsonl", fields={"texts": "a"})
    assert "'text' is not NAME=KEY" in fail("choose", tmp_path / "x.jsonl", "--field", "text")
    (tmp_path / "x.nbest").write_text("0 ||| a\n")
    assert "have no keys" in fail("choose", tmp_path / "x.nbest", "--field", "text=a")


MARKUP = {
    "x.xml": '<?xml version="1.0"?>\n<dataset></dataset>\n',
    "x.html": "<!DOCTYPE html>\n<p>a\n",
    "x.csv": "one,two\n1,2\n",
    "x.json": "not json\n",
    "broken.json": '[\n  "a",\n  "b"\n',
    "x.parquet": "PAR1\0\0\0\0PAR1",
    "x.arrow": "ARROW1\0\0\0\0",
}


@pytest.mark.parametrize("name", MARKUP)
def test_markup_is_never_taken_for_text(tmp_path: Path, name: str) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}{name}").write_text(MARKUP[name])
    finished = run("choose", tmp_path / f"1{name}", tmp_path / f"2{name}")
    assert finished.exit_code == 2
    assert finished.stdout == ""
    assert "remedy:" in finished.stderr
    assert run("choose", tmp_path / f"1{name}", "-n", 1).exit_code == 2


def test_what_only_begins_like_markup_is_text(tmp_path: Path) -> None:
    for name, text in (("A", "[Applause] Thanks.\nS-Bahn\n"), ("B", "[Applause] Thank you.\nS-Bahn, bus\n")):
        (tmp_path / name).write_text(text)
    finished = run("choose", tmp_path / "A", tmp_path / "B")
    assert finished.stdout.splitlines()[0].startswith("[Applause]")
    assert len(finished.stdout.splitlines()) == 2
    (tmp_path / "C.csv").write_text("text,score\na,b\n")
    assert succeed("choose", tmp_path / "C.csv", "-n", 2, "--format", "text") in ("text,score\n", "a,b\n")


def test_large_or_deep_documents_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for content in ("[" * 200_000, '{"a":' * 200_000, '{"hypotheses": ' + "[" * 100_000 + "]" * 100_000 + "}"):
        with pytest.raises(InputError, match="not valid JSON"):
            read(tmp_path, "x.json", content)
    monkeypatch.setattr("toledo.formats.rows.MOST_BYTES", 10)
    with pytest.raises(InputError, match="a JSON document of more than 10 characters"):
        read(tmp_path, "x.json", '[\n"0123456789"\n]')


ODD_ROWS = {
    "an id that is an object": ({"custom_id": {}, "response": {"body": chat(["a"])}}, "the id is {}"),
    "log probabilities that are words": (
        {"choices": [{"text": "a", "logprobs": {"token_logprobs": ["x"]}}]},
        "'x' is not a number",
    ),
    "a sample that is a number": ([1, 2], "not a JSON object or array"),
    "an object without a text": ({"data": [1]}, "no text in a row with the keys data"),
    "a sample without a text": ({"samples": [{"a": 1}]}, "no text in a sample with the keys a"),
    "scores of other texts": ({"samples": ["a", "b"], "scores": [1]}, "scores has 1 values for 2 texts"),
    "an infinite score": ({"samples": ["a"], "scores": [1e300]}, "is not a finite number"),
}


@pytest.mark.parametrize("name", ODD_ROWS)
def test_odd_rows_are_refused_with_their_line(tmp_path: Path, name: str) -> None:
    row, message = ODD_ROWS[name]
    with pytest.raises(InputError) as caught:
        read(tmp_path, "x.jsonl", lines(row))
    assert message in str(caught.value)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "x.jsonl"), 1)
    assert caught.value.remedy


def test_mt_metrics_eval_folders(tmp_path: Path) -> None:
    outputs, references = tmp_path / "wmt/system-outputs/en-de", tmp_path / "wmt/references"
    outputs.mkdir(parents=True)
    references.mkdir()
    for name, text in (("A", KITTEN), ("B", SHORT), ("C", CAT), ("refA", "Another text!")):
        (outputs / f"{name}.txt").write_text(f"{text}\n")
    (references / "en-de.refA.txt").write_text("Another text!\n")
    for given in ([tmp_path / "wmt"], [outputs], sorted(outputs.iterdir())):
        finished = run("choose", *given, "--json")
        found = json.loads(finished.stdout)
        assert {one["index"] for one in found["ranking"]} == {0, 1, 2}
        assert "references do not vote: refA" in finished.stderr
        assert f"chosen: {found['system']} 1" in finished.stderr
    (tmp_path / "wmt/system-outputs/de-en").mkdir()
    assert "name one of its folders: de-en, en-de" in fail("choose", tmp_path / "wmt")


def test_records_of_packages() -> None:
    samples = [SimpleNamespace(text=text, cumulative_logprob=-2.0, token_ids=[1, 2]) for text in TEXTS]
    choices = toledo.choose_many([SimpleNamespace(request_id="9", outputs=samples)], logprobs="mean")
    assert (choices.texts, choices[0].id) == ([CAT], "9")
    with pytest.raises(InputError, match=r"lists\[1\]: no text in a row with the keys a"):
        toledo.choose_many([{"hypotheses": ["a"]}, {"a": 1}])
