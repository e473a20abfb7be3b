"""`toledo.evaluate`, `toledo.compare` and the metrics: sacreBLEU's numbers, references of any shape, refusals."""

from pathlib import Path

import numpy as np
import pytest
import sacrebleu
import sacrebleu.metrics as peers

import toledo
from toledo.metrics import (
    BLEU,
    CHRF,
    TER,
    corpus_bleu,
    corpus_chrf,
    corpus_ter,
    sentence_bleu,
    sentence_chrf,
    sentence_ter,
)

HYPOTHESES = ["The cat sat on the mat.", "He waits for a train!", "Hello, world"]
FIRST = ["The cat sat on a mat.", "He is waiting for a train.", "Hello, world!"]
SECOND = ["A cat was sitting on the mat.", "He waits for the train.", "Hi, world!"]


def test_scores_and_signatures_are_those_of_sacrebleu():
    found = toledo.evaluate(HYPOTHESES, [FIRST, SECOND], metrics=["bleu", "chrf", "chrf++", "ter"], interval=None)
    for key, peer in (
        ("bleu", peers.BLEU()),
        ("chrf", peers.CHRF()),
        ("chrf++", peers.CHRF(word_order=2)),
        ("ter", peers.TER()),
    ):
        theirs = peer.corpus_score(HYPOTHESES, [FIRST, SECOND])
        assert found[key].score == pytest.approx(theirs.score, rel=1e-12)
        assert found[key].name == theirs.name
        assert found[key].signature == str(peer.get_signature())
        assert str(found[key]) == str(theirs)
    assert found.bleu.bp == peers.BLEU().corpus_score(HYPOTHESES, [FIRST, SECOND]).bp
    assert float(found.ter) == found["ter"].score
    assert found.num_references == 2
    assert found.segments["chrf"] == pytest.approx(
        [peers.CHRF().sentence_score(one, list(two)).score for one, *two in zip(HYPOTHESES, FIRST, SECOND, strict=True)]
    )


SETTINGS = [
    (BLEU, {"lowercase": True}),
    (BLEU, {"tokenize": "char"}), (BLEU, {"tokenize": "none", "smooth_method": "floor"}),
    (BLEU, {"smooth_method": "add-k", "smooth_value": 0.5}),
    (BLEU, {"max_ngram_order": 2, "effective_order": True}),
    (BLEU, {"trg_lang": "zh"}),
    (CHRF, {"char_order": 4, "word_order": 1, "beta": 3}),
    (CHRF, {"whitespace": True}), (CHRF, {"eps_smoothing": True}),
    (CHRF, {"lowercase": True}),
    (TER, {"normalized": True}), (TER, {"no_punct": True}), (TER, {"case_sensitive": True}),
    (TER, {"asian_support": True, "normalized": True}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_classes_have_the_settings_of_sacrebleu(kind, settings):
    ours, peer = kind(**settings), getattr(peers, kind.__name__)(**settings)
    theirs = peer.corpus_score(HYPOTHESES, [FIRST, SECOND])
    mine = ours.corpus_score(HYPOTHESES, [FIRST, SECOND])
    assert mine.score == pytest.approx(theirs.score, rel=1e-12)
    assert str(mine) == str(theirs)
    assert ours.get_signature() == str(peer.get_signature()) == mine.signature
    single = ours.sentence_score(HYPOTHESES[0], [FIRST[0], SECOND[0]])
    assert single.score == pytest.approx(peer.sentence_score(HYPOTHESES[0], [FIRST[0], SECOND[0]]).score, rel=1e-12)


def test_functions_are_those_of_sacrebleu():
    for ours, theirs in (
        (corpus_bleu, sacrebleu.corpus_bleu),
        (corpus_chrf, sacrebleu.corpus_chrf),
        (corpus_ter, sacrebleu.corpus_ter),
    ):
        assert str(ours(HYPOTHESES, [FIRST])) == str(theirs(HYPOTHESES, [FIRST]))
    for ours, theirs in (
        (sentence_bleu, sacrebleu.sentence_bleu),
        (sentence_chrf, sacrebleu.sentence_chrf),
        (sentence_ter, sacrebleu.sentence_ter),
    ):
        assert str(ours(HYPOTHESES[0], [FIRST[0]])) == str(theirs(HYPOTHESES[0], [FIRST[0]]))
    assert str(corpus_bleu(HYPOTHESES, [FIRST], force=True, tokenize="none", lowercase=True)) == str(
        sacrebleu.corpus_bleu(HYPOTHESES, [FIRST], force=True, tokenize="none", lowercase=True)
    )


def test_pairwise_and_expected_scores_agree():
    for metric in (BLEU(effective_order=True), CHRF(), CHRF(word_order=2), TER(), CHRF(whitespace=True)):
        matrix = metric.pairwise_scores(HYPOTHESES, FIRST)
        assert matrix[1, 2] == pytest.approx(metric.sentence_score(HYPOTHESES[1], FIRST[2]).score)
        bounded = matrix if metric.higher_is_better else np.minimum(matrix, 100)
        found = metric.expected_scores(HYPOTHESES, FIRST, weights=[1, 2, 1])
        assert found == pytest.approx(bounded @ [0.25, 0.5, 0.25])


def test_references_of_any_shape_are_read_alike():
    expected = toledo.evaluate(HYPOTHESES, toledo.References.per_set([FIRST, SECOND]), interval=None).bleu.score
    by_segment = list(zip(FIRST, SECOND, strict=True))
    for shape in (
        [FIRST, SECOND],
        by_segment,
        toledo.References.per_segment(by_segment),
        (list(one) for one in by_segment),
    ):
        assert toledo.evaluate(HYPOTHESES, shape, interval=None).bleu.score == expected
    single = toledo.evaluate(HYPOTHESES, FIRST, interval=None).bleu.score
    assert toledo.evaluate(HYPOTHESES, [[one] for one in FIRST], interval=None).bleu.score == single
    assert toledo.evaluate(HYPOTHESES, [FIRST], interval=None).bleu.score == single
    varying = toledo.evaluate(HYPOTHESES, [[FIRST[0], SECOND[0]], [FIRST[1]], [FIRST[2]]], interval=None)
    assert "nrefs:var" in varying.bleu.signature
    missing = toledo.evaluate(HYPOTHESES, [FIRST, [SECOND[0], None, None]], interval=None)
    assert missing.bleu.score == varying.bleu.score


def test_a_square_is_never_guessed():
    hypotheses, square = HYPOTHESES[:2], [["a b", "c d"], ["e f", "g h"]]
    with pytest.raises(toledo.InputError, match="2 × 2 references can be read per segment or per set") as error:
        toledo.evaluate(hypotheses, square)
    assert error.value.remedy == "say which: References.per_segment(x) or References.per_set(x)"
    assert toledo.evaluate(["a b", "e f"], toledo.References.per_segment(square), interval=None)["ter"].score == 0
    assert BLEU().corpus_score(hypotheses, square).score == peers.BLEU().corpus_score(hypotheses, square).score


def test_the_example_of_the_page_that_sacrebleu_misreads():
    hypotheses = ["r1 is this text", "r2 is another one", "r3 is the third one"]
    nested, flat = [[one] for one in hypotheses], list(hypotheses)
    for references in (nested, flat):
        assert toledo.evaluate(hypotheses, references, metrics="bleu", interval=None).bleu.score == pytest.approx(100)


def test_printing_and_files(tmp_path):
    for name, texts in (("test.out", HYPOTHESES), ("test.trg.0", FIRST), ("test.trg.1", SECOND)):
        (tmp_path / name).write_text("\n".join(texts * 10) + "\n")
    found = toledo.evaluate(
        str(tmp_path / "test.out"), [tmp_path / "test.trg.0", tmp_path / "test.trg.1"], tokenize="none", resamples=100
    )
    lines = str(found).splitlines()
    assert lines[0].split() == ["BLEU", "chrF2", "TER", "length"]
    assert lines[1].startswith("  ")
    assert lines[1].split()[1] == "±"
    assert lines[2] == (
        "30 segments, 2 references; ± is half of the 95 % interval (studentized bootstrap, 100 resamples, seed 12345)"
    )
    assert lines[3] == (
        f"BLEU   nrefs:2|seed:12345|case:mixed|eff:no|tok:none|smooth:exp|bt:100|version:{sacrebleu.__version__}"
    )
    with pytest.raises(toledo.InputError, match="which name files") as error:
        toledo.evaluate(HYPOTHESES * 10, [str(tmp_path / "test.trg.0"), str(tmp_path / "test.trg.1")])
    assert "Path(" in error.value.remedy
    assert repr(found).startswith("Evaluation(BLEU=")
    assert found.to_dict()["scores"]["bleu"]["interval"]["low"] <= found.bleu.score


def test_intervals_where_units_differ():
    found = toledo.evaluate(HYPOTHESES * 20, FIRST * 20, metrics="chrf", resamples=200)
    theirs = peers.CHRF().corpus_score(HYPOTHESES * 20, [FIRST * 20], n_bootstrap=200)
    assert found.chrf.interval.half_width == pytest.approx(theirs._ci, rel=0.2)  # large samples differ little
    ids = [f"d{n // 3}" for n in range(60)]
    documents = toledo.evaluate(HYPOTHESES * 20, FIRST * 20, metrics=["chrf", "bleu"], resamples=200, document_ids=ids)
    assert documents.chrf.score == found.chrf.score
    assert documents.chrf.interval is None  # the documents are all the same
    assert "no interval of any score: too few documents that differ" in str(documents)
    single = toledo.evaluate(HYPOTHESES[:1], FIRST[:1], metrics="bleu")
    assert single.bleu.interval is None
    assert "1 segment, 1 reference; no interval of any score: too few segments that differ" in str(single)
    few = toledo.evaluate(HYPOTHESES * 20, FIRST * 20, metrics="chrf", resamples=19)
    assert "no interval of any score: 19 resamples are too few" in str(few)


def word_overlap(hypotheses, references, sources):
    return [
        float(len(set(one.split()) & set(other.split()))) for one, other in zip(hypotheses, references, strict=True)
    ]


def test_functions_as_metrics_score_the_mean():
    found = toledo.evaluate(HYPOTHESES, FIRST, metrics=[word_overlap, "bleu"], resamples=50)
    assert found["word_overlap"].score == pytest.approx(np.mean(word_overlap(HYPOTHESES, FIRST, None)))
    best = toledo.evaluate(HYPOTHESES, [FIRST, HYPOTHESES], metrics=word_overlap, interval=None)
    assert best["word_overlap"].score == pytest.approx(np.mean(word_overlap(HYPOTHESES, HYPOTHESES, None)))


def systems():
    rng = np.random.default_rng(1)
    references = [" ".join(rng.choice(list("abcdefgh"), 9)) for _ in range(60)]

    def spoiled(rate):
        return [" ".join("x" if rng.random() < rate else word for word in line.split()) for line in references]

    return {"before": spoiled(0.3), "tuned": spoiled(0.1), "mbr": spoiled(0.29)}, references


def test_compare():
    outputs, references = systems()
    found = toledo.compare(outputs, references, metrics="bleu", tokenize="none")
    lines = str(found).splitlines()
    assert lines[0].split() == ["System", "BLEU", "Δ", "p", "(Holm)"]
    assert lines[0].index("Δ") == lines[2].index("+") + len("+12.34 ± 1.23") - 1
    assert [line.split()[0] for line in lines[1:4]] == ["before", "tuned", "mbr"]
    assert len(lines[1].split()) == 4
    assert len(lines[2].split()) == 9  # score ± and difference ±, p, star
    assert lines[2].endswith(" *")
    assert lines[4] == (
        "p: studentized paired bootstrap against 'before', two-sided, 1,000 resamples of 60 segments, "
        "Holm over 2 tests; * p < 0.05"
    )
    assert lines[5].startswith("It answers: would other segments of this kind show the same sign?")
    assert lines[7].startswith("Undecided: to find ")
    tuned, mbr = found.tests
    assert (tuned.significant, mbr.significant) == (True, False)
    assert tuned.p_corrected == pytest.approx(2 * tuned.p)
    assert mbr.p_corrected == mbr.p
    assert tuned.interval.low < tuned.difference < tuned.interval.high
    assert found.best("bleu") == "tuned"
    assert found["tuned"].bleu.score == pytest.approx(
        peers.BLEU(tokenize="none").corpus_score(outputs["tuned"], [references]).score
    )
    worst = found.examples("tuned", n=2)
    assert len(worst) == 2
    assert abs(worst[0].gain) >= abs(worst[1].gain)
    plain = toledo.compare(outputs, references, metrics="bleu", correction="none", tokenize="none")
    assert [one.p_corrected for one in plain.tests] == [one.p for one in found.tests]


def test_all_pairs_randomization_documents_and_runs():
    outputs, references = systems()
    pairs = toledo.compare(
        outputs, references, metrics=["bleu", "ter"], pairs="all", test="randomization", resamples=200
    )
    assert [(one.system, one.baseline) for one in pairs.tests[:3]] == [
        ("tuned", "before"),
        ("mbr", "before"),
        ("mbr", "tuned"),
    ]
    assert "approximate randomization of all pairs" in str(pairs)
    assert pairs.best("ter") == "tuned"
    ids = [f"d{number // 6}" for number in range(60)]
    documents = toledo.compare(outputs, references, metrics="bleu", document_ids=ids, baseline="mbr", resamples=100)
    assert documents.units == "documents"
    assert "100 resamples of 10 documents" in str(documents)
    assert "10 documents: only large differences can be found." in documents.notes


def test_several_runs(tmp_path):
    outputs, references = systems()
    (tmp_path / "b").mkdir()
    for name in ("tuned", "mbr"):
        (tmp_path / "b" / f"{name}.out").write_text("\n".join(outputs[name]) + "\n")
    for b in (toledo.Runs(outputs["tuned"], outputs["mbr"]), tmp_path / "b"):
        runs = toledo.compare({"a": outputs["before"], "b": b}, references, metrics="bleu")
        one, two = (BLEU().corpus_score(outputs[name], references).score for name in ("tuned", "mbr"))
        assert runs["b"].bleu.score == pytest.approx((one + two) / 2)
        assert runs["b"].bleu.interval.half_width == pytest.approx(abs(one - two) / np.sqrt(2))
        assert runs.runs == {"a": 1, "b": 2}
        assert runs.tests[0].test == "runs"
        assert runs.tests[0].degrees < 2.0  # nearly all of the variance is that of two runs
        assert not runs.tests[0].significant
        assert "One run of 'a': its runs are taken to vary as those of 'b' do." in runs.notes
        assert "'b': 2 + 1 runs (BLEU: σ " in str(runs)
    with pytest.raises(toledo.InputError, match="the randomization test cannot compare several runs"):
        toledo.compare({"a": outputs["before"], "b": b}, references, test="randomization")
    (tmp_path / "empty").mkdir()
    with pytest.raises(toledo.InputError, match="the directory has no files"):
        toledo.compare({"a": outputs["before"], "b": tmp_path / "empty"}, references)


def test_what_a_test_cannot_tell_is_said():
    outputs, references = systems()
    single = toledo.compare({"a": ["the cat sat"], "b": ["a dog ran"]}, ["the cat sat"], metrics="chrf")
    assert single.tests[0].p == 1.0
    assert single.tests[0].interval is None
    assert "1 segment: there is nothing to estimate the variance from, and p is 1." in single.notes
    same = toledo.compare({"a": references, "b": references}, references, metrics="bleu")
    assert same.tests[0].p == 1.0
    few = toledo.compare({"a": references, "b": [*outputs["before"][:5], *references[5:]]}, references)
    assert any(note.startswith("Only 5 of 60 segments differ between 'b' and 'a'") for note in few.notes)
    shorter = [line.rpartition(" ")[0] for line in references]
    swapped = toledo.compare({"a": references, "b": shorter}, references, metrics="bleu", test="randomization")
    assert any(note.startswith("Only one of 'b' and 'a' has a brevity penalty") for note in swapped.notes)
    theirs = toledo.compare({"a": references, "b": shorter}, references, metrics="bleu", test="sacrebleu")
    assert theirs.tests[0].p < 0.01
    assert not theirs.tests[0].significant
    assert "Liberal: at 0.05 it rejects in 10 to 12 %" in str(theirs)
    assert "*" not in str(theirs)


def test_systems_without_names(tmp_path):
    outputs, references = systems()
    found = toledo.compare(list(outputs.values()), references, metrics="bleu", resamples=20)
    assert list(found.systems) == ["system 1", "system 2", "system 3"]
    for name, texts in outputs.items():
        (tmp_path / f"sys.{name}.en").write_text("\n".join(texts) + "\n")
    files = [str(tmp_path / f"sys.{name}.en") for name in outputs]
    assert list(toledo.compare(files, references, metrics="bleu", resamples=20).systems) == list(outputs)
    with pytest.raises(toledo.InputError, match="the name 'mbr' occurs twice in systems"):
        toledo.compare([files[2], Path(files[2])], references)


REFUSED = [
    (lambda: toledo.evaluate(["a"] * 100, ["a"] * 99), "hypotheses has 100 segments, references 99"),
    (lambda: toledo.evaluate({"a": ["b"]}, ["b"]), "hypotheses is a mapping: call compare for several systems"),
    (lambda: toledo.evaluate("a cat", ["a cat"]), "'a cat' is not a file: pass a list of texts"),
    (lambda: toledo.evaluate(["a"]), "metric BLEU needs references"),
    (lambda: toledo.compare({"a": ["x"] * 100, "b": ["x"] * 99}, ["x"] * 100), "system 'b' has 99 segments, 'a' 100"),
    (lambda: toledo.evaluate(["a"] * 3, ["a"] * 3, document_ids=["d1", "d2", "d1"]),
     "document_ids: 'd1' comes back at segment 2 after 'd2'"),
    (lambda: toledo.evaluate(["a"], ["a"], resamples=0), "resamples must be at least 1"),
    (lambda: toledo.evaluate(["a"], ["a"], metrics="blue"), "no metric 'blue': did you mean 'bleu'"),
    (lambda: toledo.evaluate(["a"], ["a"], metrics="bleu:tokenise=none"), "tokenise"),
    (lambda: toledo.evaluate(["a"], ["a"], tokenize="13b"), "no tokenizer '13b': did you mean '13a'"),
    (lambda: toledo.evaluate([], []), "hypotheses is empty"),
    (lambda: toledo.evaluate(["a", "b"], [["a"], []]), "segment 1 has no reference"),
    (lambda: toledo.evaluate(["a", "b", "c"], [["a"], ["b", "c"]]),
     "hypotheses has 3 segments, references are 2 lists of 1 to 2"),
    (lambda: toledo.compare({"a": ["x"]}, ["x"], baseline="b"), "no system 'b'"),
    (lambda: toledo.compare({"a": ["x"]}, ["x"], test="bootstrp"), "no test 'bootstrp': did you mean 'bootstrap'"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refusals(call, message):
    with pytest.raises(toledo.InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a", "b", "c", None], ["a"] * 4, r"hypotheses\[3\] is None, expected str"),
        ([b"a"], ["a"], r"hypotheses\[0\] is a bytes, expected str"),
        ([1], ["a"], r"hypotheses\[0\] is 1, expected str"),
        (["a"], [b"a"], r"references\[0\] is a bytes, expected str"),
        (["a"], 3, "references is 3, expected texts"),
        (["a", "b"], [["a"], [4]], r"references\[1\]\[0\] is 4, expected str"),
        (None, ["a"], "hypotheses is None, expected texts"),
    ],
)
def test_what_is_no_text(hypotheses, references, message):
    with pytest.raises(TypeError, match=message):
        toledo.evaluate(hypotheses, references)


def test_tables_need_pandas():
    found = toledo.evaluate(HYPOTHESES, FIRST, interval=None)
    try:
        import pandas  # noqa: F401
    except ImportError:
        with pytest.raises(toledo.MissingExtraError, match="to_pandas needs pandas"):
            found.to_pandas()
    else:
        assert list(found.to_pandas()["metric"]) == ["bleu", "chrf", "ter"]
    assert [row["metric"] for row in found.rows_as_dicts()] == ["bleu", "chrf", "ter"]
