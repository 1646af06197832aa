"""Job `relation_rules`: relations between two arguments, with rules that explain them and run."""

from tiltmeter.jobs.relations.config import RelationRulesRun
from tiltmeter.jobs.relations.instances import read_parts
from tiltmeter.jobs.relations.judging import judge_rules
from tiltmeter.jobs.relations.matching import match_rules
from tiltmeter.jobs.relations.measuring import measure
from tiltmeter.jobs.relations.rules import compile_rules, count_rules
from tiltmeter.jobs.relations.sources import RelationSources, find_sources
from tiltmeter.jobs.relations.supervising import evidence_of_rules
from tiltmeter.jobs.relations.tables import TABLES
from tiltmeter.jobs.relations.texts.stage import run_over_texts
from tiltmeter.jobs.relations.training import joint_models, train_models
from tiltmeter.jobs.relations.writing import write_rules
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job


def run(run: Run[RelationRulesRun, RelationSources]) -> None:
    """Read, run the rules, train on what they say and on labels, have rules written, and measure all of it."""
    config, runner = run.config, run.runner
    parts = read_parts(runner, config, run.sources)
    compiled = compile_rules(runner, config, run.sources, parts)
    rules, matches = match_rules(runner, config, compiled, parts)
    counted = count_rules(runner, config, rules, parts, matches)
    evidence = evidence_of_rules(rules, matches)
    models = train_models(runner, config, parts, evidence, run.sources.pretrained.identity(config.encoder))
    run.publish("training", [finished.tables["training"] for finished in models.values()])
    written = write_rules(runner, config, parts, evidence, models)
    judged = judge_rules(runner, config, parts, evidence, written)
    known_and_new = [counted, *judged["rules"]]
    in_texts = run_over_texts(runner, config, run.sources, known_and_new, joint_models(config, models))
    run.publish("rules", [*known_and_new, *in_texts.pop("rules", [])])
    run.publish_all({"explanations": judged["explanations"], **in_texts})
    run.publish_all(measure(runner, config, parts, evidence, models, judged["explanations"]))


JOB = Job(RelationRulesRun, find_sources, run, TABLES, "tiltmeter.jobs.relations.page.body:page")
