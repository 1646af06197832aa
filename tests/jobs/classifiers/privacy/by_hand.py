"""Equations 1 and 2 of `privacy_metrics` by loops over the words of a text, under any settings."""

import pytest

CLASSES = ("low", "mid", "high")


def explaining(attributions, sign, metrics):
    """The places of the words of E."""
    sizes = [abs(value or 0.0) for value in attributions]
    places = [place for place, value in enumerate(attributions) if (value or 0.0) > 0 or (sign == "any" and value)]
    places = [place for place in places if sizes[place] >= metrics.threshold * max(sizes)]
    return {*sorted(places, key=lambda place: (-sizes[place], place))[: metrics.top_k]}


def weighed(attributions, scale):
    sizes = [abs(value or 0.0) for value in attributions]
    if scale == "count":
        return [float(size > 0) for size in sizes]
    unit = {"raw": 1.0, "maximum": max(sizes), "share": sum(sizes)}[scale]
    return [size / (unit or 1.0) for size in sizes]


def ep(general, other, listed, metrics):
    """Of one text, by attributions and places of words of L: EP, None without a denominator, and its three counts."""
    before, after = (explaining(values, metrics.sign, metrics) for values in (general, other))
    left, new = (before - after) & listed, (after - before) & listed
    avoided, added = (
        sum(weighed(values, metrics.scale)[place] for place in some) for values, some in ((general, left), (other, new))
    )
    num = len(before if metrics.denominator == "all" else before & listed)
    return (avoided - added) / num if num else None, [num, len(left), len(new)]


def eg(attributions, bins, gold, num_bins, metrics):
    """Of one text, by the bins of the places whose word a lexicon has: EG, and words against and of the opposite."""
    opposite = {num_bins - 1 - gold} - {gold}
    if not opposite and metrics.opposite_of_middle == "others":
        opposite = {*range(num_bins)} - {gold}
    weights = weighed(attributions, metrics.scale)
    explained = explaining(attributions, "any", metrics) & bins.keys()
    against = [place for place in explained if attributions[place] < 0 and bins[place] == gold]
    others = [place for place in explained if attributions[place] > 0 and bins[place] in opposite]
    return 1 - sum(weights[place] for place in against + others) / len(attributions), [len(against), len(others)]


def check_samples(run, wanted, general, model, listed, lexicon, metrics, explained="predicted", least=0.25):
    """Whether rows of ``samples`` are what the published attributions by a model and by General make.

    Args:
        run: of the job, with three classes.
        wanted: columns of these rows.
        general, model: what ``attributions`` calls them.
        listed: words of L.
        lexicon: the bin of each word and its valence from -1 to 1; None without a lexicon.
        metrics: a ``MetricConfig``.
        explained: the column with the class that is explained.
        least: of the size of a valence.
    """
    lines = {name: run.grouped("attributions", "sentence", model=name) for name in (general, model)}
    samples = run.rows("samples", **wanted)
    for sample in samples:
        before, rows = (lines[name][sample["sentence"]] for name in (general, model))
        values = [[row["attribution"] for row in part] for part in (before, rows)]
        places = {place for place, row in enumerate(rows) if row["word"].lower() in listed}
        unread = values[1].count(None)
        assert (sample["num_words"], sample["num_unread"]) == (len(values[1]) - unread, unread)
        expected, counts = ep(*values, places, metrics)
        assert sample["ep"] == (None if expected is None else pytest.approx(expected))
        assert [sample[f"num_{name}"] for name in ("general", "avoided", "added")] == counts
        assert sample["ep_status"] == ("no_denominator" if expected is None else "ok")
        sizes = weighed(values[1], "share")
        assert sample["listed_share"] == pytest.approx(sum(sizes[place] for place in places))
        if lexicon is None:
            assert sample["eg_status"] == "no_lexicon"
            continue
        told = {place: lexicon[row["word"]] for place, row in enumerate(rows) if row["word"] in lexicon}
        side = CLASSES.index(rows[0][explained]) - 1
        signs = {place: side * v if side else -abs(v) for place, (_, v) in told.items() if abs(v) >= least}
        agreeing = [sizes[place] for place, sign in signs.items() if (values[1][place] or 0.0) * sign > 0]
        shares = [sample["right_sign_share"], sample["lexicon_share"]]
        assert shares == pytest.approx([sum(agreeing), sum(sizes[place] for place in signs)])
        if before[0]["predicted"] != rows[0]["gold"]:
            assert sample["eg_status"] == "general_wrong"
            continue
        bins = {place: number for place, (number, _) in told.items()}
        expected, counts = eg(values[1], bins, CLASSES.index(rows[0]["gold"]), 3, metrics)
        assert sample["eg"] == pytest.approx(expected)
        assert [sample["num_against"], sample["num_opposite"]] == counts
    return samples
