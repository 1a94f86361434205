"""The reports that other programs read: each is valid, complete, and there whatever ends the run."""

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest

from judge import formats, run
from judge.steps import ROOT
from judge.tests.test_run import SAMPLE, make_checkout
from judge.verdict import Check, Diagnosis, Status, Verdict

SCHEMA = json.loads((ROOT / "judge" / "report.schema.json").read_text())
GRAPH = "chapters/06_engine/minisgl/engine/engine.py"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return make_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def fresh(checkout):
    for path in (SAMPLE, GRAPH):
        shutil.copyfile(ROOT / path, checkout / path)
    return checkout


def command(checkout, *arguments):
    return [sys.executable, str(checkout / "judge" / "run.py"), *arguments]


def start(checkout, *arguments, code):
    done = subprocess.run(command(checkout, *arguments), capture_output=True, timeout=120, check=False, cwd=checkout)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout, done.stderr.decode()


def valid(data: dict) -> dict:
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    return data


def verdict_of(status: Status, number=190, checks=True, text="the mean is off") -> Verdict:
    diagnosis = None if status is Status.PASS else Diagnosis("mismatch", text, ["row 1: want 0.5, got 0.7"], "engine/sample.py:7  draw")
    listed = [Check("test_a", "Rows differ", status, diagnosis, 0.1), Check("test_b[3]", "Ties", Status.PASS, None, 0.2)]
    return Verdict(number, "Batched sampling", status, listed if checks else [], diagnosis, "Rows differ", 1.5, {"assemble": 0.1}, 7)


def report_of(kind, registry, verdicts, exercises=None):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    report = formats.Report(kind, exercises or [registry.exercises[v.number] for v in verdicts])
    for verdict in verdicts:
        report.add(verdict)
    report.finish(stream, "python judge/run.py 190")
    return stream.buffer.getvalue()


# --- JSON -----------------------------------------------------------------------------------------------------------


def test_a_pass_in_json(fresh, tmp_path):
    file = tmp_path / "report.json"
    out, text = start(fresh, "190", "--solution", "--format", "json", "--output", str(file), "--seed", "11", code=0)
    data = valid(json.loads(out))
    assert file.read_bytes() == out and not [p for p in tmp_path.iterdir() if p != file]
    assert (data["status"], data["exit_code"], data["message"], data["not_judged"]) == ("pass", 0, None, [])
    (exercise,) = data["exercises"]
    path = "solutions/06_engine/minisgl/engine/sample.py"
    assert exercise["hashes"] == {path: hashlib.sha256((ROOT / path).read_bytes()).hexdigest()}
    assert exercise["judged"] == {"engine/sample.py": path}
    assert exercise["seed"] == 11 and exercise["passed"] == exercise["total"] == len(exercise["checks"]) > 0
    assert set(exercise["phases"]) == {"assemble", "start", "checks"} and sum(exercise["phases"].values()) <= exercise["seconds"]
    assert data["environment"]["cores"] > 0 and data["environment"]["memory"] > 1 << 28 and data["environment"]["packages"]["torch"]
    assert text.startswith("PASS  190") and "next:" in text


def test_a_missing_and_a_broken_file_in_each_format(fresh, tmp_path):
    (fresh / SAMPLE).write_bytes(b"def f(:\n")
    (fresh / GRAPH).unlink()
    on_engine = next(n for n, path in _targets(fresh) if path == "engine/engine.py")
    data = valid(json.loads(start(fresh, "190", str(on_engine), "--format", "json", code=1)[0]))
    broken, missing = data["exercises"]
    assert broken["hashes"] == {SAMPLE: hashlib.sha256(b"def f(:\n").hexdigest()} and broken["diagnosis"]["kind"] == "cannot-import"
    assert missing["hashes"] == {GRAPH: None} and missing["diagnosis"]["kind"] == "missing-file"
    suites = ET.fromstring(start(fresh, "190", str(on_engine), "--format", "junit", code=1)[0])
    assert (suites.get("tests"), suites.get("errors")) == ("2", "2") and "syntax error" in suites.find("testsuite/testcase/error").get("message")
    rows = json.loads(start(fresh, "190", str(on_engine), "--format", "gradescope", code=1)[0])["tests"]
    assert all(row["output"].startswith("could not grade: ") and row["status"] == "failed" and row["score"] == 0 for row in rows)


def _targets(checkout):
    from judge.steps import load

    return [(ex.number, path) for ex in load().exercises.values() if ex.chapter == 6 for path in ex.targets]


def test_every_field_is_documented(registry):
    data = valid(json.loads(report_of("json", registry, [verdict_of(Status.FAIL)])))
    exercise = data["exercises"][0]
    kinds = SCHEMA["$defs"]
    for found, schema in (
        (data, SCHEMA), (data["environment"], SCHEMA["properties"]["environment"]), (exercise, kinds["exercise"]),
        (exercise["checks"][0], kinds["check"]), (exercise["diagnosis"], kinds["diagnosis"]),
    ):  # fmt: skip
        assert set(found) == set(schema["properties"])
    assert set(kinds["status"]["enum"]) == {status.value for status in Status}


def test_the_schema_has_teeth(registry):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for breach in ({"version": 2}, {"status": "fine"}, {"exit_code": 6}, {"exercises": [{"number": 190}]}, {"started": "yesterday"}):
        with pytest.raises(jsonschema.ValidationError):
            valid(json.loads(report_of("json", registry, [verdict_of(Status.FAIL)])) | breach)


def test_text_that_utf8_cannot_say(registry):
    verdict = verdict_of(Status.FAIL, text="a lone \ud800, a bell \x07 and é")
    verdict.printed = "\x00\x1b[31m ok \udcff"
    assert json.loads(report_of("json", registry, [verdict]))["exercises"][0]["printed"] == verdict.printed
    case = ET.fromstring(report_of("junit", registry, [verdict])).find("testsuite/testcase/failure")
    assert case.get("message") == "a lone �, a bell � and é"
    assert "é" in json.loads(report_of("gradescope", registry, [verdict]))["tests"][0]["output"]


# --- whatever ends the run ------------------------------------------------------------------------------------------


def slow(checkout):
    """A solution that takes its time: long for the test, short for what a killed judge may leave behind."""
    source = (ROOT / "solutions/06_engine/minisgl/engine/sample.py").read_text()
    first = "        if args.temperatures is None:"
    assert first in source
    (checkout / SAMPLE).write_text(source.replace(first, f"        __import__('time').sleep(15)\n{first}"))


def wait_for(file: Path) -> None:
    end = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(("number", "code", "status"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 130, "interrupted"), (signal.SIGKILL, -9, "judge error")])
def test_stopped_from_outside(fresh, tmp_path, number, code, status):
    slow(fresh)
    file = tmp_path / "report.json"
    process = subprocess.Popen(command(fresh, "190", "191", "--format", "json", "--output", str(file)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(file)
    time.sleep(0.5)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    data = valid(json.loads(file.read_text()))
    assert process.returncode == code and data["status"] == status and data["not_judged"] == [190, 191] and data["message"]
    assert out == (file.read_bytes() if number != signal.SIGKILL else b"")


def test_a_crash_of_the_judge(monkeypatch, tmp_path, capsysbinary):
    from judge import progress

    def fail(*_):
        raise RuntimeError("boom")

    monkeypatch.setattr(progress.Progress, "record", fail)
    file = tmp_path / "report.json"
    assert run.main(["190", "--format", "json", "--output", str(file)]) == 70
    out, text = capsysbinary.readouterr()
    data = valid(json.loads(out))
    assert file.read_bytes() == out and data["exit_code"] == 70 and "boom" in data["message"] and b"Traceback" not in text


def test_a_judge_that_cannot_start(monkeypatch, tmp_path, capsysbinary):
    from judge import warm

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(warm.Child, "__init__", fail)
    file = tmp_path / "report.json"
    assert run.main(["190", "--output", str(file)]) == 70
    data = valid(json.loads(file.read_text()))
    assert "No space left" in data["message"] and data["exercises"] == [] and b"JUDGE ERROR" in capsysbinary.readouterr().err


def test_a_crash_while_judging_is_a_verdict(monkeypatch, capsysbinary):
    from judge import tree

    monkeypatch.setattr(tree, "assemble", lambda *_, **__: 1 / 0)
    assert run.main(["190", "--solution", "--format", "json"]) == 70
    data = valid(json.loads(capsysbinary.readouterr().out))
    assert data["exercises"][0]["status"] == "judge error" and "ZeroDivisionError" in data["exercises"][0]["diagnosis"]["headline"]


# --- --output -------------------------------------------------------------------------------------------------------


def test_an_output_that_cannot_be_written_stops_before_anything_runs(fresh, tmp_path):
    for path, words in ((tmp_path / "no" / "r.json", "is not there"), (tmp_path, "is a folder"), (Path("/proc/r.json"), "cannot be written")):
        out, text = start(fresh, "190", "--output", str(path), code=2)
        assert not out and words in text
    assert not list(tmp_path.iterdir())


def test_writing(tmp_path):
    file, link = tmp_path / "r.json", tmp_path / "link.json"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    formats.write(link, b"new")
    assert link.is_symlink() and file.read_bytes() == b"new" and file.stat().st_mode & 0o777 == 0o640
    formats.write(Path("/dev/null"), b"gone")
    assert Path("/dev/null").is_char_device()
    assert formats.output_problem("/dev/null") is None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.json", "r.json"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_told(fresh):
    out, _ = start(fresh, "190", "--output", "/dev/full", code=70)
    assert b"could not be written" in out and out.startswith(b"NOT ATTEMPTED")


# --- JUnit ----------------------------------------------------------------------------------------------------------


def test_junit_counts_and_kinds(registry):
    kinds = {
        Status.PASS: None, Status.FAIL: "failure", Status.NOT_ATTEMPTED: "failure", Status.SKIPPED: "skipped", Status.ERROR: "error",
        Status.TIMEOUT: "error", Status.MEMORY: "error", Status.JUDGE_ERROR: "error",
    }  # fmt: skip
    assert set(kinds) == set(Status)
    verdicts = [verdict_of(status) for status in kinds]
    root = ET.fromstring(report_of("junit", registry, verdicts))
    assert root.tag == "testsuites" and len(root) == len(kinds)
    for suite, (status, kind) in zip(root, kinds.items(), strict=True):
        first, second = suite.findall("testcase")
        assert [child.tag for child in first] == ([kind] if kind else []) and not list(second)
        if kind:
            assert first[0].get("type") == status.value and "row 1: want 0.5" in first[0].text and first[0].get("message") == "the mean is off"
        counts = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
        assert counts == {"tests": 2, "failures": kind == "failure", "errors": kind == "error", "skipped": kind == "skipped"}
        assert float(suite.get("time")) == 1.5 and second.get("name") == "Ties [3]"
    assert {name: int(root.get(name)) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": 16, "failures": 2, "errors": 4, "skipped": 1,
    }  # fmt: skip


def test_junit_of_a_run_that_did_not_finish(registry, tmp_path):
    file = tmp_path / "r.xml"
    report = formats.Report("junit", [registry.exercises[190], registry.exercises[191]], str(file))
    report.add(verdict_of(Status.PASS))
    root = ET.fromstring(file.read_bytes())
    assert (root.get("tests"), root.get("errors")) == ("3", "1") and "did not finish" in root[1].find("testcase/error").get("message")


# --- Gradescope -----------------------------------------------------------------------------------------------------


def test_gradescope_rows(registry):
    failed = verdict_of(Status.FAIL, 191)
    failed.checks.append(Check("test_c", "Another", Status.FAIL, Diagnosis("mismatch", "a second secret", ["want 42"])))
    results = json.loads(report_of("gradescope", registry, [verdict_of(Status.PASS), failed, verdict_of(Status.JUDGE_ERROR, 192, checks=False)]))
    first, second, third = results["tests"]
    assert results["score"] == 1 and (first["score"], first["max_score"], first["status"]) == (1, 1, "passed")
    assert (second["score"], second["status"], second["visibility"]) == (0, "failed", "visible") and "the mean is off" in second["output"]
    assert "secret" not in second["output"] and "42" not in second["output"]
    assert third["output"].startswith("could not grade") and third["status"] == "failed"


def test_regrade(registry):
    results = json.loads(report_of("gradescope", registry, [verdict_of(Status.PASS), verdict_of(Status.FAIL, 191)]))
    strict = formats.regrade(json.loads(json.dumps(results)), lambda number: 10, partial=False)
    assert [row["score"] for row in strict["tests"]] == [10, 0] and strict["score"] == 10
    lenient = formats.regrade(results, {190: 10, 191: 5}.get, partial=True)
    assert [(row["score"], row["max_score"]) for row in lenient["tests"]] == [(10, 10), (2.5, 5)] and lenient["score"] == 12.5
