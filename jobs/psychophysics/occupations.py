"""How the leanings of occupations go with the labour market, and with other measures on the same embeddings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.tables import Associations, Validation
from tiltmeter.jobs.association.weat import associate
from tiltmeter.jobs.association.wefat import validated
from tiltmeter.jobs.embedding.lookup import Lookup
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.association.scores import wefat
from tiltmeter.operators.embedding.similarity import pairwise
from tiltmeter.operators.gender.professions import mean_bias
from tiltmeter.operators.psychophysics.forced_choice import moments
from tiltmeter.operators.psychophysics.pooling import Pooled
from tiltmeter.operators.statistics.correlation import dispersion
from tiltmeter.operators.statistics.intervals import IntervalSettings
from tiltmeter.operators.statistics.replicas import Replicated
from tiltmeter.operators.text.wordsets import Association, NamedWords

_HALF = 50.0


def against_labour_market(
    lookup: Lookup,
    words: Sequence[str],
    flips: Replicated,
    means: Pooled,
    settings: Mapping[str, Any],
) -> list[Validation]:
    """PSE against the share of men, JND against its dispersion, and both against WEFAT.

    Args:
        lookup: the vectors.
        words: the occupations.
        flips: ``[gender pairs, occupations, embeddings]``.
        means: of the occupations over all pairs.
        settings: the unit's config.
    """
    women = np.array([settings["occupations"].percent_women[word] for word in words]) / 100.0
    key, config = {"model": settings["model"], "language": settings["language"]}, settings["config"]
    rows = [
        row
        for number, pair in enumerate(settings["gender_pairs"])
        for row in _validated_pair(
            key | dict(zip(("cue_1", "cue_2"), pair, strict=True)),
            Replicated(*(part[number] for part in flips)),
            1.0 - women,
            config,
        )
    ]
    pse = over_pairs(flips, means.pse)
    rows.append(validated(key | _is("pse", "share_men"), pse, 1.0 - women, config))
    rows.append(validated(key | _is("jnd", "dispersion"), means.jnd, dispersion(women), config))
    return [*rows, *_compared(lookup, words, key, pse, 1.0 - women, settings)]


def over_pairs(flips: Replicated, pse: NDArray[np.float64]) -> Replicated:
    """The pooled PSE, and each embedding's mean over the pairs that it has: ``[embeddings, occupations]``.

    Args:
        flips: ``[pairs, occupations, embeddings]``.
        pse: ``[occupations]``.
    """
    return Replicated(pse, *(mean_bias(part.transpose(2, 1, 0)) for part in (flips.replicas, flips.starts)))


def _validated_pair(
    key: Row, flips: Replicated, men: NDArray[np.float64], intervals: IntervalSettings
) -> Iterator[Validation]:
    pse, jnd = moments(flips.replicas)
    values = Replicated(pse, flips.replicas.T, flips.starts.T)
    yield validated(key | _is("pse", "share_men"), values, men, intervals)
    yield validated(key | _is("jnd", "dispersion"), jnd, dispersion(men), intervals)


def _is(measure: str, against: str) -> Row:
    return {"measure": measure, "against": against}


def _compared(
    lookup: Lookup,
    words: Sequence[str],
    key: Row,
    pse: Replicated,
    men: NDArray[np.float64],
    settings: Mapping[str, Any],
) -> Iterator[Validation]:
    """WEFAT with the cues as attributes: how it goes with the labour market, and PSE with it."""
    female, male = (lookup.present(list(dict.fromkeys(cues))) for cues in zip(*settings["gender_pairs"], strict=True))
    if min(len(female), len(male)) == 0:
        return
    vectors = lookup(words)
    to_female, to_male = (pairwise(vectors, lookup(cues), "cosine") for cues in (female, male))
    key, config = key | {"similarity": "cosine", "test": "cues"}, settings["config"]
    effects = lookup.taken_apart(wefat(to_female, to_male, "cosine", config.ddof))
    yield validated(key | _is("wefat", "share_men"), effects, men, config)
    yield validated(key | _is("pse", "wefat"), pse, effects, config)


def contrast(lookup: Lookup, settings: Mapping[str, Any]) -> list[Associations]:
    """WEAT of occupations with mostly women against those with mostly men, with the cues as attributes."""
    percent_women = settings["occupations"].percent_women
    women = tuple(word for word, percent in percent_women.items() if percent > _HALF)
    men = tuple(word for word, percent in percent_women.items() if percent < _HALF)
    if not women or not men:
        return []
    female, male = (tuple(dict.fromkeys(cues)) for cues in zip(*settings["gender_pairs"], strict=True))
    test = Association(
        settings["occupations"].source,
        NamedWords("occupations with mostly women", women),
        NamedWords("occupations with mostly men", men),
        NamedWords("female cues", female),
        NamedWords("male cues", male),
    )
    config = AssociationConfig(**{name: getattr(settings["config"], name) for name in ("ddof", "level", "interval")})
    key = {"model": settings["model"], "language": settings["language"]}
    return list(associate(lookup, key, "occupations", test, config))
