"""A small run on made-up sentences and texts, and the first stages of a run by themselves."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest

from benchmarks.calibration.adversary import Held
from tiltmeter.jobs.relations.config import find_sources
from tiltmeter.jobs.relations.explanations import count_new_rules
from tiltmeter.jobs.relations.models import Supervision
from tiltmeter.jobs.relations.rules import compile_rules, count_rules, match_rules, read_parts
from tiltmeter.jobs.relations.tables import WrittenRules
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.operators.relations.synthetic import synthetic_instances, synthetic_rules

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
    files = [f"rules.path={folder}/rules.json", f"texts.path={folder}/texts.jsonl", "texts.format=jsonl"]
    return [*files, *(f"texts.{name}={path}" for name, path in lists.items())]


@pytest.fixture(scope="session")
def ruled(run_here, tmp_path_factory, texts):
    place = tmp_path_factory.mktemp("ruled")
    return run_here(*SMALL, *texts, f"store={place}/store", f"run_dir={place}/run")


@pytest.fixture(scope="session")
def staged(configured):
    """The stages up to what models are told, and what becomes of rules that they write, without a run."""

    def stages(*settings):
        config, held = configured("job=relation_rules", *settings), Held()
        run = Run(config, find_sources(config), held, directory=None, console=None)
        parts = read_parts(run)
        evidence = match_rules(run, compile_rules(run, parts), parts)

        def supervised(share=1.0):
            about = {"mode": config.data.mode, "inverses": config.data.inverses}
            return Supervision(share=share, evidence=evidence, **about).parts(held)

        def judged(written):
            given = held.put(pa.Table.from_pylist(written, WrittenRules.schema()))
            done = count_new_rules(run, evidence, [given])
            return {name: held.read(done.one(name)).to_pylist() for name in ("explanations", "rules")}

        counted = held.read(count_rules(run, evidence)).to_pylist()
        rows = {split: held.read(ref).to_pylist() for split, ref in parts.items()}
        training = [one for _, one in evidence.instances(held, "training")]
        return SimpleNamespace(rows=rows, rules=counted, training=training, supervised=supervised, judged=judged)

    return stages
