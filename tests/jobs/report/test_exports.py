"""Tables of a page as files: every character by hand, and which tables are files of which name."""

import csv

from tiltmeter.jobs.report.exports import as_csv, as_latex, as_markdown, as_summary, export_tables
from tiltmeter.jobs.report.grids import count, estimate, grid, p_value, text
from tiltmeter.jobs.report.html.elements import Bullets, Details, Grid, Listing, Page, Paragraph, Part, Section
from tiltmeter.storage.store.runs import opened

ROWS = [
    {"word": "R&D_50%#$", "num_texts": 1204, "d": -0.25, "d_low": -0.5, "d_high": 0.0, "p": 0.000078},
    {"word": "a|b,\n\u2068c\u2069", "num_texts": None, "d": None, "d_low": None, "d_high": None, "p": None},
]
TABLE = grid("Words_1 & more.", ROWS, text("word"), count("num_texts"), estimate("d", "d", 2), p_value("p"))
LATEX = r"""% needs \usepackage{booktabs}, and XeLaTeX or LuaLaTeX where words are of other scripts than Latin
\begin{table}
\centering
\caption{Words\_1 \& more.}
\label{tab:table-words-1}
\begin{tabular}{lrrr}
\toprule
word & texts & d & p \\
\midrule
R\&D\_50\%\#\$ & 1,204 & $-$0.25 [$-$0.50, 0.00] & 7.8~$\times$~10$^{-5}$ \\
a\textbar{}b, c & \textendash{} & \textendash{} & \textendash{} \\
\bottomrule
\end{tabular}
\end{table}
"""


def test_latex_by_hand():
    assert as_latex(TABLE, "table-words-1") == LATEX


def test_latex_takes_no_cell_for_an_option_and_no_two_hyphens_for_a_dash():
    made = as_latex(Grid("", ["*", "x"], [["[0.1, 0.2]", "a---b"], ["***", r"\{~^`<>"]]), "t").splitlines()
    assert not any("caption" in line for line in made)
    escaped = r"\textbackslash{}\{\textasciitilde{}\textasciicircum{}\textasciigrave{}\textless{}\textgreater{}"
    assert made[6:11] == [
        r"{}* & x \\",
        r"\midrule",
        r"{}[0.1, 0.2] & a-{}-{}-b \\",
        rf"{{}}*** & {escaped} \\",
        r"\bottomrule",
    ]


def test_markdown_by_hand():
    assert as_markdown(TABLE) == (
        "Words\\_1 \\& more.\n\n"
        "| word | texts | d | p |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| R\\&D\\_50%#\\$ | 1,204 | −0.25 [−0.50, 0.00] | 7.8\u00a0×\u00a010⁻⁵ |\n"
        "| a\\|b, c | – | – | – |\n"
    )
    assert as_markdown(Grid("", ["x"], [["![a](b)"]])).splitlines() == ["| x |", "| --- |", "| ![a]\\(b) |"]


def test_csv_by_hand():
    content = as_csv(TABLE)
    assert content == (
        '# Words_1 & more.\nword,texts,d,p\nR&D_50%#$,"1,204","-0.25 [-0.50, 0.00]",7.8\u00a0×\u00a010⁻⁵\n"a|b, c",,,\n'
    )
    assert [len(row) for row in csv.reader(content.splitlines()[1:])] == [4, 4, 4]
    assert as_csv(Grid("", ["minus"], [["−1"]])) == "minus\n−1\n", "of a text, it is a character like any other"


def test_no_text_of_a_csv_is_a_formula_and_numbers_stay_numbers():
    formulas = ["=1+1", "@SUM(A1)", "+49 30", "-a", "-1+1", "+cmd|' /C calc'!A0"]
    harmless = ["-1", "+1.5e-3", "-12%", "1=1", "a-b", "'=1", "−a"]
    for cell in [*formulas, *harmless]:
        [[written]] = csv.reader(as_csv(Grid("", ["x"], [[cell]])).splitlines()[1:])
        assert written == (f"'{cell}" if cell in formulas else cell)
    assert as_csv(Grid("", ["=x"], [["-a"]], ["=x"])) == "'=x\n-a\n", "a column of numbers has no text"


def test_tables_are_named_by_their_section_and_the_next_run_removes_them(tmp_path):
    inner = [Paragraph("x"), Details("more", [Part("less", [TABLE])]), TABLE]
    sections = [Section("a/b c", "", inner), Section("a-b-c", "", [TABLE]), Section("account", "", [TABLE])]
    page = Page("", {}, [Part("found", [TABLE])], sections)
    for formats, endings in ((["latex", "csv", "markdown"], ("csv", "md", "tex")), ([], ())):
        with opened(tmp_path / "run") as directory:
            directory.begin([], job="survey", versions={})
            export_tables(directory, page, formats)
        names = ["table-a-b-c-1", "table-a-b-c-2", "table-a-b-c-3", "table-lead-1"]
        found = sorted(path.name for path in (tmp_path / "run/exports").glob("*"))
        assert found == [f"{name}.{ending}" for name in names for ending in endings]


def test_a_summary_by_hand():
    lead = [
        Paragraph("2 units failed.", "warning"),
        Part("What was found", [Bullets(["@octocat told `x` <b> of #12", "- a|b", "1. c"]), Paragraph("#5 is 0.5.")]),
    ]
    sections = [
        Section("slices", "A | <i>", [Paragraph("No table."), Listing("x = 1")]),
        Section("words", "Words", [TABLE]),
        Section("drawn", "Drawn alone", [Listing("x = 1")]),
        Section("account", "How it was run", [TABLE]),
    ]
    rows = as_markdown(TABLE).rstrip()
    assert as_summary(Page("Words_1", {"job": "survey", "seed": "0"}, lead, sections)) == (
        "## Words\\_1\n\njob: survey · seed: 0\n\n> [!WARNING]\n> 2 units failed.\n\n"
        "### What was found\n\n- @\u200boctocat told \\`x\\` \\<b\\> of #\u200b12\n- \\- a\\|b\n- 1\\. c\n\n"
        "\\#\u200b5 is 0.5.\n\n"
        f"### Words\n\n{rows}\n\n"
        "<details><summary>A | &lt;i&gt;</summary>\n\nNo table.\n\n</details>\n"
    )


def test_a_summary_has_the_first_rows_of_a_table_and_no_more_than_github_takes():
    long = Grid("", ["x"], [[f"row {number} {'x' * 400}"] for number in range(30)])
    made = as_summary(Page("P", {}, [], [Section(f"s{n}", f"S{n}", [long]) for n in range(20)]))
    assert 50_000 < len(made) <= 60_100
    assert made.count("| row 19 ") == made.count("</details>") + 1 == made.count("10 more rows are on the page.")
    assert made.count("<details>") == made.count("</details>")
    assert "row 20 " not in made
    assert made.endswith("\nThe page has more.\n")
