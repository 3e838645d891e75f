"""Verdicts as JUnit XML, for the test views of continuous integration."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from engine.results import Record

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ELEMENTS = {"refuted": "failure", "refused": "skipped", "undecided": "skipped", "skipped": "skipped"}


def junit_text(records: Sequence[Record], name: str) -> str:
    """One suite; `refuted` is a failure, what was not decided is skipped with its reason, never passed."""
    counts = [ELEMENTS.get(record.verdict) for record in records]
    suite = ElementTree.Element(
        "testsuite",
        name=name,
        tests=str(len(records)),
        failures=str(counts.count("failure")),
        skipped=str(counts.count("skipped")),
        errors="0",
        time=f"{sum(record.seconds for record in records):.3f}",
    )
    for record in records:
        _add(suite, record)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add(suite: ElementTree.Element, record: Record) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=_clean(record.check),
        name=_clean(record.case),
        time=f"{record.seconds:.3f}",
    )
    element = ELEMENTS.get(record.verdict)
    if element is not None:
        label = record.kind or record.verdict
        message = _clean(f"{label}: {record.message}")
        ElementTree.SubElement(case, element, message=message).text = _clean(record.reproduce)


def _clean(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
