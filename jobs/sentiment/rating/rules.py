"""The settings of a rating: how raw scores come of scores, and ratings of raw scores."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.operators.sentiment.deconfounding import Design, EmptyCells
from tiltmeter.operators.sentiment.ranking import Cut
from tiltmeter.operators.statistics.intervals import Method
from tiltmeter.operators.statistics.text_intervals import DEFAULT_METHOD, KeyedBy
from tiltmeter.operators.statistics.two_samples import DEFINITION, PUBLISHED, Convention

_Alphas = Annotated[tuple[Annotated[float, Field(gt=0, lt=1)], ...], Field(min_length=3, max_length=3)]
_Weights = Annotated[tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...], Field(min_length=3, max_length=3)]

_CONVENTIONS = {"definition": DEFINITION, "published": PUBLISHED}
_PUBLISHED_DECIMALS: Mapping[str, int] = {"textblob": 2, "random": 2}
"""Of systems by kind, in the program that was published with the paper; its GRU's are thirds, unrounded."""


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class LeaveOut:
    """Values whose texts have no part in the rating by that attribute."""

    gender: tuple[str, ...] = ()
    race: tuple[str, ...] = ()

    def values(self, column: str) -> tuple[str, ...]:
        """Those of one attribute."""
        return {"gender": self.gender, "race": self.race}[column]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
class RawScoreConfig:
    """How raw scores and their resamples come from scores.

    Attributes:
        convention: ``definition`` tests and weighs as Lakkaraju et al. define it, ``published`` as their program does,
            behind most of their tables.
        weights: of a rejection at each of the three levels; None: the convention's.
        alphas: that a test's two-sided p must be below to reject at each of them; None: the convention's.
        decimals: that scores are rounded to; None: by ``published``, 2 of the run's own TextBlob and random system, as
            its program has them, and none of any other; by ``definition``, none.
        design: whether the emotions of the texts were made to depend on the protected attribute, of all groups or by
            group; None: made sentences say so themselves, and of others a test does.
        leave_out: what is not compared, such as turns of users who did not disclose their gender.
        measure: what ratings go by: the weighted rejection score, the largest deconfounding impact, or ``auto``: the
            impact in groups where the emotion depends on the protected attribute by ``design`` or by its test, the
            rejections elsewhere.
        empty_cells: where no text has both an emotion and a protected value: ``renormalise`` adjusts over the other
            values, ``undefined`` leaves E[Y|do(X)] undefined.
        num_resamples: of the texts, for the intervals of raw scores; 0: none.
        keyed_by: what tells texts from others as they are drawn: their place, or what they say, so that runs on other
            texts draw those alike that they share.
    """

    convention: Literal["definition", "published"] = "definition"
    weights: _Weights | None = None
    alphas: _Alphas | None = None
    decimals: Annotated[int, Field(ge=0, le=15)] | None = None
    design: Design | dict[str, Design] | None = None
    leave_out: LeaveOut = Field(default_factory=LeaveOut)
    measure: Literal["auto", "wrs", "die"] = "auto"
    empty_cells: EmptyCells = "renormalise"
    num_resamples: Annotated[int, Field(ge=0)] = 1000
    keyed_by: KeyedBy = "place"

    @pydantic.field_validator("alphas")
    @classmethod
    def _alphas_ascend(cls, alphas: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if alphas is not None and list(alphas) != sorted(alphas):
            raise ValueError(
                f"{list(alphas)} must ascend, as [0.05,0.30,0.40]: what rejects at the 95 % level does so at the others"
            )
        return alphas

    @property
    def rules(self) -> Convention:
        """What the convention means, with what is set beside it."""
        return _CONVENTIONS[self.convention]._replace(**self.deviations)

    @property
    def deviations(self) -> dict[str, Any]:
        """What is set beside the convention, by the names of the settings."""
        settings = {name: getattr(self, name) for name in ("weights", "alphas", "decimals")}
        return {name: value for name, value in settings.items() if value is not None}

    def design_of(self, group: str) -> Design | None:
        """Whether the emotions of a group depend on its protected attributes; None: nobody knows."""
        return self.design.get(group) if isinstance(self.design, dict) else self.design

    def rounding(self, kind: str | None) -> int | None:
        """Decimals that the scores of a kind of system are rounded to; None as a kind: they were brought.

        >>> RawScoreConfig("published").rounding("textblob"), RawScoreConfig("published").rounding(None)
        (2, None)
        """
        if self.decimals is not None:
            return self.decimals
        return _PUBLISHED_DECIMALS.get(kind or "") if self.convention == "published" else None


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
class RatingConfig(RawScoreConfig):
    """How systems are rated.

    Attributes:
        num_levels: levels of the complete order.
        cut: into levels: the ``distinct`` raw scores, which gives the published ratings, or ``repeated``, each as often
            as systems have it, as the published program does.
        level: nominal coverage of the intervals.
        interval: their method, as :func:`.text_intervals.resampled_interval` has them.
    """

    num_levels: Annotated[int, Field(ge=1)] = 3
    cut: Cut = "distinct"
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    interval: Method = DEFAULT_METHOD

    @property
    def of_raw_scores(self) -> RawScoreConfig:
        """The part that raw scores depend on: with other intervals or levels, the same units are found."""
        fields = dataclasses.fields(RawScoreConfig)
        return RawScoreConfig(**{field.name: getattr(self, field.name) for field in fields})
