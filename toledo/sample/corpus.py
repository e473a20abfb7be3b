"""Example data: a small parallel text in documents, with gold word alignments and two references.

The source language, Talvan, is invented; the target is English. Sentences are statements and questions of one clause or
two. The text depends on the seed alone: only `random.Random.random` is used, whose numbers are the same on every
machine and in every version of Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from toledo.errors import InputError
from toledo.files import atomic_writer, write_lines
from toledo.locks import partial_directory
from toledo.progress import Advance, Progress, silent
from toledo.results import Result
from toledo.sample.clauses import INVERTED, MAIN, QUESTION, SUBORDINATE, clause
from toledo.sample.lexicon import AND, BUT, expressions
from toledo.sample.phrases import expression_piece
from toledo.sample.scene import Phrase, Scene, SenseScene, Speaker, join, length_of, written

TRAIN, TUNE, TEST = 10_000, 300, 300
FILES = (
    {"train.trg"}
    | {f"{part}.{name}" for part in ("train", "tune", "test") for name in ("src", "align", "docids")}
    | {f"{part}.trg.{number}" for part in ("tune", "test") for number in range(2)}
)
SHORTEST, LONGEST = 4, 22  # of the source, so that English has at most about 30 words
SHORTEST_DOCUMENT, LONGEST_DOCUMENT = 6, 14
AT_ONCE = 1000
PUNCTUATION = re.compile(r" ([.,?]|'s?(?= ))")


def sentence(speaker: Speaker) -> Phrase:
    """Return one sentence with its full stop."""
    speaker.keys = 0
    chance = speaker.random()
    if chance < 0.08:
        return join(clause(speaker, QUESTION), speaker.word("?", "?"))
    if chance < 0.3:
        body = _coordination(speaker)
    elif chance < 0.48:
        body = _subordinate_behind(speaker)
    elif chance < 0.6:
        body = _subordinate_in_front(speaker)
    elif chance < 0.7:
        body = _with_opener(speaker)
    else:
        body = clause(speaker, MAIN)
    return join(body, speaker.word(".", "."))


def _coordination(speaker: Speaker) -> Phrase:
    first, comma = clause(speaker, MAIN, 1), speaker.word(",", ",")
    link = speaker.word(AND, "and") if speaker.random() < 0.65 else speaker.word(BUT, "but")
    second = clause(speaker, MAIN, 1)
    target = first.target + (comma.target if speaker.style() < 0.5 else []) + link.target + second.target
    return Phrase(first.source + comma.source + link.source + second.source, target)


def _subordinate_behind(speaker: Speaker) -> Phrase:
    main, comma = clause(speaker, MAIN, 1), speaker.untranslated(",")
    link = _conjunction(speaker)
    reason = clause(speaker, SUBORDINATE, 1)
    return Phrase([*main.source, comma, *link.source, *reason.source], main.target + link.target + reason.target)


def _subordinate_in_front(speaker: Speaker) -> Phrase:
    """Return a sentence whose main clause starts with its verb in Talvan, or comes first in English."""
    link = _conjunction(speaker)
    reason, comma = clause(speaker, SUBORDINATE, 1), speaker.word(",", ",")
    main = clause(speaker, INVERTED, 1)
    source = link.source + reason.source + comma.source + main.source
    if speaker.style() < 0.25:
        return Phrase(source, main.target + link.target + reason.target)
    return Phrase(source, link.target + reason.target + comma.target + main.target)


def _with_opener(speaker: Speaker) -> Phrase:
    opener = speaker.say(expression_piece(speaker.scene.pick(expressions("openers"))))
    comma = [(",", 1, (), opener.source[0][2])] if speaker.style() < 0.7 else []
    main = clause(speaker, INVERTED)
    return Phrase(opener.source + main.source, [*opener.target, *comma, *main.target])


def _conjunction(speaker: Speaker) -> Phrase:
    return speaker.say(expression_piece(speaker.scene.pick(expressions("conjunctions"))))


class Pair(NamedTuple):
    """A sentence, its translation, the links between their words (Pharaoh format), and its document."""

    source: str
    target: str
    links: str
    document: str


@dataclass(frozen=True)
class ExampleText(Result):
    """Parallel text line by line; `alignments` (Pharaoh format) belong to the first reference."""

    sources: list[str]
    references: tuple[list[str], ...]
    alignments: list[str]
    document_ids: list[str]

    def __len__(self) -> int:
        return len(self.sources)

    def __str__(self) -> str:
        return "\n".join(map("\t".join, zip(self.sources, self.targets, strict=True)))

    @property
    def targets(self) -> list[str]:
        """Return the translations, or the first of several."""
        return self.references[0]


@dataclass(frozen=True)
class ExampleData(Result):
    """Texts to train on (one reference), to tune on and to test on (two references); generated on first use.

    They are tokenized, or `raw`: with a capital at the beginning, and punctuation at its word.
    """

    num_train: int = TRAIN
    num_tune: int = TUNE
    num_test: int = TEST
    seed: int = 1
    raw: bool = False
    senses: bool = False

    def __post_init__(self) -> None:
        if min(self.seed, self.num_train, self.num_tune, self.num_test) < 0:
            raise InputError("seeds and sizes must not be negative", remedy="use numbers from 0 up")

    def __str__(self) -> str:
        return f"{self.num_train} sentence pairs to train, {self.num_tune} to tune, {self.num_test} to test"

    @property
    def signature(self) -> str:  # type: ignore[override]
        """Return what the texts depend on."""
        sizes = f"train:{self.num_train}|tune:{self.num_tune}|test:{self.num_test}|seed:{self.seed}"
        return sizes + ("|raw" if self.raw else "") + ("|senses" if self.senses else "")

    @cached_property
    def train(self) -> ExampleText:
        """Return the training text."""
        return _part(self.seed, "train", self.num_train, 1, self.raw, self.senses)

    @cached_property
    def tune(self) -> ExampleText:
        """Return the text to tune on."""
        return _part(self.seed, "tune", self.num_tune, 2, self.raw, self.senses)

    @cached_property
    def test(self) -> ExampleText:
        """Return the text to test on."""
        return _part(self.seed, "test", self.num_test, 2, self.raw, self.senses)

    def save(self, directory: str | Path, progress: Progress = silent) -> None:
        """Write {train,tune,test}.{src,align,docids}, train.trg and {tune,test}.{trg.0,trg.1}, without keeping them.

        Raw text has no files of word alignments, whose words it does not show.
        """
        folder = Path(directory)
        if folder.is_dir() and (strange := sorted({path.name for path in folder.iterdir()} - FILES)):
            raise InputError(f"the directory holds {strange[0]!r}", file=folder, remedy="name a new directory")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with partial_directory(folder) as new:  # a full disk leaves nothing behind
            self._write(new, progress)
            folder.mkdir(exist_ok=True)
            for file in sorted(new.iterdir()):
                file.replace(folder / file.name)

    def _write(self, folder: Path, progress: Progress) -> None:
        sizes = {"train": self.num_train, "tune": self.num_tune, "test": self.num_test}
        with progress("writing example data", sum(sizes.values())) as advance:
            for part, size in sizes.items():
                target = "trg" if part == "train" else "trg.0"
                fields = {"source": "src", "target": target, "links": "align", "document": "docids"}
                if self.raw:
                    del fields["links"]
                files = {field: folder / f"{part}.{name}" for field, name in fields.items()}
                _write(files, pairs(self.seed, part, size, raw=self.raw, senses=self.senses), advance)
                if part != "train":
                    others = pairs(self.seed, part, size, reference=1, raw=self.raw, senses=self.senses)
                    write_lines(folder / f"{part}.trg.1", (pair.target for pair in others))


def generate(
    seed: int = 1, train: int = TRAIN, tune: int = TUNE, test: int = TEST, *, raw: bool = False, senses: bool = False
) -> ExampleData:
    """Return the example data of a seed; a smaller part is the beginning of a larger one."""
    return ExampleData(train, tune, test, seed, raw, senses)


def pairs(
    seed: int, part: str, size: int, reference: int = 0, *, raw: bool = False, senses: bool = False
) -> Iterator[Pair]:
    """Return the sentence pairs of a part; another `reference` gives the same source with another translation."""
    found = islice((_with_senses if senses else _endless)(seed, part, reference), size)
    if not raw:
        return found
    return (pair._replace(source=as_written(pair.source), target=as_written(pair.target)) for pair in found)


def as_written(line: str) -> str:
    """Return a tokenized sentence as raw text."""
    text = PUNCTUATION.sub(r"\1", line)
    return text[:1].upper() + text[1:]


def _endless(seed: int, part: str, reference: int) -> Iterator[Pair]:
    content = Random(f"{seed} {part}").random
    style = Random(f"{seed} {part} {reference}").random
    for number in count(1):
        scene = Scene(content)
        document = f"{part}-{number:05d}-{scene.topic.name}"
        speaker = Speaker(scene, style)
        for _ in range(SHORTEST_DOCUMENT + int(content() * (LONGEST_DOCUMENT - SHORTEST_DOCUMENT + 1))):
            yield Pair(*_sentence(speaker), document)


def _with_senses(seed: int, part: str, reference: int) -> Iterator[Pair]:
    """Documents in pairs, which say the same with the words of two fields, by the same random numbers."""
    for number in count(1):
        for side in range(2):
            content = Random(f"{seed} {part} senses {number}").random
            scene = SenseScene(content, side)
            speaker = Speaker(scene, Random(f"{seed} {part} senses {number} {reference}").random)
            for _ in range(SHORTEST_DOCUMENT + int(content() * (LONGEST_DOCUMENT - SHORTEST_DOCUMENT + 1))):
                yield Pair(*_sentence(speaker), f"{part}-{number:05d}-{scene.field.name}")


def _sentence(speaker: Speaker) -> tuple[str, str, str]:
    """Return a sentence of a good length in the source alone, so that all references have the same source."""
    while True:
        phrase = sentence(speaker)
        if SHORTEST <= length_of(phrase) <= LONGEST:
            return written(phrase, speaker.keys)


def _part(seed: int, part: str, size: int, references: int, raw: bool, senses: bool) -> ExampleText:
    first, *others = (
        list(pairs(seed, part, size, reference, raw=raw, senses=senses)) for reference in range(references)
    )
    return ExampleText(
        [pair.source for pair in first],
        tuple([pair.target for pair in reference] for reference in (first, *others)),
        [pair.links for pair in first],
        [pair.document for pair in first],
    )


def _write(files: dict[str, Path], content: Iterator[Pair], advance: Advance) -> None:
    """Write fields of pairs, each to its file."""
    with ExitStack() as stack:
        streams = {field: stack.enter_context(atomic_writer(file)) for field, file in files.items()}
        while block := list(islice(content, AT_ONCE)):
            for field, stream in streams.items():
                stream.write("".join(f"{getattr(pair, field)}\n" for pair in block))
            advance(len(block))


def example_data(
    *, train: int = TRAIN, tune: int = TUNE, test: int = TEST, raw: bool = False, senses: bool = False, seed: int = 1
) -> ExampleData:
    """Make a small parallel corpus of an invented language and English, in documents.

    `train`, `tune` and `test` are numbers of sentences. The last two parts have two references each, all parts gold
    word alignments: `data.train.sources`, `data.test.references`. Texts are tokenized and lower-cased unless they are
    `raw`. `data.save("sample")` writes all of it as text files. With `senses`, words have senses that only the document
    tells: documents come in pairs, with sentences that are the same in Talvan and differ in their right translation.
    """
    for name, value, least in (("train", train, 1), ("tune", tune, 1), ("test", test, 1), ("seed", seed, 0)):
        if value < least:
            raise InputError(f"`{name}` is {value}, expected an int of at least {least}", argument=name)
    return generate(seed, train, tune, test, raw=raw, senses=senses)
