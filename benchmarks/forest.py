"""Speed of forests: the CoBLEU gradient by edges and threads and beside the paper's eight passes in NumPy; k-best.

python benchmarks/forest.py [--largest 10000000]
"""

from __future__ import annotations

import argparse
import time
from itertools import islice

import numpy as np

from toledo.forest.assemble import Edges, from_edges
from toledo.forest.forest import Forest, Yields
from toledo.forest.inside_outside import advantage, distribution
from toledo.forest.kbest import k_best
from toledo.forest.ngrams import join_ngrams, localize
from toledo.objectives.cobleu import CoBLEU
from toledo.objectives.objective import MatchedForest, match
from toledo.text.vocabulary import Vocabulary

FEATURES = 9
NAMES = [f"f{k}" for k in range(FEATURES)]


def random_lattice(rng: np.random.Generator, vocabulary: Vocabulary, words: int = 20, ways: int = 5) -> Forest:
    """A confusion network of random words."""
    heads = np.concatenate([[0], np.repeat(np.arange(1, words + 1), ways)]).astype(np.int32)
    edges = heads.size
    tail_offsets = np.concatenate([[0], np.arange(edges)]).astype(np.int32)
    written = rng.integers(3, len(vocabulary), edges - 1)
    yields = Yields(
        np.concatenate([[0], 2 * np.arange(edges)]).astype(np.int32),
        np.column_stack([np.full(edges - 1, -1), written]).reshape(-1).astype(np.int32),
    )
    features = rng.normal(size=(edges, FEATURES)).astype(np.float32)
    return from_edges(Edges(heads, tail_offsets, heads[1:] - 1, yields, features), words, NAMES, vocabulary)


def corpus(edges: int, seed: int = 1) -> MatchedForest:
    """Lattices split for 4-grams, with random references, of about so many edges together."""
    rng = np.random.default_rng(seed)
    vocabulary = Vocabulary(f"w{i}" for i in range(2000))
    some = [random_lattice(rng, vocabulary) for _ in range(16)]
    split = [localize(forest, np.zeros(forest.edges), 4, threads=1) for forest in some]
    references = []
    for forest in some:
        words = forest.yields.words[forest.yields.words >= 0].reshape(20, 5)
        references.append([vocabulary.words(words[np.arange(20), rng.integers(0, 5, 20)].tolist())])
    copies = max(1, round(edges / sum(part.forest.edges for part in split)))
    return match(join_ngrams(split * copies), references * copies)


def cpu_seconds(work, repeat: int = 3) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def thread_ratio(work, seconds: float = 2.0) -> float:
    """How much faster two threads are than one, by the best of many runs in turns: short ones are easily disturbed."""
    best = {1: float("inf"), 2: float("inf")}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or best[2] == float("inf"):
        for threads in best:
            start = time.perf_counter()
            work(threads)
            best[threads] = min(best[threads], time.perf_counter() - start)
    return best[1] / best[2]


def gradient_speed(largest: int) -> None:
    weights = dict.fromkeys(NAMES, 0.1)
    print("CoBLEU-4 value and gradient, 9 dense features")
    size = 100_000
    while size <= largest:
        matched = corpus(size)
        edges = matched.ngrams.forest.edges
        CoBLEU().value_and_gradient(matched, weights, 1)
        one = cpu_seconds(lambda matched=matched: CoBLEU().value_and_gradient(matched, weights, 1))
        ratio = thread_ratio(lambda threads, matched=matched: CoBLEU().value_and_gradient(matched, weights, threads))
        print(
            f"  {edges:>10,} edges: {edges / one / 1e6:6.1f} M edges per CPU second; two threads {ratio:.2f} times one"
        )
        size *= 10


def eight_passes(matched: MatchedForest, weights: np.ndarray) -> np.ndarray:
    """The gradient as the paper computes it: for each order one pass for counts and one for clipped ones.

    Straightforward NumPy over nodes and edges, in float64: I and O are sums of (feature · count) expectations.
    """
    ngrams = matched.ngrams
    forest, shape = ngrams.forest, ngrams.forest.shape
    scores = forest.features.astype(np.float64) @ weights
    nodes = forest.nodes
    tails = [shape.tails[shape.tail_offsets[h] : shape.tail_offsets[h + 1]] for h in range(forest.edges)]
    edges_of = [range(shape.head_edges[v], shape.head_edges[v + 1]) for v in range(nodes)]
    inside = np.zeros(nodes)
    for v in range(nodes):
        inside[v] = np.logaddexp.reduce([scores[h] + inside[tails[h]].sum() for h in edges_of[v]])
    outside = np.full(nodes, -np.inf)
    for goal in shape.sentences[1:] - 1:
        outside[goal] = 0.0
    posterior = np.zeros(forest.edges)
    sentence = np.searchsorted(shape.sentences, np.arange(nodes), side="right") - 1
    log_z = inside[shape.sentences[1:] - 1][sentence]
    for v in range(nodes - 1, -1, -1):
        for h in edges_of[v]:
            posterior[h] = np.exp(outside[v] + scores[h] + inside[tails[h]].sum() - log_z[v])
            for i, tail in enumerate(tails[h]):
                siblings = np.delete(tails[h], i)
                outside[tail] = np.logaddexp(outside[tail], outside[v] + scores[h] + inside[siblings].sum())
    ids = [ngrams.ids[ngrams.offsets[h] : ngrams.offsets[h + 1]] for h in range(forest.edges)]
    expected = np.zeros(ngrams.orders.size)
    for h in range(forest.edges):
        np.add.at(expected, ids[h], posterior[h])
    wanted = matched.reference_counts
    unclipped = (expected <= wanted) & (wanted > 0)
    gradient = np.zeros(FEATURES)
    for order in range(1, 5):
        chosen = ngrams.orders == order
        totals = [expected[chosen].sum(), np.minimum(expected, wanted)[chosen].sum()]
        for total, select, sign in ((totals[0], chosen, -1.0), (totals[1], chosen & unclipped, 1.0)):
            counts = np.array([select[ids[h]].sum() for h in range(forest.edges)], np.float64)
            gradient += sign * _covariance_pass(forest, tails, edges_of, scores, inside, counts) / total / 4
    length = expected[ngrams.orders == 1].sum()
    target = matched.reference_lengths.sum()
    if length <= target:
        counts = np.array([(ngrams.orders[ids[h]] == 1).sum() for h in range(forest.edges)], np.float64)
        gradient += _covariance_pass(forest, tails, edges_of, scores, inside, counts) * target / length**2
    return gradient


def _covariance_pass(forest, tails, edges_of, scores, inside, counts) -> np.ndarray:
    """Σ over sentences of E[c φ] − E[c] E[φ] for all features, bottom up with the expectation semiring."""
    nodes, features = forest.nodes, forest.features.astype(np.float64)
    count, feature = np.zeros(nodes), np.zeros((nodes, FEATURES))
    both = np.zeros((nodes, FEATURES))
    for v in range(nodes):
        for h in edges_of[v]:
            share = np.exp(scores[h] + inside[tails[h]].sum() - inside[v])
            c, f = counts[h] + count[tails[h]].sum(), features[h] + feature[tails[h]].sum(axis=0)
            covariance = sum((both[t] - count[t] * feature[t] for t in tails[h]), start=np.zeros(FEATURES))
            count[v] += share * c
            feature[v] += share * f
            both[v] += share * (c * f + covariance)
    goals = forest.shape.sentences[1:] - 1
    return (both[goals] - count[goals, None] * feature[goals]).sum(axis=0)


def against_numpy() -> None:
    matched = corpus(1)
    weights = np.full(FEATURES, 0.1)
    named = dict.fromkeys(NAMES, 0.1)
    start = time.process_time()
    slow = eight_passes(matched, weights)
    slow_time = time.process_time() - start
    value, gradient = CoBLEU().value_and_gradient(matched, named, 1)
    fast_time = cpu_seconds(lambda: CoBLEU().value_and_gradient(matched, named, 1))
    difference = np.abs(slow - np.array([gradient[name] for name in NAMES])).max()
    print(f"The paper's eight passes in NumPy, {matched.ngrams.forest.edges:,} edges (value {value:.4f}):")
    print(f"  largest difference of gradients {difference:.1e}")
    print(f"  one scalar pass is {slow_time / fast_time:,.0f} times as fast")


def k_best_speed() -> None:
    rng = np.random.default_rng(1)
    vocabulary = Vocabulary(f"w{i}" for i in range(2000))
    forest = large_forest(rng, vocabulary)
    scores = forest.scores(dict.fromkeys(NAMES, 0.3), 1)
    distribution(forest.shape, scores, 1)
    list(islice(k_best(forest, scores), 10))
    sweep = cpu_seconds(lambda: advantage(distribution(forest.shape, scores, 1), scores, 1))
    sums = cpu_seconds(lambda: distribution(forest.shape, scores, 1))
    best = cpu_seconds(lambda: list(islice(k_best(forest, scores), 10_000)))
    print(f"{forest}")
    print(f"  inside-outside: {forest.edges / sums / 1e6:.0f} M edges per CPU second")
    print(f"  inside-outside and advantage: {forest.edges / sweep / 1e6:.0f} M edges per CPU second")
    print(f"  10,000-best takes {best / sums:.1f} times one inside-outside pass")


def large_forest(rng: np.random.Generator, vocabulary: Vocabulary, layers: int = 30, width: int = 3300, ways: int = 10):
    """About a million edges with one or two tails; a derivation has some 85 edges, as for a long sentence."""
    goal = 1 + layers * width
    heads = np.concatenate([[0], np.repeat(np.arange(1, goal), ways), np.full(width, goal)]).astype(np.int32)
    layer = np.where(heads == goal, layers, (heads - 1) // width)
    arity = np.where(heads == 0, 0, np.where((layer == 0) | (heads == goal), 1, 1 + (rng.random(heads.size) < 0.3)))
    offsets = np.concatenate([[0], np.cumsum(arity)]).astype(np.int32)
    tail_layer = np.repeat(layer, arity)
    tails = np.where(tail_layer == 0, 0, 1 + (tail_layer - 1) * width + rng.integers(0, width, tail_layer.size))
    second = offsets[:-1][arity == 2] + 1
    tails[second] = 1 + rng.integers(0, width, second.size)
    yield_offsets = np.concatenate([[0], np.cumsum(arity + 2)]).astype(np.int32)
    words = rng.integers(3, len(vocabulary), yield_offsets[-1]).astype(np.int32)
    words[yield_offsets[:-1][arity >= 1]] = -1
    words[yield_offsets[:-1][arity == 2] + 2] = -2
    features = rng.normal(size=(heads.size, FEATURES)).astype(np.float32)
    edges = Edges(heads, offsets, tails.astype(np.int32), Yields(yield_offsets, words), features)
    return from_edges(edges, goal, NAMES, vocabulary)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000, help="edges of the largest corpus")
    options = parser.parse_args()
    gradient_speed(options.largest)
    against_numpy()
    k_best_speed()


if __name__ == "__main__":
    main()
