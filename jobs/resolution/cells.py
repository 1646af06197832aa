"""What the cells of the files of a resolution have to be; records that they make bad are left out and counted."""

from collections.abc import Sequence

from tiltmeter.storage.records.cells import GIVEN, NEEDED, NUMBER, Rules, between, one_of

WEIGHT, PROBABILITY, DOCUMENT = "weight", "match_probability", "document"
"""Columns that a file may have or not."""

END_RULES: Rules = dict.fromkeys(("left", "right"), (NEEDED,))
GOLD_RULES: Rules = dict.fromkeys(("record", "cluster"), (GIVEN,))
LABELLED_RULES: Rules = {**END_RULES, "is_match": [NEEDED, one_of(["true", "false", "1", "0"])]}
MENTION_RULES: Rules = dict.fromkeys(("topic", "mention_id", "mention_class", "chain_id"), (NEEDED,))


def record_rules(id_: str) -> Rules:
    """Of a file of records, by its column of ids."""
    return {id_: [NEEDED]}


def pair_rules(scores: Sequence[str]) -> Rules:
    """Of a file of pairs, by its columns of scores."""
    kinds = {WEIGHT: NUMBER, PROBABILITY: between(0, 1)}
    return {**END_RULES, **{name: [NEEDED, kinds[name]] for name in scores}}
