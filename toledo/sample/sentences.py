"""Sentences of the sample: one clause or two, statements and questions."""

from __future__ import annotations

from toledo.sample import phrasebook, talvan
from toledo.sample.clauses import INVERTED, MAIN, QUESTION, SUBORDINATE, clause
from toledo.sample.lexicon import expressions
from toledo.sample.phrases import expression_piece
from toledo.sample.speaker import Phrase, Speaker, join


def sentence(speaker: Speaker) -> Phrase:
    """One sentence with its full stop."""
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
    link = speaker.word(talvan.AND, "and") if speaker.random() < 0.65 else speaker.word(talvan.BUT, "but")
    second = clause(speaker, MAIN, 1)
    target = first.target + (comma.target if speaker.style() < 0.5 else []) + link.target + second.target
    return Phrase(first.source + comma.source + link.source + second.source, target)


def _subordinate_behind(speaker: Speaker) -> Phrase:
    main, comma = clause(speaker, MAIN, 1), speaker.untranslated(",")
    link = _conjunction(speaker)
    reason = clause(speaker, SUBORDINATE, 1)
    return Phrase([*main.source, comma, *link.source, *reason.source], main.target + link.target + reason.target)


def _subordinate_in_front(speaker: Speaker) -> Phrase:
    """In Talvan the main clause then starts with its verb; English may also put the main clause first."""
    link = _conjunction(speaker)
    reason, comma = clause(speaker, SUBORDINATE, 1), speaker.word(",", ",")
    main = clause(speaker, INVERTED, 1)
    source = link.source + reason.source + comma.source + main.source
    if speaker.style() < 0.25:
        return Phrase(source, main.target + link.target + reason.target)
    return Phrase(source, link.target + reason.target + comma.target + main.target)


def _with_opener(speaker: Speaker) -> Phrase:
    opener = speaker.say(expression_piece(speaker.scene.pick(expressions(phrasebook.OPENERS))))
    comma = [(",", 1, (), opener.source[0][2])] if speaker.style() < 0.7 else []
    main = clause(speaker, INVERTED)
    return Phrase(opener.source + main.source, [*opener.target, *comma, *main.target])


def _conjunction(speaker: Speaker) -> Phrase:
    return speaker.say(expression_piece(speaker.scene.pick(expressions(phrasebook.CONJUNCTIONS))))
