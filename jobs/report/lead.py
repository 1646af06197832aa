"""What a stranger reads first: what was asked, what was found, and how sure it is."""

from collections.abc import Sequence

from tiltmeter.jobs.report.html.elements import Block, Part


def lead(asked: Sequence[Block], found: Sequence[Block], sure: Sequence[Block]) -> list[Block]:
    """The three as parts of a lead; one without blocks is left out.

    >>> from tiltmeter.jobs.report.html.elements import Paragraph
    >>> [part.title for part in lead([Paragraph("How far?")], [Paragraph("Not far.")], [])]
    ['What was asked', 'What was found']
    """
    parts = {"What was asked": asked, "What was found": found, "How sure it is": sure}
    return [Part(title, blocks) for title, blocks in parts.items() if blocks]
