"""A small run on made-up sentences and texts, and the first stages of a run by themselves."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from benchmarks.calibration.adversary_worlds import Held
from tiltmeter.jobs.relations.instances import read_parts
from tiltmeter.jobs.relations.matching import match_rules
from tiltmeter.jobs.relations.rules import compile_rules, count_rules
from tiltmeter.jobs.relations.sources import find_sources
from tiltmeter.jobs.relations.supervising import evidence_of_rules, supervised_parts
from tiltmeter.operators.relations.synthetic import synthetic_instances, synthetic_rules
from tiltmeter.storage.store.ledger import Unit

NETWORK = [
    *("encoder.words=8", "encoder.pos=2", "encoder.ner=4", "encoder.lstm=8", "encoder.gcn=8", "encoder.ffn=8"),
    *("decoder.hidden=8", "decoder.embedding=8", "decoder.ffn=8", "decoder.max_length=12", "decoder.beam=3"),
    *("training.rate=0.03", "training.max_epochs=5", "training.dropout=0.1", "training.batch=10"),
]
SMALL = [
    *("job=relation_rules", "seed=3", "data.sentences=80", "seeds=2", "job.num_resamples=20", "job.level=0.9"),
    *("job.unit_instances=25", "rules.share=0.75", "shares=[0.5]", "ablations=[no_decoder, no_classifier]", *NETWORK),
]
SENTENCES = synthetic_instances(60, part=7, seed=3)


def words(instance, role):
    return " ".join(instance.sentence.tokens[slice(*instance.span(role))])


MENTIONS = sorted({(words(one, "subject"), one.subject_type) for one in SENTENCES})
TYPES = dict(reversed(MENTIONS))
"""Some names are of a place and of a group: the first counts."""
INSTANCES = [
    replace(one, subject_type=TYPES[words(one, "subject")], object_type=TYPES[words(one, "object")])
    for one in SENTENCES
]
FACTS = {
    (words(one, "subject"), one.relation if number % 5 else "met", words(one, "object"))
    for number, one in enumerate(INSTANCES)
    if number % 7
}
"""Of some pairs nothing is known, and of some not what their sentence says."""


def written(instances):
    """A document of five sentences each, as people write them."""
    lines = [" ".join(one.sentence.tokens) for one in instances[::2]]
    return ["\n".join(lines[start : start + 5]) for start in range(0, len(lines), 5)]


def csv(path, header, rows):
    path.write_text("\n".join([header, *(",".join(row) for row in sorted(set(rows)))]) + "\n")
    return path


RULES = [
    *synthetic_rules(),
    ("wrong 1", "born_in", 'SUBJ "works" [] OBJ'),
    ("wrong 2", "based_in", "SUBJ /married/ OBJ"),
    ("wrong 3", "works_for", "SUBJ /sued|left|met/ OBJ"),
]
"""The first are always right, the last always wrong."""


@pytest.fixture(scope="session")
def texts(tmp_path_factory):
    """Settings: rules, and JSON lines with all names as mentions and what holds as facts."""
    folder = tmp_path_factory.mktemp("texts")
    rules = [{"id": name, "relation": relation, "pattern": text} for name, relation, text in RULES]
    (folder / "rules.json").write_text(json.dumps(rules))
    documents = [{"id": str(number), "text": text} for number, text in enumerate(written(INSTANCES))]
    (folder / "texts.jsonl").write_text("\n".join(map(json.dumps, documents)) + "\n")
    lists = {
        "mentions": csv(folder / "mentions.csv", "text,type", MENTIONS),
        "facts": csv(folder / "facts.csv", "subject,relation,object", FACTS),
    }
    files = [f"rules.path={folder}/rules.json", f"texts.path={folder}/texts.jsonl"]
    return [*files, *(f"texts.{name}={path}" for name, path in lists.items())]


@pytest.fixture(scope="session")
def ruled(run_here, tmp_path_factory, texts):
    place = tmp_path_factory.mktemp("ruled")
    return run_here(*SMALL, *texts, f"store={place}/store", f"run_dir={place}/run")


@pytest.fixture(scope="session")
def staged(configured):
    """The stages up to what models are told, without a run."""

    def stages(*settings):
        config, held = configured("job=relation_rules", *settings), Held()
        parts = read_parts(held, config, sources := find_sources(config))
        rules, matches = match_rules(held, config, compile_rules(held, config, sources, parts), parts)
        evidence = evidence_of_rules(rules, matches)
        unit = Unit("made/1", "made", {}, {**{split: [ref] for split, ref in parts.items()}, **evidence})

        def supervised(share=1.0):
            return supervised_parts(held, unit, share, config.data.mode, config.data.inverses)

        counted = held.read(count_rules(held, config, rules, parts, matches)).to_pylist()
        rows = {split: held.read(ref).to_pylist() for split, ref in parts.items()}
        return SimpleNamespace(rows=rows, rules=counted, supervised=supervised)

    return stages
