"""Generalised dependencies and entities of texts that a parser has read, from its CoNLL-U.

A generalised dependency (Joshi and Penstein-Rosé 2009, *Generalizing dependency features for opinion mining*; Misra et
al. 2021, section 3.3.1) is a relation with the tags of the head and of the dependent in place of their words, such as
amod-NN-JJ. A root is its own head: ROOT-VBN-VBN. Labels and tags are those of the parser: Universal Dependencies have
no ``neg``, and "not" as ``advmod`` stays so here.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

VERSION = "dependency_features/1"

_COLUMNS = 10
_TEXT_ID = "# text_id = "
_ENTITY_KEYS = ("NER", "Entity")


class Token(NamedTuple):
    """Attributes:
    number: in its sentence, from 1.
    tag: of the language (``xpos``), or the universal one where it has none.
    head: number of the head; 0 for a root.
    relation: to the head.
    entity: as the parser marks it, such as ``B-ORG``; empty for none.
    """

    number: int
    tag: str
    head: int
    relation: str
    entity: str


class Sentence(NamedTuple):
    """Attributes:
    text_id: of the text that it is of.
    tokens: in order.
    """

    text_id: str
    tokens: tuple[Token, ...]


def sentences(conllu: str) -> Iterator[Sentence]:
    """The sentences of a file, each after the line ``# text_id = <id>`` that says which text it is of.

    A sentence without such a line is of the text of the one before. Tokens of several words (``1-2``) and empty nodes
    (``1.1``) are left out, as they have no head.

    Raises:
        ValueError: naming the line, where it has not 10 columns or a number is none, and for a sentence before any id.
    """
    text_id, tokens = "", list[Token]()
    for number, line in enumerate((*conllu.splitlines(), ""), start=1):
        if line.startswith("#"):
            text_id = line.removeprefix(_TEXT_ID).strip() if line.startswith(_TEXT_ID) else text_id
        elif line.strip():
            tokens += _token(line, number)
        elif tokens:
            if not text_id:
                raise ValueError(f"line {number - len(tokens)}: a sentence before any line '{_TEXT_ID}<id>'")
            yield Sentence(text_id, tuple(tokens))
            tokens = []


def dependency_counts(sentence: Sentence) -> dict[str, int]:
    """How often a sentence has each generalised dependency and each kind of entity.

    Raises:
        ValueError: if a head is no token of the sentence.

    >>> [parsed] = sentences('''# text_id = 7
    ... 1\\tbad\\t_\\tADJ\\tJJ\\t_\\t2\\tamod\\t_\\t_
    ... 2\\tflight\\t_\\tNOUN\\tNN\\t_\\t0\\troot\\t_\\tNER=B-EVENT
    ... ''')
    >>> dependency_counts(parsed)
    {'dependency:amod-NN-JJ': 1, 'dependency:ROOT-NN-NN': 1, 'entity:EVENT': 1}
    """
    tags = {token.number: token.tag for token in sentence.tokens}
    counts: Counter[str] = Counter()
    for token in sentence.tokens:
        if token.head and token.head not in tags:
            raise ValueError(f"text {sentence.text_id}: token {token.number} has head {token.head}, which is no token")
        relation = token.relation if token.head else "ROOT"
        counts[f"dependency:{relation}-{tags.get(token.head, token.tag)}-{token.tag}"] += 1
    counts.update(f"entity:{token.entity[2:]}" for token in sentence.tokens if token.entity[:2] in ("B-", "S-", "U-"))
    return dict(counts)


def _token(line: str, number: int) -> list[Token]:
    cells = line.split("\t")
    if len(cells) != _COLUMNS:
        raise ValueError(f"line {number}: has {len(cells)} columns; CoNLL-U has {_COLUMNS}, divided by tabs")
    if not cells[0].isdecimal():
        return []
    if not cells[6].isdecimal():
        raise ValueError(f"line {number}: the head is {cells[6]!r}; must be the number of a token, or 0")
    entity = dict(pair.split("=", 1) for pair in cells[9].split("|") if "=" in pair)
    marked = next((entity[key] for key in _ENTITY_KEYS if key in entity), "")
    return [Token(int(cells[0]), cells[4] if cells[4] != "_" else cells[3], int(cells[6]), cells[7], marked)]
