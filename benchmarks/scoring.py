"""How long a text classifier takes for many sentences: in a plain pipeline call, and in `tiltmeter`.

    python -m benchmarks.scoring [--sentences 20000] [key=value ...]

The model has the size of DistilBERT (6 layers of 768 dimensions) and random weights; the sentences are different ones,
of mixed length, from the development data. The pipeline call is given them as a list, with its defaults, and two
threads. The command has the same two cores, as two workers of one thread; its time is that of the whole, from its start
to tables and report. Scores must agree within 1e-4.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.command import DATA, Outcome, print_stages, run_command

NUM_CORES = 2
SETTINGS = [
    *("job=sentiment_rating", "sentences=file", "sentences.columns.gender=gender", "translator=[]"),
    *("sentiment=[transformer]", f"cluster.num_cpus={NUM_CORES}"),
]
PARTS = ("train", "dev", "test")
TOLERANCE = 1e-4
VALUES = {"NEGATIVE": -1.0, "POSITIVE": 1.0}


def read_sentences(num: int) -> list[str]:
    """Different utterances of MELD and sentences of SST-2, in an order that is drawn."""
    conversations = [pl.read_csv(DATA / f"sentiment/meld/{part}_sent_emo.csv")["Utterance"] for part in PARTS]
    reviews = [(DATA / f"sentiment/sst2/{part}.tsv").read_text(encoding="utf-8").splitlines() for part in PARTS]
    texts = {text for texts in conversations for text in texts}
    texts |= {line.split("\t")[0] for lines in reviews for line in lines}
    if num > len(texts):
        sys.exit(f"--sentences {num}: there are {len(texts)}")
    return random.Random(0).sample(sorted(texts), num)


def make_model(folder: Path, texts: list[str]) -> None:
    """Save a classifier whose scores spread, and a tokenizer of the words in the texts."""
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import DistilBertConfig, DistilBertForSequenceClassification, DistilBertTokenizer

    words = BertWordPieceTokenizer()
    words.train_from_iterator(texts, vocab_size=DistilBertConfig().vocab_size, show_progress=False)
    DistilBertTokenizer(vocab=words.get_vocab()).save_pretrained(folder)
    torch.manual_seed(0)
    config = DistilBertConfig(id2label=dict(enumerate(VALUES)), initializer_range=0.05)
    model = DistilBertForSequenceClassification(config)
    model.save_pretrained(folder)
    print(f"{model.num_parameters() / 1e6:.1f} million parameters")


def by_pipeline(folder: Path, texts: list[str]) -> tuple[float, NDArray[np.float64]]:
    """Seconds of the call, and the expected value of each text's two labels."""
    import torch
    from transformers import pipeline

    torch.set_num_threads(NUM_CORES)
    classify = pipeline("text-classification", model=str(folder))
    started = time.monotonic()
    found = classify(texts)
    seconds = time.monotonic() - started
    return seconds, np.array([VALUES[text["label"]] * (2 * text["score"] - 1) for text in found])


def by_command(folder: Path, texts: list[str], overrides: list[str]) -> tuple[Outcome, NDArray[np.float64]]:
    """The run, and each text's score."""
    genders = [("female", "male")[row % 2] for row in range(len(texts))]  # without which there is nothing to rate
    pl.DataFrame({"text": texts, "gender": genders}).write_csv(folder / "sentences.csv")
    places = [f"sentences.path={folder}/sentences.csv", f"sentiment.transformer.model={folder}/model"]
    outcome = run_command(folder, *SETTINGS, *places, *overrides)
    scores = pl.read_parquet(outcome.run_dir / "scores.parquet").sort("sentence")
    return outcome, scores["sentiment"].to_numpy()


def main() -> None:
    """Run both and print times, speed and how far the scores lie apart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=20_000)
    known, overrides = parser.parse_known_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:NUM_CORES])
    with tempfile.TemporaryDirectory() as name:
        folder, texts = Path(name), read_sentences(known.sentences)
        make_model(folder / "model", texts)
        print(f"{len(texts):,} sentences; {' '.join([*SETTINGS, *overrides])}", flush=True)
        outcome, scores = by_command(folder, texts, overrides)
        print_stages(outcome)
        seconds, expected = by_pipeline(folder / "model", texts)
    apart = np.abs(scores - expected).max()
    print(f"the whole command: {outcome.seconds:.1f} s, {len(texts) / outcome.seconds:.0f} sentences per second")
    print(f"the pipeline call: {seconds:.1f} s, {len(texts) / seconds:.0f} sentences per second")
    print(f"{seconds / outcome.seconds:.2f} times as fast; scores from {scores.min():.2f} to {scores.max():.2f}")
    print(f"largest difference of scores: {apart:.1e}")
    if apart > TOLERANCE:
        sys.exit(f"scores differ by more than {TOLERANCE}")


if __name__ == "__main__":
    main()
