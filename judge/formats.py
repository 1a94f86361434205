"""Reports for other programs: JSON (judge/report.schema.json), JUnit XML and Gradescope's results.json.

A `Report` keeps the file on disk up to date while exercises are judged, so that whatever ends the run leaves a report that can be read.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge import machine
from judge.report import MAX_EVIDENCE, Reporter, make_console
from judge.steps import Exercise
from judge.verdict import EXIT_INTERRUPTED, Check, Diagnosis, Status, Verdict, exit_code, worst

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

VERSION = 1
UNFINISHED = "the run did not finish: what stands here is what was judged until then"
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Report:
    """The verdicts of one run, as a file and on stdout."""

    def __init__(self, kind: str, exercises: list[Exercise], output: str | None = None) -> None:
        """Writes `output` at once, as a report of a run that did not finish.

        Args:
            kind: "json", "junit", "gradescope", or "text": a report in JSON for `output`, and none on stdout.
            exercises: what is to be judged.
            output: the file to write, or None.
        """
        self.kind, self.output = kind, Path(output) if output else None
        self.verdicts: list[Verdict] = []
        self._exercises = exercises
        self._done = False
        self.problem: str | None = None  # why the file could not be written the last time
        self._started, self._clock = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.perf_counter()
        self._save("judge error", 70, UNFINISHED)

    @cached_property
    def _environment(self) -> dict:
        return machine.describe()

    def add(self, verdict: Verdict) -> None:
        """Take a verdict, and write the file as it would stand if the run ended here."""
        self.verdicts.append(verdict)
        if len(self.verdicts) < len(self._exercises):
            self._save("judge error", 70, UNFINISHED)

    def finish(self, stream: Any, next_step: str | None = None) -> None:
        """All exercises are judged: write the file, and for a machine's format the same on `stream`."""
        self._emit(stream, worst([v.status for v in self.verdicts]).value, exit_code(self.verdicts), None, next_step)

    def interrupted(self, stream: Any) -> None:
        self._emit(stream, "interrupted", EXIT_INTERRUPTED, "interrupted before all was judged")

    def crashed(self, stream: Any, error: BaseException) -> None:
        self._emit(stream, "judge error", 70, f"the judge itself failed: {type(error).__name__}: {error}")

    def _emit(self, stream: Any, *state: Any) -> None:
        if self._done:  # what happens after the last verdict does not change the report
            return
        self._done = True
        data = self._save(*state)
        if self.kind != "text":
            stream.flush()
            if hasattr(stream, "buffer"):  # a report is UTF-8 whatever the terminal's encoding
                stream.buffer.write(data)
                stream.buffer.flush()
            else:
                stream.write(data.decode())

    def _save(self, status: str, code: int, message: str | None, next_step: str | None = None) -> bytes:
        if self.kind == "text" and self.output is None:
            return b""
        judged = {verdict.number for verdict in self.verdicts}
        data = {
            "version": VERSION, "status": status, "exit_code": code, "message": message, "next": next_step,
            "started": self._started, "seconds": time.perf_counter() - self._clock, "environment": self._environment,
            "exercises": [verdict.as_json() for verdict in self.verdicts],
            "not_judged": [exercise.number for exercise in self._exercises if exercise.number not in judged],
        }  # fmt: skip
        make = {"junit": as_junit, "gradescope": as_gradescope}.get(self.kind, as_json)
        encoded = make(data, self.verdicts, self._exercises)
        if self.output:
            self.problem = None
            try:
                write(self.output, encoded)
            except OSError as error:  # a disk that is full by now costs the report, never the verdict
                self.problem = f"--output: {self.output} could not be written ({error.strerror})"
        return encoded


def output_problem(path: str) -> str | None:
    """Why a report cannot be written to `path`, or None. Leaves nothing behind."""
    file = Path(path)
    if file.is_dir():
        return f"--output: {path} is a folder; name a file"
    folder = file.resolve().parent
    if not folder.is_dir():
        return f"--output: the folder {folder} is not there"
    try:
        if file.exists() and not _regular(file):
            return None if os.access(file, os.W_OK) else f"--output: {path} cannot be written"
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return f"--output: {path} cannot be written ({error.strerror})"


def write(file: Path, data: bytes) -> None:
    """Write atomically: a reader sees the old content or the new one. A pipe or a device is written to as it is."""
    if file.exists() and not _regular(file):
        file.write_bytes(data)
        return
    file = file.resolve()
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        with contextlib.suppress(OSError):
            temporary.chmod(stat.S_IMODE(file.stat().st_mode))
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _regular(file: Path) -> bool:
    return stat.S_ISREG(file.stat().st_mode)


def as_json(data: dict, verdicts: list[Verdict], exercises: list[Exercise]) -> bytes:
    """The report as judge/report.schema.json describes it."""
    # What UTF-8 cannot say (a lone surrogate that the learner's code has sent) becomes JSON's own escape.
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


# --- JUnit ----------------------------------------------------------------------------------------------------------


def as_junit(data: dict, verdicts: list[Verdict], exercises: list[Exercise]) -> bytes:
    """JUnit XML: a suite for each exercise, a case for each check. What is not judged is an error, never a pass."""
    import xml.etree.ElementTree as ET

    root = ET.Element("testsuites", name="mini-sglang workbook")
    suites = [_suite(verdict, data["started"]) for verdict in verdicts]
    titles = {exercise.number: exercise.title for exercise in exercises}
    for number in data["not_judged"]:
        missing = Verdict(number, titles[number], Status.JUDGE_ERROR, diagnosis=Diagnosis("judge-error", data["message"] or UNFINISHED))
        suites.append(_suite(missing, data["started"]))
    root.extend(suites)
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count)) for suite in suites)))
    root.set("time", f"{data['seconds']:.3f}")
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _suite(verdict: Verdict, started: str) -> ET.Element:
    import xml.etree.ElementTree as ET

    suite = ET.Element("testsuite", name=_xml(f"{verdict.number} {verdict.title}"), timestamp=started.rstrip("Z"), time=f"{verdict.seconds:.3f}")
    facts = {"status": verdict.status, "seed": verdict.seed, "sandbox": verdict.sandbox, "base": verdict.base}
    facts |= {f"sha256 {path}": digest for path, digest in verdict.hashes.items() if digest}
    properties = ET.SubElement(suite, "properties")
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=_xml(name), value=_xml(str(value)))
    # An exercise whose file could not be read has no checks; its diagnosis becomes a case of its own.
    checks = verdict.checks or [Check("judged", "The exercise can be judged", verdict.status, verdict.diagnosis, verdict.seconds)]
    kinds = [_case(suite, verdict, check) for check in checks]
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(kinds.count(kind)))
    suite.set("tests", str(len(checks)))
    if verdict.printed.strip():
        ET.SubElement(suite, "system-out").text = _xml(verdict.printed)
    return suite


def _case(suite: ET.Element, verdict: Verdict, check: Check) -> str:
    """Add a check; returns "" for a pass, else the kind of its element."""
    import xml.etree.ElementTree as ET

    parameter = check.id.partition("[")[2]
    name = f"{check.title} [{parameter}" if parameter else check.title
    case = ET.SubElement(suite, "testcase", classname=f"exercise.{verdict.number}", name=_xml(name), time=f"{check.seconds:.3f}")
    if check.status is Status.PASS:
        return ""
    # "not attempted" is a failure here: as "skipped" many tools would show an untouched exercise in green.
    kind = {Status.FAIL: "failure", Status.NOT_ATTEMPTED: "failure", Status.SKIPPED: "skipped"}.get(check.status, "error")
    diagnosis = check.diagnosis or verdict.diagnosis or Diagnosis("", check.status.value)
    element = ET.SubElement(case, kind, message=_xml(diagnosis.headline), type=check.status.value)
    element.text = _xml("\n".join(_told(diagnosis)))
    return kind


def _told(diagnosis: Diagnosis) -> list[str]:
    return [diagnosis.headline, *diagnosis.lines[:MAX_EVIDENCE], *([diagnosis.where] if diagnosis.where else [])]


def _xml(text: str) -> str:
    """The text without what XML 1.0 cannot hold: control characters and lone surrogates."""
    return NO_XML.sub("�", text)


# --- Gradescope -----------------------------------------------------------------------------------------------------


def as_gradescope(data: dict, verdicts: list[Verdict], exercises: list[Exercise]) -> bytes:
    """Gradescope's results.json: one point for each exercise that passes; `regrade` weighs them otherwise.

    A row says what the text report says: the verdict and one diagnosis, no other expected value.
    """
    by_number = {verdict.number: verdict for verdict in verdicts}
    tests = [_row(exercise, by_number.get(exercise.number), data["message"] or UNFINISHED) for exercise in exercises]
    results = {
        "score": sum(test["score"] for test in tests), "execution_time": round(data["seconds"]),
        "visibility": "visible", "stdout_visibility": "hidden",
        "output": data["message"] or f"{sum(t['status'] == 'passed' for t in tests)} of {len(tests)} exercises passed", "output_format": "text",
        "tests": tests, "extra_data": {"status": data["status"], "exit_code": data["exit_code"], "environment": data["environment"]},
    }  # fmt: skip
    return (json.dumps(results, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _row(exercise: Exercise, verdict: Verdict | None, message: str) -> dict:
    passed = verdict is not None and verdict.status is Status.PASS
    extra = {"status": "not judged", "checks_passed": 0, "checks": 0}
    if verdict is None:
        output = f"could not grade: {message}"
    else:
        output = _gradescope_text(verdict)
        extra = {"status": verdict.status.value, "checks_passed": verdict.passed, "checks": len(verdict.checks), "seed": verdict.seed}
        extra |= {"sandbox": verdict.sandbox, "hashes": verdict.hashes}
    return {
        "number": str(exercise.number), "name": f"{exercise.number} {exercise.title}", "score": float(passed), "max_score": 1.0,
        "status": "passed" if passed else "failed", "visibility": "visible", "output": output, "output_format": "text", "extra_data": extra,
    }  # fmt: skip


def _gradescope_text(verdict: Verdict) -> str:
    if verdict.diagnosis and verdict.diagnosis.kind == "missing-file":
        return f"could not grade: {verdict.diagnosis.headline}"
    sink = io.StringIO()
    Reporter(make_console(sink, 100)).verdict(verdict)
    text = sink.getvalue().rstrip()
    if not verdict.checks or verdict.status in (Status.JUDGE_ERROR, Status.SKIPPED):
        return f"could not grade: {verdict.diagnosis.headline if verdict.diagnosis else verdict.status}\n{text}"
    return text


def regrade(results: dict, points: Callable[[int], float], partial: bool) -> dict:
    """The results with `points(number)` for each exercise; with `partial` a failed one gets the share of its checks that passed."""
    for row in results["tests"]:
        extra = row["extra_data"]
        share = extra["checks_passed"] / extra["checks"] if partial and extra["checks"] else 0.0
        row["max_score"] = float(points(int(row["number"])))
        row["score"] = round(row["max_score"] * (1.0 if row["status"] == "passed" else share), 2)
    results["score"] = round(sum(row["score"] for row in results["tests"]), 2)
    return results
