"""Files of rules, which of them match which row, and Odin's grammars."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter

from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.relations.content import checked, json_of, text_of, yaml_of

_VARIABLE = re.compile(r"\$\{\s*(\w+)\s*\}")
_MOST_EXPANSIONS = 100


class _WrittenRule(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    id: str
    pattern: str
    relation: str | None = None
    language: str | None = None


class _OdinRule(BaseModel):
    model_config = ConfigDict(extra="ignore")
    name: str
    label: str
    pattern: str
    type: str = "dependency"


class RuleText(NamedTuple):
    """A rule as its file has it.

    Attributes:
        rule_id: what it is called.
        pattern: what it says.
        relation: what it stands for; None: the file doesn't say.
        language: in which language, such as ``rules`` (ours), ``tokensregex``, ``semgrex``, ``odin-token`` or
            ``odin-dependency``; None: the file doesn't say.
    """

    rule_id: str
    pattern: str
    relation: str | None = None
    language: str | None = None


_RULES = TypeAdapter(list[_WrittenRule])
_PATTERNS = TypeAdapter(dict[str, str])
_ODIN = TypeAdapter(_OdinRule)


def read_rules(uri: str) -> list[RuleText]:
    """The rules of a YAML or JSON file: a list of objects with ``id``, ``pattern`` and if known ``relation`` and
    ``language``, such a list under ``rules``, an object of patterns by id, as released with Tang and Surdeanu 2021, or
    an Odin grammar, whose imports are read from beside it.

    Raises:
        InputError: naming the file and the rule, if it is none, or two rules are called the same.
    """
    text = text_of(uri)
    content = json_of(text, uri) if text.lstrip()[:1] in ("{", "[") and _is_json(uri) else yaml_of(text, uri)
    rules = list(_rules(content, uri))
    names: set[str] = set()
    for rule in rules:
        if rule.rule_id in names:
            raise InputError(f"{redacted(uri)}: two rules are called {rule.rule_id!r}: each needs a name of its own")
        names.add(rule.rule_id)
    if not rules:
        raise InputError(f"{redacted(uri)} has no rules: there must be one at least")
    return rules


def _is_json(uri: str) -> bool:
    return not redacted(uri).endswith((".yaml", ".yml"))


def _rules(content: Any, uri: str) -> Iterator[RuleText]:
    if isinstance(content, dict) and isinstance(content.get("rules"), list):
        content = content["rules"]
    if isinstance(content, list) and any(
        isinstance(item, dict) and ({"import", "label"} & {*item}) for item in content
    ):
        yield from _odin_rules(content, uri, {}, 0)
    elif isinstance(content, list):
        for rule in checked(_RULES, content, uri, "rules"):
            yield RuleText(rule.id, rule.pattern, rule.relation, rule.language)
    else:
        for name, pattern in checked(_PATTERNS, content, uri, "rules").items():
            yield RuleText(name, pattern)


def _odin_rules(content: list[Any], uri: str, variables: Mapping[str, str], depth: int) -> Iterator[RuleText]:
    for number, item in enumerate(content):
        where = f"rule {number}"
        if isinstance(item, dict) and "import" in item:
            if depth:
                raise InputError(
                    f"{redacted(uri)}, {where}: an imported grammar imports others: list them in the first"
                )
            yield from _imported(item, uri)
            continue
        rule = checked(_ODIN, item, uri, where)
        name, label, pattern = (_expanded(part, variables, uri) for part in (rule.name, rule.label, rule.pattern))
        yield RuleText(name, pattern, label, "odin-token" if rule.type == "token" else "odin-dependency")


def _imported(item: Mapping[str, Any], uri: str) -> Iterator[RuleText]:
    name = PurePosixPath(str(item["import"])).name
    beside = f"{uri.rpartition('/')[0]}/{name}" if "/" in uri else name
    variables = {key: str(value) for key, value in (item.get("vars") or {}).items()}
    content = yaml_of(text_of(beside), beside)
    if not isinstance(content, list):
        raise InputError(f"{redacted(beside)}: must be a list of rules")
    yield from _odin_rules(content, beside, variables, 1)


def _expanded(text: str, variables: Mapping[str, str], uri: str) -> str:
    for _ in range(_MOST_EXPANSIONS):
        match = _VARIABLE.search(text)
        if match is None:
            return text
        if match[1] not in variables:
            raise InputError(
                f"{redacted(uri)}: nothing says what ${{{match[1]}}} is: set it under vars where it is imported"
            )
        text = f"{text[: match.start()]}{variables[match[1]]}{text[match.end() :]}"
    raise InputError(f"{redacted(uri)}: variables name each other without an end")


def read_mappings(uri: str) -> list[list[tuple[str, str]] | None]:
    """Which rules match a row and agree with its relation, as released with Tang and Surdeanu 2021.

    Returns:
        Of each row pairs of the relation and the rule's name; none: rules match, and none agrees; None: none matches.

    Raises:
        InputError: naming the line, if it says something else.
    """
    return [_mapped(line, uri, number) for number, line in enumerate(text_of(uri).splitlines(), start=1)]


_PAIRS = TypeAdapter(list[tuple[str, str]])


def _mapped(line: str, uri: str, number: int) -> list[tuple[str, str]] | None:
    where = f"line {number}"
    if line.strip() == "no_rule":
        return None
    return checked(_PAIRS, _literal(line, uri, where), uri, where)


def _literal(text: str, uri: str, where: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise InputError(f"{redacted(uri)}, {where}: {text[:60]!r} is no list of rules") from error


class RuleTag(NamedTuple):
    """What rules say of a pair of entities, and on which tokens that rests."""

    relation: str
    tokens: list[int]


_PLACES = TypeAdapter(list[int])


def read_rule_tags(uri: str) -> list[RuleTag]:
    """What rules say of each ordered pair of entities of CoNLL04, in the order of :func:`.sentences.read_relations`.

    Raises:
        InputError: naming the line, if it is not a relation, a tab and a list of places.
    """
    tags = []
    for number, line in enumerate(text_of(uri).splitlines(), start=1):
        relation, _, places = line.partition("\t")
        tokens = checked(_PLACES, _literal(places, uri, f"line {number}"), uri, f"line {number}")
        tags.append(RuleTag(relation, tokens))
    return tags
