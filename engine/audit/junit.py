"""Records as JUnit XML, the form that CI systems show: a suite a subject, a test case a record."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from xml.etree import ElementTree as Xml

from engine.results import Record

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: Path, records: Sequence[Record], accepted: Collection[Record] = ()) -> None:
    """Write the records: refuted ones fail, those of the baseline and those that judged nothing are skipped."""
    root = Xml.Element("testsuites", name="maskproof audit")
    for subject in dict.fromkeys(record.subject for record in records):
        own = [record for record in records if record.subject == subject]
        cases = [_case(record, record in accepted) for record in own]
        suite = Xml.SubElement(root, "testsuite", name=_clean(subject), tests=str(len(cases)))
        suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
        suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
        suite.set("time", f"{sum(record.seconds for record in own):.3f}")
        suite.extend(cases)
    path.parent.mkdir(parents=True, exist_ok=True)
    Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _case(record: Record, is_accepted: bool) -> Xml.Element:
    name = record.check if not record.kind else f"{record.check} [{record.kind}]"
    case = Xml.Element(
        "testcase",
        classname=_clean(f"{record.subject}.{record.case}"),
        name=_clean(name),
        time=f"{record.seconds:.3f}",
    )
    if record.verdict == "refuted" and not is_accepted:
        failure = Xml.SubElement(case, "failure", type=_clean(record.kind), message=_clean(record.message))
        failure.text = _clean(_body(record))
    elif record.verdict not in ("proven", "tested"):
        told = (
            f"{record.verdict}: {record.message}"
            if record.verdict != "refuted"
            else f"accepted: {record.message}"
        )
        Xml.SubElement(case, "skipped", message=_clean(told))
    return case


def _body(record: Record) -> str:
    lines = [record.message, record.reproduce, f"source: {record.witness.get('source', '')}"]
    lines.append(str(record.witness.get("log", "")))
    return "\n".join(line for line in lines if line)


def _clean(text: str) -> str:
    """The text with what XML cannot hold as U+FFFD."""
    return _NOT_XML.sub("�", text)
