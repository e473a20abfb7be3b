"""The distortion rule: which phrase may come next. Beam search, forced decoding and the Gibbs sampler share it.

A derivation takes its phrases in target order. `gap` is the first source word that is not yet translated, `last` the
end of the phrase before (0 at the start). The phrase for the source words from `begin` up to `end` may come next if

1. the jump is not too long: |begin − last| ≤ limit, and
2. it starts at the gap, or the gap stays within one jump from its end: end − gap ≤ limit.

The second rule is that of Moses: without it a search could run into states that it cannot finish. It leaves out some
derivations all of whose jumps are within the limit. The jump from the last phrase to the end of the sentence is free.
No limit is a limit of WINDOW words, and no phrase ends further than that from the gap: the words translated are kept as
the gap and a mask of the positions after it.

Whether a derivation keeps to the rule depends on its *runs* alone, maximal sequences of phrases that follow each other
in source and target. Let the phrases of a run be others, or more or fewer: its first `begin` and its last `end`, which
is the furthest, stay as they are. And a derivation without any jump always keeps to it.
"""

from __future__ import annotations

import numpy as np

from toledo.kernels import inlined

WINDOW = 63
ONE = np.uint64(1)


@inlined
def leaves_gap(gap: int, begin: int, end: int, limit: int) -> bool:
    """Whether the gap could not be reached from the end of a span: the second rule forbids it."""
    return bool(begin > gap and end - gap > limit)


@inlined
def may_follow(gap: int, last: int, begin: int, end: int, limit: int) -> bool:
    """Whether both rules allow a span of words that are not yet translated."""
    reachable = begin >= gap and abs(begin - last) <= limit and end - gap <= WINDOW
    return bool(reachable and not leaves_gap(gap, begin, end, limit))


@inlined
def span_mask(gap: int, begin: int, end: int) -> np.uint64:
    """The words of a span that starts at the gap or after it."""
    return np.uint64(((ONE << np.uint64(end - begin)) - ONE) << np.uint64(begin - gap))


@inlined
def after_span(gap: int, mask: np.uint64, begin: int, end: int) -> tuple[int, np.uint64]:
    """The gap and the mask once a span is translated."""
    mask |= span_mask(gap, begin, end)
    while mask & ONE:
        mask >>= ONE
        gap += 1
    return gap, mask
