"""How long an epoch of `job=relation_rules` takes on as much as the paper's rule-only data: `python -m
benchmarks.relation_epoch`.

Rows are drawn: what they say makes no difference to the time. Their number, lengths, vocabulary, share with rules and
trees are those of Tang and Surdeanu (2021), who report a minute on a Titan RTX; sizes are the published ones.
"""

import argparse
import time

import numpy as np

from tiltmeter.operators.relations.learning.examples import Example, Sizes
from tiltmeter.operators.relations.learning.settings import DecoderConfig, EncoderConfig, TrainingConfig
from tiltmeter.operators.relations.learning.training import Labelled, build, train

ROWS, WITH_RULES, TOKENS, RULE = 16_161, 3_850, 35, 12
SIZES = Sizes(words=53_953, pos=48, ner=20, relations=42, symbols=1_141)
ENCODER = {"words": 300, "lstm": 200, "lstm_layers": 2, "gcn": 200, "gcn_layers": 2, "ffn": 200, "ffn_layers": 2}


def example(generator: np.random.Generator) -> Example:
    """Of about 35 tokens, with a tree."""
    size = int(np.clip(generator.normal(TOKENS, 12), 8, 96))
    words, pos, ner = (generator.integers(2, num, size) for num in (SIZES.words, SIZES.pos, SIZES.ner))
    first, second = sorted(generator.choice(np.arange(0, size - 1, 2), 2, replace=False).tolist())
    arcs = np.array([(place, generator.integers(0, place)) for place in range(1, size)], dtype=np.int64)
    kept = generator.random(size) < 0.4
    kept[[first, second]] = True
    return Example(words, ner, pos, (first, first + 1), (second, second + 1), arcs[kept[arcs].all(axis=1)], kept)


def drawn(num: int, num_with_rules: int, generator: np.random.Generator) -> Labelled:
    """Rows, of which the first have a rule each."""
    rules = [
        [generator.integers(4, SIZES.symbols, RULE).tolist()] if row < num_with_rules else [] for row in range(num)
    ]
    relations = np.where(np.arange(num) < num_with_rules, generator.integers(1, SIZES.relations, num), 0)
    return Labelled([example(generator) for _ in range(num)], relations, rules)


def main() -> None:
    """Print the seconds of one epoch, of the clock and of a core."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", choices=["published", "usual"], default="published")
    parser.add_argument("--rows", type=int, default=ROWS)
    arguments = parser.parse_args()
    generator = np.random.default_rng(0)
    data = drawn(arguments.rows, arguments.rows * WITH_RULES // ROWS, generator)
    is_published = arguments.sizes == "published"
    encoder = EncoderConfig(**ENCODER) if is_published else EncoderConfig()
    decoder = DecoderConfig(hidden=200, ffn=200) if is_published else DecoderConfig()
    config = TrainingConfig(max_epochs=1)
    network = build(encoder, decoder, config, SIZES, seed=0)
    started, clock = time.process_time(), time.perf_counter()
    train(network, data, drawn(10, 5, generator), config, seed=0)
    seconds, elapsed = time.process_time() - started, time.perf_counter() - clock
    print(
        f"{arguments.rows:,} rows, {arguments.sizes} sizes: an epoch takes {seconds:.1f} s of a core ({elapsed:.1f} s)"
    )


if __name__ == "__main__":
    main()
