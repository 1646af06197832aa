"""Rules of `relation_rules` run over unlabelled texts, which are made up too, so that what holds in them is known."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from tests.jobs.relations.conftest import NETWORK
from tests.jobs.test_layouts import survive
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.relations.instances import NO_RELATION
from tiltmeter.operators.relations.rules.grammar import NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.synthetic import synthetic_instances, synthetic_rules

SENTENCES = synthetic_instances(80, part=7, seed=3)
SMALL = [
    *("job=relation_rules", "data.sentences=60", "seeds=2", "job.num_resamples=50", "job.unit_instances=60"),
    *("decoding.seeds=1", "decoding.kinds=[published, constrained]", *NETWORK),
]


def words(instance, role):
    return " ".join(instance.sentence.tokens[slice(*instance.span(role))])


MENTIONS = sorted({(words(one, "subject"), one.subject_type) for one in SENTENCES})
TYPES = dict(reversed(MENTIONS))
"""Some names are of a place and of a group: the first counts."""
INSTANCES = [
    replace(one, subject_type=TYPES[words(one, "subject")], object_type=TYPES[words(one, "object")])
    for one in SENTENCES
]


def written(instances):
    """A document of five sentences each, as people write them."""
    lines = [" ".join(one.sentence.tokens) for one in instances[::2]]
    return ["\n".join(lines[start : start + 5]) for start in range(0, len(lines), 5)]


def csv(path, header, rows):
    path.write_text("\n".join([header, *(",".join(row) for row in sorted(set(rows)))]) + "\n")
    return path


@pytest.fixture(scope="session")
def texts(tmp_path_factory):
    """Settings: JSON lines, with all names as mentions and what holds as facts."""
    folder = tmp_path_factory.mktemp("texts")
    documents = [{"id": str(number), "text": text} for number, text in enumerate(written(INSTANCES))]
    (folder / "texts.jsonl").write_text("\n".join(map(json.dumps, documents)) + "\n")
    facts = [(words(one, "subject"), one.relation, words(one, "object")) for one in INSTANCES]
    lists = {
        "mentions": csv(folder / "mentions.csv", "text,type", MENTIONS),
        "facts": csv(folder / "facts.csv", "subject,relation,object", facts),
    }
    return [f"texts.path={folder}/texts.jsonl", *(f"texts.{name}={path}" for name, path in lists.items())]


@pytest.fixture(scope="session")
def ruled(run_job, tmp_path_factory, texts):
    place = tmp_path_factory.mktemp("ruled_texts")
    layout = ["texts.reading.shard_megabytes=0.001", "cluster.num_cpus=2"]
    return run_job(*SMALL, *texts, *layout, f"store={place}/store", f"run_dir={place}/run")


def expected_hits(rules):
    """Of each rule, the instances of the texts that it matches."""
    index = RuleIndex([NamedRule(row["rule_id"], row["relation"], parsed(row["text"])) for row in rules])
    matching = {number: index.matching(one) for number, one in enumerate(INSTANCES)}
    return {number: rules for number, rules in matching.items() if rules}


def test_every_rule_matches_in_texts_what_it_matches_in_their_instances(ruled):
    rows = ruled.rows("rules", split="texts")
    assert {row["source"] for row in rows} == {"made_up", "decoded"}
    hits = expected_hits(rows)
    expected = Counter(rule.rule_id for rules in hits.values() for rule in rules)
    right = Counter(rule.rule_id for number, rules in hits.items() for rule in rules if is_right(number, rule))
    documents = {(rule.rule_id, number // 10) for number, rules in hits.items() for rule in rules}
    num_documents = Counter(name for name, _ in documents)
    assert {row["rule_id"]: row["support"] for row in rows} == {
        row["rule_id"]: expected[row["rule_id"]] for row in rows
    }
    for row in rows:
        assert row["num_known"] == row["support"]
        if row["support"]:
            assert row["precision"] == pytest.approx(right[row["rule_id"]] / row["support"])
            assert (row["precision_low"] is None) == (num_documents[row["rule_id"]] < 2)
            assert row["precision_low"] is None or row["precision_low"] <= row["precision"] <= row["precision_high"]
            assert 0.0 <= row["agreement"] <= 1.0


def is_right(number, rule):
    """Names come again, so that a pair may be a fact by another sentence."""
    pair = [words(INSTANCES[number], role) for role in ("subject", "object")]
    return any(
        one.relation == rule.relation and [words(one, "subject"), words(one, "object")] == pair for one in INSTANCES
    )


def test_known_rules_are_right_in_texts(ruled):
    known = [row for row in ruled.rows("rules", split="texts", source="made_up") if row["support"]]
    assert len(known) >= 6
    assert {row["precision"] for row in known} == {1.0}


def test_texts_are_counted_and_matches_are_shown(ruled):
    [row] = ruled.rows("texts")
    assert row["num_sentences"] == 80
    assert row["num_pairs"] >= 160
    assert row["num_matched"] == len(expected_hits(ruled.rows("rules", split="texts")))
    shown = Counter(row["rule_id"] for row in ruled.rows("text_matches"))
    support = {row["rule_id"]: row["support"] for row in ruled.rows("rules", split="texts")}
    assert shown == {name: min(3, num) for name, num in support.items() if num}
    for row in ruled.rows("text_matches"):
        assert row["subject"] in row["sentence"]
        assert row["is_fact"] is not None


def test_one_worker_and_one_shard_give_the_tables_of_two_workers_and_many(ruled, run_job, tmp_path, texts):
    run = run_job(*SMALL, *texts, f"store={tmp_path}/store", f"run_dir={tmp_path}/run", "cluster.num_cpus=1")
    assert run.digests == ruled.digests


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_tables_survive_a_kill(tiltmeter, outcome_of, tmp_path, ruled, texts, victim):
    survive(tiltmeter, outcome_of, tmp_path, [*SMALL, *texts, "texts.reading.shard_megabytes=0.001"], victim, ruled)


PAGE = "<page><title>{0}</title><ns>0</ns><id>{1}</id><revision><id>9</id><text>{2}</text></revision></page>"


@pytest.mark.slow
def test_arguments_are_found_by_the_rules_in_a_dump_and_in_plain_text(run_job, tmp_path):
    """Names alone tell arguments: known rules match what they match in the instances of both orders."""
    pages = "".join(PAGE.format(f"P{number}", number, text) for number, text in enumerate(written(INSTANCES), start=1))
    dump = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en"><siteinfo></siteinfo>'
    (tmp_path / "wiki.xml").write_text(f"{dump}{pages}</mediawiki>")
    (tmp_path / "plain.txt").write_text("\n".join(written(INSTANCES)))
    rules = [{"rule_id": name, "relation": relation, "text": text} for name, relation, text in synthetic_rules()]
    expected = Counter(rule.rule_id for matching in expected_hits(rules).values() for rule in matching)
    for path in ("wiki.xml", "plain.txt"):
        form = "text" if path == "plain.txt" else "auto"
        settings = [f"texts.path={tmp_path}/{path}", f"texts.format={form}", f"store={tmp_path}/store"]
        run = run_job(*SMALL, *settings, f"run_dir={tmp_path}/{path}_run")
        rows = [row for row in run.rows("rules", split="texts") if row["source"] == "made_up"]
        assert {row["rule_id"] for row in rows} == {rule["rule_id"] for rule in rules}
        assert all(row["support"] >= expected[row["rule_id"]] > 0 for row in rows)
        assert {row["precision"] for row in rows} == {None}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (["texts.mentions=a.csv"], r"texts\.mentions: is of no use without texts"),
        (["texts.path=none.jsonl"], r"there is no file"),
    ],
)
def test_refusals(run_job, setting, message):
    with pytest.raises((ConfigError, Exception), match=message):
        run_job("job=relation_rules", *setting)


def test_relations_of_texts_are_some_at_all():
    assert sum(one.relation != NO_RELATION for one in INSTANCES) > 30
