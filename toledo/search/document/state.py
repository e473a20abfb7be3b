"""A document on its way through a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import Document
from toledo.search.document.arrays import DOCUMENT, STEPS, USERS, State, room_for_state
from toledo.search.document.building import most_possibilities, room_for_answers, slots_for_answers
from toledo.search.document.keeping import set_phrases
from toledo.search.document.models.known import Known
from toledo.search.document.models.measures import Measures
from toledo.search.document.running import OPERATIONS
from toledo.search.document.starting import Phrases
from toledo.search.document.users import Memories
from toledo.search.gibbs.phrase_scores import PhraseScores
from toledo.search.steps import Step

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
        """How many steps were taken."""
        return int(self.arrays.counters[STEPS])

    @property
    def present(self) -> Phrases:
        """The phrases of the present state."""
        return self._phrases(self.arrays.phrases.size, self.arrays.phrases.chosen)

    @property
    def best(self) -> Phrases:
        """The phrases of the best state so far, which may be the present one."""
        sizes, chosen = self.arrays.best_size.copy(), self.arrays.best_chosen.copy()
        return self._phrases(sizes, chosen)

    def _phrases(self, sizes: NDArray[np.int64], chosen: NDArray[np.int32]) -> Phrases:
        places = self.known.text.places[:-1].tolist()
        parts = [chosen[place + 1 : place + 1 + size] for place, size in zip(places, sizes.tolist(), strict=True)]
        return Phrases.joined(parts)

    def steps_of(self, options: Sequence[int]) -> tuple[Step, ...]:
        """Phrases to read."""
        found, arrays = [], self.known.text.options
        for option in options:
            begin = int(arrays.word_begin[option])
            words = arrays.words[begin : begin + int(arrays.lengths[option])].tolist()
            place = int(arrays.begin[option]), int(arrays.end[option]), int(arrays.pairs[option])
            found.append(Step(*place, tuple(self.known.model.target_vocabulary.words(words))))
        return tuple(found)

    def translations_of(self, phrases: Phrases) -> list[tuple[Step, ...]]:
        """The phrases of each sentence."""
        chosen = phrases.chosen.tolist()
        return [self.steps_of(chosen[begin:end]) for begin, end in pairwise(phrases.offsets.tolist())]

    def elsewhere(self, phrases: Phrases) -> DocumentState:
        """Another state of the same document, which knows nothing of this one."""
        arrays = new_arrays(self.known, np.zeros(1, np.uint64), self.arrays.phrases.known)
        other = DocumentState(self.document, self.known, arrays, cast(Measures, _copied(self.measures)))
        set_phrases(self.known.text, arrays, other.measures, phrases.offsets, phrases.chosen)
        return other

    def remember(self, answers_per_option: int) -> None:
        """Have room for so many answers of language models; a state that is only kept needs hardly any."""
        text, phrases = self.known.text, self.arrays.phrases
        slots = slots_for_answers(text, answers_per_option)
        if slots != phrases.known.answers.shape[1]:
            self.arrays = self.arrays._replace(phrases=phrases._replace(known=room_for_answers(text, slots)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All that `DocumentSearch.resume` needs, for saving."""
        found: dict[str, NDArray[Any]] = {name: array.copy() for name, array in self._counted.items()}
        for name, phrases in (("present", self.present), ("best", self.best)):
            found[f"{name}_offsets"] = phrases.offsets
            options = self.known.text.options
            columns = [options.begin[phrases.chosen], options.end[phrases.chosen], options.pairs[phrases.chosen]]
            found[f"{name}_phrases"] = np.column_stack(columns)
        return found

    def put(self, arrays: Mapping[str, NDArray[Any]], present: Phrases, best: Phrases) -> None:
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

    @property
    def document_score(self) -> float:
        """The weighted sum of document models and users' models."""
        return float(self.arrays.totals[DOCUMENT] + self.arrays.totals[USERS])


def new_arrays(known: Known, random: NDArray[np.uint64], answers: PhraseScores | None = None) -> State:
    """A state without phrases, with what the language models have answered already if that is given."""
    text = known.text
    given = answers or room_for_answers(text, slots_for_answers(text, ANSWERS_PER_OPTION))
    return room_for_state(text, given, random, most_possibilities(text), len(OPERATIONS))


def _copied(arrays: Any) -> Any:
    """A named tuple with arrays of its own."""
    if isinstance(arrays, tuple):
        return type(arrays)(*(_copied(part) for part in arrays))
    return arrays.copy() if isinstance(arrays, np.ndarray) else arrays
