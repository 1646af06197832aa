"""The forms in which corpora of relations are published."""

from typing import Annotated

import pydantic
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

_Tokens = Annotated[list[str], Field(min_length=1)]


class _Form(BaseModel):
    model_config = ConfigDict(strict=True)


class Tacred(_Form):
    """A row of TACRED's JSON (Zhang et al. 2017); ends of spans belong to them, heads count from 1."""

    token: _Tokens
    subj_start: int
    subj_end: int
    obj_start: int
    obj_end: int
    relation: str | None = None
    subj_type: str | None = None
    obj_type: str | None = None
    docid: str = ""
    stanford_pos: list[str] | None = None
    stanford_ner: list[str] | None = None
    stanford_head: list[int] | None = None
    stanford_deprel: list[str] | None = None


class Mention(_Form):
    """An entity of SpERT's JSON (Eberts and Ulges 2020): tokens start to end - 1."""

    type: str
    start: int
    end: int


class Pair(_Form):
    """A relation between two entities of a sentence, by their places in its list."""

    type: str
    head: int
    tail: int


class Entities(_Form):
    """A sentence with its entities, as such or as BILOU tags, and the relations between them."""

    tokens: _Tokens
    relations: list[Pair]
    entities: list[Mention] | None = None
    tags: list[str] | None = None
    orig_id: int | str | None = None


class Columns(_Form):
    """A row of ours: spans are half-open, heads count from 1 as in CoNLL-U, 0 of roots."""

    tokens: _Tokens
    subject_start: int
    subject_end: int
    object_start: int
    object_end: int
    relation: str | None = None
    subject_type: str | None = None
    object_type: str | None = None
    document: str | int | None = None
    split: str | None = None
    lemma: list[str] | None = None
    pos: list[str] | None = None
    ner: list[str] | None = None
    head: list[int] | None = None
    deprel: list[str] | None = None


class Triple(_Form):
    """A sentence of FewRel (Han et al. 2018)."""

    tokens: _Tokens
    h: tuple[str, str, list[Annotated[list[int], Field(min_length=1)]]]
    t: tuple[str, str, list[Annotated[list[int], Field(min_length=1)]]]

    @pydantic.field_validator("h", "t", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value


TACRED = TypeAdapter(Tacred)
ENTITIES = TypeAdapter(Entities)
COLUMNS = TypeAdapter(Columns)
TRIPLE = TypeAdapter(Triple)
