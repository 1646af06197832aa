"""Job `sentiment_posterior`: which inputs a sentiment classifier expects of a label, and what words are near them."""

from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.sentiment.posterior.asked import check_lexicon, find_words
from tiltmeter.jobs.sentiment.posterior.chains import draw
from tiltmeter.jobs.sentiment.posterior.classifiers import train_classifiers
from tiltmeter.jobs.sentiment.posterior.comparisons import compare
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.cues import ask_cues
from tiltmeter.jobs.sentiment.posterior.diagnostics import diagnose
from tiltmeter.jobs.sentiment.posterior.distances import count_words, inputs_of, measure
from tiltmeter.jobs.sentiment.posterior.priors import find_priors
from tiltmeter.jobs.sentiment.posterior.projection import project
from tiltmeter.jobs.sentiment.posterior.sources import find_sources
from tiltmeter.jobs.sentiment.posterior.tables import TABLES
from tiltmeter.jobs.sentiment.posterior.texts import read_texts
from tiltmeter.jobs.sentiment.posterior.vectors import WHOLE, make_vectors


def run(run: Run[SentimentPosteriorRun, Files]) -> None:
    """Train classifiers, draw the inputs that they expect, and ask what the draws say of words."""
    config, runner = run.config, run.runner
    texts = read_texts(runner, config, run.sources)
    check_lexicon(runner.store, config, run.sources, texts)
    vectors = make_vectors(runner, config, run.sources, texts)
    asked = find_words(runner, config, run.sources, texts, vectors.words[WHOLE])
    trained = train_classifiers(runner, config, texts, vectors)
    run.publish("classifier", trained.rows)
    prior_refs = find_priors(runner, config, texts, vectors)
    drawn = draw(runner, config, trained.models, prior_refs, vectors.texts[WHOLE])
    run.publish("chains", [ref for refs in drawn.chains.values() for ref in refs])
    diagnosed = diagnose(runner, drawn, trained.models)
    run.publish("diagnostics", list(diagnosed.values()))
    refs = {**inputs_of(texts, vectors, asked), "model": trained.models, "prior": list(prior_refs.values())}
    run.publish_all(compare(runner, config, measure(runner, config, drawn, diagnosed, refs), asked))
    counted = count_words(runner, config, trained.models, texts, vectors)
    run.publish("evidence", [*(ref for refs in drawn.evidence.values() for ref in refs), *counted])
    run.publish("projection", [project(runner, config, drawn, texts, vectors)])
    run.publish_all({"cues": ask_cues(runner, config, trained.models, texts, vectors)})


JOB = Job(SentimentPosteriorRun, find_sources, run, TABLES, "tiltmeter.jobs.sentiment.posterior.page.body:page")
