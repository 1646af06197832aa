"""Job `relation_rules`: relations between two arguments, with rules that explain them and run."""

from tiltmeter.jobs.relations.config import RelationRulesRun, RelationsRun, find_sources
from tiltmeter.jobs.relations.explanations import count_new_rules, write_rules
from tiltmeter.jobs.relations.measures import measure
from tiltmeter.jobs.relations.models import joint_models, train_models
from tiltmeter.jobs.relations.rules import compile_rules, count_rules, match_rules, read_parts
from tiltmeter.jobs.relations.tables import TABLES, Explanations, Rules
from tiltmeter.jobs.relations.texts import count_in_texts
from tiltmeter.jobs.runtime.job import Job


def run(run: RelationsRun) -> None:
    """Read, run the rules, train on what they say and on labels, have rules written, and measure all of it."""
    parts = read_parts(run)
    evidence = match_rules(run, compile_rules(run, parts), parts)
    known = count_rules(run, evidence)
    models = train_models(run, evidence)
    new = count_new_rules(run, evidence, write_rules(run, evidence, models))
    rules, explanations = [known, *new.refs(Rules)], new.refs(Explanations)
    in_texts = count_in_texts(run, rules, joint_models(run.config, models))
    run.publish("rules", [*rules, *in_texts.pop("rules", [])])
    run.publish_all({"explanations": explanations, **in_texts})
    measure(run, evidence, models, explanations)


JOB = Job(RelationRulesRun, find_sources, run, TABLES, "tiltmeter.jobs.relations.page:page", extras=["models"])
