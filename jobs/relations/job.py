"""Job `relation_rules`: relations between two arguments, with rules that explain them and run."""

from tiltmeter.jobs.relations.config import RelationRulesRun
from tiltmeter.jobs.relations.instances import read_parts
from tiltmeter.jobs.relations.judging import judge_rules
from tiltmeter.jobs.relations.measuring import measure
from tiltmeter.jobs.relations.rules import compile_rules, count_rules, match_rules
from tiltmeter.jobs.relations.sources import RelationSources, find_sources
from tiltmeter.jobs.relations.supervising import evidence_of_rules
from tiltmeter.jobs.relations.tables import TABLES
from tiltmeter.jobs.relations.training import train_models
from tiltmeter.jobs.relations.writing import write_rules
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job


def run(run: Run[RelationRulesRun, RelationSources]) -> None:
    """Read, run the rules, train on what they say and on labels, have rules written, and measure all of it."""
    config, runner = run.config, run.runner
    parts = read_parts(runner, config, run.sources)
    rules = compile_rules(runner, config, run.sources, parts)
    matches = match_rules(runner, config, rules, parts)
    counted = count_rules(runner, config, rules, parts, matches)
    evidence = evidence_of_rules(rules, matches)
    models = train_models(runner, config, parts, evidence)
    run.publish("training", [finished.tables["training"] for finished in models.values()])
    written = write_rules(runner, config, parts, evidence, models)
    judged = judge_rules(runner, config, parts, evidence, written)
    run.publish("rules", [counted, *judged["rules"]])
    run.publish_all({"explanations": judged["explanations"]})
    run.publish_all(measure(runner, config, parts, evidence, models, judged["explanations"]))


JOB = Job(RelationRulesRun, find_sources, run, TABLES, "tiltmeter.jobs.relations.page.body:page")
