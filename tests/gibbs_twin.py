"""The Gibbs sampler by definition: which derivations each draw chooses from, and the exact distribution."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from beam_twin import Steps, derivations, features_of, score

from toledo.compiled.random import random_state
from toledo.model import PhraseModel
from toledo.search.chain import Chain, Sentence, room_for_chain, set_derivation
from toledo.search.gibbs.samples import Visits
from toledo.search.gibbs.search import NOTHING_KEPT, ChainPlan, GibbsSearch, SegmentCandidates, room_for_candidates, run
from toledo.search.settings import OPERATORS


class Twin:
    """All derivations of a sentence with their probabilities; and the sampler's own arrays, to call its parts."""

    def __init__(self, model: PhraseModel, words: list[str], scale: float = 1.0) -> None:
        self.model, self.words = model, words
        self.states = sorted(derivations(model, words))
        self.number = {state: k for k, state in enumerate(self.states)}
        self.features = [features_of(model, words, state) for state in self.states]
        self.scores = np.array([score(model, features) for features in self.features])
        weights = np.exp(scale * (self.scores - self.scores.max()))
        self.posterior = weights / weights.sum()
        self.scale = scale
        self.sentence, self.chain, self.candidates = self._arrays()
        options = self.sentence.options
        named = zip(options.begin.tolist(), options.end.tolist(), options.pairs.tolist(), strict=True)
        self.steps = list(named)
        self.option = {step: k for k, step in enumerate(self.steps)}

    def _arrays(self) -> tuple[Sentence, Chain, SegmentCandidates]:
        weighted = GibbsSearch(self.model)._weighted
        encoded = weighted.encode(self.words)
        options, models = weighted.options(weighted.prepare([encoded]), encoded), len(self.model.language_models)
        sentence = weighted.sentence(options)
        chain = room_for_chain(sentence, random_state(1))
        return sentence, chain, room_for_candidates(options, models)

    def put(self, state: Steps) -> None:
        """Bring the chain into a state."""
        set_derivation(self.sentence, self.chain, np.array([self.option[step] for step in state], np.int32))

    @property
    def state(self) -> Steps:
        size = int(self.chain.size[0])
        return tuple(self.steps[option] for option in self.chain.chosen[1 : size + 1].tolist())

    def run(self, iterations: int, operators: tuple[str, ...] = OPERATORS, thinning: int = 1) -> np.ndarray:
        """The numbers of the states that a chain visits, every `thinning`-th."""
        kept = np.full(iterations, NOTHING_KEPT, np.int32)
        kept[thinning - 1 :: thinning] = 0
        chosen = np.array([name in operators for name in OPERATORS])
        plan = ChainPlan(np.full(iterations, self.scale), kept, 1, iterations // thinning, chosen)
        return self.visited(run(self.sentence, self.chain, self.candidates, plan))

    def visited(self, visits: Visits) -> np.ndarray:
        found = [
            self.number[tuple(self.steps[option] for option in visits.options[begin:end].tolist())]
            for begin, end in pairwise(visits.offsets.tolist())
        ]
        return np.array(found)[visits.visited[0]]

    def conditional(self, states: list[Steps]) -> np.ndarray:
        """The probabilities of some states given that it is one of them."""
        weights = self.posterior[[self.number[state] for state in states]]
        return weights / weights.sum()

    def options_of(self, begin: int, end: int) -> list[tuple[int, int, int]]:
        return [step for step in self.steps if step[:2] == (begin, end)]

    def retrans(self, state: Steps, place: int) -> list[Steps]:
        """States that differ from one in the translation of a phrase only."""
        begin, end, _ = state[place]
        return [(*state[:place], step, *state[place + 1 :]) for step in self.options_of(begin, end)]

    def merge_split(self, state: Steps, middle: int) -> list[Steps]:
        """States with one or two phrases for the window at a source boundary; none if there is no window."""
        for place, (begin, end, _) in enumerate(state):
            number = 1
            if end == middle and place + 1 < len(state) and state[place + 1][0] == middle:
                number, end = 2, state[place + 1][1]
            elif not begin < middle < end:
                continue
            before, after = state[:place], state[place + number :]
            merged = [(*before, step, *after) for step in self.options_of(begin, end)]
            rights = self.options_of(middle, end)
            pairs = [(*before, one, two, *after) for two in rights for one in self.options_of(begin, middle)]
            return merged + pairs if merged else []
        return []

    def reorder(self, state: Steps, i: int, j: int) -> list[Steps]:
        """The state, and the one with two phrases swapped if the distortion rule allows it."""
        swapped = list(state)
        swapped[i], swapped[j] = state[j], state[i]
        return [one for one in (state, tuple(swapped)) if one in self.number]

    def move(self, state: Steps, place: int) -> list[Steps | None]:
        """States with one phrase elsewhere; None where the distortion rule does not allow it."""
        rest = state[:place] + state[place + 1 :]
        found = [(*rest[:k], state[place], *rest[k:]) for k in range(len(state))]
        return [one if one in self.number else None for one in found]

    def resegment(self, state: Steps) -> Iterator[Steps]:
        """States with other phrases for one run; a source span that stays has the same translation."""
        place = 0
        while place < len(state):
            stop = place + 1
            while stop < len(state) and state[stop][0] == state[stop - 1][1]:
                stop += 1
            used = {step[:2]: step for step in state}
            for phrases in self._segmentations(state[place][0], state[stop - 1][1]):
                if all(used.get(step[:2], step) == step for step in phrases):
                    yield (*state[:place], *phrases, *state[stop:])
            place = stop

    def _segmentations(self, begin: int, end: int) -> Iterator[Steps]:
        if begin == end:
            yield ()
        for step in self.steps:
            if step[0] == begin and step[1] <= end:
                for rest in self._segmentations(step[1], end):
                    yield (step, *rest)

    def neighbors(self, state: Steps, operators: tuple[str, ...]) -> set[Steps]:
        """States that some draw of the operators may lead to."""
        found: set[Steps | None] = {state}
        size = len(state)
        if "retrans" in operators:
            found.update(one for place in range(size) for one in self.retrans(state, place))
        if "merge-split" in operators:
            found.update(one for middle in range(1, len(self.words)) for one in self.merge_split(state, middle))
        if "reorder" in operators:
            found.update(one for j in range(size) for i in range(j) for one in self.reorder(state, i, j))
        if "move" in operators:
            found.update(one for place in range(size) for one in self.move(state, place))
        if "resegment" in operators:
            found.update(self.resegment(state))
        return {one for one in found if one is not None}

    def component(self, state: Steps, operators: tuple[str, ...]) -> set[Steps]:
        """States that a chain may reach."""
        reached, waiting = {state}, [state]
        while waiting:
            new = self.neighbors(waiting.pop(), operators) - reached
            reached |= new
            waiting += new
        return reached
