"""The card of a run's vectors in the hub's form: what was trained on what, how it came out, how to load each file."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from tiltmeter.jobs.embedding.config import EmbeddingConfig, EmbeddingsRun
from tiltmeter.jobs.embedding.corpora import Corpus
from tiltmeter.jobs.embedding.pages import file_digests
from tiltmeter.jobs.embedding.replicas import TrainReplica
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.statistics.intervals import percentile_interval
from tiltmeter.storage.corpora.cards import dump_date, is_wikipedia, language_tag, pipe_table
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.vectors.files import ExportFormat

LEVEL = 0.95
_METRICS = {"loss": "mean training loss of the last epoch", "words": "words that have a vector"}

_GENSIM = "from gensim.models import KeyedVectors\n\n"
_LOADING: dict[ExportFormat | str, str] = {
    "word2vec_text": _GENSIM + 'vectors = KeyedVectors.load_word2vec_format("{}")',
    "word2vec_binary": _GENSIM + 'vectors = KeyedVectors.load_word2vec_format("{}", binary=True)',
    "glove": _GENSIM + 'vectors = KeyedVectors.load_word2vec_format("{}", no_header=True)',
    "keyedvectors": _GENSIM + 'vectors = KeyedVectors.load("{}")',
    "parquet": 'import pyarrow.parquet as pq\n\ntable = pq.read_table("{}")  # word, vector',
    "safetensors": (
        'import json\n\nfrom safetensors import safe_open\n\nwith safe_open("{}", "numpy") as file:\n'
        '    words = json.loads(file.metadata()["words"])\n'
        '    vectors = file.get_tensor("replica_0000")  # a row for each word; NaN where it has none'
    ),
}
"""Code that reads a file, by its format."""

_WIKIPEDIA = (
    "The texts are under CC BY-SA 4.0 and, most of them, the GFDL as well. Whether vectors that were trained on them "
    "are a work derived from them is a question of law, which this card doesn't answer."
)
_OTHER = "Nothing says under which license the texts are: look before passing the vectors on."
_REPLICAS = (
    "`replica_0000` is of the corpus itself, further replicas of its lines or documents drawn again (bootstrap), and a "
    "`start` of the corpus itself from another random start. Below is how to load the first file of each kind."
)
_INTERVALS = (
    f"`interval` is the middle {LEVEL:.0%} of the `n` bootstrap replicas of the corpus: how far resampling moves the "
    "number. As resampling alone lowers or raises it too, the value of the corpus itself may lie outside."
)


def card(
    run: Run[EmbeddingsRun, Sources],
    corpora: Mapping[str, Corpus],
    trained: Done[TrainReplica],
    files: Mapping[str, Sequence[str]],
) -> str:
    """Text of a ``README.md``; ``files``: names of those that were written, by format.

    The results are, of each corpus, the loss of the last epoch and how many words have a vector, with percentile
    intervals of the replicas in the metric's ``args``: the hub's readers drop keys that they don't know elsewhere.
    """
    # Its libraries take time to import.
    from huggingface_hub import EvalResult, ModelCardData

    embedding, store = cast(EmbeddingConfig, run.config.embedding), run.runner.store
    sources = [source for name in trained.groups for source in corpora[name].text.sources]
    digests = file_digests(run.runner, sources, "files")
    results: list[Any] = []
    for name, replicas in trained.groups.items():
        corpus = corpora[name]
        drawn = not embedding.resampling.is_too_few(*corpus.extent(store))
        files_read = [digests[source.uri] for source in corpus.text.sources]
        read = [{"name": file["name"], "sha256": file["sha256"]} for file in files_read]
        date = dump_date(file["name"] for file in read)
        results += (
            EvalResult(
                task_type="feature-extraction",
                task_name="Word vectors",
                # By type, configuration and revision are results of one corpus told from those of another.
                dataset_type="text",
                dataset_name=name,
                dataset_config=name,
                dataset_revision=date,
                dataset_args={"files": read},
                metric_type=metric,
                metric_name=_METRICS[metric],
                metric_value=value,
                metric_args=args if drawn else None,
            )
            for metric, value, args in _measured(store, replicas)
        )
    data = ModelCardData(
        model_name=f"{embedding.trainer.name} vectors of {', '.join(trained.groups)}",
        eval_results=results,
        language=sorted({language_tag(corpora[name].language) for name in trained.groups}),
        license="other",
        license_name="that-of-the-texts",
        pipeline_tag="feature-extraction",
        tags=["word-embeddings", embedding.trainer.name, "bootstrap", "tiltmeter"],
    )
    license = _WIKIPEDIA if all(map(is_wikipedia, sources)) else _OTHER
    words = _words(run.config, data.model_name or "", results, files, license)
    return f"---\n{data.to_yaml()}\n---\n\n{words}"


def _measured(store: Store, replicas: Done[TrainReplica]) -> list[tuple[str, float, dict[str, Any] | None]]:
    """Metrics of the corpus itself, each with the interval of its replicas."""
    numbers: dict[str, dict[int, float]] = {metric: {} for metric in _METRICS}
    for work, unit in replicas.pairs:
        vectors = store.read(unit.tables["embedding"].select("vector"))["vector"]
        numbers["words"][work.replica] = len(vectors) - vectors.null_count
        loss = store.read(unit.tables["training"].select("loss"))["loss"].to_pylist()[-1]
        numbers["loss"][work.replica] = np.nan if loss is None else loss
    measured = []
    for metric, values in numbers.items():
        low, high, num = percentile_interval(np.array([values[one] for one in values if one > ORIGINAL]), LEVEL)
        args = {"interval": [float(low), float(high)], "level": LEVEL, "n": int(num)} if num > 1 else None
        if np.isfinite(values[ORIGINAL]):
            measured.append((metric, values[ORIGINAL], args))
    return measured


def _words(
    config: EmbeddingsRun, title: str, results: Sequence[Any], files: Mapping[str, Sequence[str]], license: str
) -> str:
    embedding = cast(EmbeddingConfig, config.embedding)
    settings = {f"embedding.trainer.{name}": value for name, value in dataclasses.asdict(embedding.trainer).items()}
    more = ("min_count", "fold_case", "num_replicas", "num_starts")
    settings |= {f"embedding.{name}": getattr(embedding, name) for name in more} | {"seed": config.seed}
    of_corpora = [
        (name, f"`{file['name']}`", one.dataset_revision or "not known", f"`{file['sha256']}`")
        for name, one in {one.dataset_name: one for one in results}.items()
        for file in one.dataset_args["files"]
    ]
    measured = (
        (one.dataset_name, one.metric_name, f"{one.metric_value:.6g}", _between(one.metric_args)) for one in results
    )
    loading = [f"```python\n{_LOADING[form].format(names[0])}\n```" for form, names in files.items()]
    parts = [
        f"# {title}",
        _REPLICAS,
        pipe_table(("corpus", "file", "date", "SHA-256"), *of_corpora),
        "## Results",
        pipe_table(("corpus", "", "value", "interval"), *measured),
        _INTERVALS,
        "## Settings",
        pipe_table(("setting", "value"), *((f"`{name}`", str(value)) for name, value in settings.items())),
        "## Files",
        *loading,
        "## License",
        license,
    ]
    return "\n\n".join(parts) + "\n"


def _between(args: Mapping[str, Any] | None) -> str:
    return "{:.6g} to {:.6g}".format(*args["interval"]) if args else "none: too few texts to draw from"
