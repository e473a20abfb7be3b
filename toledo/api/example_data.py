"""Make a small parallel corpus of an invented language and English."""

from __future__ import annotations

from toledo.errors import InputError
from toledo.sample.corpus import TEST, TRAIN, TUNE, ExampleData, generate


def example_data(*, train: int = TRAIN, tune: int = TUNE, test: int = TEST, seed: int = 1) -> ExampleData:
    """Make a small parallel corpus of an invented language and English, in documents.

    `train`, `tune` and `test` are numbers of sentences. The last two parts have two references each, all parts gold
    word alignments: `data.train.sources`, `data.test.references`. `data.save("sample")` writes all of it as text files.
    """
    for name, value, least in (("train", train, 1), ("tune", tune, 1), ("test", test, 1), ("seed", seed, 0)):
        if value < least:
            raise InputError(f"`{name}` is {value}, expected an int of at least {least}", argument=name)
    return generate(seed, train, tune, test)
