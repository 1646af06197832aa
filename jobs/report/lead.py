"""What a stranger reads first: what was asked, what was found, and how sure it is."""

from collections.abc import Sequence
from typing import NamedTuple

from tiltmeter.jobs.report.html.elements import Block, Part


class Lead(NamedTuple):
    """What stands before the table of contents of a page; a terminal shows what was found and how sure it is.

    Attributes:
        question: what was asked.
        findings: what was found, in sentences.
        doubts: how sure it is, and what to take with care.
    """

    question: Sequence[Block]
    findings: Sequence[Block]
    doubts: Sequence[Block] = ()

    @property
    def parts(self) -> list[Part]:
        """Those that have blocks, with their titles.

        >>> from tiltmeter.jobs.report.html.elements import Paragraph
        >>> [part.title for part in Lead([Paragraph("How far?")], [Paragraph("Not far.")]).parts]
        ['What was asked', 'What was found']
        """
        parts = {"What was asked": self.question, "What was found": self.findings, "How sure it is": self.doubts}
        return [Part(title, blocks) for title, blocks in parts.items() if blocks]
