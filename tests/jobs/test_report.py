"""The report on small tables made by hand, and in a real browser where there is one."""

import re
import shutil
import subprocess

import hydra
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import ndtri

from cluster.stages import StageRecord
from jobs import dot_plots, figures, tables
from jobs.config import build
from jobs.findings import (
    association_findings,
    both_ends,
    by_cue_pair,
    component_warning,
    correlations,
    estimate,
    mean_over_pairs,
    occupation_findings,
    why_nothing,
)
from jobs.report import compose
from operators.intervals import percentile_interval
from storage.html import Chart, Page, Paragraph, render

TAGGED = "<b>&"
PAIRS = (("woman", "man"), ("she", "he"))
SHARES = {"guard": 20.0, "cook": 40.0, "editor": 50.0, "nurse": 90.0, TAGGED: 60.0}
VOCABULARY = [
    {"language": "en", "word": word, "count": count, "lists": lists, "status": status}
    for word, count, lists, status in (
        ("she", 9, ["cue_pairs"], "ok"),
        ("the", 8, [], "ok"),
        ("he", 2, ["cue_pairs"], "too_rare"),
        ("hers", 0, ["cue_pairs"], "absent"),
    )
]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def interval(name, value, half_width=0.05):
    return {name: value, f"{name}_low": value - half_width, f"{name}_high": value + half_width}


def status(*, ok):
    return {"status": "ok", "reason": ""} if ok else {"status": "missing_words", "reason": "not in the vocabulary: 'x'"}


def psychometrics(*, ok=True, words=SHARES):
    """PSE 0.3, 0.4, ... in the order of the words with woman - man, 0.02 more with she - he; flips 0.15 around it."""
    rows = []
    for shift, (cue_1, cue_2) in zip((0.0, 0.02), PAIRS, strict=True):
        for at, (word, share) in enumerate(words.items()):
            row = {"language": "en", "word": word, "cue_1": cue_1, "cue_2": cue_2, "percent_women": share}
            names = {"pse": 0.3 + 0.1 * at + shift, "jnd": 0.2}
            numbers = [interval(f"{name}{end}", value) for name, value in names.items() for end in ("", "_fit")]
            numbers.append(interval("flip", names["pse"], 0.15))
            measured = {key: value for part in numbers for key, value in part.items() if key != "flip"} if ok else {}
            rows.append(row | measured | {"num_replicas": 32 if ok else 0} | status(ok=ok))
    return pa.Table.from_pylist(rows, tables.PSYCHOMETRICS)


def points(psychometric_rows):
    alphas = np.linspace(0.0, 1.0, 101)
    rows = [
        {
            "language": "en",
            "word": row["word"],
            "cue_1": row["cue_1"],
            "cue_2": row["cue_2"],
            "alpha": a,
            "share": share,
        }
        for row in psychometric_rows.to_pylist()
        if row["pse"] is not None
        for a, share in zip(alphas, (alphas > row["pse"]).astype(float), strict=True)
    ]
    return pa.Table.from_pylist(rows, tables.PSYCHOMETRIC_POINTS)


def association(name, effect, *, ok=True, half_width=0.5):
    sets = {"target_x": "insects", "target_y": "flowers", "attribute_a": "unpleasant", "attribute_b": TAGGED}
    counts = {"ddof": 1, "num_targets": 8, "num_attributes": 8, "missing_words": ["gnat"], "num_replicas": 32}
    numbers = interval("effect_size", effect, half_width) if ok else {}
    return {"language": "en", "test": name} | sets | counts | numbers | status(ok=ok)


def survey(*, ok=True):
    rows = psychometrics(ok=ok)
    profession = {"language": "en", "profession": "nurse", "count": 9, "num_replicas": 32}
    shares = interval("first_share", 0.3) | interval("second_share", 0.2) | interval("direct_bias", 0.1)
    language = {"language": "en", "num_pairs": 9, "num_professions": 1, "missing_words": ["gal"], "num_replicas": 32}
    corpus = {
        "corpus": TAGGED,
        "language": "en",
        "num_articles": 1234,
        "num_tokens": 98765,
        "num_words": 432,
        "warning": "",
    }
    losses = [{"language": "en", "replica": r, "epoch": e, "loss": 1 / e + r} for r in range(3) for e in (1, 2)]
    return {
        "corpora": pa.Table.from_pylist([corpus], tables.CORPORA),
        "vocabulary": pa.Table.from_pylist(VOCABULARY, tables.VOCABULARY),
        "training": pa.Table.from_pylist(losses, tables.TRAINING),
        "psychometrics": rows,
        "psychometric_points": points(rows),
        "associations": pa.Table.from_pylist([association("weat1", 1.0, ok=ok)], tables.ASSOCIATIONS),
        "gender_professions": pa.Table.from_pylist(
            [profession | (interval("bias", 0.2) if ok else {}) | status(ok=ok)], tables.GENDER_PROFESSIONS
        ),
        "gender_languages": pa.Table.from_pylist(
            [language | (shares if ok else {}) | status(ok=ok)], tables.GENDER_LANGUAGES
        ),
    }


def report(published, *overrides):
    with hydra.initialize_config_module("conf", version_base="1.3"):
        config = build(hydra.compose("tiltmeter", overrides=list(overrides)), overrides)
    stages = [StageRecord("train", num_done=3, num_reused=1, seconds=2.04, peak_worker_memory_bytes=5 * 2**20)]
    return compose(config, published, stages, f"word: {TAGGED}\n")


def charts(page: Page):
    return [block for section in page.sections for block in section.blocks if isinstance(block, Chart)]


def without_library(html):
    """The page less plotly's own code, which is the first script."""
    return re.sub(r"<script>.*?</script>", "", html, count=1, flags=re.DOTALL)


def test_the_sections_of_a_survey_come_in_order():
    page = report(survey())
    anchors = ["curves", "occupations", "women", "associations", "professions", "words", "training", "missing"]
    assert [section.anchor for section in page.sections] == [*anchors, "account"]
    labels = ["woman – man", "she – he"]
    assert [list(chart.figures) for chart in charts(page)[:2]] == [labels, ["mean over cue pairs", *labels]]


def test_the_report_of_bootstrap_has_no_word_of_what_it_did_not_measure():
    published = {name: survey()[name] for name in ("corpora", "vocabulary", "training")}
    page = report(published, "job=bootstrap")
    assert [section.anchor for section in page.sections] == ["words", "training", "account"]
    assert "PSE" not in without_library(render(page))


def test_words_of_the_lists_are_counted_by_status():
    page = report({name: survey()[name] for name in ("corpora", "vocabulary", "training")}, "job=bootstrap")
    grid, details = [block for block in page.sections[0].blocks if not isinstance(block, Paragraph)]
    # The median of the counts 9, 2 and 0.
    assert grid.rows == [["en", "cue_pairs", "3", "1", "1", "1", "2"]]
    assert details.summary == "en: 2 listed words without a vector"
    assert details.blocks[0].text == "he (2), hers (0)"


def test_several_corpora_are_a_table_with_their_warnings_and_losses():
    published = {name: survey()[name] for name in ("corpora", "vocabulary", "training")}
    both = [{"corpus": "enwiki"}, {"corpus": "dewiki", "language": "de", "warning": "only 5 running words"}]
    corpora = [row | change for row, change in zip(published["corpora"].to_pylist() * 2, both, strict=True)]
    losses = [row | {"language": code} for code in ("en", "de") for row in published["training"].to_pylist()]
    published |= {
        "corpora": pa.Table.from_pylist(corpora, tables.CORPORA),
        "training": pa.Table.from_pylist(losses, tables.TRAINING),
    }
    page = report(published, "job=bootstrap", "corpus=[enwiki,dewiki]")
    assert page.title == "Bootstrapped word vectors: enwiki, dewiki"
    assert page.facts["languages"] == "en, de"
    assert [row[:3] for row in page.lead[0].rows] == [["enwiki", "en", "1,234"], ["dewiki", "de", "1,234"]]
    assert [block.text for block in page.lead if getattr(block, "tone", "") == "warning"] == [
        "dewiki: only 5 running words."
    ]
    assert list(charts(page)[0].figures) == ["en", "de"]


def test_a_trainer_without_losses_has_a_sentence_for_them():
    published = {name: survey()[name] for name in ("corpora", "vocabulary", "training")}
    rows = [row | {"loss": None} for row in published["training"].to_pylist()]
    published["training"] = pa.Table.from_pylist(rows, tables.TRAINING)
    page = report(published, "job=bootstrap", "embedding=fasttext")
    assert charts(page) == []
    assert "This trainer gives none." in render(page)


def test_where_nothing_is_measured_there_is_a_sentence_and_no_chart():
    page = report(survey(ok=False))
    assert len(charts(page)) == 1, "training"
    html = without_library(render(page))
    assert "No occupation could be measured (10 × missing_words)." in html
    assert "No association test could be measured" in html
    assert "No profession could be measured" in html


def test_why_nothing_names_an_empty_list():
    assert "has none" in why_nothing(pl.DataFrame(tables.ASSOCIATIONS.empty_table()), "association test")


def test_every_word_is_escaped_for_html_and_for_plotly():
    html = without_library(render(report(survey())))
    assert TAGGED not in html
    assert "&lt;b&gt;&amp;" in html


def test_every_word_is_escaped_for_plotly_which_reads_tags():
    rows = pl.DataFrame(psychometrics()).head(5)
    dots, scatter = dot_plots.occupations(rows), figures.share_of_women(rows).data[1]
    curves = figures.psychometric_curves(rows, pl.DataFrame(points(psychometrics())).head(505))
    shown = [dots.layout.yaxis.ticktext[-1], scatter.text[-1], curves.data[-2].name.split(":")[0]]
    assert shown == ["&lt;b&gt;&amp;"] * 3
    assert scatter.customdata[-1].startswith(
        "<b>&lt;b&gt;&amp;</b><br>PSE 0.700 [0.650, 0.750]<br>replicas' flips [0.550, 0.850]<br>"
    )


def test_a_script_in_a_word_does_not_end_the_data_of_a_figure():
    words = {"</script><script>alert(1)</script>": 10.0} | SHARES
    figure = dot_plots.occupations(pl.DataFrame(psychometrics(words=words)).head(6))
    assert "<" not in Chart("", "", {"x": figure}).data


def test_the_page_loads_nothing():
    html = render(report(survey()))
    assert "default-src 'none'" in html
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", without_library(html))
    assert "http" not in without_library(html).replace("http-equiv", "")


def test_means_over_cue_pairs_are_points():
    means = mean_over_pairs(pl.DataFrame(psychometrics())).sort("pse")
    assert means["word"].to_list() == list(SHARES)
    assert means["pse"].to_list() == pytest.approx([0.31, 0.41, 0.51, 0.61, 0.71])
    assert means["num_pairs"].to_list() == [2] * 5
    assert means["pse_low"].null_count() == means["flip_low"].null_count() == 5
    figure = dot_plots.occupations(means)
    assert [trace.showlegend for trace in figure.data if trace.mode == "markers"] == [False, False]
    assert figure.data[-1].customdata[0].startswith("<b>guard</b><br>PSE 0.310<br>JND 0.200<br>")


def test_correlations_are_those_done_by_hand():
    # Deviations (-2, -1, 0, 1, 2) and (-2, 0, -1, 1, 2): r = (4 + 0 + 0 + 1 + 4) / 10; ranks are the values themselves.
    found = correlations(pl.Series([1, 2, 3, 4, 5, None]), pl.Series([1.0, 3.0, 2.0, 4.0, 5.0, 9.0]))
    assert found == pytest.approx((0.9, 0.9, 5))
    assert np.isnan(correlations(pl.Series([1.0, 1.0]), pl.Series([1.0, 2.0])).pearson)


def test_share_of_women_states_both_correlations():
    rows = mean_over_pairs(pl.DataFrame(psychometrics()))
    found = correlations(rows["percent_women"], rows["pse"])
    # PSE rises in the order of SHARES; the ranks of the shares are 1, 2, 3, 5, 4: 1 - 6 (1 + 1) / (5 * 24).
    assert found.spearman == pytest.approx(0.9)
    annotation = figures.share_of_women(rows).layout.annotations[0].text
    assert annotation == f"Pearson r = {found.pearson:.2f}, Spearman ρ = 0.90, n = 5"


def test_fewer_than_five_occupations_are_not_correlated():
    published = survey()
    rows = psychometrics(words=dict(list(SHARES.items())[:4]))
    page = report(published | {"psychometrics": rows, "psychometric_points": points(rows)})
    section = next(section for section in page.sections if section.anchor == "women")
    assert [type(block) for block in section.blocks] == [Paragraph]
    assert "Only 4 occupations" in section.blocks[0].text


def test_the_fitted_curve_runs_through_its_marks():
    rows = by_cue_pair(pl.DataFrame(psychometrics()))["woman – man"].head(1)
    steps, fit, marks = figures.psychometric_curves(rows, pl.DataFrame(points(psychometrics())).head(101)).data
    assert list(marks.x) == pytest.approx([0.2, 0.3, 0.4])
    # PSE 0.3 and JND 0.2, so that the standard deviation is 0.2 / 1.349.
    assert fit.y[40] == pytest.approx(0.75)
    assert 0.3 + ndtri(0.75) * 0.2 / 1.3489795 == pytest.approx(0.4)
    assert list(steps.x) == [0.0, 0.31, 1.0], "corners only"


def test_an_occupation_without_a_fit_shows_its_steps_alone():
    rows = pl.DataFrame(psychometrics()).head(1).with_columns(pl.lit(None, pl.Float64).alias("jnd_fit"))
    (steps,) = figures.psychometric_curves(rows, pl.DataFrame(points(psychometrics())).head(101)).data
    assert steps.name == "guard: no fit"


def test_dots_are_sorted_and_named_by_where_the_interval_of_their_flips_lies():
    figure = dot_plots.occupations(pl.DataFrame(psychometrics()).head(5))
    dots = {trace.name: trace for trace in figure.data if trace.mode == "markers" and trace.showlegend}
    # The Monte Carlo intervals of 0.4 and 0.6 exclude 0.5 as well, which names no side.
    assert list(dots["female side"].x) == pytest.approx([0.7])
    assert list(dots["interval includes 0.5"].x) == pytest.approx([0.4, 0.5, 0.6])
    assert list(dots["male side"].y) == [0]
    assert figure.layout.yaxis.ticktext[:2] == ("guard", "cook")


def test_the_thin_line_is_the_interval_of_the_flips_and_the_thick_one_monte_carlo():
    figure = dot_plots.occupations(pl.DataFrame(psychometrics()).head(1))
    lines = {(trace.xaxis, trace.line.width): trace for trace in figure.data if trace.name is not None}
    ends = {key: list(trace.x[:2]) for key, trace in lines.items() if trace.mode == "lines"}
    assert ends[("x", 2)] == pytest.approx([0.15, 0.45])
    assert ends[("x", 8)] == pytest.approx([0.25, 0.35])
    assert ends[("x2", 8)] == pytest.approx([0.15, 0.25])
    assert ("x2", 2) not in ends, "there is no interval of the replicas' own JND"


def test_associations_and_professions_have_the_thin_line_alone():
    rows = pl.DataFrame(survey()["gender_professions"])
    widths = [trace.line.width for trace in dot_plots.professions(rows).data if trace.name and trace.mode == "lines"]
    assert widths == [2]


@pytest.mark.parametrize("width", [0.001, 0.05, 0.149])
def test_monte_carlo_error_names_no_side(width):
    narrow = [(pl.col("pse") - width).alias("pse_low"), (pl.col("pse") + width).alias("pse_high")]
    rows = pl.DataFrame(psychometrics())
    assert occupation_findings(rows.with_columns(narrow)) == occupation_findings(rows)


def test_occupation_findings_count_both_sides():
    coverage, ends = occupation_findings(pl.DataFrame(psychometrics()))
    assert coverage.startswith("5 of 5 occupations could be measured, with 2 of 2 cue pairs.")
    assert "In 2 of these 10 combinations the interval of the replicas' flips lies above 0.5" in coverage
    assert "in 2 below" in coverage
    assert "in the other 6 it includes 0.5" in coverage
    assert "highest for “<b>&” (mean PSE 0.710; flips above 0.5 with 2 and below it with 0 of 2 cue pairs)" in ends


def note(published, *overrides):
    (text,) = [block.text for block in report(published, *overrides).lead if getattr(block, "tone", "") == "note"]
    return text


def test_the_note_states_the_coverage_of_this_run():
    usual = note(survey())
    # 0.95 * 31 / 33 = 0.892, and 10 of 10 intervals each miss 0.108 of the time.
    assert "with 32 replicas, those of the replicas' own values cover about 89%, and for normally" in usual
    assert "if nothing leaned to a side: about 1 of 10 for flips, 0 of 1 for effect sizes, 0 of 1 for biases." in usual
    # 0.9 * 99 / 101 = 0.882; the figures for PSE and JND were simulated for 32 replicas at 95 % alone.
    other = note(survey(), "embedding.num_replicas=100", "job.level=0.9")
    assert "nominal 90%" in other
    assert "with 100 replicas, those of the replicas' own values cover about 88%. None" in other
    assert "by chance" not in note(survey(ok=False))


def test_own_values_are_covered_as_the_note_says():
    values = np.random.default_rng(5).random((20_000, 33))
    low, high, _ = percentile_interval(values[:, 1:], 0.95)
    # The standard error is 0.2 %.
    assert np.mean((low < values[:, 0]) & (values[:, 0] < high)) == pytest.approx(0.95 * 31 / 33, abs=0.01)


def test_both_ends_show_the_pair_that_goes_furthest():
    rows = both_ends(pl.DataFrame(psychometrics())).rows
    assert [row[0] for row in rows] == [TAGGED, "nurse", "cook", "guard"]
    assert rows[0][-3:] == ["she – he", "0.720", "[0.570, 0.870]"]
    assert rows[-1][-3:] == ["woman – man", "0.300", "[0.150, 0.450]"]


def test_association_findings_name_a_side_only_where_the_interval_does():
    rows = [association("a", 1.0), association("b", -1.0), association("c", 0.4)]
    first, second, rest = association_findings(pl.DataFrame(pa.Table.from_pylist(rows, tables.ASSOCIATIONS)))
    assert "a: insects go rather with unpleasant, and flowers with <b>& (effect size d = 1.00 [0.50, 1.50])" in first
    assert "b: insects go rather with <b>&, and flowers with unpleasant" in second
    assert rest.endswith("names no side: 1 of 3.")


def test_the_first_component_has_to_dominate():
    assert component_warning({"first_share": 0.4, "second_share": 0.2}) is None
    assert "39%" in (component_warning({"first_share": 0.39, "second_share": 0.2}) or "")


def test_an_estimate_without_a_number_is_a_dash():
    assert estimate({"pse": None}, "pse") == "–"


def test_missing_words_and_stages_are_accounted_for():
    html = without_library(render(report(survey())))
    assert "Cues: 3 not in the vocabulary" in html
    assert "gnat" in html
    assert "worker peak so far (MiB)" in html
    assert re.search(r"<td>train</td>.*>3<.*>1<.*>2.0<.*>0.0<.*>5<", html)
    assert "word: &lt;b&gt;&amp;" in html
    assert "share of women in the occupation, from the word set" in html


PROBE = """<script>
for (const select of document.querySelectorAll("select")) {
  select.value = "1";
  select.dispatchEvent(new Event("change"));
}
document.title = `${performance.getEntriesByType("resource").length} requests`;
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="needs chromium on PATH")
def test_a_browser_draws_every_figure_and_asks_the_network_for_nothing(tmp_path):
    page = report(survey())
    (tmp_path / "report.html").write_text(render(page).replace("</body>", PROBE))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", f"--user-data-dir={tmp_path}"]
    command = [str(BROWSER), *flags, "--dump-dom", (tmp_path / "report.html").as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    drawn = dom.split("</head>")[1]
    # Plotly draws three layers per figure: lines, legend, and what is under the pointer.
    assert len(re.findall(r'<svg class="main-svg"', drawn)) == 3 * len(charts(page)) == 18
    assert "<title>0 requests</title>" in dom
    # The second choice: she - he in the curves, woman - man in the others.
    assert "guard: 0.32, 0.20" in re.sub(r"<script.*?</script>", "", drawn, flags=re.DOTALL)
    assert "female side" in re.sub(r"<script.*?</script>", "", drawn, flags=re.DOTALL)
