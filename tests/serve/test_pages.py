"""Pages draw what the API answers: the same numbers, for the same requests; and what is wrong is a part of the page."""

import json
import re
from html import unescape
from typing import Any

import pytest
from small_server import SENTENCE, V1, Client

from toledo.serve.pages.asked import ViewRequest
from toledo.serve.pages.routes import PAGES, SCRIPTS, STYLES
from toledo.view.tables import fixed, shown

SAMPLES = ["the cat sat on the mat", "a cat sat on the mat", "the cat sits on a mat", "dogs"]
OUTPUTS = {
    "one": ["the cat sat .", "a dog ."],
    "two": ["a cat sat .", "a dog barks ."],
    "three": ["the cat .", "a dog ."],
}
REFERENCE = ["the cat sat .", "a dog barks ."]
HOSTILE = '"><script>alert(1)</script>'


def view(client: Client, page: str, **asked: Any) -> str:
    found = client.post(f"/view/{page}", asked)
    assert found.status == 200, found.body
    return found.body.decode()


def plain(markup: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", markup)).split())


def files(texts: dict[str, list[str]]) -> list[dict[str, str]]:
    return [{"name": name, "text": "".join(f"{line}\n" for line in lines)} for name, lines in texts.items()]


def part(html: str, place: str) -> str:
    """The part of an answer with an id, up to the next one at the top."""
    found = re.search(rf'<(section|details)[^>]* id="{place}".*?</\1>(?=<section|<details|<p class|$)', html, re.DOTALL)
    assert found, place
    return found[0]


def test_translate_shows_the_numbers_of_the_api(client: Client) -> None:
    asked = {"rules": ["viterbi", "mbr", "consensus", "lattice-mbr"], "nbest": 12, "posteriors": 4, "scale": 0.5}
    power = -0.30102999566398120
    found = client.result("/translate", {"segments": [SENTENCE], **asked})
    html = view(client, "translate", texts={"source": SENTENCE}, choices={"scale": repr(power)})
    segment = found["segments"][0]
    rules, rows = plain(part(html, "rules")), plain(part(html, "nbest"))
    for one in segment["choices"]:
        assert f"{fixed(one['expected'], 1)} p {fixed(one['probability'])}" in rules
        for posteriors in one["posteriors"]:
            assert f"p = {fixed(posteriors[0])}" in html
    for one in segment["nbest"]:
        numbers = (
            f"{fixed(one['expected'], 1)} {fixed(one['probability'], 3)} {fixed(one['score'])} {one['score_rank']}"
        )
        assert numbers in rows
    for name, weight in found["weights"].items():
        assert f'name="weight.{name}"' in html
        assert fixed(weight) in plain(part(html, "weights"))


def test_a_slider_that_moves_is_answered_with_what_it_changes_alone(client: Client) -> None:
    whole = view(client, "translate", texts={"source": SENTENCE})
    kept = dict(one.split("=") for one in re.findall(r'data-kept="(forest[^"]*)"', whole))
    found = view(client, "translate", texts={"source": SENTENCE}, kept=kept, quick=True, choices={"scale": "-0.5"})
    assert re.findall(r'<(?:section|details|p)[^>]* id="([^"]*)"', found) == ["rules", "nbest", "distribution", "why"]
    assert "decided again" in found
    assert "searched" in view(client, "translate", texts={"source": SENTENCE}, kept={".": "f_0"}, quick=True)


def test_choose_shows_the_numbers_of_the_api(client: Client) -> None:
    for metric in ("chrf", "ter", "bleu"):
        found = client.result("/choose", {"segments": [{"hypotheses": SAMPLES}], "metric": metric, "matrix": True})
        html = view(client, "choose", texts={"samples": "\n".join(SAMPLES)}, choices={"metric": metric})
        segment = found["segments"][0]
        for value in segment["expected"]:
            assert fixed(value, 1) in plain(part(html, "ranking"))
        assert f"ahead of the next by {fixed(segment['ahead'])}" in plain(part(html, "choice"))
        titles = re.findall(r"sample (\d) against sample (\d): ([^<]*)", html)
        assert len(titles) == 12
        for i, j, value in titles:
            assert value == fixed(segment["matrix"][int(i) - 1][int(j) - 1], 1)


def test_combine_shows_the_numbers_of_the_api(client: Client) -> None:
    found = client.result("/combine", {"systems": OUTPUTS, "references": REFERENCE, "shares": {"one": 0.5}})
    html = view(client, "combine", files=files({**OUTPUTS, "reference": REFERENCE}), choices={"share.one": "0.5"})
    titles = unescape(" ".join(re.findall("<title>([^<]*)</title>", html)))
    for column in found["segments"][0]["columns"]:
        for arc in column:
            if arc["word"]:
                assert f"{arc['word']}: {arc['votes']:.3f} (" in titles
    for name, share in found["shares"].items():
        assert f"{name} {fixed(share)}" in plain(part(html, "shares"))
    for one in found["scores"]:
        assert fixed(one["score"]) in plain(part(html, "scores"))


def test_compare_shows_the_numbers_of_the_api(client: Client) -> None:
    texts = {name: lines * 20 for name, lines in OUTPUTS.items()}
    job = client.job("/compare", {"systems": texts, "references": [REFERENCE * 20]})
    key = job["result"]["id"]
    for query, choices in (("", {}), ("?query=dog&a=1&b=0", {"query": "dog", "a": "1", "b": "0"})):
        scores = client.get(f"{V1}/compare/{key}/scores{query}").json()
        html = view(client, "compare", kept={"comparison": key}, choices=choices)
        shown_scores = plain(part(html, "scores"))
        for system in scores["systems"]:
            for one in system["scores"]:
                assert fixed(one["score"]) in shown_scores
        assert f"of {scores['total']:,}" in plain(part(html, "segments"))
        grams = client.get(f"{V1}/compare/{key}/plots/grams{query}").json()
        for one in grams["won"][:8]:
            assert f"{one['text']} {one['b']} : {one['a']}" in plain(html)
        rows = client.get(f"{V1}/compare/{key}/segments{query or '?'}&sort=-difference").json()
        for one in rows["segments"]:
            assert f"{fixed(one['difference'], 1, sign=True)} line {one['number'] + 1}" in plain(html)


def test_a_comparison_that_is_no_longer_kept_is_told_by_a_header(client: Client) -> None:
    found = client.post("/view/compare", {"kept": {"comparison": "c_gone"}})
    assert (found.status, found.headers["toledo-status"]) == (200, "410") or found.headers["toledo-status"] == "404"
    assert "alert" in found.body.decode()


def test_documents_show_the_numbers_of_the_api(client: Client) -> None:
    lines = [SENTENCE, SENTENCE]
    request = {"segments": lines, "steps": 500, "seed": 3, "document_models": {"consistency": 1.0}}
    found = client.job("/documents", request)["result"]
    started = view(client, "documents", texts={"document": "\n".join(lines)}, fresh=True,
                   choices={"steps": "500", "seed": "3", "document.consistency": "1"})  # fmt: skip
    job = re.search(r'data-kept="job=([^"]*)"', started)
    assert job
    client.ended(job[1])
    html = view(client, "documents", kept={"job": job[1]})
    for text in found["steps"][-1]["texts"]:
        assert text in plain(part(html, "document"))
    for name, value in found["now"].items():
        assert f"{name} {shown(found['start'][name])} {shown(value)}" in plain(part(html, "models"))


def test_what_is_wrong_is_a_part_of_the_page(client: Client) -> None:
    found = client.post("/view/translate", {"texts": {"source": "word " * 400}})
    assert found.status == 200
    assert found.headers["toledo-status"] == "413"
    assert "400 words" in plain(found.body.decode())
    found = client.post("/view/translate", {"unknown": 1})
    assert found.headers["toledo-status"] == "422"
    assert client.post("/view/nothing", {}).status == 404
    assert client.get("/static/../pages/asked.py").status == 404


@pytest.mark.parametrize("page", PAGES)
def test_pages_survive_any_choice(client: Client, page: str) -> None:
    names = ("segment", "scale", "a", "b", "pair", "metric", "against", "step", "run", "sort", "low", "shortest",
             "term", "posterior", f"weight.{HOSTILE}", f"share.{HOSTILE}", "role.one", HOSTILE)  # fmt: skip
    texts = {"source": HOSTILE, "samples": f"{HOSTILE}\nb", "document": HOSTILE}
    for value in ("", "-1", "1e9", "nan", "0-99", HOSTILE, "\u202e"):
        choices = {name: value for name in names if not (page == "translate" and name.startswith("weight") and value)}
        found = client.post(f"/view/{page}", {"choices": choices, "texts": texts, "files": files(OUTPUTS)})
        assert found.status in (200, 429), found.body
        assert "<script>" not in found.body.decode()
        assert "\u202e" not in found.body.decode()


@pytest.mark.parametrize("page", PAGES)
def test_frames_need_no_other_host_and_hold_no_text(client: Client, page: str) -> None:
    found = client.get(f"/{page}")
    text = found.body.decode()
    assert found.headers["content-security-policy"].startswith("default-src 'none'")
    assert not re.search(r"https?://", text)
    assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", text)
    assert f'data-page="{page}"' in text


def test_style_and_script_of_a_page_are_small(client: Client) -> None:
    sizes = {name: len(client.get(f"/static/{name}").body) for name in (*STYLES, *SCRIPTS)}
    assert sum(sizes[name] for name in STYLES) <= 25 * 1024
    assert sum(sizes[name] for name in SCRIPTS) <= 60 * 1024


def test_scripts_neither_draw_nor_compute_nor_evaluate(client: Client) -> None:
    for name in SCRIPTS:
        text = client.get(f"/static/{name}").body.decode()
        for word in ("innerHTML", "eval(", "Function(", "createElementNS", "document.write", "Math.exp", "Math.log"):
            assert word not in text.replace("template.innerHTML", ""), (name, word)


def test_choices_are_read_within_bounds() -> None:
    asked = ViewRequest(choices={"n": "7", "far": "1e99", "bad": "x", "w.a": "1", "w.b": "x"})
    assert asked.number("n") == 7
    assert asked.number("far") is asked.number("bad") is asked.number("none") is None
    assert asked.place("n", 3) == 2
    assert asked.place("bad", 3, 1) == 1
    assert asked.numbers("w.") == {"a": 1.0}


def test_a_saved_page_is_complete(client: Client) -> None:
    found = client.post("/view/choose", {"texts": {"samples": "\n".join(SAMPLES)}, "save": "page"})
    text = found.body.decode()
    assert found.headers["toledo-name"] == "choose.html"
    assert text.startswith("<!doctype html>")
    assert "Content-Security-Policy" in text
    assert "<script" not in text


def test_texts_are_saved_as_the_command_writes_them(client: Client) -> None:
    lines = "\n".join(json.dumps({"hypotheses": SAMPLES}) for _ in range(2))
    found = client.post("/view/choose", {"texts": {"samples": lines}, "save": "nbest"}).body.decode().splitlines()
    assert [line.split(" ||| ")[0] for line in found] == ["0"] * 4 + ["1"] * 4
