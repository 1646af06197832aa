"""Slices of errors of made-up tweets, in which one is planted, and every row with those that it is in."""

import numpy as np
import polars as pl
import pytest

from tests.fixtures.tables.made_up import frames
from tests.jobs.classifiers.errors.made_up_tweets import LABELS, SMALL, USERS, by_group, numbers, settings
from tests.jobs.classifiers.rows import read_rows, write_rows
from tiltmeter.jobs.classifiers.errors import page
from tiltmeter.jobs.classifiers.errors.slice_files import confirmed
from tiltmeter.jobs.classifiers.errors.tables import Slices, in_words
from tiltmeter.operators.classifiers.errors.examples import Examples
from tiltmeter.operators.classifiers.errors.slices.columns import rows_of
from tiltmeter.operators.classifiers.errors.slices.predicates import conditions_of, predicates_of_texts
from tiltmeter.operators.classifiers.errors.slices.search import plain
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.operators.statistics.means import paired, share


def test_the_planted_slice_leads_and_is_confirmed(characterised):
    [first, *_] = characterised.rows("slices", leading=1)
    assert set(first["predicates"]) == {"numbers", "greeting"}
    assert in_words(first["predicates"]) == "texts with a greeting and a number"
    assert (first["p_value"], first["confirmed_p"] < 0.01) == (1 / 200, True)
    # Shadows are significant, too, and do not lead.
    shadows = [row for row in characterised.rows("slices", leading=None) if "numbers" in row["predicates"]]
    assert min(row["p_value"] for row in shadows) <= 0.05
    assert all(row["p_value"] <= 0.05 for row in characterised.rows("slices") if row["leading"])


def texts_with(run, rows, predicates):
    """Those of some rows of texts that have all of some predicates that are easily told; None of any others."""
    members = {row["row"] for row in rows}
    for name in predicates:
        kind, _, of = name.partition(" ")
        if kind in ("predicted", "labelled"):
            members &= {row["row"] for row in rows if row[kind] == of}
        elif name in ("numbers", "greeting", "question"):
            members &= {row["row"] for row in run.rows("features", feature=name) if row["count"]}
        else:
            return None
    return members


@pytest.fixture(scope="module", params=["characterised", "users"])
def told(request):
    """A run on texts of nobody and one on those of users, with what is known of each text that has been judged."""
    run = request.getfixturevalue(request.param)
    texts = {row["row"]: {"labelled": row["label"]} | row for row in run.rows("texts", status="ok")}
    return run, [texts[row["row"]] | row for row in run.rows("predictions", status="ok")]


@pytest.mark.long
def test_rates_of_slices_are_those_of_the_texts_of_each_half(told):
    """Of every slice that features alone make up: both rates, what the predicted classes let expect, and doubts."""
    run, judged = told
    halves = {name: [row for row in judged if row["half"] == name] for name in ("exploration", "confirmation")}
    assert by_group(halves["exploration"]).num == by_group(halves["confirmation"]).num == by_group(judged).num / 2
    overall = np.mean([row["is_error"] for row in halves["exploration"]])
    expected = {
        (half, name): np.mean([row["is_error"] for row in rows if row["predicted"] == name])
        for half, rows in halves.items()
        for name in LABELS
    }
    checked = 0
    for row in run.rows("slices"):
        assert (row["slice"], row["num_predicates"]) == (" and ".join(row["predicates"]), len(row["predicates"]))
        members = texts_with(run, judged, row["predicates"])
        if members is None:
            continue
        checked += 1
        for prefix, half in {"": "exploration", "confirmed_": "confirmation"}.items():
            inside = [of for of in halves[half] if of["row"] in members]
            assert row[f"{prefix}size"] == len(inside)
            ends = share(np.array([of["is_error"] for of in inside]), by_group(inside), level=0.9)
            given = numbers(row, *(f"{prefix}{name}" for name in ("rate" if prefix else "error_rate", "low", "high")))
            assert given == pytest.approx([ends.value, ends.low, ends.high], nan_ok=True)
            average = np.mean([expected[half, of["predicted"]] for of in inside])
            assert row[f"{prefix}difference"] == pytest.approx(given[0] - average, abs=1e-9)
            if not prefix:
                assert row["num_groups"] == by_group(inside).num
        assert row["lift"] == pytest.approx(row["error_rate"] / overall)
        doubted = [of["is_label_suspected"] for of in judged if of["is_error"] and of["row"] in members]
        assert row["suspected_share"] == pytest.approx(np.mean(doubted))
    assert checked > 5


def test_slices_are_tested_by_all_draws_and_confirmed_by_the_other_half(told):
    run, judged = told
    candidates, adjusting, confirming = (run.calls[name][-1] for name in ("candidates_of", "adjusted", "confirmed_p"))
    for call, half in ((candidates, "exploration"), (confirming, "confirmation")):
        inside = [row for row in judged if row["half"] == half]
        assert call["errors"].tolist() == [row["is_error"] for row in inside]
        assert call["strata"].tolist() == [LABELS.index(row["predicted"]) for row in inside]
        assert call["units"].num == by_group(inside).num
    drawn = [[row["hits"] for row in hits] for hits in run.made("slice_draws", "hits")]
    assert np.abs(np.subtract(*drawn)).max() > 1, "another unit draws others"
    assert (adjusting["hits"].tolist(), adjusting["num_draws"]) == (np.sum(drawn, axis=0).tolist(), 199)
    found, predicates = candidates["result"], [one.name for one in candidates["predicates"]]
    names, values = ([*map(plain, found.conjunctions)], found.statistics.value)
    known = {
        " and ".join(predicates[number] for number in name): of
        for name, *of in zip(names, values, values, adjusting["result"], found.num_folded, strict=True)
    }
    rows = run.rows("slices")
    assert {row["slice"] for row in rows} == known.keys()
    for row in rows:
        assert numbers(row, "t", "score", "p_value", "num_folded") == pytest.approx(known[row["slice"]], nan_ok=True)
    first = [" and ".join(predicates[number] for number in name) for name in confirming["conjunctions"]]
    leading = {row["slice"]: (row["leading"], row["confirmed_p"]) for row in rows if row["leading"]}
    assert leading == dict(zip(first, enumerate(confirming["result"], start=1), strict=True))
    assert {row["confirmed_p"] for row in rows if not row["leading"]} == {None}


def test_versions_are_compared_on_all_texts_that_both_have_judged(told):
    run, judged = told
    flags = {name: np.array([row[name] != row["labelled"] for row in judged]) for name in ("previous", "predicted")}
    [testing] = run.calls["worse_p"]
    assert [testing[name].tolist() for name in ("before", "after")] == [flags[name].tolist() for name in flags]
    slices, p_values = testing["result"]
    names = [" and ".join(testing["predicates"][number].name for number in slice_) for slice_ in slices]
    known = dict(zip(names, p_values, strict=True)) | {"all texts": np.nan}
    assert testing["seed"] == run.record["seed"]
    whole, first, *_ = rows = run.rows("versions")
    assert (whole["slice"], known.keys()) == ("all texts", {row["slice"] for row in rows})
    checked = 0
    for row in rows:
        assert numbers(row, "p_value") == pytest.approx([known[row["slice"]]], nan_ok=True)
        if (members := texts_with(run, judged, row["predicates"])) is None:
            continue
        checked += 1
        some = [of["row"] in members for of in judged]
        inside = by_group([of for of in judged if of["row"] in members])
        before, after = (flags[of][some] for of in flags)
        moved = inside.part(before != after).num
        assert (row["size"], row["num_moved"]) == (sum(some), moved)
        assert row["status"] == ("too_few_units" if moved < 5 else "ok")
        assert (row["before"], row["after"]) == pytest.approx((before.mean(), after.mean()))
        change = paired(after, before, inside, level=0.9, scale=FISHER)
        said = numbers(row, "change", "change_low", "change_high")
        assert said == pytest.approx([change.value, change.low, change.high], nan_ok=True)
    assert checked > 5
    alone = {row["slice"] for row in rows if [name.split()[0] for name in row["predicates"]] == ["labelled"]}
    assert alone == {"labelled negative", "labelled positive"}
    assert set(first["predicates"]) == {"numbers", "greeting"}
    assert (first["leading"], first["p_value"], first["change_low"] > 0) == (1, 1 / 200, True)


def test_few_users_get_no_test_and_are_told_how_many_are_needed(run_here, place, tmp_path):
    heading, *rows = read_rows(place / "texts.csv")
    write_rows(tmp_path / "few.csv", [heading, *([*row[:-1], f"u{at % 12}"] for at, row in enumerate(rows[:900]))])
    run = run_here(*settings(tmp_path / "few.csv"), *USERS, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    rows = run.rows("slices")
    assert {row["status"] for row in rows} == {"too_few_units"}
    assert {row["p_value"] for row in rows} == {None}
    assert '6 of the unit "group", and 8 are needed' in rows[0]["reason"]
    assert all(row["low"] <= row["error_rate"] <= row["high"] for row in rows)


def test_all_rows_are_listed_with_the_confirmed_slices_that_they_are_in(characterised, users):
    for run, num in ((characterised, 803), (users, 1200)):
        rows, texts = run.rows("flagged"), {row["row"]: row for row in run.rows("texts")}
        assert len(rows) == num
        predicted = {row["row"]: row for row in run.rows("predictions")}
        led = [row for row in run.rows("slices") if (row["confirmed_p"] or 0.05) < 0.05]
        assert [{*row["predicates"]} for row in led] == [{"numbers", "greeting"}]
        for row in rows:
            text, known = texts[row["row"]], predicted[row["row"]]
            is_inside = "after 45 words" in text["text"] and "hello" in text["text"]
            given = [row[name] for name in ("id", "label", "status", "predicted", "score")]
            assert given == [text["id"], text["label"], text["status"], known["predicted"], known["error_score"]]
            is_read = known["predicted"] is not None
            assert row["reasons"] == (["texts with a greeting and a number"] * is_inside if is_read else None)
            assert row["num_slices"] == (is_inside if is_read else None)
        places = [(-2 if row["num_slices"] is None else -1) + bool(row["num_slices"]) for row in rows]
        scores = [(place, row["score"] or 0) for place, row in zip(places, rows, strict=True)]
        assert scores == sorted(scores, reverse=True)
        written = pl.read_csv(run.path / "exports" / "flagged.csv", infer_schema=False)
        assert written["row"].to_list() == [str(row["row"]) for row in rows]
        assert written["reasons"].to_list() == [
            None if row["reasons"] is None else "; ".join(row["reasons"]) for row in rows
        ]
    assert sum(row["label"] is None and bool(row["reasons"]) for row in rows) > 30


def test_slices_that_are_kept_lead_and_are_confirmed():
    cells = [("a", 3, 0.049), ("b", 1, 0.05), ("c", 2, 0.001), ("d", None, 0.001), ("e", 4, None), ("f", 5, 0.0)]
    rows = [Slices(slice=name, leading=place, confirmed_p=p) for name, place, p in cells]
    assert [row.slice for row in confirmed(rows)] == ["c", "a", "f"]


def test_conditions_say_what_predicates_say_and_cut_other_texts_at_the_quantiles_of_the_known_ones():
    rng = np.random.default_rng(2)
    counts = np.column_stack([rng.integers(0, 3, 60), rng.integers(3, 9, 60)]).astype(np.float64)
    sure = rng.uniform(0.5, 1.0, 60).round(2)
    table = pl.DataFrame({"predicted": list("ab" * 30), "probabilities": [[one, 1 - one] for one in sure]})
    known = Examples(table, ("numbers", "num_tokens"), counts, counts, ("a", "b"))
    made = predicates_of_texts(known, np.ones(60, dtype=bool), 2, tags=False)
    assert {one.kind for one in made.predicates} == {"predicted", "present", "absent", "quarter"}
    for predicate, members in zip(made.predicates, made.members, strict=True):
        assert rows_of(conditions_of(predicate, known), known).tolist() == members.tolist()
    values = np.array(
        [[0.0], [99.0], *([value] for value in np.quantile(counts[:, 1], [0.5, 0.25], method="inverted_cdf"))]
    )
    new = Examples(pl.DataFrame({"predicted": list("abab")}), ("num_tokens",), values, values, ())
    quarters = [one for one in made.predicates if one.feature == "num_tokens"]
    assert [rows_of(conditions_of(one, known), new).tolist() for one in quarters] == [
        [True, False, False, True],
        [False, False, True, False],
        [False] * 4,
        [False, True, False, False],
    ]
    [absent] = [one for one in made.predicates if one.kind == "absent"]
    assert rows_of(conditions_of(absent, known), new).all()


def test_columns_are_predicates_beside_those_of_texts(run_here, file, tmp_path):
    heading, *rows = read_rows(file)
    own = write_rows(tmp_path / "own.csv", [[*heading, "plan"], *([*row, f"p{at % 4}"] for at, row in enumerate(rows))])
    given = [*settings(own), *SMALL, "data.columns=[plan]", "rounds.number=0", "data.limit=700"]
    run = run_here(*given, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    [first, *_] = run.rows("slices", leading=1)
    assert {*first["predicates"]} == {"numbers", "greeting"}
    sizes = {row["slice"]: row["size"] for row in run.rows("slices", num_predicates=1)}
    explored = [row["row"] for row in run.rows("texts", half="exploration")]
    for plan in range(4):
        assert sizes[f"plan = p{plan}"] == sum(row % 4 == plan for row in explored)


@pytest.mark.parametrize(("num", "rest"), [(8, []), (9, ["1 more slice is in the table."])])
def test_slices_beyond_the_first_eight_are_counted(configured, num, rest):
    tables = frames("error_characterisation", "characterised")
    one = page.leading(tables["slices"]).head(1)
    slices = pl.concat([one.with_columns(leading=pl.lit(place, one["leading"].dtype)) for place in range(1, num + 1)])
    config = configured("job=error_characterisation", "data.path=a.csv", "base.path=b.csv")
    [said] = page.lead(tables | {"slices": slices}, config).findings
    assert [item for item in said.items if "more slice" in item] == rest
