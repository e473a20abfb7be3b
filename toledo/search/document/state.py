"""The state of a document during a search: its arrays, how it starts, how it is saved, and the result of a search."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import offsets_of
from toledo.compiled.random import RandomState
from toledo.errors import InputError
from toledo.search.beam.search import beam_lattice, best_options
from toledo.search.chain import (
    PhraseScores,
    Sentence,
    random_derivation,
    room_for_answers,
    room_for_phrases,
    row_offsets,
    slots_for_answers,
)
from toledo.search.document.arrays import STEPS, State, Text, chain_at, sentence_at
from toledo.search.document.loop import set_phrases
from toledo.search.document.models.counts import Measures
from toledo.search.document.models.model import Known
from toledo.search.document.models.user import Memories
from toledo.search.document.settings import OPERATIONS
from toledo.search.features import Derivations
from toledo.search.options import WINDOW, SentenceOptions, after_span, may_follow
from toledo.search.search import EncodedSentence, Translation, WeightedModel
from toledo.search.settings import Beam
from toledo.text.corpus import Document


class GivenPhrase(Protocol):
    """A phrase that translates the source words from `begin` up to `end`; a `Step` is one."""

    @property
    def begin(self) -> int:
        """Return the position of the first source word."""

    @property
    def end(self) -> int:
        """Return the position after the last source word."""

    @property
    def words(self) -> Sequence[str]:
        """Return the target words."""


def random_phrases(known: Known, state: State) -> Derivations:
    """Choose phrases in source order, whatever they score."""
    parts = [_random_sentence(known.text, state, s) for s in range(len(known.sources))]
    return Derivations.joined(known.model, known.text.options, parts)


@kernel
def _random_sentence(text: Text, state: State, s: int) -> NDArray[np.int32]:
    return random_derivation(sentence_at(text, s), chain_at(text, state, s))


def beam_phrases(chooser: WeightedModel, parts: Sequence[SentenceOptions], known: Known) -> Derivations:
    """Choose the best derivation that beam search finds for each sentence, whose options are the parts."""
    found, first = [], 0
    for options in parts:
        if options.begin.size:
            found.append(best_options(beam_lattice(chooser, options, Beam().pop_limit)) + np.int32(first))
        else:
            found.append(np.empty(0, np.int32))
        first += options.begin.size
    return Derivations.joined(known.model, known.text.options, found)


def given_phrases(known: Known, derivation: Sequence[Sequence[GivenPhrase]]) -> Derivations:
    """Return given derivations; they must translate each word once, with options of the model, within the limit."""
    if len(derivation) != len(known.sources):
        raise InputError(
            f"derivations of {len(derivation)} sentences for a document of {len(known.sources)}",
            remedy="give one derivation for each segment",
        )
    parts = [_given_sentence(known, s, phrases) for s, phrases in enumerate(derivation)]
    return Derivations.joined(known.model, known.text.options, parts)


def _given_sentence(known: Known, s: int, phrases: Sequence[GivenPhrase]) -> NDArray[np.int32]:
    options, model, found = known.text.options, known.model, []
    for phrase in phrases:
        ids = model.target_vocabulary.ids(phrase.words).tolist()
        for option in known.options_of(s):
            if (options.begin[option], options.end[option]) == (phrase.begin, phrase.end):
                begin = int(options.word_begin[option])
                if options.words[begin : begin + int(options.lengths[option])].tolist() == ids:
                    found.append(option)
                    break
        else:
            source = " ".join(known.sources[s][phrase.begin : phrase.end])
            raise InputError(
                f"segment {s + 1}: {' '.join(phrase.words)!r} is not an option for {source!r}",
                remedy="use the model that made the derivation, and a table limit that is not lower",
            )
    chosen = np.array(found, np.int32)
    require_derivation(known, s, chosen)
    return chosen


def require_derivation(known: Known, s: int, chosen: NDArray[np.int32]) -> None:
    """Refuse options that leave words out, translate them twice, or break the distortion rule."""
    options, gap, mask, last, done = known.text.options, 0, np.uint64(0), 0, set[int]()
    for option in chosen.tolist():
        begin, end = int(options.begin[option]), int(options.end[option])
        words = set(range(begin, end))
        if done & words or not may_follow.py_func(gap, last, begin, end, known.text.limit):  # type: ignore[attr-defined]
            raise InputError(
                f"segment {s + 1}: words {begin + 1} to {end} cannot come next",
                remedy="each word is translated once, and jumps are at most as long as the model's distortion limit",
            )
        done |= words
        gap, mask = after_span.py_func(gap, mask, begin, end)  # type: ignore[attr-defined]
        last = end
    if len(done) != len(known.sources[s]):
        raise InputError(f"segment {s + 1}: not all words are translated", remedy="give complete derivations")


def phrases_of_pairs(known: Known, offsets: NDArray[np.int64], rows: NDArray[np.int32]) -> Derivations:
    """Return phrases from rows of begin, end and pair: what a state was saved as."""
    options, parts = known.text.options, []
    if offsets.size != len(known.sources) + 1 or offsets[-1] != rows.shape[0]:
        raise InputError("a saved state is of another document", remedy="give the document that it was saved for")
    for s in range(len(known.sources)):
        mine = known.options_of(s)
        named = zip(*(array[mine.start : mine.stop].tolist() for array in options[:3]), strict=True)
        numbers = {name: mine.start + k for k, name in enumerate(named)}
        try:
            found = [numbers[tuple(row)] for row in rows[offsets[s] : offsets[s + 1]].tolist()]
        except KeyError:
            raise InputError(
                f"segment {s + 1}: a saved state has a phrase that is not an option",
                remedy="give the document and the model that it was saved for",
            ) from None
        parts.append(np.array(found, np.int32))
        require_derivation(known, s, parts[-1])
    return Derivations.joined(known.model, options, parts)


MOST_ANSWERS = 1 << 22  # of language models about phrases that are remembered


def build_text(
    scorer: WeightedModel, parts: Sequence[SentenceOptions], encoded: Sequence[EncodedSentence], rescore: bool
) -> Text:
    """Return the options of all sentences; with `rescore`, they were chosen by other weights than the scorer's."""
    options = _joined(parts)
    if rescore:
        known = options.pairs >= 0
        options.static[known] = scorer.pair_scores[options.pairs[known]]
        options.static[~known] = scorer.copy_score
    lengths = np.array([sentence.source.size for sentence in encoded], np.int64)
    return Text(
        options,
        scorer.scoring,
        scorer.longest_jump,
        min(options.first.shape[1], WINDOW),
        offsets_of(lengths),
        offsets_of(lengths + 2),
        row_offsets(options, lengths),
        np.repeat(np.arange(lengths.size, dtype=np.int32), lengths),
        _is_unscored(scorer),
    )


def _is_unscored(scorer: WeightedModel) -> bool:
    """Return whether all features of the sentence model have a weight of 0."""
    scoring = scorer.scoring
    weighted = scorer.copy_score or scoring.distortion_weight or scoring.model_weights.any()
    return not (weighted or scorer.pair_scores.any() or scoring.reordering.any())


def _joined(parts: Sequence[SentenceOptions]) -> SentenceOptions:
    """Return the options of all sentences one after the other."""
    if not parts:
        return _no_options()
    firsts = np.cumsum([0, *(part.begin.size for part in parts)])[:-1].astype(np.int32).tolist()
    words = np.cumsum([0, *(part.words.size for part in parts)])[:-1].astype(np.int32).tolist()
    shifted = [
        part._replace(
            word_begin=part.word_begin + np.int32(word),
            first=part.first + np.int32(first),
            stop=part.stop + np.int32(first),
        )
        for part, first, word in zip(parts, firsts, words, strict=True)
    ]
    return SentenceOptions(*(np.concatenate(arrays) for arrays in zip(*shifted, strict=True)))


def _no_options() -> SentenceOptions:
    """Return the options of a document without sentences."""
    whole, real, spans = np.empty(0, np.int32), np.empty(0), np.empty((0, 1), np.int32)
    return SentenceOptions(whole, whole, whole, real, real, whole, whole, whole, spans, spans)


ANSWERS_PER_OPTION, FEW_ANSWERS = 16, 1  # of language models, during a search and after it


@dataclass(eq=False)
class DocumentState:
    """The phrases chosen for each sentence, what was counted, and the random state: all that a search goes on from."""

    document: Document
    known: Known
    arrays: State
    measures: Measures
    memories: Memories = field(default=())

    @property
    def step(self) -> int:
        """Return how many steps were taken."""
        return int(self.arrays.counters[STEPS])

    @property
    def present(self) -> Derivations:
        """Return the phrases of the present state."""
        return self._phrases(self.arrays.phrases.size, self.arrays.phrases.chosen)

    @property
    def best(self) -> Derivations:
        """Return the phrases of the best state so far, which may be the present one."""
        sizes, chosen = self.arrays.best_size.copy(), self.arrays.best_chosen.copy()
        return self._phrases(sizes, chosen)

    def _phrases(self, sizes: NDArray[np.int64], chosen: NDArray[np.int32]) -> Derivations:
        places = self.known.text.places[:-1].tolist()
        parts = [chosen[place + 1 : place + 1 + size] for place, size in zip(places, sizes.tolist(), strict=True)]
        return Derivations.joined(self.known.model, self.known.text.options, parts)

    def elsewhere(self, phrases: Derivations) -> DocumentState:
        """Return another state of the same document, with separate counts."""
        arrays = new_arrays(self.known, np.zeros(1, np.uint64), self.arrays.phrases.known)
        other = DocumentState(self.document, self.known, arrays, deepcopy(self.measures))
        set_phrases(self.known.text, arrays, other.measures, phrases.offsets, phrases.chosen)
        return other

    def remember(self, answers_per_option: int) -> None:
        """Make room for answers of language models; a state that is only kept needs hardly any."""
        text, phrases = self.known.text, self.arrays.phrases
        slots = slots_for_answers(text.options, answers_per_option, MOST_ANSWERS)
        if slots != phrases.known.answers.shape[1]:
            known = room_for_answers(len(text.scoring.models), slots)
            self.arrays = self.arrays._replace(phrases=phrases._replace(known=known))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that `DocumentSearch.resume` needs, for saving."""
        found: dict[str, NDArray[Any]] = {name: array.copy() for name, array in self._counted.items()}
        for name, phrases in (("present", self.present), ("best", self.best)):
            found[f"{name}_offsets"] = phrases.offsets
            options = self.known.text.options
            columns = [options.begin[phrases.chosen], options.end[phrases.chosen], options.pairs[phrases.chosen]]
            found[f"{name}_phrases"] = np.column_stack(columns)
        return found

    def put(self, arrays: Mapping[str, NDArray[Any]], present: Derivations, best: Derivations) -> None:
        """Continue with what `to_arrays` gave."""
        state, text = self.arrays, self.known.text
        set_phrases(text, state, self.measures, present.offsets, present.chosen)
        for name, array in self._counted.items():
            array[:] = arrays[name]
        places = text.places.tolist()
        for s, (begin, end) in enumerate(pairwise(best.offsets.tolist())):
            state.best_size[s] = end - begin
            state.best_chosen[places[s] + 1 : places[s] + 1 + end - begin] = best.chosen[begin:end]

    @property
    def _counted(self) -> dict[str, NDArray[Any]]:
        arrays, phrases = self.arrays, self.arrays.phrases
        return {"counters": arrays.counters, "totals": arrays.totals, "tally": phrases.tally, "random": phrases.random}


def new_arrays(known: Known, random: RandomState, answers: PhraseScores | None = None) -> State:
    """Return a state without phrases, with previous answers of the language models if there are any."""
    text = known.text
    lengths = np.diff(text.words)
    if answers is None:
        slots = slots_for_answers(text.options, ANSWERS_PER_OPTION, MOST_ANSWERS)
        answers = room_for_answers(len(text.scoring.models), slots)
    phrases = room_for_phrases(Sentence(*text[:4]), lengths, answers, random, (len(OPERATIONS), 3))
    return State(
        phrases=phrases,
        scores=np.zeros(lengths.size),
        counters=np.zeros(3, np.int64),
        totals=np.zeros(4),
        best_size=np.zeros(lengths.size, np.int64),
        best_chosen=phrases.chosen.copy(),
        changed=np.zeros(lengths.size, np.int32),
        changed_count=np.zeros(1, np.int64),
        is_changed=np.zeros(lengths.size, np.bool_),
    )


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A state: a translation of each segment, the score of the document, the total of each feature.

    `bleu` are the statistics of `toledo.metrics.BLEU` where there is a BLEU model. The score of a translation is that
    of the sentence model.
    """

    translations: tuple[Translation, ...]
    score: float
    features: Mapping[str, float]
    bleu: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Record:
    """The state at a step; `translations` only if texts are to be recorded."""

    step: int
    score: float
    features: Mapping[str, float]
    bleu: NDArray[np.int64] | None
    translations: tuple[tuple[str, ...], ...] | None


class Tally(NamedTuple):
    """How often an operation was drawn, found something to propose, and was accepted."""

    drawn: int
    proposed: int
    accepted: int


@dataclass(frozen=True, eq=False)
class DocumentResult:
    """The `best` state and the `last` one; a search continues from `state`."""

    document: Document
    best: Snapshot
    last: Snapshot
    records: tuple[Record, ...]
    steps: int
    accepted: int
    tally: Mapping[str, Tally]
    state: DocumentState

    @property
    def translations(self) -> tuple[Translation, ...]:
        """Return the translations of the best state."""
        return self.best.translations

    @property
    def score(self) -> float:
        """Return the score of the best state."""
        return self.best.score

    @property
    def features(self) -> Mapping[str, float]:
        """Return the features of the best state."""
        return self.best.features

    def saved_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state to continue from and the recorded states, their texts left out."""
        records = self.records
        names = [*dict.fromkeys(name for one in records for name in one.features)]  # sparse ones are not in all
        bleu = [one.bleu for one in records if one.bleu is not None]
        values = [[one.features.get(name, 0.0) for name in names] for one in records]
        return {
            **self.state.to_arrays(),
            "record_names": np.frombuffer(json.dumps(names).encode(), np.uint8),
            "record_steps": np.array([one.step for one in records], np.int64),
            "record_scores": np.array([one.score for one in records], np.float64),
            "record_features": np.array(values, np.float64),
            "record_bleu": np.array(bleu, np.int64),
        }

    def with_saved_records(self, arrays: Mapping[str, NDArray[Any]]) -> DocumentResult:
        """Return the result with the records that were made before an interruption."""
        names, bleu = json.loads(arrays["record_names"].tobytes()), arrays["record_bleu"]
        columns = (arrays[f"record_{name}"].tolist() for name in ("steps", "scores", "features"))
        records = tuple(
            Record(step, score, dict(zip(names, values, strict=True)), bleu[place] if bleu.size else None, None)
            for place, (step, score, values) in enumerate(zip(*columns, strict=True))
        )
        known = {one.step for one in records}  # a document that was not begun has recorded its start twice
        return replace(self, records=(*records, *(one for one in self.records if one.step not in known)))
