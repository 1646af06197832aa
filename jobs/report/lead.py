"""What a stranger reads first: what was asked, what was found, and how sure it is."""

from collections.abc import Sequence
from typing import NamedTuple

from tiltmeter.jobs.report.html.elements import Block, Bullets, Paragraph, Part


class Bar(NamedTuple):
    """A number with its interval, as a line of a picture."""

    label: str
    value: float
    low: float
    high: float


class Picture(NamedTuple):
    """What a terminal shows of a chart: bars, and the number that leans to no side."""

    title: str
    neutral: float
    bars: Sequence[Bar]


class Lead(NamedTuple):
    """What stands before the table of contents of a page; a terminal shows what was found, how sure it is and what to
    type next.

    Attributes:
        question: what was asked.
        findings: what was found, in sentences.
        doubts: how sure it is, and what to take with care.
        commands: what to type next.
        picture: of what was found, for the terminal; the page has its charts.
    """

    question: Sequence[Block]
    findings: Sequence[Block]
    doubts: Sequence[Block] = ()
    commands: Sequence[Block] = ()
    picture: Picture | None = None

    @property
    def parts(self) -> list[Part]:
        """Those that have blocks, with their titles.

        >>> from tiltmeter.jobs.report.html.elements import Paragraph
        >>> [part.title for part in Lead([Paragraph("How far?")], [Paragraph("Not far.")]).parts]
        ['What was asked', 'What was found']
        """
        parts = {"What was asked": self.question, "What was found": self.findings, "How sure it is": self.doubts}
        parts |= {"What to type next": self.commands}
        return [Part(title, blocks) for title, blocks in parts.items() if blocks]

    @property
    def headline(self) -> str:
        """The first sentence of what was found."""
        return first_sentence(self.findings)


def first_sentence(blocks: Sequence[Block]) -> str:
    """What the first paragraph or the first item of a list says; empty without any.

    >>> first_sentence([Bullets(["Not far.", "Further."]), Paragraph("Far.")])
    'Not far.'
    """
    for block in blocks:
        if isinstance(block, Paragraph):
            return block.text
        if isinstance(block, Bullets) and block.items:
            return block.items[0]
    return ""
