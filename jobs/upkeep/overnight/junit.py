"""What came of a night as JUnit XML, which continuous integration shows: a suite for each job."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

_BRIEFLY = 200
"""Characters of a message that is shown in a list; all of it stands below it."""

_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 can't hold, such as a terminal's colours in what a job printed last."""


def junit_xml(jobs: Sequence[Mapping[str, Any]], gates: Sequence[Mapping[str, Any]]) -> bytes:
    """A file with a suite for each job: a case for how it ended, which is an error if it did not succeed, and one for
    each of its gates, which is a failure if it failed and skipped if there was nothing to compare with.

    Args:
        jobs: rows of the table ``jobs``.
        gates: rows of the table ``gates``.
    """
    file = JUnitXml("tiltmeter overnight")
    for job in jobs:
        suite = TestSuite(job["name"])
        suite.add_testcase(_ended(job))
        for gate in gates:
            if gate["name"] == job["name"]:
                suite.add_testcase(_judged(gate))
        file.add_testsuite(suite)
    file.update_statistics()
    return bytes(file.tostring())


def _ended(job: Mapping[str, Any]) -> TestCase:
    case = TestCase(f"job={job['job']}", job["name"], job["seconds"])
    if job["status"] != "ok":
        case.result = [_outcome(Error, job["reason"], job["status"])]
    return case


def _judged(gate: Mapping[str, Any]) -> TestCase:
    says = gate["fails_if"].removeprefix("a number ")
    name = (
        f"no number of {gate['column']} {says}" if says != gate["fails_if"] else f"{gate['column']}: fails if it {says}"
    )
    case = TestCase(name, _place(gate), 0.0)
    kinds = {"failed": Failure, "not_compared": Skipped}
    if gate["verdict"] in kinds:
        case.result = [_outcome(kinds[gate["verdict"]], gate["sentence"], gate["verdict"])]
    return case


def _place(gate: Mapping[str, Any]) -> str:
    return f"{gate['name']}.{gate['table']}"


def _outcome(kind: type, reason: str, status: str) -> Any:
    writable = _NO_XML.sub("\N{REPLACEMENT CHARACTER}", reason)
    outcome = kind(writable.partition("\n")[0][:_BRIEFLY], status)
    outcome.text = writable
    return outcome
