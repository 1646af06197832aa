"""Small runs with settings that are not the usual ones: where rules and texts come from, and how models are trained."""

import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from tiltmeter.operators.relations.induction import Induction, induced_rules
from tiltmeter.operators.relations.instances import Sentence
from tiltmeter.operators.relations.plain_text import RuleArguments, paired, untyped
from tiltmeter.operators.relations.rules.grammar import NamedRule
from tiltmeter.operators.relations.rules.matching import matches
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.printing import printed
from tiltmeter.operators.relations.synthetic import synthetic_instances, synthetic_rules
from tiltmeter.operators.relations.tagged import tag_rule
from tiltmeter.operators.text.sentences import sentences

from .conftest import INSTANCES, NETWORK

MADE_UP = {
    split: synthetic_instances(size, number, 5)
    for number, (split, size) in enumerate({"training": 40, "development": 20, "test": 20}.items())
}


def without_types(number, one):
    """As files have it: most arguments have no type."""
    types = {} if number % 3 == 0 else {"subject_type": None, "object_type": None}
    return replace(one, sentence=Sentence(one.sentence.tokens), **types)


FILED = {split: [without_types(*one) for one in enumerate(part)] for split, part in MADE_UP.items()}


def files(folder, setting, content_of, parts=FILED):
    """A file for each part, and the settings that name them."""
    settings = []
    for split, part in parts.items():
        path = folder / f"{split}.{setting.rpartition('.')[-1]}"
        path.write_text(content_of(part))
        settings.append(f"{setting}.{'path' if (setting, split) == ('data', 'training') else split}={path}")
    return settings


def rows_of(part):
    spans = [(role, end) for role in ("subject", "object") for end in ("start", "end")]
    return json.dumps(
        [
            {"tokens": one.sentence.tokens, "relation": one.relation, "document": one.document}
            | {"subject_type": one.subject_type, "object_type": one.object_type}
            | {f"{role}_{end}": getattr(one.span(role), end) for role, end in spans}
            for one in part
        ]
    )


def trees_of(part):
    """Each token hangs on the one before."""
    rows = "{0}\t{1}\t_\t_\tNN\t_\t{2}\tdep\t_\t_".format
    return "\n\n".join(
        "\n".join(rows(place + 1, word, place) for place, word in enumerate(one.sentence.tokens)) for one in part
    )


def mapped(part):
    """What rules that were run elsewhere match in each instance: by other types than are known here, and not all."""
    rules = list(synthetic_rules())
    return [
        [(relation, name) for name, relation, text in rules if number % 4 and matches(parsed(text), one)]
        for number, one in enumerate(part)
    ]


def known_elsewhere(folder):
    (folder / "rules.json").write_text(json.dumps({name: text for name, _, text in synthetic_rules()}))
    lines = files(folder, "rules.mappings", lambda part: "\n".join(map(repr, mapped(part))), MADE_UP)
    hits = {split: Counter(name for of_one in mapped(part) for _, name in of_one) for split, part in MADE_UP.items()}
    rules = [rule for rule in synthetic_rules() if rule[0] in hits["training"]]
    settings = [*files(folder, "data", rows_of), *files(folder, "data.trees", trees_of), "data.mode=rules"]
    return [*settings, *lines, f"rules.path={folder}/rules.json", "rules.source=mappings"], rules, hits


def tagged(part):
    """Of each instance the relation, and the first token behind the first argument; of some nothing."""
    return [
        (one.relation, [min(one.subject.end, one.object.end)]) if number % 4 else ("no_relation", [])
        for number, one in enumerate(part)
    ]


def made_of_tags(folder):
    part = FILED["training"]
    lines = files(folder, "rules.tags", lambda part: "".join(f"{name}\t{at}\n" for name, at in tagged(part)))
    texts = {(printed(tag_rule(one, at)), name) for one, (name, at) in zip(part, tagged(part), strict=True) if at}
    known = sorted((text, name) for text, name in texts if name != "no_relation")
    rules = [(f"t{number}", name, text) for number, (text, name) in enumerate(known, start=1)]
    return [*files(folder, "data", rows_of), *lines, "rules.source=tags"], rules, hits_of(rules, FILED)


def mined(folder):
    words = sorted({word for one in MADE_UP["training"] for word in one.sentence.tokens if word.islower()})
    lines = (f"{word} {' '.join(map(str, row))}\n" for word, row in vectors_of(words).items())
    (folder / "vectors.txt").write_text("".join(lines))
    made = [one.rule for one in induced_rules(MADE_UP["training"], Induction(min_support=2), 5)]
    rules = [(rule.rule_id, rule.relation, printed(rule.rule)) for rule in made]
    settings = ["rules.source=induced", "rules.induction.min_support=2", "encoder.max_vectors=20"]
    return [*settings, f"encoder.vectors={folder}/vectors.txt"], rules, hits_of(rules, MADE_UP)


def vectors_of(words):
    return {word: np.float32([(7 * place + number) % 5 for number in range(6)]) for place, word in enumerate(words)}


def made_up(_):
    rules = list(synthetic_rules())
    return [], rules, hits_of(rules, MADE_UP)


def hits_of(rules, parts):
    return {
        split: Counter(name for name, _, text in rules for one in part if matches(parsed(text), one))
        for split, part in parts.items()
    }


TEXTS = [" ".join(one.sentence.tokens) for one in INSTANCES[:40:2]]
PAGE = "<page><title>P{0}</title><ns>0</ns><id>{0}</id><revision><id>9</id><text>{1}</text></revision></page>"
DUMP = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en"><siteinfo></siteinfo>{}</mediawiki>'
FORMS = {
    "wikiextractor": "".join(
        f'<doc id="{n}" url="" title="P{n}">\nP{n}\n\n{text}\n</doc>\n' for n, text in enumerate(TEXTS)
    ),
    "mediawiki": DUMP.format("".join(PAGE.format(number, text) for number, text in enumerate(TEXTS, start=1))),
    "text": "\n".join(TEXTS),
}


def texts_in(form, folder):
    """Settings of a file that has the texts."""
    path = folder / f"texts.{form}"
    if form == "parquet":
        pl.DataFrame({"id": list(map(str, range(len(TEXTS)))), "text": TEXTS}).write_parquet(path)
    elif form:
        path.write_text(FORMS[form])
    return [f"texts.path={path}", f"texts.format={form}"] if form else []


NETWORKS = {
    "mappings": (
        *("encoder.untyped=read", "encoder.prune=null", "decoder.output=context", "seeds=2", "decoding.seeds=1"),
        *("training.optimizer=adagrad", "training.patience=null", "training.decay=0.01", "training.max_epochs=12"),
    ),
    "tags": ("training.optimizer=sgd", "training.rate=0.3"),
}
CASES = {
    "mappings": (known_elsewhere, "wikiextractor"),
    "tags": (made_of_tags, "text"),
    "induced": (mined, "mediawiki"),
    "file": (made_up, "parquet"),
    "no texts": (made_up, None),
}


@pytest.fixture(scope="module", params=CASES)
def case(request, tmp_path_factory, run_here):
    """A run, its settings, and the rules and matches that it must have."""
    rules_of, form = CASES[request.param]
    folder = tmp_path_factory.mktemp("case")
    given, rules, hits = rules_of(folder)
    settings = ["job=relation_rules", *NETWORK, "seed=5", "seeds=1", "data.sentences=40", "training.max_epochs=2"]
    settings += [*given, "job.num_resamples=2", *NETWORKS.get(request.param, ())]
    texts = texts_in(form, folder)
    run = run_here(*settings, *texts, f"store={folder}/store", f"run_dir={folder}/run")
    return SimpleNamespace(name=request.param, folder=folder, run=run, settings=settings, texts=texts, of=(rules, hits))


@pytest.mark.once("relation_rules")
def test_rules_of_any_source_teach_models_and_are_run_over_texts_of_any_form(case):
    run = case.run
    check_rules(run, *case.of, case.name if case.name in ("mappings", "tags", "induced") else "made_up")
    assert {row["seed"] for row in run.rows("explanations")} == {0}
    assert {row["encoder"] for row in run.rows("instances")} == {"tree" if case.name == "mappings" else "no tree"}
    if case.texts:
        check_texts(run)
    assert ("texts" in run.published) == bool(case.texts)


def check_rules(run, rules, hits, source):
    for split in FILED:
        rows = [row for row in run.rows("rules", split=split, status="ok") if row["source"] != "decoded"]
        made = [(row["rule_id"], row["relation"], row["text"], row["source"], row["support"]) for row in rows]
        assert made == [(*rule, source, hits[split][rule[0]]) for rule in rules]
        assert sum(hits[split].values()) > 0


def check_texts(run):
    """Arguments are told by the rules, known ones and new ones, as there is no list of names, and no facts."""
    rows = run.rows("rules", split="texts", status="ok")
    rules = [NamedRule(row["rule_id"], row["relation"], parsed(row["text"])) for row in rows]
    arguments, tokens = RuleArguments(rules), [tokens for line in TEXTS for tokens in sentences(line)]
    pairs = [one for sentence in tokens for one in paired(sentence, arguments.mentions(sentence, ()), 10)]
    [totals] = run.rows("texts")
    assert (totals["num_sentences"], totals["num_pairs"]) == (len(tokens), len(pairs))
    for row, rule in zip(rows, rules, strict=True):
        assert row["support"] == sum(matches(untyped(rule).rule, one) for one in pairs)
        assert (row["num_known"], row["precision"]) == (None, None)
    assert sum(row["support"] for row in rows) > 0
