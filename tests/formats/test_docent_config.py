"""Configurations of Docent: what is taken over, what is noted, what is refused."""

from pathlib import Path

import pytest

from toledo.errors import InputError
from toledo.formats.docent import DocentConfiguration, import_docent, read_docent_config
from toledo.model import PhraseModel
from toledo.search.document.settings import DocumentAnnealing, Operations

CONFIGURATION = """<?xml version="1.0" ?>
<docent>
<random>7</random>
<state-generator>
  <initial-state type="monotonic"/>
  <operation type="change-phrase-translation" weight=".5"/>
  <operation type="move-phrases" weight=".25">
    <p name="block-size-decay">.4</p><p name="right-distance-decay">.3</p><p name="left-distance-decay">.2</p>
  </operation>
  <operation type="permute-phrases" weight=".25"><p name="phrase-permutation-decay">.1</p></operation>
</state-generator>
<search algorithm="simulated-annealing">
  <p name="max-steps">1000</p>
  <p name="schedule">geometric-decay</p>
  <p name="geometric-decay:start-temperature">2</p>
  <p name="geometric-decay:decay-factor">0.999</p>
  <p name="target-score">5</p>
</search>
<models>
  <model type="geometric-distortion-model" id="d"><p name="distortion-limit">4</p></model>
  <model type="word-penalty" id="w"/>
  <model type="oov-penalty" id="oov"/>
  <model type="ngram-model" id="lm"><p name="lm-file">lm.arpa</p><p name="annotation-level">1</p></model>
  <model type="phrase-table" id="tm"><p name="file">table</p><p name="filter-limit">5</p></model>
  <model type="sentence-parity-model" id="parity"/>
  <model type="bleu-model" id="bleu"><p name="reference-file">ref.xml</p></model>
  <model type="gappy-lm" id="gap"/>
</models>
<weights>
  <weight model="d" score="0">0.3</weight><weight model="d" score="1">10</weight>
  <weight model="w">-1</weight><weight model="oov">50</weight><weight model="lm">0.5</weight>
  <weight model="tm" score="0">0.1</weight><weight model="tm" score="1">0.2</weight>
  <weight model="tm" score="2">0.3</weight><weight model="tm" score="3">0.4</weight>
  <weight model="parity">2</weight><weight model="bleu">100</weight><weight model="gap">0.7</weight>
  <weight model="nobody">1</weight>
</weights>
</docent>
"""
TABLE = "das ||| the ||| 0.5 0.4 0.3 0.2\nhaus ||| house ||| 0.9 0.8 0.7 0.6\n"
ARPA = """\\data\\
ngram 1=5

\\1-grams:
-2 <unk>
-99 <s>
-1 </s>
-0.5 the
-0.6 house

\\end\\
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(content: str = CONFIGURATION) -> DocentConfiguration:
    Path("docent.xml").write_text(content)
    return read_docent_config("docent.xml")


def test_what_both_have_is_taken_over() -> None:
    found = read()
    assert found.search.seed == 7
    assert found.search.start == "random"
    assert found.search.accept == DocumentAnnealing(2.0, 2 * 0.999**1000)
    assert found.search.operations == Operations().changed(
        {
            "change": 0.5, "move": 0.25,
            "block_move_probability": 0.6, "right_distance_decay": 0.7, "left_distance_decay": 0.8,
        }
    )  # fmt: skip
    assert found.document_models.keys() == {"bleu", "document.parity"}
    assert found.distortion_limit == 4
    assert found.table_limit == 5
    weights = found.weights
    assert [weights[name] for name in ("oov", "phrase.backward", "lexicon.forward", "bleu")] == [0.5, 0.1, 0.4, 1.0]


@pytest.mark.parametrize(
    ("hot", "decay", "steps"), [("2", "0.99", 3054), ("1e-13", "0.5", 1), ("1e-20", "0.5", 0), ("2", "1", 100_000)]
)
def test_annealing_stops_where_docent_does(hot: str, decay: str, steps: int) -> None:
    content = CONFIGURATION.replace('temperature">2<', f'temperature">{hot}<').replace("0.999", decay)
    found = read(content.replace(">1000<", ">100000<"))
    assert found.search.steps == steps
    assert found.search.acceptance.end == pytest.approx(float(hot) * float(decay) ** steps)
    assert ("max-steps 100000: " in "\n".join(found.notes)) == (steps < 100_000)


def test_nothing_is_lost_in_silence() -> None:
    notes = "\n".join(read().notes)
    for lost in (
        "permute-phrases", "target-score", "annotation-level", "filter-limit 5", "gap (gappy-lm)", "0.7", "nobody",
        "weight of 10", "give the references when you translate: ref.xml", "sentence-parity-model: document.parity",
    ):  # fmt: skip
        assert lost in notes
    assert len(read().notes) == 9
    other = read(CONFIGURATION.replace("geometric-decay</p>", "aarts-laarhoven</p>"))
    assert "search simulated-annealing aarts-laarhoven: hill climbing instead" in other.notes
    assert other.search.acceptance.name == "hill-climbing"
    assert "initial state saved-state" in "\n".join(read(CONFIGURATION.replace("monotonic", "saved-state")).notes)


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("</docent>\n", "", "not well-formed", 37),
        ("docent>", "decoder>", "not a configuration of Docent", None),
        ("<random>7", "<random>x", "'x'", 3),
        ('weight=".5"', 'weight="nan"', "'nan'", 6),
        ('type="move-phrases" ', "", "<operation> without type", 7),
        (">1000<", ">many<", "max-steps is 'many'", 12),
        ('<p name="max-steps">1000</p>', "", "no parameter max-steps", 12),
        ('<weight model="w">-1</weight>', "", "1 scores, but weights for none", 21),
        ('<weight model="tm" score="3">0.4</weight>', "", "4 scores, but weights for 0, 1, 2", None),
        ("0.999", "1.5", "no temperatures that fall", 12),
        ('type="phrase-table"', 'type="oov-penalty"', "", None),
        (">.4<", ">0<", "block-size-decay is 0", 7),
        ('id="w"', "", "<model> without id", 21),
    ],
)
def test_mistakes_are_named_with_their_line(old: str, new: str, message: str, line: int | None) -> None:
    with pytest.raises(InputError) as caught:
        read(CONFIGURATION.replace(old, new))
    assert message in caught.value.message
    assert caught.value.remedy
    assert line is None or caught.value.line == line


def test_the_model_and_the_search(folder: Path) -> None:
    configuration = read()
    with pytest.raises(InputError, match="names it") as caught:
        import_docent(configuration, folder)
    assert "`phrase_table`" in caught.value.remedy
    (folder / "table").write_text(TABLE)
    with pytest.raises(InputError, match="names it") as caught:
        import_docent(configuration, folder)
    assert "`language_models`" in caught.value.remedy
    (folder / "lm.arpa").write_text(ARPA)
    model = import_docent(configuration, folder)
    assert model.settings.distortion_limit == 4
    assert model.weights["phrase.penalty"] == 0.0
    model.save("model")
    assert PhraseModel.load("model").weights == model.weights
    assert configuration.document_models == {"document.parity": 2.0, "bleu": 1.0}
    with pytest.raises(InputError, match="2 language models"):
        import_docent(configuration, folder, None, ["lm.arpa", "lm.arpa"])
