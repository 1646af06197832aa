"""Whole documents, exponential weights and further random starts through the job: what stays, what differs."""

import pytest

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import InputError

TINY = [
    "job=bootstrap",
    "embedding.num_replicas=2",
    "embedding.min_count=2",
    "embedding.trainer.dimensions=4",
    "embedding.trainer.epochs=2",
    "cluster.num_cpus=1",
]
WORD2VEC = "embedding=word2vec"
CHOICES = {
    "usual": ["embedding.resampling.unit=line"],
    "starts": ["embedding.resampling.unit=line", "embedding.num_starts=3"],
    "documents": ["embedding.resampling.unit=document", "embedding.num_starts=2"],
    "exponential": ["embedding.resampling.unit=document", "embedding.resampling.weights=exponential"],
    "chosen": ["embedding.num_starts=2"],
}


@pytest.fixture(scope="module")
def runs(run_here, made_up, write_lines, one_corpus, tmp_path_factory):
    """Runs of each choice on one store, in their order; and what another run needs."""
    folder = tmp_path_factory.mktemp("resampling")
    settings = [*one_corpus("en", write_lines(folder / "en.jsonl", made_up("en"))), *TINY]
    same = [*settings, f"store={folder}/store"]
    done = {name: run_here(*same, *choice, f"run_dir={folder}/{name}") for name, choice in CHOICES.items()}
    return done, settings


def test_further_starts_are_further_units_of_the_corpus_itself(runs):
    done, _ = runs
    few, many = done["usual"], done["starts"]
    assert [many.num_done(stage) for stage in ("co-occurrence", "merge", "train")] == [0, 0, 2]
    before, after = few.parts("en"), many.parts("en")
    assert all(after[name] == part for name, part in before.items())
    originals = [after[f"en_{name}.parquet"]["vector"] for name in ("replica_0000", "start_0001", "start_0002")]
    assert len({str(column.to_pylist()) for column in originals}) == 3
    assert many.table("training")["replica"].unique().to_pylist() == [0, 1, 2, -1, -2]


def test_documents_of_several_lines_are_drawn_where_nothing_is_said(runs):
    done, _ = runs
    assert done["chosen"].digests == done["documents"].digests
    assert not done["chosen"].record["units"]["done"], "the same units"


def test_lines_are_drawn_where_documents_have_one_each(run_here, made_up, write_lines, one_corpus, tmp_path):
    documents = [document | {"text": document["text"].replace("\n", " ")} for document in made_up("en")]
    settings = [*one_corpus("en", write_lines(tmp_path / "en.jsonl", documents)), *TINY, f"store={tmp_path}/store"]
    chosen = run_here(*settings, f"run_dir={tmp_path}/chosen")
    lines = run_here(*settings, "embedding.resampling.unit=line", f"run_dir={tmp_path}/lines")
    assert lines.digests == chosen.digests
    assert not lines.record["units"]["done"]


def test_numbers_of_a_few_documents_have_no_intervals(
    run_here, made_up, write_lines, one_corpus, word_lists, word_sets, tmp_path
):
    sides = {
        "target_x": ["enaa", "enca"],
        "target_y": ["enba", "enda"],
        "attribute_a": ["enea"],
        "attribute_b": ["enfa"],
    }
    quick = ["job.similarities=[cosine]", "job.statistics=[mean]", "job.min_words=1"]
    lists = word_lists("en", associations={"made_up": word_sets(**sides)}, wefats=None)
    rows = {}
    for num in (5, 6):
        folder = tmp_path / f"{num}"
        folder.mkdir()
        corpus = one_corpus("en", write_lines(folder / "en.jsonl", made_up("en")[:num]))
        settings = [*corpus, *TINY, "job=association", *quick, *lists, f"store={tmp_path}/store"]
        for unit in ("auto", "line"):
            run = run_here(*settings, f"embedding.resampling.unit={unit}", f"run_dir={folder}/{unit}")
            [rows[num, unit]] = run.rows("associations")
            page = (run.path / "report.html").read_text()
            assert ("Numbers have no intervals in" in page) == (num == 5 and unit == "auto")
            assert ("(6 documents of 10.0 lines on average); from 20 on" in page) == (num == 6 and unit == "auto")
    assert {row["status"] for row in rows.values()} == {"ok"}
    drawn = {key: row["num_replicas"] for key, row in rows.items()}
    assert drawn == {(5, "auto"): 0, (5, "line"): 2, (6, "auto"): 2, (6, "line"): 2}
    assert rows[5, "auto"]["score_low"] is None
    assert rows[5, "auto"]["score"] == rows[5, "line"]["score"]


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["documents", "exponential", "starts"])
def test_two_workers_and_other_groups_give_the_same_tables(runs, run_job, tmp_path, choice):
    done, settings = runs
    other = ["cluster.num_cpus=2", "reading.shard_megabytes=0.004", f"store={tmp_path}"]
    assert run_job(*settings, *CHOICES[choice], *other).digests == done[choice].digests


def test_a_corpus_of_one_document_has_nothing_to_draw(run_here, write_lines, one_corpus, tmp_path):
    documents = [{"id": "1", "text": "\n".join(["one two three four"] * 30)}]
    corpus = one_corpus("en", write_lines(tmp_path / "one.jsonl", documents))
    with pytest.raises(
        InputError, match=r"corpus: \S+ is one document.* embedding\.resampling\.unit=document: set it to line"
    ):
        run_here(*corpus, *TINY, "embedding.resampling.unit=document", f"store={tmp_path}/store")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["embedding.num_starts=0"], r"embedding.num_starts=0: .*greater than or equal to 1"),
        (["embedding.resampling.unit=page"], r"embedding.resampling.unit=page: must be auto, line or document"),
        ([WORD2VEC, "embedding.resampling.weights=exponential"], "word2vec reads a line a whole number of times"),
    ],
)
def test_what_no_training_can_do_is_refused(configured, overrides, message):
    with pytest.raises(ConfigError, match=message):
        configured("job=bootstrap", *overrides)
