"""The page of `private_vectors`."""

from typing import Any

from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.page.findings import doubts, findings
from tiltmeter.jobs.embedding.private_vectors.page.given import doubts_of, findings_of, sections_of
from tiltmeter.jobs.embedding.private_vectors.page.sections import sections
from tiltmeter.jobs.report.html.elements import Bullets, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames

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
    title = "A release of private vectors"
    if "releases" not in frames:
        return Body(title, {"job": config.job.name}, Lead([Paragraph(_ASKED)], []), [])
    [row] = frames["releases"].to_dicts()
    lead = Lead([Paragraph(_ASKED)], [Bullets(list(findings_of(row)))], [Bullets([*doubts_of(row), _ADJACENT])])
    return Body(title, {"job": config.job.name, "release": row["release"]}, lead, list(sections_of(frames)))
