"""Slices of a corpus against each other and over time: whole runs by hand calculation, and numbers that are planted."""

import json
import random
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from benchmarks.calibration.slices import SCHEME, compared
from tiltmeter.jobs.embedding.slice_differences.tables import (
    SliceDifferences,
    SliceTrends,
    slice_difference_sections,
    slice_sentences,
)
from tiltmeter.jobs.report.wording import p_value
from tiltmeter.jobs.runtime.draws import row_key
from tiltmeter.operators.statistics.designs.contrasts import against_others, contrasts, slope

SIDES = {"target_x": ["rose", "tulip", "daisy"], "target_y": ["ant", "wasp", "moth"]}
SIDES |= {"attribute_a": ["love", "peace", "joy"], "attribute_b": ["hatred", "war", "pain"]}
DECADES = (1980, 1990, 2000, 2010)
TRAINING = ["embedding.num_replicas=6", "embedding.trainer.dimensions=6", "embedding.trainer.epochs=3"]
TRAINING += ["embedding.min_count=2", "embedding.resampling.unit=document"]


def documents(num=240):
    """Flowers come to stand among pleasant words from decade to decade, and insects among unpleasant ones."""
    rng, made = random.Random(0), []
    for number in range(num):
        decade = number % len(DECADES)
        lines = []
        for _ in range(6):
            x = rng.choice(["target_x", "target_y"])
            nice = (rng.random() < 0.2 + 0.2 * decade) == (x == "target_x")
            words = rng.choices(SIDES[x], k=3) + rng.choices(SIDES["attribute_a" if nice else "attribute_b"], k=3)
            lines.append(" ".join(rng.sample(words, 6)))
        made.append({"id": str(number), "text": "\n".join(lines), "year": DECADES[decade]})
    return made


@pytest.fixture(scope="module")
def decades(run_here, word_lists, word_sets, write_lines, one_corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("decades")
    lists = word_lists("en", associations={"flowers": word_sets(**SIDES)}, wefats=None)
    corpus = [*one_corpus("en", write_lines(folder / "all.jsonl", documents())), "corpus.name=all"]
    settings = [*corpus, "corpus.slices=year", "corpus.slice_by=decade", *TRAINING, *lists]
    settings += [
        "job=association",
        "job.similarities=[cosine]",
        "job.statistics=[mean]",
        "measures=[rnd]",
        "exports.summary=true",
    ]
    return run_here(*settings, f"store={folder}/store"), [*settings, f"store={folder}/store"]


def known(run):
    """Of every number that has draws: its values and draws by slice, in their order."""
    numbers = {}
    for draw in run.table("draws").to_pylist():
        key = json.loads(draw["key"])
        [row] = run.rows(draw["table"], **key)
        model = key.pop("model", None)
        if model and "rank" not in draw["table"]:  # where a slice has no number of its own
            numbers.setdefault((draw["table"], draw["column"], row_key(key)), {})[model] = (
                row[draw["column"]],
                draw["values"],
            )
    return numbers


def judged(value, draws):
    """Interval and p by the formulas of docs/compare.md."""
    num, mean, error = len(draws), np.mean(draws), np.std(draws, ddof=1) * np.sqrt(1 + 1 / len(draws))
    reach = stats.t.ppf(0.975, num - 1) * error
    p = 2 * stats.t.sf(abs(mean) / error, num - 1) if mean * value > 0 else 1.0
    return [value, min(mean - reach, value), max(mean + reach, value), p]


def test_every_number_is_compared_pair_by_pair_with_the_others_and_over_time_as_by_hand(decades):
    run, _ = decades
    numbers = known(run)
    assert {table for table, _, _ in numbers} >= {"associations", "measures"}
    slices = [f"all/{decade}s" for decade in DECADES]
    expected, trends = {}, {}
    for number, by_slice in numbers.items():
        values, draws = np.array([by_slice[name][0] for name in slices]), np.array([by_slice[s][1] for s in slices])
        for one, other in combinations(range(4), 2):
            expected[*number, slices[one], slices[other]] = judged(
                values[other] - values[one], draws[other] - draws[one]
            )
        for place, name in enumerate(slices):
            others = [at for at in range(4) if at != place]
            rest = values[others].mean(), draws[others].mean(axis=0)
            expected[*number, None, name] = judged(values[place] - rest[0], draws[place] - rest[1])
        trends[number] = judged(np.polyfit(DECADES, values, 1)[0], np.polyfit(DECADES, draws, 1)[0])
    columns = ("difference", "difference_low", "difference_high", "p")
    rows = run.table("slice_differences").to_pylist()
    found = {(row["table"], row["column"], row["key"], row["first"], row["second"]): row for row in rows}
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert [found[name][column] for column in columns] == pytest.approx(values, abs=1e-9), name
    slopes = {(row["table"], row["column"], row["key"]): row for row in run.table("slice_trends").to_pylist()}
    for name, values in trends.items():
        ends = [slopes[name][column] for column in ("slope", "slope_low", "slope_high", "p")]
        assert ends == pytest.approx(values, abs=1e-9), name
    for table in (rows, list(slopes.values())):
        q = stats.false_discovery_control([row["p"] for row in table])
        assert [row["q"] for row in table] == pytest.approx(list(q))
        assert {(row["whole"], row["paired_by"], row["num_draws"]) for row in table} == {("all", "replicas", 6)}


def test_the_planted_rise_is_found_and_the_page_says_how_much_was_tested(decades):
    run, _ = decades
    [d] = run.rows("slice_trends", table="associations", column="effect_size")
    assert (d["first"], d["last"], d["num_slices"]) == ("all/1980s", "all/2010s", 4)
    assert d["slope_low"] > 0
    assert d["q"] < 0.05
    assert d["row"] == "test flowers, similarity cosine, statistic mean"
    frames = {name: pl.DataFrame(run.table(name)) for name in ("slice_differences", "slice_trends")}
    page = (run.path / "report.html").read_text()
    kinds = ("differences between slices", "slopes over slices")
    for sentence, frame, kind in zip(slice_sentences(frames), frames.values(), kinds, strict=True):
        num = frame.filter(pl.col("q") <= 0.05).height
        have = "has" if num == 1 else "have"
        assert num
        assert sentence == f"Of {frame.height} {kind}, {num} {have} q ≤ 0.05 after correction for all of them."
        assert sentence in page
    assert '<section id="within">' in page
    assert page.index("Slopes over ordered slices") > page.index("Differences, second less first")


def test_the_same_run_again_finds_the_comparison_in_the_store(decades, run_here):
    run, settings = decades
    again = run_here(*settings)
    assert again.num_done("compare slices") == 0
    assert again.digests["slice_differences"] == run.digests["slice_differences"]


def test_a_corpus_that_is_not_cut_has_no_such_tables(decades, run_here):
    _, settings = decades
    whole = run_here(*(word for word in settings if "slice" not in word))
    assert not {"slice_differences", "slice_trends"} & whole.published
    assert '<section id="within">' not in (whole.path / "report.html").read_text()


# --- numbers that are planted ---------------------------------------------------------------------------------------


def made_up(num_tests, num_slices, slope=0.0, num_draws=16, seed=0):
    """Numbers that rise by so much from slice to slice; what other documents would add is as large as replicas say."""
    rng = np.random.default_rng(seed)
    values = slope * np.arange(num_slices) + rng.standard_normal((num_tests, num_slices))
    return values, values[..., np.newaxis] + rng.standard_normal((num_tests, num_slices, num_draws))


def test_a_planted_slope_is_found_with_its_size():
    tables = compared(*made_up(200, 6, slope=1.0))
    trends = tables["slice_trends"]
    assert trends["slope"].mean() == pytest.approx(1.0, abs=0.03)
    assert 0.9 < trends.filter(pl.col("slope_low") < 1.0, pl.col("slope_high") > 1.0).height / 200 <= 1.0
    assert trends.filter(pl.col("q") < 0.05).height > 190


@pytest.mark.long
def test_of_slices_that_differ_by_chance_one_number_in_twenty_is_below_its_level():
    tables = compared(*made_up(1000, 3))
    for frame, group in ((tables["slice_trends"], []), (tables["slice_differences"], ["first", "second"])):
        shares = frame.group_by(group or pl.lit(0)).agg((pl.col("p") <= 0.05).mean())["p"]
        assert shares.min() > 0.025
        assert shares.max() < 0.075


@pytest.mark.parametrize(
    ("num", "pairs", "others", "trends"), [(2, 1, 0, 0), (3, 3, 3, 1), (6, 15, 6, 1), (7, 0, 7, 1)]
)
def test_many_slices_are_held_against_the_others_alone(num, pairs, others, trends):
    tables = compared(*made_up(1, num))
    rows = tables["slice_differences"]
    assert rows["first"].count() == pairs
    assert rows["first"].null_count() == others
    assert tables["slice_trends"].height == trends
    assert {name: frame.schema for name, frame in tables.items()} == {
        table.table_name: pl.DataFrame(table.schema().empty_table()).schema for table in (SliceDifferences, SliceTrends)
    }


def test_slices_without_an_order_have_no_slope_and_those_of_one_year_neither():
    numbers = made_up(1, 4)
    assert compared(*numbers, places=[None] * 4)["slice_trends"].is_empty()
    assert compared(*numbers, places=[1.0, 1.0, 2.0, 2.0])["slice_trends"].is_empty()
    assert compared(*numbers, places=[1.0, 1.0, 2.0, 4.0])["slice_trends"].height == 1


def test_a_slice_without_a_number_leaves_the_others_and_a_draw_without_one_its_partners():
    values, draws = made_up(2, 4)
    values[0, 1], draws[1, 2, 5] = np.nan, np.nan
    tables = compared(values, draws)
    rows = tables["slice_differences"]
    t0, t1 = (rows.filter(pl.col("row").str.starts_with(f"test t{test}")) for test in (0, 1))
    assert "a/01" not in {*t0["first"], *t0["second"]}
    pair = t1.filter(first="a/00", second="a/02").row(0, named=True)
    assert (pair["first_value"], pair["second_value"]) == pytest.approx((values[1, 0], values[1, 2]))
    assert pair["difference"] == pytest.approx(values[1, 2] - values[1, 0])
    rest = t0.filter(pl.col("first").is_null(), second="a/00")
    assert rest["first_value"][0] == pytest.approx(values[0, 2:].mean())
    assert {*t0["num_draws"]} == {16}
    assert {*t1.filter(first="a/00", second="a/01")["num_draws"]} == {16}
    assert {*t1.filter(first="a/00", second="a/02")["num_draws"]} == {15}
    assert tables["slice_trends"]["num_slices"].to_list() == [3, 4]


def test_draws_of_other_kinds_are_not_called_paired_and_longer_ones_are_cut():
    values, draws = made_up(1, 2)
    schemes = [SCHEME, SCHEME.replace("0", "1")]
    assert compared(values, draws, schemes=schemes)["slice_differences"]["paired_by"].to_list() == ["unpaired"]
    orders = [SCHEME.replace("}", f', "num_blocks": {num}}}') for num in (4, 8)]
    assert compared(values, draws, schemes=orders)["slice_differences"]["paired_by"].to_list() == ["replicas"]
    shorter = [[draws[0, 0], draws[0, 1, :9]]]
    assert compared(values, shorter)["slice_differences"]["num_draws"].to_list() == [9]


def test_what_is_corrected_is_each_table_and_the_page_says_what_chance_may_explain():
    tables = compared(*made_up(3, 3, seed=3))
    for rows in tables.values():
        assert rows["q"].to_list() == pytest.approx(list(stats.false_discovery_control(rows["p"])))
    kinds = {"slice_differences": "18 differences between", "slice_trends": "3 slopes over"}
    for said, (name, kind) in zip(slice_sentences(tables), kinds.items(), strict=True):
        least = p_value(tables[name]["q"].min())
        assert said == f"Of {kind} slices, 0 have q ≤ 0.05 after correction for all of them; the smallest q is {least}."
    rising = compared(*made_up(1, 3, slope=9.0))
    assert slice_sentences(rising)[1] == "Of 1 slope over slices, 1 has q ≤ 0.05 after correction for all of them."
    [section] = slice_difference_sections(rising)
    _, grid, _ = section.blocks
    assert grid.rows[0][3] in ("a/00", "mean of the others")


def test_numbers_without_draws_or_with_one_alone_are_left_out():
    values, draws = made_up(1, 3)
    assert all(frame.is_empty() for frame in compared(values, draws[..., :1]).values())
    assert slice_difference_sections(compared(values, draws[..., :1])) == []
    assert slice_sentences(compared(values, draws[..., :1])) == []


def test_shared_documents_move_no_difference():
    """What both slices share moves both draws by the same; the slope of what all share is none."""
    rng = np.random.default_rng(1)
    shared = rng.standard_normal(50) + np.zeros((3, 1))
    [value], sure = contrasts(np.array([1.0, 2.0, 3.0]), shared, slope(np.arange(3.0))[np.newaxis])
    assert value == pytest.approx(1.0)
    assert sure.p[0] == 1.0  # no draw differs from its partners, so that none shows the slope
    weights = against_others(4)
    assert weights.sum(axis=1) == pytest.approx(np.zeros(4))
    assert weights[1].tolist() == [-1 / 3, 1.0, -1 / 3, -1 / 3]
