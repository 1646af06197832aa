"""Sentences with pairs of arguments, one row a pair, from the files of corpora of relations."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from typing import Any

import pyarrow.parquet as pq

from tiltmeter.storage.corpora.packed import check_parquet
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.relations.content import checked, json_lines_of, json_of, text_of
from tiltmeter.storage.relations.forms import (
    COLUMNS,
    ENTITIES,
    TACRED,
    TRIPLE,
    Columns,
    Entities,
    Mention,
    Tacred,
)

NO_RELATION = "no_relation"
_PARQUET = b"PAR1"
_MARKED = re.compile(r"(?P<before>.*)<e1>(?P<e1>.+)</e1>(?P<middle>.*)<e2>(?P<e2>.+)</e2>(?P<behind>.*)", re.DOTALL)
_NUMBERED = re.compile(r'(?P<id>\d+)\t"?(?P<text>.*?)"?\s*')
_WORD = re.compile(r"\w+(?:[-'’.]\w+)*|[^\w\s]")

Row = dict[str, Any]


def read_relations(uri: str) -> list[Row]:
    """The rows of a file, of which its content tells the kind: TACRED's JSON, the JSON of SpERT or with BILOU tags (as
    CoNLL04 is given away), FewRel's, the text of SemEval-2010 task 8, and Parquet or JSON lines with our columns.

    Of a sentence with entities, there is a row for each ordered pair of them, the first outside; of pairs without a
    relation, and of SemEval's ``Other``, the relation is ``no_relation``. FewRel's are documents by what the subject
    is, of which the first mention counts; SemEval's ``e1`` is the subject.

    Returns:
        Of each row ``tokens``; ``subject_start``, ``subject_end``, ``object_start`` and ``object_end``, half-open;
        ``relation``, ``subject_type``, ``object_type``, ``document``, ``split``; ``row``, from 0; ``lemma``, ``pos``,
        ``ner``, ``head`` and ``deprel``, heads from 1; null where the file doesn't say. Spans may be impossible.

    Raises:
        InputError: naming the file and the place, if it is of no such kind, or a row lacks what its kind has.
    """
    with opened(uri) as file:
        is_parquet = file.read(len(_PARQUET)) == _PARQUET
    read = _parquet_rows(uri) if is_parquet else _text_rows(text_of(uri), uri)
    rows = [row | {"row": number} for number, row in enumerate(read)]
    if not rows:
        raise InputError(f"{redacted(uri)} has no sentences with pairs: there must be one at least")
    return rows


def _parquet_rows(uri: str) -> Iterator[Row]:
    with opened(uri) as file:
        check_parquet(file, pq.read_metadata(file))
        names = [name for name in pq.read_schema(file).names if name in Columns.model_fields]
        table = pq.read_table(file, columns=names)
    for number, row in enumerate(table.to_pylist()):
        yield _columns_row(checked(COLUMNS, row, uri, f"row {number}"))


def _text_rows(text: str, uri: str) -> Iterator[Row]:
    start = text.lstrip()[:1]
    if start not in ("[", "{"):
        return _semeval_rows(text, uri)
    is_lines = start == "{" and _is_whole(text.lstrip().partition("\n")[0])
    if is_lines:
        return (_columns_row(checked(COLUMNS, value, uri, where)) for where, value in json_lines_of(text, uri))
    content = json_of(text, uri)
    return _fewrel_rows(content, uri) if isinstance(content, dict) else _listed_rows(content, uri)


def _is_whole(line: str) -> bool:
    """Whether a line of JSON is an object of our columns, rather than the beginning of a larger one."""
    try:
        return "tokens" in json_of(line, "")
    except InputError:
        return False


def _listed_rows(content: Sequence[Any], uri: str) -> Iterator[Row]:
    for number, value in enumerate(content):
        where = f"item {number}"
        if isinstance(value, dict) and "subj_start" in value:
            yield _tacred_row(checked(TACRED, value, uri, where))
        elif isinstance(value, dict) and "subject_start" in value:
            yield _columns_row(checked(COLUMNS, value, uri, where))
        else:
            yield from _pairs(checked(ENTITIES, value, uri, where), number, uri)


def _row(tokens: list[str], subject: tuple[int, int], object_: tuple[int, int], **others: Any) -> Row:
    spans = dict(zip(("subject_start", "subject_end", "object_start", "object_end"), (*subject, *object_), strict=True))
    names = ("relation", "subject_type", "object_type", "document", "split", "lemma", "pos", "ner", "head", "deprel")
    return {"tokens": tokens, **spans} | {name: others.get(name) for name in names}


def _columns_row(row: Columns) -> Row:
    values = row.model_dump(exclude={"tokens", "subject_start", "subject_end", "object_start", "object_end"})
    values["document"] = None if row.document is None else str(row.document)
    return _row(row.tokens, (row.subject_start, row.subject_end), (row.object_start, row.object_end), **values)


def _tacred_row(row: Tacred) -> Row:
    return _row(
        row.token,
        (row.subj_start, row.subj_end + 1),
        (row.obj_start, row.obj_end + 1),
        relation=row.relation,
        subject_type=row.subj_type,
        object_type=row.obj_type,
        document=row.docid,
        pos=row.stanford_pos,
        ner=row.stanford_ner,
        head=row.stanford_head,
        deprel=row.stanford_deprel,
    )


def _pairs(sentence: Entities, number: int, uri: str) -> Iterator[Row]:
    mentions = sentence.entities
    if mentions is None:
        mentions = _tagged(sentence.tags or [])
    places = range(len(mentions))
    for pair in sentence.relations:
        if pair.head not in places or pair.tail not in places:
            raise InputError(
                f"{redacted(uri)}, item {number}: a relation names entities {pair.head} and {pair.tail} of "
                f"{len(mentions)}, counted from 0"
            )
    relations = {(pair.head, pair.tail): pair.type for pair in reversed(sentence.relations)}
    document = str(number if sentence.orig_id is None else sentence.orig_id)
    ner = _types(mentions, len(sentence.tokens))
    for first, second in permutations(places, 2):
        subject, object_ = mentions[first], mentions[second]
        yield _row(
            sentence.tokens,
            (subject.start, subject.end),
            (object_.start, object_.end),
            relation=relations.get((first, second), NO_RELATION),
            subject_type=subject.type,
            object_type=object_.type,
            document=document,
            ner=ner,
        )


def _types(mentions: Sequence[Mention], length: int) -> list[str]:
    types = ["O"] * length
    for mention in mentions:
        start, end = max(mention.start, 0), min(mention.end, length)
        types[start:end] = [mention.type] * max(end - start, 0)
    return types


def _tagged(tags: Iterable[str]) -> list[Mention]:
    """Entities of BILOU tags; a tag that continues nothing starts one."""
    mentions: list[Mention] = []
    is_open = False
    for position, tag in enumerate(tags):
        letter, _, kind = tag.partition("-")
        if letter in ("I", "L") and is_open and mentions[-1].type == kind:
            mentions[-1].end = position + 1
        elif kind:
            mentions.append(Mention(type=kind, start=position, end=position + 1))
        is_open = letter in ("B", "I")
    return mentions


def _fewrel_rows(content: dict[str, Any], uri: str) -> Iterator[Row]:
    for relation, sentences in content.items():
        for number, value in enumerate(sentences if isinstance(sentences, list) else [sentences]):
            triple = checked(TRIPLE, value, uri, f"{relation} {number}")
            subject, object_ = (_first_mention(part) for part in (triple.h, triple.t))
            yield _row(triple.tokens, subject, object_, relation=relation, document=triple.h[1])


def _first_mention(argument: Any) -> tuple[int, int]:
    places = argument[2][0]
    return min(places), max(places) + 1


def _semeval_rows(text: str, uri: str) -> Iterator[Row]:
    for number, block in enumerate(re.split(r"\n\s*\n", text.replace("\r", "").strip())):
        lines = block.strip().split("\n")
        numbered = _NUMBERED.fullmatch(lines[0])
        marked = numbered and _MARKED.fullmatch(numbered["text"])
        if not numbered or not marked:
            raise InputError(
                f"{redacted(uri)}: block {number} is no sentence of SemEval-2010 task 8 (a number, a tab and a text "
                "with <e1> and <e2>), and the file is none of the other kinds: TACRED's JSON, SpERT's, FewRel's, "
                "Parquet, JSON lines"
            )
        yield _marked_row(marked, numbered["id"], lines[1].strip() if len(lines) > 1 else None)


def _marked_row(marked: "re.Match[str]", document: str, label: str | None) -> Row:
    parts = {name: _WORD.findall(part) for name, part in marked.groupdict().items()}
    starts: dict[str, int] = {}
    tokens: list[str] = []
    for name, words in parts.items():
        starts[name] = len(tokens)
        tokens += words
    spans = [(starts[name], starts[name] + len(parts[name])) for name in ("e1", "e2")]
    return _row(tokens, spans[0], spans[1], relation=NO_RELATION if label == "Other" else label, document=document)
