"""A check as JUnit XML: a suite per load, a case per figure that gates. What CI servers show."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from viewer.base.units import with_minus

Json = dict[str, Any]


def check_junit(data: Json) -> bytes:
    """UTF-8 XML. Characters that XML cannot hold become U+FFFD."""
    top = ElementTree.Element("testsuites", name="rankscope check")
    tests = failed = errors = skipped = 0
    for run in data["runs"]:
        cases = [f for f in run["figures"] if f["gate"]]
        suite = ElementTree.SubElement(top, "testsuite", name=_clean(run["load"]), timestamp=run["time"])
        bad = sum(f["verdict"] == "regression" for f in cases)
        unknown = sum(f["verdict"] == "not enough history" for f in cases)
        for key, count in (("tests", len(cases)), ("failures", bad), ("errors", 0), ("skipped", unknown)):
            suite.set(key, str(count))
        tests, failed, skipped = tests + len(cases), failed + bad, skipped + unknown
        for figure in cases:
            _case(suite, run, figure)
    for text in data["failures"]:
        suite = ElementTree.SubElement(top, "testsuite", name="loads", tests="1", failures="0", errors="1", skipped="0")
        case = ElementTree.SubElement(suite, "testcase", name="run", classname="loads")
        ElementTree.SubElement(case, "error", message=_clean(text))
        tests, errors = tests + 1, errors + 1
    for key, count in (("tests", tests), ("failures", failed), ("errors", errors), ("skipped", skipped)):
        top.set(key, str(count))
    ElementTree.indent(top)
    encoded: bytes = ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)
    return encoded + b"\n"


def _case(suite: ElementTree.Element, run: Json, figure: Json) -> None:
    case = ElementTree.SubElement(suite, "testcase", name=_clean(figure["name"]), classname=_clean(run["load"]))
    said = f"{figure['value_text']}"
    if figure["baseline"] is not None:
        change = "" if figure["change"] is None else with_minus(f"{figure['change']:+.1%} of ")
        said += f", {change}{figure['baseline_text']} (band {figure['low_text']} to {figure['high_text']})"
    said = f"{figure['name']} {said}: {figure['reason']}"
    if figure["verdict"] == "regression":
        ElementTree.SubElement(case, "failure", message=_clean(said), type="regression")
    elif figure["verdict"] == "not enough history":
        ElementTree.SubElement(case, "skipped", message=_clean(said))
    else:
        ElementTree.SubElement(case, "system-out").text = _clean(said)


def _clean(text: str) -> str:
    """Text that XML 1.0 can hold."""
    return "".join(
        c if c in "\t\n\r" or 0x20 <= ord(c) <= 0xD7FF or 0xE000 <= ord(c) <= 0xFFFD or ord(c) >= 0x10000 else "\ufffd"
        for c in text
    )
