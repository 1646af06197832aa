"""The page of `private_vectors`."""

from typing import Any

from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.page.findings import doubts, findings
from tiltmeter.jobs.embedding.private_vectors.page.sections import sections
from tiltmeter.jobs.report.grids import cell, count, grid, number, p_value
from tiltmeter.jobs.report.html.elements import Bullets, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.operators.embedding.private_release.mechanisms import DESIGNS

_ASKED = (
    "Noise is added to vectors so that they can be given away. How much do such vectors still say of the word or text "
    "that they are of, and what are they good for? A nominal epsilon is a bound per unit of distance, which means "
    "something else in every dimension; so each mechanism has its exact privacy beside it: the smallest epsilon at "
    "which a pair of vectors is (epsilon, delta)-private."
)
_ADJACENT = (
    "What is promised is that one vector is hard to tell from another one near it. Nothing is promised of the corpus "
    "that vectors were trained on, and the loss of a text is the sum over its words."
)
_WHERE = {
    "norm": "per unit of distance",
    "gaussian": "per unit of distance up to the largest that there may be, with a slack",
}
_STUDY = "STUDY: not private. All noise here is drawn from the public seed, and anybody can draw it again."


def page(run: Run[PrivateVectorsRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config = run.config
    if config.release.key_file:
        return _release_page(config, frames)
    return Body(
        "Vectors that can be given away",
        {"job": config.job.name, "mechanisms": str(len(config.mechanisms)), "seed": str(config.seed)},
        Lead([Paragraph(_ASKED)], [Bullets(list(findings(frames)))], [Bullets([_STUDY, _ADJACENT, *doubts(frames)])]),
        list(sections(frames)),
    )


def _release_page(config: PrivateVectorsRun, frames: Frames) -> Body:
    if "releases" not in frames:
        return Body("A release of private vectors", {"job": config.job.name}, Lead([Paragraph(_ASKED)], []), [])
    [row] = frames["releases"].to_dicts()
    released = (
        f"{plural(row['num_rows'], 'vector')} in {plural(row['dimensions'], 'dimension')} by {row['mechanism']}, with "
        f"epsilon {row['epsilon']:g} {_WHERE[DESIGNS[row['mechanism']].law]}. {row['guarantee']}"
    )
    sentences = [
        released,
        f"Of the account of {row['input']}, {row['spent']:g} of {row['max_epsilon']:g} is spent.",
    ]
    fields = ("release", "input", "mechanism")
    columns = (
        count("dimensions"),
        number("epsilon"),
        number("spent"),
        number("sensitivity"),
        p_value("delta", "delta"),
    )
    noise = (number("scale"), cell("grid", lambda row: f"{row['step']:g}", is_numeric=True))
    table = grid(
        "The release.",
        frames["releases"],
        *fields,
        *columns,
        *noise,
        p_value("rounding_delta", "by rounding"),
    )
    return Body(
        "A release of private vectors",
        {"job": config.job.name, "release": row["release"]},
        Lead([Paragraph(_ASKED)], [Bullets(sentences)], [Paragraph(_ADJACENT)]),
        [Section("release", "What was released", [table])],
    )
