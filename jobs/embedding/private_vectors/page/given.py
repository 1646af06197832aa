"""The page of a release: what was given away, how private it is, and what stands against giving it away."""

from collections.abc import Iterator

from tiltmeter.jobs.report.grids import Row, cell, count, grid, number, p_value
from tiltmeter.jobs.report.html.elements import Section
from tiltmeter.jobs.report.wording import number as written
from tiltmeter.jobs.report.wording import percent
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.operators.embedding.private_release.mechanisms import DESIGNS

_WHERE = {
    "norm": "per unit of distance",
    "gaussian": "per unit of distance up to the largest that there may be, with a slack",
}
_OWNERS = (
    "What is given away is released, with the map where there is one. All else here is computed from the private "
    "vectors or words themselves, and is for you."
)


def findings_of(row: Row) -> Iterator[str]:
    """What was given away, and how private it is exactly, by an attacker too."""
    yield (
        f"{plural(row['num_rows'], 'vector')} in {plural(row['dimensions'], 'dimension')} by {row['mechanism']}, with "
        f"epsilon {row['epsilon']:g} {_WHERE[DESIGNS[row['mechanism']].law]}. {row['guarantee']}"
    )
    if row["exact_typical"] is not None:
        yield (
            f"Exactly, with a slack of {row['exact_delta']:g}, epsilon is {written(row['exact_typical'], 2)} between "
            f"two vectors at the median distance ({written(row['exact_worst'], 2)} where the map stretches most), and "
            f"{written(row['exact_nearest'], 2)} between a vector and its nearest other."
        )
    if row["named"] is not None:
        yield "".join(_named(row))
    slack = f", and a slack of {row['spent_delta']:g} of {row['max_delta']:g}" if row["spent_delta"] else ""
    yield (
        f"Of the account of {row['input']}, {row['spent']:g} of {row['max_epsilon']:g} is spent{slack}, by "
        f"{plural(row['num_releases'], 'release')}."
    )


def _named(row: Row) -> Iterator[str]:
    yield (
        f"An attacker who knows the vocabulary names {percent(row['named'])} of "
        f"{plural(row['num_named'], 'vector')} that were given away"
    )
    if row["attacker"] is not None:
        ends = f" [{percent(row['attacker_low'])}, {percent(row['attacker_high'])}]"
        yield f", and {percent(row['attacker'])}{ends if row['attacker_low'] is not None else ''} of all words"
    if row["cap_mean"] is not None:
        yield ". Whatever is published, nobody's belief in the right word, all being alike beforehand, rises above "
        yield f"{percent(row['cap_mean'])} in the mean of {plural(row['num_words'] or 0, 'word')}, nor above "
        yield f"{percent(row['cap_largest'])} for any of them"
    yield "."


def doubts_of(row: Row) -> Iterator[str]:
    """Warnings first."""
    if row["warning"]:
        yield f"WARNING: {row['warning']}."
    yield _OWNERS


def sections_of(frames: Frames) -> Iterator[Section]:
    """The certificate, and what was found of what was written."""
    columns = (
        *(count("dimensions"), number("epsilon"), number("spent"), number("sensitivity"), p_value("delta", "delta")),
        *(number("scale"), cell("grid", lambda row: f"{row['step']:g}", is_numeric=True)),
        p_value("rounding_delta", "by rounding"),
    )
    exact = (
        number("exact_nearest", "near", 2),
        number("exact_typical", "typical", 2),
        number("exact_worst", "worst", 2),
    )
    named = (number("named"), number("attacker"), number("cap_mean", "belief, most"))
    table = grid("The release.", frames["releases"], "release", "input", "mechanism", *columns)
    known = grid("Exact epsilon of its own vectors, and what an attacker names.", frames["releases"], *exact, *named)
    yield Section("release", "What was released", [table, known])
    if "release_audits" in frames:
        audits = grid(
            "What was written beside what it should be.",
            frames["release_audits"],
            "check",
            number("value", digits=4),
            number("expected", digits=4),
            count("num_compared", "of"),
            p_value("p_value", "p"),
            p_value("p_holm", "p (Holm)"),
            "verdict",
        )
        yield Section("audit", "Is it what it says?", [audits])
