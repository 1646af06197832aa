"""GloVe on an NVIDIA card: pair updates per second, share of the card's memory bandwidth, and agreement with the CPU.

    python -m benchmarks.cuda [--words 100000] [--draws 30000000] [--replicas 16] [--tile-words 1024] [--epochs 3]

Pairs are drawn at random, both words by Zipf's law; each replica draws a Poisson number of each pair, the first takes
all. An update is one step of AdaGrad on an ordered pair that occurs in the replica. It reads and writes two vectors and
their two sums of squares, and reads two indices, a logarithm and a weight: ``8 * width * 4 + 16`` bytes, where width is
the padded length of a vector. Words that recur come from the card's caches, so that the share of the bandwidth of a
large copy may pass 1. The CPU kernel trains the first replica on one core. The exit status is 1 if its loss differs by
more than 1 % or a word vector's cosine is below 0.999. Without a card there is nothing to measure, and it says so.
"""

import argparse
import sys
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.embedding.cooccurrence import UNITS_PER_PAIR, CooccurrenceConfig
from tiltmeter.operators.embedding.glove import GloveConfig, GloveTraining
from tiltmeter.operators.embedding.glove_cuda import CudaGlove, check_device, replicas_that_fit
from tiltmeter.operators.embedding.tiles import TiledPairs, Tiling, shuffled_in_tiles, tiled_pairs
from tiltmeter.operators.embedding.training import Training

SEED = 0


def draw_pairs(tiling: Tiling, num_draws: int) -> tuple[TiledPairs, NDArray[np.int64]]:
    """Pairs in the order of training, and how often each was drawn."""
    rng = np.random.default_rng(SEED)
    num_blocks = tiling.num_blocks
    drawn = np.exp(rng.random((2, num_draws)) * np.log(tiling.num_words + 1)).astype(np.int64) - 1
    words = np.minimum(drawn, tiling.num_words - 1)
    keys = words % num_blocks * tiling.tile_words + words // num_blocks
    (row_block, row), (column_block, column) = (np.divmod(key, tiling.tile_words) for key in np.sort(keys, axis=0))
    tile = (column_block - row_block) * num_blocks + row_block
    names = (tile * tiling.tile_words + row) * tiling.tile_words + column
    unique, multiplicities = np.unique(names, return_counts=True)
    order = shuffled_in_tiles(unique, tiling, SEED)
    return tiled_pairs(unique[order], tiling), multiplicities[order]


def replica_counts(multiplicities: NDArray[np.int64], num_replicas: int) -> Iterator[NDArray[np.int64]]:
    """Counts of one replica after the other."""
    yield multiplicities * UNITS_PER_PAIR
    for replica in range(1, num_replicas):
        yield np.random.default_rng([SEED, replica]).poisson(multiplicities) * UNITS_PER_PAIR


def count_updates(pairs: TiledPairs, multiplicities: NDArray[np.int64], num_replicas: int) -> int:
    """Updates that all replicas take in one epoch."""
    beside_itself = pairs.rows == pairs.columns
    present = (counts > 0 for counts in replica_counts(multiplicities, num_replicas))
    return sum(2 * int(here.sum()) - int((here & beside_itself).sum()) for here in present)


def copy_bandwidth(device: str, num_bytes: int = 2**30, repeats: int = 10) -> float:
    """Bytes per second, read and written, of copying a large array on the device."""
    import torch

    source = torch.ones(num_bytes // 4, device=device)
    target = torch.empty_like(source)
    target.copy_(source)[0].item()
    started = time.monotonic()
    for _ in range(repeats):
        target.copy_(source)
    target[0].item()
    return 2 * num_bytes * repeats / (time.monotonic() - started)


def time_epochs(training: Training | CudaGlove, epochs: int) -> float:
    """Seconds per epoch; the first, in which the kernel is compiled, does not count if there are more."""
    seconds = []
    for _ in range(epochs):
        started = time.monotonic()
        training.advance()
        seconds.append(time.monotonic() - started)
    return float(np.mean(seconds[1:] or seconds))


def disagreement(group: CudaGlove, cpu: GloveTraining) -> tuple[float, float, float]:
    """Of the first replica: relative difference of the losses, largest difference of a value, smallest cosine."""
    ours, theirs = group.result(0), cpu.result()
    loss = float(np.abs(ours.losses / theirs.losses - 1).max())
    known = ~np.isnan(theirs.vectors[:, 0])
    a, b = ours.vectors[known], theirs.vectors[known]
    cosines = (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    return loss, float(np.abs(a - b).max()), float(cosines.min())


def describe_card(device: str, num_pairs: int, tiling: Tiling, config: GloveConfig) -> None:
    """Name and memory of the card, and the group that it could train."""
    import torch

    if torch.device(device).type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        fit = replicas_that_fit(num_pairs, tiling.num_words, config, free)
        properties = torch.cuda.get_device_properties(device)
        print(f"{properties.name}, {properties.multi_processor_count} multiprocessors, {total / 1e9:.0f} GB: {fit} fit")


def parse_arguments() -> argparse.Namespace:
    """Sizes of the problem."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = {"words": 100_000, "draws": 30_000_000, "replicas": 16, "dimensions": 100, "epochs": 3}
    for name, size in (sizes | {"tile-words": CooccurrenceConfig().tile_words}).items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--device", default="cuda", help="cuda:<n>; or cpu with TRITON_INTERPRET=1, to try the program")
    return parser.parse_args()


def main() -> None:
    """Train the same replicas on both, and compare."""
    sizes = parse_arguments()
    try:
        check_device(sizes.device)
    except ValueError as error:
        sys.exit(f"nothing measured: {error}")
    tiling = Tiling(sizes.words, sizes.tile_words)
    config = GloveConfig(dimensions=sizes.dimensions, epochs=sizes.epochs)
    pairs, multiplicities = draw_pairs(tiling, sizes.draws)
    describe_card(sizes.device, pairs.rows.size, tiling, config)
    print(
        f"{pairs.rows.size:,} pairs of {sizes.words:,} words, {sizes.replicas} replicas, {sizes.dimensions} dimensions"
    )
    print(f"{tiling.num_blocks * sizes.replicas:,} programs in a round of {tiling.num_blocks} tiles")

    counts = replica_counts(multiplicities, sizes.replicas)
    group = CudaGlove(pairs, counts, tiling, range(sizes.replicas), SEED, config, sizes.device)
    rate = count_updates(pairs, multiplicities, sizes.replicas) / time_epochs(group, sizes.epochs)
    update_bytes = 8 * 4 * group.state(0)["vectors"].shape[-1] + 16
    moved, bandwidth = rate * update_bytes, copy_bandwidth(sizes.device)
    print(f"card: {rate / 1e6:,.1f} M pair updates per second, {update_bytes:,} bytes each: {moved / 1e9:,.0f} GB/s")
    print(f"      a large copy moves {bandwidth / 1e9:,.0f} GB/s; share of it: {moved / bandwidth:.2f}")

    cpu = GloveTraining(pairs, replica_counts(multiplicities, 1), tiling, 0, SEED, config)
    cpu_rate = count_updates(pairs, multiplicities, 1) / time_epochs(cpu, sizes.epochs)
    print(f"CPU:  {cpu_rate / 1e6:,.1f} M pair updates per second on one core, {rate / cpu_rate:,.1f} times fewer")
    loss, largest, cosine = disagreement(group, cpu)
    print(
        f"after {sizes.epochs} epochs: loss differs by {loss:.1e}, values by {largest:.1e}, cosines from {cosine:.6f}"
    )
    if loss > 0.01 or cosine < 0.999:
        sys.exit("card and CPU disagree: loss must be within 1 %, cosines at least 0.999")


if __name__ == "__main__":
    main()
