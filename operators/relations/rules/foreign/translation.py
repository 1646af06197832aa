"""Rules in any of the languages that are understood, with the reason where one is not."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, get_args

from tiltmeter.operators.relations.rules.foreign.odin import rules_of_odin
from tiltmeter.operators.relations.rules.foreign.semgrex import rule_of_semgrex
from tiltmeter.operators.relations.rules.foreign.tokensregex import rule_of_tokensregex
from tiltmeter.operators.relations.rules.grammar import NamedRule, Rule
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.regexes import RuleError

Language = Literal["rules", "tokensregex", "semgrex", "odin-token", "odin-dependency"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


class Written(NamedTuple):
    """A rule as somebody wrote it; ``language`` None: its marks tell."""

    rule_id: str
    relation: str
    pattern: str
    language: str | None = None


class Untranslated(NamedTuple):
    """A rule that is not understood, and why."""

    rule_id: str
    relation: str
    pattern: str
    reason: str


def translated(
    written: Iterable[Written], source: str = "file", types: Mapping[str, str] | None = None
) -> tuple[list[NamedRule], list[Untranslated]]:
    """The rules that are understood, in their order, and those that are not.

    A pattern that stands for several rules gives ``<id>.1``, ``<id>.2`` and so on.

    Args:
        types: as for :func:`.odin.rules_of_odin`.

    >>> rules, others = translated([Written("a", "spouse", 'SUBJ "," OBJ'), Written("b", "spouse", "SUBJ $")])
    >>> [rule.rule_id for rule in rules], others[0].reason
    (['a'], "'SUBJ $' is no rule: nothing of the language starts with '$'")
    """
    rules: list[NamedRule] = []
    others = []
    for rule in written:
        try:
            parts = rules_of(rule.pattern, rule.language, types)
        except RuleError as error:
            others.append(Untranslated(rule.rule_id, rule.relation, rule.pattern, str(error)))
            continue
        names = [rule.rule_id] if len(parts) == 1 else [f"{rule.rule_id}.{number + 1}" for number in range(len(parts))]
        rules += [NamedRule(name, rule.relation, part, source) for name, part in zip(names, parts, strict=True)]
    return rules, others


def rules_of(pattern: str, language: str | None = None, types: Mapping[str, str] | None = None) -> list[Rule]:
    """The rules of a pattern, one or, of Odin's with optional steps, several.

    Raises:
        RuleError: quoting it and saying what is not understood.
    """
    match language or _recognised(pattern):
        case "rules":
            return [parsed(pattern)]
        case "tokensregex":
            return [rule_of_tokensregex(pattern)]
        case "semgrex":
            return [rule_of_semgrex(pattern)]
        case "odin-token" | "odin-dependency" as kind:
            return rules_of_odin(pattern, over_tokens=kind == "odin-token", types=types)
        case other:
            raise RuleError(f"{other!r} is no language of rules: must be {', '.join(LANGUAGES)}")


def _recognised(pattern: str) -> Language:
    if "kbpentity" in pattern or "slotvalue" in pattern:
        return "tokensregex"
    if "}=entity" in pattern or "}=slot" in pattern:
        return "semgrex"
    return "odin-dependency" if pattern.lstrip().startswith("trigger") else "rules"
