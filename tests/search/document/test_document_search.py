"""Starts, stops, records, threads, resuming, and what goes wrong."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from beam_twin import small_model
from document_twin import document_features
from small_documents import FEATURE_WEIGHTS, MODELS, document_of, references_of, search_of, state_of

from toledo.errors import InputError
from toledo.formats.alignments import read_segmentation
from toledo.formats.moses_model import import_model
from toledo.language_model.automaton import advance
from toledo.model import PhraseModel, SearchSettings
from toledo.search.beam.search import BeamSearch
from toledo.search.document.arrays import chain_at
from toledo.search.document.loop import first_half, plan_of, second_half
from toledo.search.document.models.bleu import HIGHEST_BLEU, BLEUModel, bleu_rise, word_change
from toledo.search.document.models.consistency import LexicalConsistency
from toledo.search.document.models.counts import ANY, BLEU
from toledo.search.document.models.model import Words
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import (
    DOCENT,
    OPERATIONS,
    DocumentAnnealing,
    DocumentSampling,
    DocumentSettings,
    HillClimbing,
    Operations,
)
from toledo.search.document.state import DocumentResult
from toledo.search.options import LN10, NONE
from toledo.search.steps import Step
from toledo.text.corpus import Document, documents_of, read_segments
from toledo.weights import Weights

CONTENT = {
    (tuple(source), tuple(target)): (-0.1 * k, -0.2, -0.3 * len(target), -0.1)
    for k, (source, target) in enumerate(
        (source, target) for source in ("a", "b", "c", "ab", "bc", "cab") for target in ("x", "y", "xy", "zx")
    )
}
VALUES = [0.5, 0.2, 0.3, 0.4, 0.3, 0.3, 0.2, 0.3, 0.3, 0.2, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3]
MODEL = small_model(CONTENT, (3,), 4, True, VALUES)
SOURCES = [list("abcab"), list("cabd"), [], list("bcabca")]
DOCUMENT = document_of(SOURCES, references_of(SOURCES))


def same(one: DocumentResult, other: DocumentResult) -> bool:
    ends = [(result.best.score, result.last.score, result.steps, result.accepted) for result in (one, other)]
    records = [[(record.step, record.score) for record in result.records] for result in (one, other)]
    return ends[0] == ends[1] and records[0] == records[1] and state_of(one.last) == state_of(other.last)


def test_beam_start_has_the_score_of_beam_search() -> None:
    search = DocumentSearch(MODEL, DocumentSettings(steps=0))
    (result,) = search.search([DOCUMENT])
    expected = BeamSearch(MODEL).translate(SOURCES)
    assert [one.words for one in result.translations] == [one.words for one in expected]
    for ours, theirs in zip(result.translations, expected, strict=True):
        if ours.steps:
            assert ours.score == pytest.approx(theirs.score, abs=1e-5)


def test_given_derivations_are_checked() -> None:
    search, steps = DocumentSearch(MODEL, DocumentSettings(steps=0)), BeamSearch(MODEL).translate(SOURCES)
    derivation = [one.steps for one in steps]
    result = search.run(search.start(DOCUMENT, derivation))
    assert [one.steps for one in result.translations] == derivation
    with pytest.raises(InputError, match="of 1 sentences for a document of 4"):
        search.start(DOCUMENT, derivation[:1])
    wrong = [
        ((*derivation[0][:-1],), "not all words"),
        ((*derivation[0], derivation[0][0]), "cannot come next"),
        ((Step(0, 5, 0, ("x",)),), "not an option for 'a b c a b'"),
    ]
    for first, message in wrong:
        with pytest.raises(InputError, match=message):
            search.start(DOCUMENT, [first, *derivation[1:]])


def option_score(model: PhraseModel, pair: int) -> float:
    """What a phrase pair scores, with words that see only each other."""
    entry, state, score = model.table[pair], 0, model.weights["phrase.penalty"]
    score -= model.weights["word.penalty"] * len(entry.target)
    score += sum(model.weights[name] * entry.scores[name] for name in model.table.feature_names)
    for word in model.target_vocabulary.ids(entry.target):
        step, state = advance(model.language_models[0].automaton, state, word)
        score += model.weights["lm"] * LN10 * step
    return score


def test_options_are_filtered() -> None:
    """The table limit holds for every operation, and the best options by weighted score are the ones left."""
    model = PhraseModel(MODEL.table, MODEL.language_models, MODEL.weights, SearchSettings(4, 2))
    search = DocumentSearch(model, DocumentSettings(DocumentSampling(1e6), start="random", steps=0))
    state = search.start(DOCUMENT)
    assert (state.known.text.options.stop - state.known.text.options.first).max() == 2
    used = set()
    for _ in range(200):
        used |= {
            (step.begin, step.end, step.pair) for one in search.run(state, 20).last.translations for step in one.steps
        }
    by_source: dict[tuple[str, ...], list[int]] = {}
    for pair, entry in sorted(enumerate(model.table), key=lambda one: -option_score(model, one[0])):
        by_source.setdefault(entry.source, []).append(pair)
    best = {pair for pairs in by_source.values() for pair in pairs[:2]} | {NONE}  # which is a word that is copied
    assert all(len(pairs) == 4 for pairs in by_source.values())
    assert {pair for _, _, pair in used} == best
    assert set(state.known.text.options.pairs.tolist()) == best


def test_distortion_after_moves() -> None:
    """Moves alone: distortion is right after each of them, and the limit holds."""
    moves = Operations(**(dict.fromkeys(OPERATIONS, 0.0) | {"move": 1.0, "block_move_probability": 0.6}))
    search = DocumentSearch(MODEL, DocumentSettings(DocumentSampling(50.0), moves, 10**6, start="random"))
    state = search.start(DOCUMENT)
    for _ in range(100):
        result = search.run(state, 5)
        expected = document_features(MODEL, SOURCES, state_of(result.last), [], [])
        assert result.last.features["distortion"] == expected["distortion"]
        assert result.last.score == pytest.approx(
            sum(MODEL.weights[name] * value for name, value in expected.items()), abs=1e-4
        )
    assert result.tally["move"].accepted > 20


def test_the_best_state_is_returned_not_the_last() -> None:
    search = DocumentSearch(MODEL, DocumentSettings(DocumentSampling(30.0), steps=3000, start="beam"))
    state = search.start(DOCUMENT)
    scores = [search.run(state, 1).last.score for _ in range(100)]
    result = search.run(state, 0)
    assert result.best.score == pytest.approx(max(*scores, search.run(search.start(DOCUMENT), 0).score), abs=1e-8)
    assert result.best.score > result.last.score
    features = document_features(MODEL, SOURCES, state_of(result.best), [], [])
    assert result.score == pytest.approx(sum(MODEL.weights[n] * v for n, v in features.items()), abs=1e-4)


@pytest.mark.parametrize("acceptance", [HillClimbing(), DocumentAnnealing(3.0, 0.1), DocumentSampling(2.0)])
def test_one_run_or_many_resumed_or_in_threads(acceptance: object) -> None:
    settings = DocumentSettings(acceptance, steps=40_000, start="random", record="logarithmic")
    search = search_of(MODEL, settings, MODELS)
    documents = [DOCUMENT, document_of(SOURCES[:2], references_of(SOURCES[:2])), DOCUMENT]
    results = search.search(documents, threads=1)
    assert same(results[0], results[2])
    assert all(same(*pair) for pair in zip(results, search.search(documents, threads=3), strict=True))
    state = search.start(DOCUMENT)
    records = list(search.run(state, 12_345).records)
    state = search_of(MODEL, settings, MODELS).resume(DOCUMENT, state.to_arrays())
    rest = search.run(state)
    assert [one.step for one in (*records, *rest.records)] == [0, *(2**k for k in range(8, 16))]
    assert (rest.best.score, rest.last.score) == (results[0].best.score, results[0].last.score)
    assert state_of(rest.best) == state_of(results[0].best)
    assert rest.accepted == results[0].accepted


def test_records_and_stops() -> None:
    settings = DocumentSettings(steps=250, start="random", record=100, record_texts=True)
    search = search_of(MODEL, settings, MODELS)
    (result,) = search.search([DOCUMENT])
    assert [record.step for record in result.records] == [0, 100, 200]
    for record in result.records:
        assert set(record.features) == set(search.feature_names)
        assert record.bleu is not None
        assert record.bleu[0] == sum(map(len, record.translations))
        weights = {**MODEL.weights, **FEATURE_WEIGHTS}
        assert record.score == pytest.approx(sum(weights[n] * v for n, v in record.features.items()), abs=1e-5)
    (stopped,) = DocumentSearch(MODEL, DocumentSettings(steps=10**7, max_rejected=500)).search([DOCUMENT])
    assert stopped.steps < 10**6
    (timed,) = DocumentSearch(MODEL, DocumentSettings(DocumentSampling(), steps=10**12, seconds=0.05)).search(
        [DOCUMENT]
    )
    assert 0 < timed.steps < 10**12


LINES = [list(line) for line in np.random.default_rng(2).choice(list("abcd"), (30, 6)).tolist()]
CHAPTER = document_of(LINES, references_of(LINES))
MEASURED = Weights({**MODEL.weights, "bleu": 0.3, "document.consistency": 2.0})


def test_the_bound_of_bleu_holds_and_decides() -> None:
    """No proposal raises BLEU by more than the bound, by which some are given up."""
    search = DocumentSearch(
        MODEL, DocumentSettings(DocumentSampling(0.5)), [BLEUModel(), LexicalConsistency(1)], MEASURED
    )
    state, plan = search.start(CHAPTER), plan_of(search.settings)
    text, arrays, measures = state.known.text, state.arrays, state.measures
    given_up = 0
    for _ in range(3000):
        known = measures.references
        before = known._replace(totals=known.totals.copy(), counts=known.counts.copy())
        trial = first_half(text, arrays, measures, plan)
        if trial.new:
            present, single = measures.present[BLEU], len(CHAPTER.segments[trial.sentence].references) == 1
            chain = chain_at.py_func(text, arrays, trial.sentence)
            words = Words(text.options.word_begin, text.options.lengths, chain.chosen, chain.new)
            change = word_change.py_func(before, words, int(chain.size[0]), trial.first, trial.old, trial.new)
            rise = bleu_rise(before, present, change, single)
            assert measures.values[BLEU] - present <= rise + 1e-9
            most = measures.reach[ANY] + 0.3 * rise
            given_up += rise < HIGHEST_BLEU - present and most < trial.needed - trial.gain
        second_half(text, arrays, measures, trial, 0.0)
    assert given_up > 10


def test_bounds_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a model of a user nothing is given up early: the way is the same, to the last step."""

    class Nothing:
        name = "nothing"

        def start(self, translations: object) -> float:
            return 0.0

        def propose(self, change: object) -> float:
            return 0.0

        def accept(self) -> None:
            pass

        def reject(self) -> None:
            pass

    weights = Weights({**MEASURED, "nothing": 1.0})
    for acceptance in (HillClimbing(), DocumentSampling(0.5)):
        settings = DocumentSettings(acceptance, steps=3000, start="random")
        models = [BLEUModel(), LexicalConsistency(1)]
        fast = DocumentSearch(MODEL, settings, models, weights)
        slow = DocumentSearch(MODEL, settings, [*models, Nothing()], weights)
        one, two = (search.run(search.start(CHAPTER)) for search in (fast, slow))
        assert same(one, two)
        assert one.accepted > 5


def test_steps_stay_with_a_sentence_and_no_word_is_left_out() -> None:
    document = document_of([list("abc"), [], list("d"), list("abcdab")])
    search = DocumentSearch(MODEL, DocumentSettings(DocumentSampling(), steps=10**9))
    state, plan = search.start(document), plan_of(search.settings, visit=7)
    text, arrays, measures = state.known.text, state.arrays, state.measures
    visited = []
    for _ in range(7 * 1000):
        trial = first_half(text, arrays, measures, plan)
        visited.append(trial.sentence)
        second_half(text, arrays, measures, trial, 0.0)
    turns = np.array(visited).reshape(-1, 7)
    assert (turns == turns[:, :1]).all()
    np.testing.assert_allclose(np.bincount(turns[:, 0], minlength=4), [300, 0, 100, 600], atol=3)


def test_visits_are_for_large_documents_and_leave_time_for_all() -> None:
    settings = DocumentSettings(steps=10**6)
    assert settings.visit(words=3000, sentences=100) == 0
    assert settings.visit(words=12_000, sentences=1000) == 250
    assert settings.visit(words=10**7, sentences=10**6) == 1
    assert DocumentSettings(steps=10**9).visit(words=12_000, sentences=1000) == 512
    recorded = DocumentSettings(steps=10**9, record=40_000)
    assert recorded.visit(words=12_000, sentences=1000) == 10
    assert DocumentSettings(steps=10**9, max_rejected=40_000).visit(words=12_000, sentences=1000) == 10


def test_finished_documents_take_little_room_and_may_go_on() -> None:
    def room(result: DocumentResult) -> int:
        return int(result.state.arrays.phrases.known.answers.size)

    search = DocumentSearch(MODEL, DocumentSettings(DocumentSampling(), steps=400))
    lines = [list("abcdab")] * 60
    (part,) = DocumentSearch(MODEL, DocumentSettings(DocumentSampling(), steps=200)).search([document_of(lines)])
    rest, whole = search.run(part.state), search.run(search.start(document_of(lines)))
    assert same(rest, whole)
    (kept,) = search.search([document_of(lines)])
    assert room(kept) <= room(whole) / 4
    assert room(kept) > kept.state.known.text.options.begin.size


def test_empty_documents() -> None:
    for document in (Document("none", ()), document_of([[], []])):
        (result,) = DocumentSearch(MODEL, DocumentSettings(steps=10)).search([document])
        assert result.steps == 0
        assert [one.words for one in result.translations] == [()] * len(document.segments)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(InputError, match=r"no weight for document\.lix"):
        DocumentSearch(MODEL, models=[MODELS[3]])
    with pytest.raises(InputError, match="segment 1 has no reference"):
        search_of(MODEL, DocumentSettings(), [BLEUModel()]).search([document_of(SOURCES)])
    with pytest.raises(ValueError, match="same name"):
        search_of(MODEL, DocumentSettings(), [BLEUModel(), BLEUModel()])
    for settings in ({"steps": -1}, {"start": "moses"}, {"seconds": 0.0}, {"max_rejected": 0}):
        with pytest.raises(ValueError, match=r"steps|start|seconds|max_rejected"):
            DocumentSettings(**settings)
    with pytest.raises(ValueError, match="schedule is"):
        DocumentAnnealing(schedule=(1.0, 0.0))
    with pytest.raises(ValueError, match="swap_distance_decay is"):
        Operations(swap_distance_decay=1.0)
    search = DocumentSearch(MODEL)
    arrays = search.start(DOCUMENT).to_arrays()
    with pytest.raises(InputError, match="another document"):
        search.resume(document_of(SOURCES[:1]), arrays)


def test_schedules() -> None:
    stepwise = DocumentAnnealing(schedule=(3.0, 2.0, 1.0), every=10)
    assert [stepwise.at(step, 99) for step in (0, 9, 10, 29, 30, 98)] == [3.0, 3.0, 2.0, 1.0, 1.0, 1.0]
    falling = DocumentAnnealing(4.0, 0.5)
    steps, temperatures = 0, []
    while steps < 1000:
        temperatures.append(falling.at(steps, 1000))
        steps = falling.next_level(steps, 1000)
    assert temperatures[0] == 4.0
    assert temperatures[-1] == pytest.approx(0.5)
    assert np.all(np.diff(temperatures) < 0)


def test_moses_derivations_have_moses_score(shared_folder: Path) -> None:
    folder = shared_folder / "peers" / "docent-50"
    model = import_model(folder / "phrase-table.gz", [shared_folder / "peers" / "moses-de-en" / "lm.3.arpa.gz"])
    (document,) = documents_of(read_segments(folder / "src50.de", [folder / "ref50.en"]))
    derivation = read_segmentation(folder / "moses-segmentation.txt")
    weights = Weights({**model.weights, "bleu": 0.0})
    search = DocumentSearch(model, DocumentSettings(operations=DOCENT, steps=20_000), [BLEUModel()], weights)
    state = search.start(document, derivation)
    assert search.run(state, 0).score == pytest.approx(-1979.17, abs=0.005)
    assert search.run(state).score == pytest.approx(-1979.17, abs=0.005)  # Docent's operations find nothing better
    annealing, scores = DocumentSettings(DocumentAnnealing(1.0, 0.05), steps=1_000_000, start="random"), []
    for seed in (1, 2, 3):
        (result,) = DocumentSearch(model, replace(annealing, seed=seed)).search([document])
        scores.append(result.score)
    assert np.mean(scores) > -1979.17 - 0.2 * len(document.segments)
    climbing = DocumentSettings(HillClimbing(), steps=200_000, start="random")
    (result,) = DocumentSearch(model, climbing).search([document])
    assert result.score > -2030  # Docent comes to that in a million steps
