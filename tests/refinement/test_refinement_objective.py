import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from small_refinements import ALL, hypotheses, random_model, random_space, sentence_bleu, utility

from toledo.errors import InputError
from toledo.metrics.bleu import BLEU
from toledo.refinement import distributions, expected_bleu
from toledo.refinement.ascent import Growth, SoftmaxAscent, gradient, grown, transform
from toledo.refinement.distributions import LEXICON, PHRASE, ShareGroups, log_sums, make_family, prior_values
from toledo.refinement.expected_bleu import UTILITIES, ListSpace, normalized
from toledo.refinement.objective import DISTANCES, Evidence, RefinementObjective, TrainedParameters
from toledo.refinement.phrase_lists import PhraseLists, SentenceBLEU, fit_sentence_bleu
from toledo.weights import Weights

seeds = st.integers(0, 10_000)


def exponents_for(random, model, negative=False):
    values = random.random(len(model.feature_names)) + 0.2
    if negative:
        values *= np.where(random.random(values.size) < 0.3, -1, 1)
    return dict(zip(model.feature_names, (2.0 * values).tolist(), strict=True))


def random_objective(seed, strength=0.0, names=ALL, negative=False, utility="sentence", **others):
    random = np.random.default_rng(seed)
    model = random_model(random)
    space = replace(random_space(random, model), utility=utility)
    if utility == "corpus":
        assume(all(totals[2:6].min() > 0 and abs(totals[0] - totals[1]) > 1 for totals in [expected_statistics(space)]))
    parameters = TrainedParameters(model, names, space.used, 1)
    return RefinementObjective(space, parameters, exponents_for(random, model, negative), strength, **others)


def expected_statistics(space, posteriors=None):
    """Lengths, matches and n-grams, added up with these posteriors, or with 1 / number of hypotheses."""
    totals, h = np.zeros(10), 0
    for part in space.parts:
        for begin, end in itertools.pairwise(part.arrays.hypotheses):
            for row in part.arrays.statistics[begin:end]:
                weight = 1 / (end - begin) if posteriors is None else posteriors[h]
                totals += weight * np.array([*row, *(max(row[0] - n, 0) for n in range(4))])
                h += 1
    return totals


def shaken(objective, seed):
    """Parameters that are not the prior."""
    random, values = np.random.default_rng(seed), {}
    for name, family in objective.parameters.families.items():
        raw = family.prior * (0.3 + random.random(len(family)))
        values[name] = raw / np.bincount(family.groups.of, raw, family.groups.size)[family.groups.of]
    return values


def probabilities(objective, values):
    return {name: family.probabilities(values[name]) for name, family in objective.parameters.families.items()}


@given(st.lists(st.integers(0, 12), min_size=6, max_size=6))
def test_sentence_bleu_is_the_papers(row):
    length, reference, *matches = row
    row = [length, reference, *(min(match, max(length - n, 0)) for n, match in enumerate(matches))]
    ours = SentenceBLEU(0.6, 0.4, 1.1).scores(np.array([row], np.int32))[0]
    assert ours == pytest.approx(sentence_bleu(row, 0.6, 0.4, 1.1))


def test_sentence_bleu_by_hand():
    # 4 words of 5, matches 3, 1, 0, 0; priors 0.5 and 0.25; p1 = 5.5/9, p2 = 2.25/8, p3 = 5 p2²/p1 / 7, …
    p1, p2 = 5.5 / 9, 2.25 / 8
    p3 = 5 * (p2**2 / p1) / 7
    p4 = 5 * (p3**2 / p2) / 6
    expected = np.exp(1 - 5 / 4) * (p1 * p2 * p3 * p4) ** 0.25
    assert SentenceBLEU(0.5, 0.25, 1.0).scores(np.array([[4, 5, 3, 1, 0, 0]], np.int32))[0] == pytest.approx(expected)


def test_priors_and_length_factor_are_those_of_the_baseline():
    fitted = fit_sentence_bleu(np.array([100, 80, 60, 30, 0, 0]), 10)
    assert (fitted.unigrams, fitted.bigrams, fitted.length_factor) == pytest.approx((0.6, 30 / 90, 1.25))
    with pytest.raises(InputError, match="empty"):
        fit_sentence_bleu(np.zeros(6, np.int64), 10)


@given(seeds)
def test_expectation_is_that_of_all_hypotheses(seed):
    objective = random_objective(seed, negative=True)
    values, prior = shaken(objective, seed), prior_values(objective.parameters.families)
    found = objective.at(values).expectation
    model, space = objective.parameters.model, objective.space
    total, advantages = utility(
        model, space, objective.exponents, probabilities(objective, values), probabilities(objective, prior)
    )
    gains, losses = np.zeros(len(model.table)), np.zeros(len(model.table))
    for sentence, own in zip(hypotheses(space), advantages, strict=True):
        for (_, rows, _), advantage in zip(sentence, own, strict=True):
            for row in rows:
                gains[row] += advantage
                losses[row] += max(0.0, -advantage)
    assert found.utility == pytest.approx(total)
    np.testing.assert_allclose(found.gains, gains, atol=1e-12)
    np.testing.assert_allclose(found.losses, losses, atol=1e-12)
    assert found.mean == pytest.approx(total / sum(bool(sentence) for sentence in hypotheses(space)))


def test_best_hypotheses_are_scored_as_a_corpus():
    objective = random_objective(3)
    rows = []
    for part in objective.space.parts:
        weights = np.array([objective.exponents[name] for name in part.feature_names])
        scores = part.arrays.features @ weights
        for begin, end in itertools.pairwise(part.arrays.hypotheses):
            if begin < end:
                rows.append(part.arrays.statistics[begin + np.argmax(scores[begin:end])])
    total = np.zeros(10)
    for row in rows:
        total += [row[0], row[1], *row[2:], *(max(row[0] - n, 0) for n in range(4))]
    found = objective.at(prior_values(objective.parameters.families)).expectation
    assert found.best == pytest.approx(BLEU(smooth_method="none").score(total))


@given(seeds)
def test_lexicon_features_are_sums_over_words(seed):
    from small_refinements import pair_logs

    objective = random_objective(seed)
    values = shaken(objective, seed)
    expected = pair_logs(objective.parameters.model, probabilities(objective, values))
    for name in LEXICON:
        found = log_sums(
            objective.parameters.word_pairs[name], objective.parameters.families[name].probabilities(values[name]), 2
        )
        np.testing.assert_allclose(found, expected[name][objective.space.used])


@given(seeds, st.booleans(), st.sampled_from(UTILITIES), st.sampled_from(DISTANCES))
def test_evidence_is_the_gradient(seed, negative, utility, distance):
    """λ γ / U by central differences in log p, for each family; and the softmax gradient by those in ϑ."""
    objective = random_objective(
        seed, 0.05, negative=negative, utility=utility, distance=distance, lexicon_strength=0.1
    )
    values = shaken(objective, seed)
    point = objective.at(values)
    slopes = gradient(objective, values, point)
    for name in objective.trainable:
        family = objective.parameters.families[name]
        for place in np.random.default_rng(seed).permutation(len(family))[:3]:
            ends = []
            for change in (1e-5, -1e-5):
                logs = np.log(values[name])
                logs[place] += change
                shares = np.exp(logs)
                shares /= np.bincount(family.groups.of, shares, family.groups.size)[family.groups.of]
                ends.append(objective.at({**values, name: shares}).value)
            assert slopes[name][place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-8)


@given(seeds)
def test_utility_of_the_corpus_is_bleu_of_expected_statistics(seed):
    objective = random_objective(seed, utility="corpus")
    values = prior_values(objective.parameters.families)
    posteriors = []
    for part in objective.space.parts:
        scores = np.exp(part.arrays.features @ np.array([objective.exponents[name] for name in part.feature_names]))
        for begin, end in itertools.pairwise(part.arrays.hypotheses):
            posteriors.extend(scores[begin:end] / scores[begin:end].sum())
    found = objective.at(values)
    assert found.expectation.mean == pytest.approx(
        BLEU(smooth_method="none").score(expected_statistics(objective.space, posteriors)) / 100, rel=1e-5
    )
    assert found.value == pytest.approx(np.log(4 * found.expectation.mean))  # of five sentences one has no list


@given(seeds, st.sampled_from(UTILITIES))
def test_lbfgs_with_ratios_climbs_and_stays_near(seed, utility):
    objective = random_objective(seed, 0.05, utility=utility, distance="ratios")
    values = prior_values(objective.parameters.families)
    point = objective.at(values)
    steepest = max(np.abs(one).max() for one in gradient(objective, values, point).values())
    step = SoftmaxAscent(10).step(objective, values, point)
    assert step.point.value >= point.value
    assert step.point.value == objective.at(step.values).value
    if steepest > 1e-3:
        assert step.point.value > point.value + 1e-7
        assert step.point.expectation.utility > point.expectation.utility
        assert step.point.divergence > 0.0
    # At the maximum τ/N · ratios is the slope of log U: with a large τ ratios are as small as that.
    held = replace(objective, strength=1e3)
    start = held.at(values)
    still = SoftmaxAscent(10).step(held, values, start)
    assert still.point.value >= start.value
    slopes = gradient(held, values, start)
    for name, family in objective.parameters.families.items():
        sums = np.bincount(family.groups.of, step.values[name], family.groups.size)
        np.testing.assert_allclose(sums[sums > 0], 1.0)
        expected = slopes[name] * objective.space.sentences / 1e3
        np.testing.assert_allclose(family.ratios(still.values[name]), expected, atol=2e-4)


@pytest.mark.parametrize("distance", DISTANCES)
def test_lexicons_have_a_strength_of_their_own(distance):
    objective = random_objective(7, 0.3, distance=distance, lexicon_strength=0.1)
    values = shaken(objective, 7)
    far = {}
    for name, family in objective.parameters.families.items():
        far[name] = family.divergence(values[name])
        if distance == "ratios":
            far[name] = family.ratio_distance(values[name]) / 4  # sentences that have a list
    penalty = 0.3 * sum(far[name] for name in PHRASE) + 0.1 * sum(far[name] for name in LEXICON)
    found = objective.at(values)
    assert found.value == pytest.approx(np.log(found.expectation.utility) - penalty)
    assert found.divergence == pytest.approx(sum(far.values()))
    assert replace(objective, lexicon_strength=None).strength_of("lexicon.forward") == 0.3


def test_distance_of_ratios_by_hand():
    family = make_family("phrase.forward", ShareGroups(np.array([0, 0, 1], np.int32), 2), np.array([0.75, 0.25, 1.0]))
    moved = np.array([0.5, 0.5, 1.0])
    half = (np.log(0.5 / 0.75) - np.log(0.5 / 0.25)) / 2  # each is as far from their mean
    np.testing.assert_allclose(family.ratios(moved), [half, -half, 0.0], atol=1e-15)
    assert family.ratio_distance(moved) == pytest.approx(half**2)
    assert family.ratio_distance(family.prior) == 0.0


def formula(family, shares, gains, losses, prior_weight):
    """Formulas 14 and 15, one distribution after the other."""
    new = shares.copy()
    for i in range(family.groups.size):
        own = np.flatnonzero(family.groups.of == i)
        if not own.size:
            continue
        d = max(losses[own].sum(), 1.01 * max(0.0, (-gains[own] / shares[own]).max()))
        above = gains[own] + prior_weight * family.prior[own] + d * shares[own]
        below = gains[own].sum() + prior_weight + d
        if below > 0:
            new[own] = above / below
    return new


@given(seeds, st.sampled_from([0.0, 0.01, 1.0]))
def test_growth_transform_is_the_formula(seed, strength):
    objective = random_objective(seed, strength)
    values = shaken(objective, seed)
    point = objective.at(values)
    new = transform(objective, values, point)
    found = point.expectation
    for name in PHRASE:
        family, weight = objective.parameters.families[name], found.utility * strength / objective.exponents[name]
        np.testing.assert_allclose(
            new[name], formula(family, values[name], found.gains, found.losses, weight), rtol=1e-9, atol=1e-15
        )
    for name in ALL:
        family = objective.parameters.families[name]
        sums = np.bincount(family.groups.of, new[name], family.groups.size)
        np.testing.assert_allclose(sums[np.bincount(family.groups.of, minlength=sums.size) > 0], 1.0)
        assert (new[name] > 0).all()


def test_growth_transform_by_hand():
    """One source phrase with two translations, γ = (0.2, −0.1) of which −0.3 and −0.1 are losses of hypotheses."""
    family = make_family("phrase.forward", ShareGroups(np.zeros(2, np.int32), 1), np.array([0.5, 0.5]))
    evidence = Evidence(np.array([0.2, -0.1]), np.array([0.3, 0.1]))
    new = grown(family, np.array([0.6, 0.4]), evidence, prior_weight=2.0)
    d = 0.4  # Σ max(0, −γ) = 0.4 is more than 0.1 / 0.4
    expected = np.array([0.2 + 1.0 + d * 0.6, -0.1 + 1.0 + d * 0.4]) / (0.1 + 2.0 + d)
    np.testing.assert_allclose(new, expected)


def test_growth_transform_of_words_by_hand():
    """γ of a pair of two words each goes to word pairs by p(e|f) / Σ_r p(e|f_r)."""
    for seed in range(100):
        objective = random_objective(seed)
        model, used = objective.parameters.model, objective.space.used.tolist()
        pairs = model.table.pairs
        long = [
            row for row in used if pairs.sources[pairs.source[row]].size == pairs.targets[pairs.target[row]].size == 2
        ]
        if long:
            break
    from small_refinements import entries

    from toledo.refinement.distributions import spread

    row, name, lexicon = long[0], LEXICON[0], model.word_lexicons.forward
    family = objective.parameters.families[name]
    probability = family.probabilities(family.prior)
    gains = np.zeros(len(used))
    gains[used.index(row)] = 0.7
    found = spread(objective.parameters.word_pairs[name], probability, gains)
    expected = np.zeros(found.size)
    source, target = pairs.sources[pairs.source[row]].tolist(), pairs.targets[pairs.target[row]].tolist()
    places = [[place for f in source for place in entries(lexicon, f, e)] for e in target]
    if all(places):
        for own in places:
            for place in own:
                expected[place] += 0.7 * probability[place] / sum(probability[one] for one in own)
    np.testing.assert_allclose(found, expected)


@given(seeds, st.sampled_from([0.0, 0.001, 0.1]), st.sampled_from([PHRASE, LEXICON, ALL]), st.booleans())
def test_a_step_is_plain_where_that_rises_and_more_cautious_elsewhere(seed, strength, names, negative):
    """That the objective does not fall is no news: `Growth` gives up such steps. It must not give up others."""
    objective = random_objective(seed, strength, names, negative)
    values = prior_values(objective.parameters.families)
    point = objective.at(values)
    for _ in range(4):
        plain = objective.at(transform(objective, values, point)).value
        step = Growth().step(objective, values, point)
        assert (step.caution == 1.0) == (plain >= point.value)
        assert step.point.value >= point.value
        assert step.point.value == objective.at(step.values).value
        values, point = step.values, step.point
        for name, family in objective.parameters.families.items():
            sums = np.bincount(family.groups.of, values[name], family.groups.size)
            np.testing.assert_allclose(sums[sums > 0], 1.0)
            assert (values[name] > 0).all()


@given(seeds)
def test_a_strong_prior_lets_nothing_move(seed):
    objective = random_objective(seed, strength=1e12)
    values = prior_values(objective.parameters.families)
    new = transform(objective, values, objective.at(values))
    for name in ALL:
        np.testing.assert_allclose(new[name], values[name], rtol=1e-6)


@given(seeds, st.booleans())
def test_growth_goes_uphill_and_the_gradient_agrees(seed, negative):
    objective = random_objective(seed, 0.001, negative=negative)
    values = shaken(objective, seed)
    point = objective.at(values)
    slopes, new = gradient(objective, values, point), transform(objective, values, point)
    for name in ALL:
        change = np.log(new[name]) - np.log(values[name])
        # d/dϑ · Δ log p: log p of a distribution changes by Δϑ plus a constant, along which the slope is 0.
        assert slopes[name] @ change >= -1e-12


@given(seeds, st.booleans())
def test_a_little_growth_raises_the_objective(seed, negative):
    objective = random_objective(seed, 0.001, negative=negative)
    values = shaken(objective, seed)
    point = objective.at(values)
    new = transform(objective, values, point)
    near = {name: values[name] + 1e-4 * (new[name] - values[name]) for name in ALL}
    assert objective.at(near).value > point.value


@given(seeds)
def test_lbfgs_climbs_from_wherever_it_starts(seed):
    """The objective is not concave: L-BFGS and a growth transform may climb different hills from the same start.

    What holds is that L-BFGS never ends below its start, be it the prior or the point that a growth transform reached,
    and that it ends strictly above where there is a slope.
    """
    objective = random_objective(seed, strength=0.05)
    prior = prior_values(objective.parameters.families)
    grown_step = Growth().step(objective, prior, objective.at(prior))
    for values, point in ((prior, objective.at(prior)), (grown_step.values, grown_step.point)):
        step = SoftmaxAscent(50).step(objective, values, point)
        steepest = max(np.abs(slopes).max() for slopes in gradient(objective, values, point).values())
        assert step.point.value > point.value or steepest < 1e-4
        assert step.point.value >= point.value
        assert step.point.value == pytest.approx(objective.at(step.values).value)
        for name, family in objective.parameters.families.items():
            sums = np.bincount(family.groups.of, step.values[name], family.groups.size)
            np.testing.assert_allclose(sums[sums > 0], 1.0)


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("distance", DISTANCES)
def test_threads_do_not_matter(monkeypatch, utility, distance):
    monkeypatch.setattr(expected_bleu, "SENTENCES_AT_ONCE", 1)  # so that there are several pieces of work
    monkeypatch.setattr(distributions, "PAIRS_AT_ONCE", 1)
    objective = random_objective(5, 0.01, distance=distance)
    objective = replace(objective, space=replace(objective.space, utility=utility))
    values = shaken(objective, 1)
    several = replace(objective, parameters=replace(objective.parameters, threads=3))
    one, other = objective.at(values), several.at(values)
    assert one._replace(expectation=None) == other._replace(expectation=None)
    for left, right in zip(one.expectation, other.expectation, strict=True):
        np.testing.assert_array_equal(left, right)
    steps = [SoftmaxAscent(5).step(given, values, one).values for given in (objective, several)]
    for name in ALL:
        np.testing.assert_array_equal(steps[0][name], steps[1][name])


def test_bleu_of_a_corpus_without_4_grams_is_refused():
    objective = random_objective(5)
    parts = []
    for part in objective.space.parts:
        statistics = part.arrays.statistics.copy()
        statistics[:, -1] = 0
        parts.append(replace(part, arrays=part.arrays._replace(statistics=statistics)))
    values = prior_values(objective.parameters.families)
    with pytest.raises(InputError, match=r"no matching 4-grams[^·]*`level='sentence'`"):
        replace(objective, space=ListSpace(parts, "corpus")).at(values)
    assert replace(objective, space=ListSpace(parts, "sentence")).at(values).expectation.utility > 0


def test_nothing_is_computed_twice(monkeypatch):
    objective, asked, scored = random_objective(5, 0.05), [], []
    at, scores = RefinementObjective.at, SentenceBLEU.scores
    monkeypatch.setattr(RefinementObjective, "at", lambda self, values: asked.append(values) or at(self, values))
    monkeypatch.setattr(SentenceBLEU, "scores", lambda self, rows: scored.append(rows) or scores(self, rows))
    values = prior_values(objective.parameters.families)
    step = SoftmaxAscent(5).step(objective, values, objective.at(values))
    assert len({np.concatenate(list(one.values())).tobytes() for one in asked}) == len(asked)
    assert any(one is step.values for one in asked)
    assert len(scored) == len(objective.space.parts)


def test_groups_keep_their_mass():
    family = make_family("phrase.forward", ShareGroups(np.array([0, 0, 1], np.int32), 2), np.array([0.3, 0.1, 0.5]))
    np.testing.assert_allclose(family.prior, [0.75, 0.25, 1.0])
    np.testing.assert_allclose(family.probabilities(np.array([0.5, 0.5, 1.0])), [0.2, 0.2, 0.5])
    assert family.divergence(family.prior) == 0.0
    moved = family.divergence(np.array([0.5, 0.5, 1.0]))
    assert moved == pytest.approx(0.75 * np.log(1.5) + 0.25 * np.log(0.5))


def test_weights_are_normalized_without_frozen_ones():
    weights = Weights({"lm": 1.0, "word.penalty": -3.0, "oov": 1.0}, frozenset({"oov"}))
    assert normalized(weights, ["lm", "word.penalty", "oov"], 2.0) == {"lm": 0.5, "word.penalty": -1.5, "oov": 0.5}
    with pytest.raises(InputError, match="all weights are 0"):
        normalized(Weights({"lm": 0.0}), ["lm"], 1.0)


def test_lists_on_disk_are_checked(tmp_path):
    random = np.random.default_rng(1)
    model = random_model(random)
    part = random_space(random, model).parts[0]
    part.save(tmp_path / "part")
    loaded = PhraseLists.load(tmp_path / "part")
    assert loaded.feature_names == part.feature_names
    for one, other in zip(loaded.arrays, part.arrays, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="not in the table"):
        replace(part, table_size=1)
    with pytest.raises(InputError, match="no lists"):
        ListSpace([])
    file = tmp_path / "part" / "lists.toml"
    file.write_text(file.read_text().replace("format = 1", "format = 9"))
    with pytest.raises(InputError, match="format 9"):
        PhraseLists.load(tmp_path / "part")


def test_what_cannot_be_trained_is_refused():
    objective = random_objective(1)
    model = objective.parameters.model
    with pytest.raises(ValueError, match="cannot be trained"):
        TrainedParameters(model, ("lm",), objective.space.used)
    with pytest.raises(InputError, match="no word lexicons"):
        _ = TrainedParameters(replace(model, word_lexicons=None), LEXICON, objective.space.used).families
    for wrong in ({"strength": -1.0}, {"lexicon_strength": -1.0}):
        with pytest.raises(ValueError, match="negative"):
            replace(objective, **wrong)
    with pytest.raises(ValueError, match="no distance 'x'"):
        replace(objective, distance="x")
    with pytest.raises(ValueError, match="no utility 'x'"):
        replace(objective.space, utility="x")
    values = prior_values(objective.parameters.families)
    ratios = replace(objective, distance="ratios")
    with pytest.raises(ValueError, match="no distance but KL"):
        Growth().step(ratios, values, ratios.at(values))
