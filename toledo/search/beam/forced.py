"""Forced decoding: what the model makes of a given derivation, or of a given translation.

    forced = ForcedDecoder(model)
    forced.derivation("das haus".split(), [(0, 2, ["the", "house"])]).features
    (forest,) = forced.forests(["das haus".split()], ["the house".split()])

Forced decoding knows all options of the table, not only the best ones for each source phrase.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.errors import InputError
from toledo.forest.derivations import Derivation, viterbi
from toledo.forest.forest import Forest
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.search.beam.cubes import EdgeArrays, SearchLattice
from toledo.search.beam.forced_paths import PathScoring, Placed, find_paths, place_phrases, prefix_scores
from toledo.search.beam.search import to_forest
from toledo.search.options import NONE, UNKNOWN_WORD, SentenceOptions
from toledo.search.search import EncodedSentence, Sentences, harmless, weigh
from toledo.text.vocabulary import UNKNOWN

log = logging.getLogger(__name__)

SENTENCES_AT_ONCE = 16
MOST_HYPOTHESES = 20_000

Phrase = tuple[int, int, Sequence[str]]  # source words from the first up to the second number, and the target words
Words = Sequence[str]


class ForcedDecoder:
    """Scores given derivations and translations with one model.

    Of hypotheses with the same target words, the best `most` are kept: that matters only if a translation repeats
    few words very often, and is logged.
    """

    def __init__(self, model: PhraseModel, most: int = MOST_HYPOTHESES) -> None:
        if most < 1:
            raise ValueError("at least one hypothesis must be kept")
        self.model, self.most = model, most
        self._weighted = weigh(model)

    def derivation(self, words: Words, phrases: Sequence[Phrase]) -> Derivation:
        """The derivation that uses these phrases in target order, within the distortion limit or not.

        A phrase pair that the table does not have is an error; a word that the table does not know must be copied.
        """
        _require_cover(words, phrases)
        found = [self._pair(words, phrase) for phrase in phrases]
        target = [self.model.target_vocabulary.add(word) for _, _, text in phrases for word in text]
        begin, end = (np.array([phrase[side] for phrase in phrases], np.int32) for side in (0, 1))
        lengths = np.array([len(text) for _, _, text in phrases], np.int32)
        places = (np.cumsum(lengths) - lengths).astype(np.int32)
        pairs = np.array(found, np.int32)
        options = self._options(begin, end, pairs, places, lengths, np.array(target, np.int32))
        forest = to_forest(self.model, options, self._path(options))
        (best,) = viterbi(forest, forest.scores(self.model.weights))
        if best is None:
            raise ValueError("a path without a derivation")
        return best

    def encode(self, sentences: Sentences) -> list[EncodedSentence]:
        """Return sentences as ids, once for any number of calls. New words are added: not for threads."""
        return [self._weighted.encode(sentence) for sentence in sentences]

    def forests(
        self,
        sentences: Sentences,
        targets: Sequence[Words],
        threads: int | None = None,
        progress: Progress = silent,
    ) -> list[Forest]:
        """For each sentence the lattice of all derivations of its target; one without edges where there is none."""
        if len(sentences) != len(targets):
            raise ValueError(f"{len(sentences)} sentences with {len(targets)} targets")
        encoded = self.encode(sentences)
        wanted = [self.model.target_vocabulary.ids(words) for words in targets]

        def work(first: int, last: int) -> list[Forest]:
            return [self._forest(encoded[i], wanted[i]) for i in range(first, last)]

        parts = map_chunks(
            work, len(encoded), chunk=SENTENCES_AT_ONCE, threads=threads, progress=progress, label="forcing"
        )
        return [forest for part in parts for forest in part]

    def why_not(self, words: Words, target: Words) -> str:
        """Why a target cannot be reached."""
        placed = self._placed(self._weighted.encode(words), self.model.target_vocabulary.ids(target))
        written, used = np.zeros(len(target), np.bool_), np.zeros(len(words), np.bool_)
        for begin, end, place, length in zip(placed.begin, placed.end, placed.place, placed.length, strict=True):
            written[place : place + length], used[begin:end] = True, True
        if not written.all():
            return f"no phrase gives {_listed(target, ~written)}"
        if not used.all():
            return f"no phrase for {_listed(words, ~used)} stands in the translation"
        return "the phrases that stand in the translation do not fit together within the distortion limit"

    def _forest(self, sentence: EncodedSentence, target: NDArray[np.int32]) -> Forest:
        placed = self._placed(sentence, target)
        options = self._options(placed.begin, placed.end, placed.pairs, placed.place, placed.length, target)
        scoring, jump = self._weighted.scoring, self._weighted.longest_jump
        prefix = prefix_scores(scoring, target)
        weights = PathScoring(scoring.model_weights, scoring.distortion_weight, scoring.reordering)
        lattice, all_kept = find_paths(options, placed, sentence.source.size, prefix, weights, jump, self.most)
        if not all_kept:
            log.warning("too many derivations of one translation: the best %d for each word are kept", self.most)
        return to_forest(self.model, options, lattice)

    def _placed(self, sentence: EncodedSentence, target: NDArray[np.int32]) -> Placed:
        table = self.model.table
        copied = ~self._weighted.has_option[sentence.source]
        wanted = np.where(target == UNKNOWN, -1, target).astype(np.int32)  # unknown words are not all the same
        return place_phrases(
            table.trie,
            table.option_offsets,
            table.longest_source,
            table.pairs.target,
            table.pairs.targets.offsets,
            table.pairs.targets.words,
            sentence.source,
            sentence.copies,
            copied,
            wanted,
        )

    def _options(
        self,
        begin: NDArray[np.int32],
        end: NDArray[np.int32],
        pairs: NDArray[np.int32],
        places: NDArray[np.int32],
        lengths: NDArray[np.int32],
        target: NDArray[np.int32],
    ) -> SentenceOptions:
        """Phrases at places of the target as options: their words are those of the target."""
        static = np.full(pairs.size, self._weighted.copy_score)
        static[pairs != UNKNOWN_WORD] = self._weighted.pair_scores[pairs[pairs != UNKNOWN_WORD]]
        nothing = np.zeros((1, 1), np.int32)
        return SentenceOptions(
            begin=begin, end=end, pairs=pairs, static=static, estimate=static, words=target, word_begin=places,
            lengths=lengths, first=nothing, stop=nothing,
        )  # fmt: skip

    def _path(self, options: SentenceOptions) -> SearchLattice:
        """The lattice of one derivation: one node after each phrase, and the goal."""
        size = options.begin.size
        ends = np.cumsum(options.lengths)
        prefix = prefix_scores(self._weighted.scoring, options.words)
        bounds = np.concatenate([[0], ends, [options.words.size + 1]])
        numbers = np.arange(size + 2, dtype=np.int32)
        edges = EdgeArrays(
            heads=numbers[1:],
            tails=numbers[:-1],
            options=np.concatenate([numbers[:size], [NONE]]).astype(np.int32),
            model_scores=np.diff(prefix[bounds], axis=0).astype(np.float32),
        )
        return SearchLattice(
            nodes=size + 2,
            edges=edges,
            best_edge=numbers - 1,
            node_option=np.concatenate([[NONE], numbers[:size], [NONE]]).astype(np.int32),
            score=0.0,
        )

    def _pair(self, words: Words, phrase: Phrase) -> int:
        """The number of a phrase pair in the table, or that of a copied word."""
        begin, end, text = phrase
        table, pairs = self.model.table, self.model.table.pairs
        source, target = table.source_vocabulary.ids(words[begin:end]), table.target_vocabulary.ids(text)
        spans = table.lookup(source)
        number = int(spans.at[0, end - begin - 1]) if end - begin <= table.longest_source else NONE
        if number != NONE and len(text):
            first, stop = int(spans.first[number]), int(spans.stop[number])
            begins, ends = (pairs.targets.offsets[pairs.target[first:stop] + side] for side in (0, 1))
            likely = (ends - begins == len(text)) & (pairs.targets.words[begins] == target[0])
            for pair in (first + np.flatnonzero(likely)).tolist():
                if np.array_equal(pairs.targets[int(pairs.target[pair])], target):
                    return int(pair)
        if end - begin == 1 and not self._weighted.has_option[source[0]] and list(text) == [harmless(words[begin])]:
            return UNKNOWN_WORD
        raise InputError(
            f"the phrase table has no pair {' '.join(words[begin:end])!r} → {' '.join(text)!r} (source words {begin} "
            f"to {end - 1})",
            remedy="take phrases of the table; a word that it does not know is copied",
        )


def _require_cover(words: Words, phrases: Sequence[Phrase]) -> None:
    used = [0] * len(words)
    for begin, end, text in phrases:
        if not 0 <= begin < end <= len(words):
            raise InputError(
                f"{' '.join(text)!r} translates words {begin} up to {end} of a sentence of {len(words)} words",
                remedy="positions are counted from 0, and a phrase has at least one word",
            )
        for position in range(begin, end):
            used[position] += 1
    for position, times in enumerate(used):
        if times != 1:
            raise InputError(
                f"source word {position}, {words[position]!r}, is translated {times} times",
                remedy="every source word belongs to exactly one phrase",
            )


def _listed(words: Words, chosen: NDArray[np.bool_]) -> str:
    found = list(dict.fromkeys(words[i] for i in np.flatnonzero(chosen).tolist()))
    return ", ".join(map(repr, found[:5])) + (", …" if len(found) > 5 else "")
