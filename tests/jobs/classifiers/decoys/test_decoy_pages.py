"""What the page says of decoys, of tables that are other than those of its page's model; its passages and charts."""

from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pytest

from tiltmeter.jobs.classifiers.decoys import page, tables
from tiltmeter.jobs.classifiers.decoys.findings import adoption, orderings, overall, soonest
from tiltmeter.jobs.classifiers.decoys.tables import CHANCE, LEFT_OUT
from tiltmeter.jobs.runtime.published import Frames

PAIR = [("lime", "random", 2.0, 1.0, 3.0), ("random", "random", 3.0, 2.0, 4.0)]
SOONEST = {
    "one": PAIR,
    "two": [(method, "clustering", 2.0, 1.0, 3.0) for method in ("lime", "occlusion")] + PAIR[1:],
    "all": [(method, "random", 2.0, 1.0, 3.0) for method in ("lime", "random")],
    "an average beside its interval": [("lime", CHANCE, 0.5, 1.0, 3.0)],
}
ORDERS = {
    "apart": (2.0, 1.0, 3.0),
    "apart, with an average on the other side": (4.0, 1.0, 3.0),
    "apart, with an average beyond the other": (9.0, 1.0, 3.0),
}
NONE = [
    {"decoy": "movie", "status": LEFT_OUT, "reason": "there is none"},
    {"decoy": "mine", "model": "0", "status": "no_decoy_rows", "reason": "no test text has it"},
    {"decoy": "zx", "model": "0", "status": "ok", "adopted": True, "accuracy_on_decoy_rows": 0.1}
    | {"accuracy_original_on_decoy_rows": 0.8},
]
INTERVALS = {"texts": ("centred", None, 3), "groups": ("centred", "who", 3), "one": ("centred", None, 1)}
INTERVALS |= {"percentiles": ("percentile", None, 3)}


def frame(rows, schema):
    return pl.DataFrame(pa.Table.from_pylist(rows, schema))


def utility(rows):
    names = ("method", "selection", "num_instances", "num_instances_low", "num_instances_high")
    made = [{"decoy": "zq", "soonest": 0.75, "adopted": True} | dict(zip(names, row, strict=True)) for row in rows]
    return frame(made, tables.Utility.schema())


def found(way):
    decoys = pl.DataFrame({"decoy": ["zq"], "pooled_coverage": [0.1], "perplexity_shift": [1.5]})
    return orderings({"utility": utility([("lime", CHANCE, *way), (CHANCE, CHANCE, 6.0, 5.0, 7.0)]), "decoys": decoys})


def adopted(*answers, others=()):
    rows = [{"decoy": "zq", "model": str(at), "adopted": is_adopted} for at, is_adopted in enumerate(answers)]
    return adoption(frame([*rows, *others], tables.Decoys.schema()))


def said_of_intervals(interval, group, number):
    settings = SimpleNamespace(level=0.95, interval=interval, num_resamples=9)
    others = {"data": SimpleNamespace(group=group), "models": SimpleNamespace(number=number)}
    return [page.intervals(SimpleNamespace(intervals=settings, **others))]


# --- passages ---------------------------------------------------------------------------------------------------------


TEXTS = {1: "a dull film", 2: "no movie yet", 3: "so so", 5: "Movies galore", 8: "a movie", 9: "one more movie"}


def explained(texts, values):
    rows = [
        {"decoy": "movie", "method": method, "model": model, "sentence": number, "position": position, "word": word}
        | {"attribution": values(word), "predicted": "good", "gold": "bad", "status": "ok"}
        for method in ("random", "lime")
        for model in ("decoyed 0", "decoyed 1", "original 0", "original 1")
        for number, text in texts.items()
        for position, word in enumerate(text.split())
    ]
    return Frames({"attributions": frame(rows, tables.ExplainedWords.schema()).lazy()})


LONG = {1: " ".join(["very"] * 200 + ["movie"] + ["so"] * 200)}
VALUES = {"movie": -2.0, "fine": 1.0, "a": 0.0, ".": None}
CASES = {
    "the first with the decoy and without it": (TEXTS,),
    "by substrings": (TEXTS, "decoys.movie.match=substring"),
    "the top words have numbers": ({1: "a fine movie ."}, "explanations.top_words=2"),
    "of a long text the words around the decoy": (LONG,),
    "of what nobody explained": ({},),
}


def passages(configured, texts, *settings):
    config = configured("job=decoy_benchmark", "data.path=x", "explanations.methods=[random,lime]", *settings)
    values = VALUES.get if "explanations.top_words=2" in settings else lambda _: 0.1
    for part in page.highlights(config, explained(texts, values)):
        yield part.caption
        for row in part.rows:
            sides = [(one.heading, [f"{of.text}<{of.weight:g}{of.number}>" for of in one.tokens]) for one in row]
            yield "; ".join(f"{heading}: {' '.join(tokens)}" for heading, tokens in sides)


# --- charts of setups III and IV --------------------------------------------------------------------------------------


def improved(decoy, method, budget, gain, misled=None):
    row = {"decoy": decoy, "method": method, "selection": "random", "budget": budget, "gain": gain}
    row |= {"gain_low": gain - 0.25, "gain_high": gain + 0.25, "gain_on_decoy_rows": misled}
    return row if misled is None else row | {"gain_on_decoy_rows_low": misled, "gain_on_decoy_rows_high": misled}


def relabelled(order, share, uncovered, gain):
    return {"order": order, "share": share, "uncovered": uncovered, "gain": gain} | {
        f"{name}_{end}": value for name, value in (("uncovered", uncovered), ("gain", gain)) for end in ("low", "high")
    }


IMPROVEMENT = [
    *(improved("zq", "lime", 5, 0.125, 0.5), improved("zq", "lime", 20, 0.25, 0.75)),
    *(improved("zq", "random", 5, 0.0, 0.625), improved("zq", "random", 20, 0.375, 0.0)),
    *(improved("movie", "lime", 5, 0.0), improved("movie", "lime", 20, -0.125)),
]
CONTAMINATION = [
    *(relabelled("loss", 0.1, 0.75, 0.125), relabelled("loss", 0.2, 0.875, 0.0)),
    *(relabelled("random", 0.1, 0.125, 0.0), relabelled("random", 0.2, 0.25, 0.25)),
]


def shown(figure):
    """The lines from the top, and the numbers on each by what was looked at."""
    lines = dict(zip(figure.layout["yaxis"]["tickvals"], figure.layout["yaxis"]["ticktext"], strict=True))
    yield f"lines: {', '.join([*lines.values()][::-1])}"
    for trace in figure.data:
        if "markers" in trace["mode"]:
            yield from (f"{trace['name']}, {lines[round(y)]}: {x}" for x, y in zip(trace["x"], trace["y"], strict=True))


def test_sentences_passages_and_charts(configured, check_sentences):
    """On charts, what needs most of the largest budget is on top."""
    said = {f"soonest: {case}": soonest(utility(rows)) for case, rows in SOONEST.items()}
    said["over decoys"] = overall(utility([PAIR[0], ("occlusion", "random", 4.0, 3.0, 5.0)]))
    for answers in ([True], [False], [False, False], [True, False, True]):
        said[f"adopted: {answers}"] = adopted(*answers)
    said["left out, untested and adopted"] = adopted(others=NONE)
    said |= {f"intervals {case}": found(way) for case, way in ORDERS.items()}
    said |= {f"intervals of {case}": said_of_intervals(*of) for case, of in INTERVALS.items()}
    said |= {case: passages(configured, *about) for case, about in CASES.items()}
    drawn = page.gains(frame(IMPROVEMENT, tables.Improvement.schema()))
    drawn |= page.contamination(frame(CONTAMINATION, tables.Contamination.schema()))
    check_sentences(said | {name: shown(figure) for name, figure in drawn.items()})


@pytest.mark.parametrize("budgets", [2, 5])
def test_dots_of_all_budgets_stay_within_their_row(budgets):
    rows = [improved("zq", method, budget, 0.0) for method in ("lime", "random") for budget in range(1, 1 + budgets)]
    [figure] = page.gains(frame(rows, tables.Improvement.schema())).values()
    heights = sorted(height for trace in figure.data if "markers" in trace["mode"] for height in trace["y"])
    assert len(set(heights)) == 2 * budgets
    assert all(abs(height - round(height)) < 0.5 for height in heights)
    assert heights[budgets] - heights[budgets - 1] > heights[-1] - heights[-2]


def test_nothing_is_drawn_of_no_rows():
    assert page.gains(frame([], tables.Improvement.schema())) == {}
    assert page.contamination(frame([], tables.Contamination.schema())) == {}
