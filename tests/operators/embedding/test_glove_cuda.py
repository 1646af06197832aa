"""With an NVIDIA card these tests run on it; without one Triton's interpreter runs the same kernel step by step."""

import dataclasses
import importlib
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tiltmeter.operators.embedding.cooccurrence import UNITS_PER_PAIR, count_pairs
from tiltmeter.operators.embedding.glove import GloveConfig, GloveTraining
from tiltmeter.operators.embedding.keyed_words import keyed_words, roomy_tiling
from tiltmeter.operators.embedding.tiles import TiledPairs, Tiling, shuffled_in_tiles, tiled_pairs

ROOT = Path(__file__).parents[3]
SEED = 3
REPLICAS = [0, 5]
TILING = Tiling(num_words=14, tile_words=5)
CONFIG = GloveConfig(dimensions=5, epochs=2)

HAS_TRITON = find_spec("torch") is not None and find_spec("triton") is not None
HAS_CARD = HAS_TRITON and importlib.import_module("torch").cuda.is_available()
DEVICE = "cuda" if HAS_CARD else "cpu"
# What Triton prepares for a card when it is imported can't be interpreted.
TOO_LATE = "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1"
if HAS_TRITON and not HAS_CARD:
    os.environ["TRITON_INTERPRET"] = "1"
glove_cuda = importlib.import_module("tiltmeter.operators.embedding.glove_cuda")

needs_triton = pytest.mark.skipif(not HAS_TRITON, reason="Triton, which comes with torch for CUDA, is not installed")
needs_card = pytest.mark.skipif(not HAS_CARD, reason="torch finds no NVIDIA card")


def random_pairs(tiling, share):
    """A share of all pairs of a vocabulary, and their counts in a whole replica and in one that lacks some."""
    rng = np.random.default_rng(1)
    first, second = (words.astype(np.int32) for words in np.triu_indices(tiling.num_words))
    kept = rng.permutation(first.size)[: int(share * first.size)]
    blocks = [words[kept] % tiling.num_blocks for words in (first, second)]
    tiles = np.minimum(*blocks) * tiling.num_blocks + np.maximum(*blocks)
    order = np.argsort(tiles, kind="stable")
    kept, tiles, turned = kept[order], tiles[order], (blocks[0] > blocks[1])[order]
    rows, columns = np.where(turned, second[kept], first[kept]), np.where(turned, first[kept], second[kept])
    starts = np.flatnonzero(np.diff(tiles, prepend=-1))
    joined = (part.astype(np.int32) for part in np.divmod(tiles[starts], tiling.num_blocks))
    counts = rng.integers(1, 30 * UNITS_PER_PAIR, (2, kept.size))
    counts[1, 1:] *= rng.random(kept.size - 1) < 0.6
    return TiledPairs(rows, columns, np.append(starts, kept.size), *joined), counts


@pytest.fixture(scope="module")
def data():
    return random_pairs(TILING, 0.35)


def start(data, replicas=REPLICAS, tiling=TILING, config=CONFIG, words=None):
    if not HAS_TRITON:
        pytest.skip("Triton, which comes with torch for CUDA, is not installed")
    if TOO_LATE and not HAS_CARD:
        pytest.skip("no NVIDIA card, and Triton was imported before it was told to interpret")
    pairs, counts = data
    given_counts = [counts[REPLICAS.index(replica)] for replica in replicas]
    return glove_cuda.CudaGlove(pairs, given_counts, tiling, replicas, SEED, config, DEVICE, words)


def start_cpu(data, at, tiling=TILING, config=CONFIG, words=None):
    pairs, counts = data
    return GloveTraining(pairs, [counts[at]], tiling, REPLICAS[at], SEED, config, words=words)


def advance(training, epochs):
    for _ in range(epochs):
        training.advance()
    return training


def assert_same_bits(state, other):
    assert [state[key].tobytes() for key in ("vectors", "losses")] == [
        other[key].tobytes() for key in ("vectors", "losses")
    ]


def assert_agree(state, other, rtol=1e-5):
    np.testing.assert_allclose(state["losses"], other["losses"], rtol=rtol)
    np.testing.assert_allclose(state["vectors"], other["vectors"], rtol=rtol, atol=rtol)


@pytest.fixture(scope="module")
def trained(data):
    """Two replicas after two epochs, and their states after the first."""
    group = advance(start(data), 1)
    states = [group.state(at) for at in range(2)]
    return advance(group, 1), states


@pytest.mark.long
@pytest.mark.parametrize("at", [0, 1])
def test_two_epochs_agree_with_the_cpu(data, trained, at):
    cpu = advance(start_cpu(data, at), 2)
    assert_agree(trained[0].state(at), cpu.state())
    np.testing.assert_allclose(trained[0].result(at).vectors, cpu.result().vectors, rtol=1e-5, atol=1e-5)
    assert trained[0].epochs_done(at) == 2


@pytest.mark.long
def test_words_that_are_keyed_train_as_on_the_cpu():
    spellings = [f"word{number}" for number in range(14)]
    tiling = roomy_tiling(len(spellings), 4)
    words = keyed_words(spellings, tiling)
    # The last word has no pair, and so no vector.
    tokens = words.slots[np.random.default_rng(0).integers(0, 13, 72)]
    counted = count_pairs(tokens, np.arange(0, 73, 12), np.ones((6, 1), np.uint8), tiling, 3)
    order = shuffled_in_tiles(counted.names, tiling, SEED, words.slot_keys(tiling))
    data = tiled_pairs(counted.names[order], tiling), [counted.counts[0][order]]
    group = advance(start(data, [0], tiling, words=words), 2)
    cpu = advance(start_cpu(data, 0, tiling, words=words), 2)
    np.testing.assert_allclose(group.result(0).vectors, cpu.result().vectors, rtol=1e-5, atol=1e-5)
    assert np.isnan(cpu.result().vectors).all(axis=1).tolist() == [False] * 13 + [True]


@pytest.mark.long
@pytest.mark.parametrize(
    ("dimensions", "num_words", "adagrad"),
    [(100, 3, "element"), (30, 4, "element"), (14, 1, "element"), (100, 3, "row"), (14, 4, "row"), (13, 1, "row")],
)
def test_neighbours_that_share_words_see_each_others_steps(dimensions, num_words, adagrad):
    # One tile of all pairs of a few words: nearly every step needs a vector that the step before it wrote.
    tiling, config = Tiling(num_words, 4), GloveConfig(dimensions=dimensions, epochs=3, adagrad=adagrad)
    data = random_pairs(tiling, 1.0)
    group = advance(start(data, tiling=tiling, config=config), 3)
    for at in range(2):
        assert_agree(group.state(at), advance(start_cpu(data, at, tiling, config), 3).state())


@pytest.mark.long
def test_a_restored_replica_ends_with_the_same_bits_in_any_group(data, trained):
    group, states = trained
    other = start(data, replicas=REPLICAS[::-1])
    other.restore(0, states[1])
    advance(other, 1)
    assert [other.epochs_done(at) for at in range(2)] == [1, 1]
    assert_same_bits(other.state(1), states[0])
    advance(other, 1)
    assert_same_bits(other.state(0), group.state(1))
    assert_same_bits(other.state(1), group.state(0))


def test_the_cpu_goes_on_from_a_save_of_the_card_and_the_card_from_one_of_the_cpu(data, trained):
    group, states = trained
    cpu = start_cpu(data, 0)
    cpu.restore({key: values.copy() for key, values in states[0].items()})
    assert_agree(advance(cpu, 1).state(), group.state(0))
    card = start(data, replicas=REPLICAS[:1])
    card.restore(0, advance(start_cpu(data, 0), 1).state())
    assert_agree(advance(card, 1).state(0), group.state(0))


@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
def test_divergence_is_refused(data):
    config = dataclasses.replace(CONFIG, learning_rate=1e30, epochs=1)
    group = advance(start(data, REPLICAS[1:], config=config), 1)
    with pytest.raises(ValueError, match=r"replica 5 diverged: set embedding\.trainer\.learning_rate below 1e\+30"):
        group.result(0)


def test_a_missing_card_and_one_too_small_are_refused_and_the_size_of_groups_is_by_hand(data):
    if not HAS_CARD:
        missing = "an NVIDIA card" if HAS_TRITON else "torch for CUDA"
        with pytest.raises(ValueError, match=rf"embedding\.device=cuda needs {missing}.*set embedding\.device=cpu"):
            glove_cuda.CudaGlove(*data, TILING, REPLICAS, SEED, CONFIG)
    # 1 M pairs: 8 MB once, 8 MB each; 10,000 words of 100 dimensions, padded to 112: 10,000 * 4 * 112 * 4 bytes each.
    free = 512 * 2**20 + 8_000_000 + 7 * (8_000_000 + 17_920_000)
    assert glove_cuda.replicas_that_fit(1_000_000, 10_000, GloveConfig(), free) == 7
    assert glove_cuda.replicas_that_fit(1_000_000, 10_000, GloveConfig(), free - 1) == 6
    settings = r"embedding\.min_count.*embedding\.trainer\.dimensions.*embedding\.device=cpu"
    with pytest.raises(ValueError, match=rf"needs 53\.4 GB .* 16\.0 GB .*{settings}"):
        glove_cuda.replicas_that_fit(3 * 10**9, 10**6, GloveConfig(dimensions=300), 16 * 10**9)


COMPILE = """
import json, subprocess, sys, triton
from pathlib import Path
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from tiltmeter.operators.embedding import glove_cuda

pointers = ["*fp32", "*i32", "*i32", "*i64", "*fp32", "*fp32", "*i64", "*i32", "*fp64"]
types = pointers + 5 * ["i32"] + ["fp32", "constexpr", "constexpr", "constexpr"]
aligned = {(at,): [["tt.divisibility", 16]] for at in range(len(pointers))}

def compiled(capability, dimensions, adagrad):
    config = glove_cuda.GloveConfig(dimensions=dimensions, adagrad=adagrad)
    kernel, options = glove_cuda._kernel(), glove_cuda._launch_options(config)
    sizes = {name: options.pop(name) for name in ("width", "lanes", "row_of")}
    source = ASTSource(kernel, dict(zip(kernel.arg_names, types, strict=True)), sizes, aligned)
    code = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options).asm
    binary = Path(sys.argv[1]) / "kernel.cubin"
    binary.write_bytes(code["cubin"])
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    usage = subprocess.run([tool, "-res-usage", binary], capture_output=True, text=True, check=True).stdout
    return {"ttgir": code["ttgir"], "ptx": code["ptx"], "usage": usage}

cases = [(80, 100, "element"), (90, 14, "element"), (90, 300, "element"), (80, 100, "row"), (90, 300, "row")]
print(json.dumps([{"num_touched": 8 if case[2] == "element" else 4} | compiled(*case) for case in cases]))
"""


@pytest.mark.long
@needs_triton
def test_compiles_ahead_without_spills_and_with_one_layout(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])}
    command = [sys.executable, "-c", COMPILE, str(tmp_path)]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    for compiled in json.loads(run.stdout):
        assert re.search(r"REG:\d+ STACK:0 SHARED:0 LOCAL:0", compiled["usage"])
        touched = re.findall(r"tt\.(load|store) .*: tensor<\d+x!tt\.ptr<f32>, (#\w+)>", compiled["ttgir"])
        half = compiled["num_touched"] // 2
        assert [kind for kind, _ in touched] == half * ["load"] + half * ["store"]
        assert len({layout for _, layout in touched}) == 1
        # No read may pass by a write to the same address: no copies ahead of time, no read-only cache.
        assert not re.search(r"cp\.async|ld\.global\.nc|\.local\.", compiled["ptx"])


@needs_card
def test_fifteen_epochs_agree_with_the_cpu_and_repeat_to_the_bit():
    tiling, config = Tiling(num_words=600, tile_words=64), GloveConfig()
    data = random_pairs(tiling, 0.3)
    group, again = (advance(start(data, tiling=tiling, config=config), config.epochs) for _ in range(2))
    for at in range(2):
        assert_same_bits(group.state(at), again.state(at))
        assert_agree(group.state(at), advance(start_cpu(data, at, tiling, config), config.epochs).state(), rtol=1e-3)
