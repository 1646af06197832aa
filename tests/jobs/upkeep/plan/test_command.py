"""What a command line plans, and what can't be planned."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.upkeep.plan.config import PlanRun, read_command
from tiltmeter.jobs.upkeep.plan.job import find_planned
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.downloads import copy_of


def test_a_plan_has_the_words_of_its_job_and_a_directory_of_its_own(configured):
    words = ["corpus=file", "corpus.language=en", "corpus.path=en.jsonl", "seed=3", "store=here", "run_dir=night/"]
    job, plan = configured("job=bootstrap", *words), configured("job=plan", "job.of=bootstrap", *words)
    assert isinstance(plan, PlanRun)
    assert plan.planned == job
    assert (plan.store, plan.seed, plan.cluster) == (job.store, 3, job.cluster)
    assert plan.run_dir == "night.plan"
    # The words of the job may stay as they are.
    assert configured("job=plan", "job.of=bootstrap", "job=bootstrap", *words) == plan
    assert configured("job=bootstrap", *words) == job


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["job=plan"], r"job=plan: which job is planned\? Set job.of=<job>"),
        (["job=plan", "job.of=survy"], r"job.of=survy: there is no such job; did you mean survey\?"),
        (["job=plan", "job.of=x"], r"job.of=x: there is no such job; choose one of association, bootstrap, "),
        (["job=plan", "job.of=plan"], r"job.of=plan: does no units, so there is nothing to plan"),
        (["job=plan", "job.of=prune"], r"job.of=prune: does no units"),
        (["job=plan", "job.of=survey", "job=bootstrap"], r"job=bootstrap: job.of=survey is the job that is planned"),
    ],
)
def test_what_can_not_be_planned_is_refused(words, message):
    with pytest.raises(ConfigError, match=message):
        read_command(words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "bootstrap corpus=file corpus.language=en corpus.path=x embedding.num_replicas=1",
            r"embedding.num_replicas=1: ",
        ),
        (
            "private_vectors embedding.path=x.txt release.key_file=key release.input=people release.epsilon=1",
            r"job.of=private_vectors: .* counted against its account.*release.key_file",
        ),
    ],
)
def test_a_wrong_setting_is_refused_as_the_job_refuses_it_and_a_release_is_not_planned(configured, words, message):
    with pytest.raises(ConfigError, match=message):
        configured("job=plan", *f"job.of={words}".split())


@pytest.fixture
def served(tmp_path):
    """A folder on a web server of this machine, and its address."""
    (tmp_path / "web").mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "web")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path / "web", f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_corpus_that_would_be_fetched_first_is_refused_until_the_store_has_it(configured, served, tmp_path):
    folder, address = served
    (folder / "pages.jsonl").write_text('{"id": "1", "text": "a line"}\n')
    corpus = ["corpus=file", "corpus.language=en", f"corpus.path='{address}/pages.jsonl'", "++corpus.download=true"]
    config = configured("job=plan", "job.of=bootstrap", *corpus, f"store={tmp_path}/store")
    with pytest.raises(InputError, match=r"pages.jsonl is not in the store, and a plan fetches nothing: set corpus"):
        find_planned(config)
    assert not (tmp_path / "store").exists()
    copy = copy_of(f"{address}/pages.jsonl", f"{tmp_path}/store")
    assert [source.uri for source in find_planned(config).jobs[0].sources.texts[0].sources] == [copy]
