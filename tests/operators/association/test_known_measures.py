"""Known measures of bias: by hand, as other programs have them, and what leaves them as they are.

The values are those of WEFE 1.0.1 on the same vectors, where it defines the measure as its paper does: run once and
written down. RND and RIPA by raw vectors, RNSB with its intercept penalised and liblinear at a tolerance of 1e-12.
"""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tiltmeter.operators.association.exchange import exchange_p
from tiltmeter.operators.association.known_measures import KNOWN
from tiltmeter.operators.association.measures import BiasMeasure, Exchange, Groups

VECTORS = {
    "he": (3, 1, 0),
    "man": (2, 1, 1),
    "she": (-1, 2, 0),
    "woman": (-1, 1, 2),
    "home": (0, 2, 1),
    "care": (-1, 3, 1),
    "work": (2, 0, 1),
    "pay": (1, 1, 3),
    "uncle": (2, 0, 2),
    "aunt": (-2, 1, 1),
}


def groups(x, y, a, b=""):
    return Groups(
        *(np.array([[VECTORS[word] for word in side.split()]], float).reshape(1, -1, 3) for side in (x, y, a, b))
    )


TOY = groups("he man", "she woman", "home care", "work pay")
NEUTRAL = groups("he man", "she woman", "home care work pay")


@pytest.mark.parametrize(
    ("name", "query", "values"),
    [
        ("weat", TOY, [-1.857618461895]),
        ("rnd", NEUTRAL, [0.123545118750]),
        ("rnd_raw", NEUTRAL, [0.524108882597]),
        ("rnsb", TOY, [0.167738675231]),
        ("rnsb_penalised", TOY, [0.163089246139]),
        ("mac", TOY, [0.522237767803]),
        ("ect", groups("man woman", "she he", "home care work pay"), [-0.2]),
        ("ect", groups("he woman", "she man", "home care work pay"), [-0.316227766017]),
        ("ripa", NEUTRAL, [0.060633906259]),
        ("ripa_component", NEUTRAL, [0.078446454055]),
        ("semaxis", TOY, [-0.421637021, -0.408248290, 0.894427191, 0.272165527]),
        ("nas", TOY, [-1.342321719, -1.501902048, 1.613742757, 0.992467648]),
    ],
)
def test_values_by_hand_and_of_another_program(name, query, values):
    assert KNOWN[name].measure(query).ravel() == pytest.approx(values, abs=1e-9)


def test_equal_to_wefe_but_for_what_the_docs_say_of_it():
    """Where wefe is installed, in an environment of its own; elsewhere its values are those above."""
    metrics = pytest.importorskip("wefe.metrics", reason="wefe 1.0.1 is not installed here")
    from gensim.models import KeyedVectors
    from wefe.query import Query
    from wefe.word_embedding_model import WordEmbeddingModel

    vectors = KeyedVectors(3)
    vectors.add_vectors(list(VECTORS), np.array(list(VECTORS.values()), float))
    model = WordEmbeddingModel(vectors, "toy")
    x, y, a, b = (["he", "man"], ["she", "woman"], ["home", "care"], ["work", "pay"])
    both, one = Query([x, y], [a, b]), Query([x, y], [a + b])
    order = Query([["man", "woman"], ["she", "he"]], [a + b])

    def value(name, query=TOY):
        return pytest.approx(KNOWN[name].measure(query)[0], abs=1e-6)

    assert metrics.WEAT().run_query(both, model)["effect_size"] == value("weat")
    assert metrics.RND().run_query(one, model, normalize=True)["rnd"] == value("rnd", NEUTRAL)
    assert metrics.RND().run_query(one, model)["rnd"] == value("rnd_raw", NEUTRAL)
    assert metrics.MAC().run_query(both, model)["mac"] == value("mac")
    assert metrics.RIPA().run_query(one, model)["result"] == value("ripa", NEUTRAL)
    found = metrics.ECT().run_query(order, model)["result"]
    assert found == value("ect", groups("man woman", "she he", "home care work pay"))
    loose = metrics.RNSB().run_query(both, model, holdout=False)["result"]
    assert loose == pytest.approx(KNOWN["rnsb_penalised"].measure(TOY)[0], abs=1e-5), "at its tolerance of 1e-4"
    assert metrics.RND().run_query(one, model, distance="cos")["rnd"] == pytest.approx(-0.036590858288)


def test_few_attributes_have_no_order_that_means_anything():
    assert np.isnan(KNOWN["ect"].measure(groups("he", "she", "home care"))).all()


@pytest.mark.parametrize("name", ["weat", "rnd", "semaxis", "nas", "ripa"])
def test_a_swap_turns_the_sign(name):
    """Of what is exchanged for a p-value: two-sided tails are symmetric."""
    one, query = KNOWN[name], NEUTRAL if KNOWN[name].takes == "each" else TOY
    swapped = query._replace(a=query.b, b=query.a) if one.of_words else query._replace(x=query.y, y=query.x)
    assert one.measure(swapped) == pytest.approx(-one.measure(query))


def drawn(seed, num=3, dims=12):
    rng = np.random.default_rng(seed)
    return Groups(*(rng.normal(size=(num, words, dims)) for words in (3, 3, 4, 4)))


def alone(query):
    return query._replace(b=query.b[:, :0])


@pytest.mark.parametrize("name", sorted(KNOWN))
@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_a_rotation_and_fewer_dimensions_change_nothing(name, seed):
    one, query = KNOWN[name], drawn(seed, dims=40)
    query = alone(query) if one.takes == "each" else query
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(40, 40)))[0]
    value = one.measure(query)
    assert one.measure(Groups(*(side @ rotation for side in query))) == pytest.approx(value, abs=1e-8)
    within = query.in_their_span()
    assert within.x.shape[2] == sum(side.shape[1] for side in query)
    assert one.measure(within) == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_replicas_are_measured_alike_and_one_that_lacks_a_word_has_no_number(name):
    one, query = KNOWN[name], drawn(1)
    query = alone(query) if one.takes == "each" else query
    whole = one.measure(query)
    each = [one.measure(Groups(*(side[number : number + 1] for side in query)))[0] for number in range(3)]
    assert whole == pytest.approx(np.array(each))
    query.a[1, 0] = np.nan
    lacking = one.measure(query)
    assert np.isnan(lacking[1]).all()
    assert lacking[[0, 2]] == pytest.approx(whole[[0, 2]])


def test_the_length_of_a_word_matters_to_raw_vectors_alone():
    query = drawn(2)
    longer = query._replace(x=query.x * [[[3.0], [1.0], [1.0]]])
    changed = {
        name
        for name, one in KNOWN.items()
        if not np.allclose(*(one.measure(alone(each) if one.takes == "each" else each) for each in (query, longer)))
    }
    assert changed == {"rnd_raw", "ripa", "rnsb", "rnsb_penalised", "rnsb_splits", "ect", "ripa_component"}


def test_spread_of_splits_is_of_ten_fits_and_nothing_where_all_words_are_alike():
    alike = Groups(*(np.ones((1, 10, 4)) for _ in range(4)))
    assert KNOWN["rnsb_splits"].measure(alike) == pytest.approx(0.0, abs=1e-12)
    assert KNOWN["rnsb_splits"].measure(drawn(3)).min() > 0


# --- p-values ---------------------------------------------------------------------------------------------------------


def brute_force(one, query, null):
    """The share of all ways to deal words that reach the number at hand; by words."""
    names = ("a", "b") if null.of == "attributes" else ("x", "y")
    first, second = (getattr(query, name)[0] for name in names)
    both, size = np.concatenate([first, second]), len(first)
    if null.of == "pairs":
        ways = [[i + size * turn for i, turn in enumerate(turns)] for turns in product((0, 1), repeat=size)]
        ways = [[*way, *((place + size) % (2 * size) for place in way)] for way in ways]
    else:
        ways = [[*way, *sorted({*range(len(both))} - {*way})] for way in combinations(range(len(both)), size)]
    dealt = [query._replace(**{names[0]: both[way[:size]][None], names[1]: both[way[size:]][None]}) for way in ways]
    numbers = np.array([np.ravel(one.measure(each)) for each in dealt])
    sizes = -numbers if null.tail == "less" else abs(numbers)
    observed = np.ravel(one.measure(query)) * (-1 if null.tail == "less" else 1)
    observed = observed if null.tail == "less" else abs(observed)
    return (sizes >= observed - 1e-9).mean(axis=0), (sizes.max(axis=1)[:, None] >= observed - 1e-9).mean(axis=0)


@pytest.mark.parametrize("name", [name for name, one in KNOWN.items() if isinstance(one.null, Exchange)])
def test_p_is_the_share_of_all_ways_to_deal_the_words(name):
    one, query = KNOWN[name], drawn(4, num=1)
    query = alone(query) if one.takes == "each" else query
    p = exchange_p(one, query, one.null, 10, np.random.default_rng(0))
    by_force, of_all = brute_force(one, query, one.null)
    assert p.method == "exact"
    assert p.value == pytest.approx(by_force)
    assert p.adjusted == pytest.approx(of_all)


@pytest.mark.parametrize("name", [name for name, one in KNOWN.items() if one.dealt])
def test_dealt_numbers_are_those_of_the_measure_itself(name):
    """Of sets of unlike size, where words can be dealt; by every partition."""
    one, rng = KNOWN[name], np.random.default_rng(8)
    sizes = (3, 3, 4, 0) if one.in_pairs else (3, 2, 4, 0) if one.takes == "each" else (3, 2, 4, 3)
    query = Groups(*(rng.normal(size=(1, words, 6)) for words in sizes))
    slow = exchange_p(replace(one, dealt=None), query, one.null, 10, rng)
    quick = exchange_p(one, query, one.null, 10, rng)
    assert quick.value.tolist() == slow.value.tolist()
    assert quick.adjusted.tolist() == slow.adjusted.tolist()
    first = {"attributes": 4, "pairs": 3}.get(one.null.of, 3)
    num = 7 if one.null.of == "attributes" else sum(sizes[:2])
    given = np.arange(num)[np.newaxis] < first
    numbers = one.dealt(query, given / first, ~given / (num - first))
    assert numbers[0] == pytest.approx(np.ravel(one.measure(query)), abs=1e-12)


def test_the_least_p_of_the_toy():
    one = KNOWN["rnd"]
    assert exchange_p(one, NEUTRAL, one.null, 10, np.random.default_rng(0)).value == pytest.approx(4 / 6)
    she = exchange_p(KNOWN["semaxis"], TOY, Exchange("attributes"), 10, np.random.default_rng(0))
    assert she.value[2] == pytest.approx(2 / 6), "two-sided: 1/6 to each side is the least there is"


def difference(query):
    return query.x[:, :, 0].mean(axis=1) - query.y[:, :, 0].mean(axis=1)


def test_many_partitions_are_drawn_and_come_near_the_normal_tail():
    rng = np.random.default_rng(5)
    x, y = rng.normal(0.4, 1.0, (1, 40, 1)), rng.normal(0.0, 1.0, (1, 40, 1))
    query = Groups(x, y, x, y)
    p = exchange_p(BiasMeasure("d/1", "", difference), query, Exchange("targets"), 4000, np.random.default_rng(6))
    again = exchange_p(BiasMeasure("d/1", "", difference), query, Exchange("targets"), 4000, np.random.default_rng(6))
    pooled = np.concatenate([x, y], axis=1).std(ddof=1)
    z = abs(difference(query)[0]) / (pooled * np.sqrt(2 / 40))
    assert (p.method, p.num_partitions) == ("monte_carlo", 4001)
    assert p.value[0] == pytest.approx(2 * norm.sf(z), abs=0.03)
    assert p.value == again.value
    apart = query._replace(x=x + 100.0)
    least = exchange_p(BiasMeasure("d/1", "", difference), apart, Exchange("targets"), 4000, np.random.default_rng(6))
    assert least.value == pytest.approx(1 / 4001)


def test_a_partition_without_a_number_speaks_against_the_finding():
    def undefined_elsewhere(query):
        value = difference(query)
        return np.where(np.isclose(value, value[0]), value, np.nan) if len(value) > 1 else value

    query = Groups(*(np.array([[[float(n)] for n in side]]) for side in ((9, 8), (1, 2), (0,), (0,))))
    p = exchange_p(
        BiasMeasure("d/1", "", undefined_elsewhere), query, Exchange("targets"), 10, np.random.default_rng(0)
    )
    assert p.value.tolist() == [1.0]
