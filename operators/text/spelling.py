"""Word lists spelled as the text is spelled: by the tokeniser that cuts the text, so that no entry can miss it."""

import dataclasses
from collections.abc import Callable

from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wordsets import (
    Association,
    DefiningPair,
    GenderSurvey,
    GenderWords,
    NamedWords,
    Occupations,
    Pairs,
    Percent,
    Synonyms,
    Wefat,
    WordForms,
    Words,
    WordSets,
    word_lists,
)

Spell = Callable[[str], str]


def phrases(wordset: WordSets, tokenizer: Tokenizer) -> tuple[str, ...]:
    """Entries that have several words once they are normalised, sorted, each once.

    >>> phrases(WordSets("en", cue_pairs=(("Queen  mother", "king"),)), Tokenizer("en"))
    ('queen mother',)

    Raises:
        ValueError: for an entry without any word.
    """
    return tuple(sorted({entry for entry in _spelling(wordset, tokenizer).values() if " " in entry}))


def normalised(wordset: WordSets, tokenizer: Tokenizer) -> WordSets:
    """The same lists with every entry as the vocabulary writes it.

    Entries of a list that become equal are one, at the place of the first.

    Raises:
        ValueError: for an entry without any word; for a pair whose two words become equal; for occupations that become
            equal but have different shares; for a word that comes into both targets of an association test, or under
            several genders of a profession.

    >>> german = WordSets("de", gender=GenderWords((("Frau", "Mann"),), ("Ärztin", "ÄRZTIN")))
    >>> normalised(german, Tokenizer("de")).gender
    GenderWords(definitional_pairs=(('frau', 'mann'),), professions=('ärztin',))
    """
    spell = _spelling(wordset, tokenizer).__getitem__
    return dataclasses.replace(
        wordset,
        cue_pairs=_normalised_pairs("wordset.cue_pairs", wordset.cue_pairs, spell),
        other_cue_pairs=_normalised_pairs("wordset.other_cue_pairs", wordset.other_cue_pairs, spell),
        occupations=wordset.occupations and _normalised_occupations(wordset.occupations, spell),
        associations={name: _normalised_association(test, spell) for name, test in wordset.associations.items()},
        wefats={name: _normalised_wefat(test, spell) for name, test in wordset.wefats.items()},
        synonyms=wordset.synonyms and _normalised_synonyms(wordset.synonyms, spell),
        gender=wordset.gender and _normalised_gender(wordset.gender, spell),
        gender_survey=wordset.gender_survey and _normalised_survey(wordset.gender_survey, spell),
    )


def _spelling(wordset: WordSets, tokenizer: Tokenizer) -> dict[str, str]:
    spelling: dict[str, str] = {}
    for name, entries in word_lists(wordset).items():
        for entry in entries:
            try:
                spelling[entry] = tokenizer.entry(entry)
            except ValueError as error:
                raise ValueError(f"wordset.{name}: {error}") from error
    return spelling


def _normalised_words(words: Words, spell: Spell) -> Words:
    return tuple(dict.fromkeys(map(spell, words)))


def _normalised_pair(key: str, pair: tuple[str, str], spell: Spell) -> tuple[str, str]:
    female, male = map(spell, pair)
    if female == male:
        raise ValueError(
            f"{key}: {list(pair)} are one word, {female!r}, once they are normalised as the text is: take the pair "
            "out, or keep what tells them apart in the text too"
        )
    return female, male


def _normalised_pairs(key: str, pairs: Pairs, spell: Spell) -> Pairs:
    return tuple(dict.fromkeys(_normalised_pair(key, pair, spell) for pair in pairs))


def _normalised_occupations(occupations: Occupations, spell: Spell) -> Occupations:
    shares: dict[str, Percent] = {}
    for word, percent in occupations.percent_women.items():
        if shares.setdefault(spell(word), percent) != percent:
            raise ValueError(
                f"wordset.occupations.percent_women: {word}: {percent}, but the same word, normalised as the text is, "
                f"has {shares[spell(word)]} before it: keep one of them"
            )
    return dataclasses.replace(occupations, percent_women=shares)


def _normalised_named(named: NamedWords, spell: Spell) -> NamedWords:
    return NamedWords(named.name, _normalised_words(named.words, spell))


def _normalised_association(test: Association, spell: Spell) -> Association:
    return dataclasses.replace(
        test,
        target_x=_normalised_named(test.target_x, spell),
        target_y=_normalised_named(test.target_y, spell),
        attribute_a=_normalised_named(test.attribute_a, spell),
        attribute_b=_normalised_named(test.attribute_b, spell),
    )


def _normalised_wefat(test: Wefat, spell: Spell) -> Wefat:
    return Wefat(test.source, _normalised_named(test.attribute_a, spell), _normalised_named(test.attribute_b, spell))


def _normalised_synonyms(synonyms: Synonyms, spell: Spell) -> Synonyms:
    words: dict[str, Words] = {}
    for word, forms in synonyms.words.items():
        words[spell(word)] = tuple(dict.fromkeys([*words.get(spell(word), ()), *map(spell, forms)]))
    return Synonyms(synonyms.source, words)


def _normalised_gender(gender: GenderWords, spell: Spell) -> GenderWords:
    return GenderWords(
        _normalised_pairs("wordset.gender.definitional_pairs", gender.definitional_pairs, spell),
        _normalised_words(gender.professions, spell),
    )


def _normalised_survey(survey: GenderSurvey, spell: Spell) -> GenderSurvey:
    defining = {
        name: DefiningPair(*_normalised_pair(f"wordset.gender_survey.defining.{name}", pair.words, spell), pair.note)
        for name, pair in survey.defining.items()
    }
    professions = {name: _normalised_forms(forms, spell) for name, forms in survey.professions.items()}
    return dataclasses.replace(survey, defining=defining, professions=professions)


def _normalised_forms(forms: WordForms, spell: Spell) -> WordForms:
    return WordForms(
        _normalised_words(forms.feminine, spell),
        _normalised_words(forms.masculine, spell),
        _normalised_words(forms.neutral, spell),
        forms.note,
    )
