"""Verdicts in a notebook: `%load_ext judge.magic`, then `%judge 190` and `%hint 190`.

The judge runs in a process of its own, so that the kernel never runs what is judged; what it says is shown below the cell.
"""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MAX_EVIDENCE = 12
MAX_PRINTED = 8
COLOURS = {
    "pass": "#1a7f37", "fail": "#cf222e", "error": "#cf222e", "judge error": "#cf222e", "timeout": "#8250df", "memory": "#8250df",
    "not attempted": "#9a6700", "skipped": "#0969da",
}  # fmt: skip
NOTES = {"from the reference, since not written yet": "filled", "ignored, since this exercise does not ask for it": "ignored"}
ACTIONS = ("--hint", "--diff", "--reset", "--list", "--help", "-h", "--doctor")  # these print text, no report


def load_ipython_extension(shell: Any) -> None:
    """Called by %load_ext."""
    shell.register_magic_function(judge_magic, "line", "judge")
    shell.register_magic_function(hint_magic, "line", "hint")


def judge_magic(line: str) -> None:
    """%judge 190: judge exercise 190 (or a chapter, next, all). Takes the options of judge/run.py."""
    show(line, [])


def hint_magic(line: str) -> None:
    """%hint 190: the next hint for exercise 190."""
    show(line, ["--hint"])


def show(line: str, extra: list[str]) -> None:
    """Run judge/run.py with the words of `line` and display what it says, as HTML where the front end can."""
    from IPython.display import display

    try:
        words = shlex.split(line) + extra
    except ValueError as error:
        display(_bundle(f"{error}; for example: %judge 190", None), raw=True)
        return
    if "--watch" in words:
        display(_bundle("--watch needs a terminal; in a notebook run the cell again", None), raw=True)
        return
    report = [] if any(word.partition("=")[0] in ACTIONS for word in words) else ["--format", "json"]
    code, out, err = run([*words, *report])
    try:
        data = json.loads(out) if report and code != 2 else None
    except ValueError:  # a report that is none: the text says what happened
        data = None
    text = err if report else out + err
    display(_bundle(text.strip(), page(data) if isinstance(data, dict) else None), raw=True)


def run(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of judge/run.py. An interrupt of the cell reaches it too, and it ends by itself."""
    command = [sys.executable, str(ROOT / "judge" / "run.py"), *arguments]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONUTF8": "1"}, encoding="utf-8", errors="replace", **pipes)
    try:
        out, err = process.communicate()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
    return process.returncode, out, err


def _bundle(text: str, rich: str | None) -> dict[str, str]:
    text = in_notebook(text)
    return {"text/plain": text, "text/html": rich or f"<pre>{html.escape(text)}</pre>"}


def in_notebook(text: str) -> str:
    """The commands in the text as one types them in a cell."""
    text = re.sub(r"python judge/run\.py (\d+) --hint", r"%hint \1", text)
    return text.replace("python judge/run.py", "%judge")


def page(data: dict) -> str:
    """The report (judge/report.schema.json) as HTML: each verdict, and one diagnosis in full, as in the terminal."""
    parts, told = [], False
    for exercise in data["exercises"]:
        parts.append(_verdict(exercise, brief=told))
        told = told or exercise["status"] != "pass"
    if data["message"]:
        parts.append(f"<div>{html.escape(data['message'])}</div>")
    if data["next"]:
        parts.append(f"<div>next: <code>{html.escape(in_notebook(data['next']))}</code></div>")
    return '<div style="line-height: 1.5">' + "".join(parts) + "</div>"


def _verdict(exercise: dict, brief: bool) -> str:
    colour = COLOURS.get(exercise["status"], "inherit")
    counts = f"{exercise['passed']} of {exercise['total']} checks passed" if exercise["total"] else "no check could run"
    status, title = html.escape(exercise["status"].upper()), html.escape(exercise["title"])
    parts = [
        f'<div><b style="color: {colour}">{status}</b> &nbsp;<b>{exercise["number"]} {title}</b>'
        f' &nbsp;<span style="opacity: 0.7">{counts}, {exercise["seconds"]:.1f} s</span></div>'
    ]
    if not brief and exercise["status"] != "pass":
        parts.append(_diagnosis(exercise))
    if not brief:
        for words, names in NOTES.items():
            if exercise[names]:
                parts.append(f'<div style="margin-left: 1em; opacity: 0.7">{words}: {html.escape(", ".join(exercise[names][:6]))}</div>')
        parts.append(_printed(exercise["printed"]))
    parts.append(_checks(exercise["checks"]))
    return "".join(parts)


def _diagnosis(exercise: dict) -> str:
    diagnosis = exercise["diagnosis"]
    if diagnosis is None:
        return ""
    parts = []
    if exercise["check"]:
        parts.append(f"<div>✗ {html.escape(exercise['check'])}</div>")
    parts.append(f"<div>{html.escape(diagnosis['headline'])}</div>")
    if diagnosis["lines"]:
        evidence = in_notebook("\n".join(diagnosis["lines"][:MAX_EVIDENCE]))
        parts.append(f'<pre style="margin: 0.3em 0 0.3em 1em">{html.escape(evidence)}</pre>')
    if diagnosis["where"]:
        parts.append(f"<div><code>{html.escape(diagnosis['where'])}</code></div>")
    return f'<div style="margin-left: 1em">{"".join(parts)}</div>'


def _printed(text: str) -> str:
    lines = text.strip().splitlines()
    if not lines:
        return ""
    shown = "\n".join(line[:200] for line in lines[:MAX_PRINTED]) + ("\n…" if len(lines) > MAX_PRINTED else "")
    return f'<details style="margin-left: 1em"><summary>your code printed {len(lines)} lines</summary><pre>{html.escape(shown)}</pre></details>'


def _checks(checks: list[dict]) -> str:
    if not checks:
        return ""
    rows = "".join(
        f"<li>{'✓' if check['status'] == 'pass' else '✗'} {html.escape(check['title'])}"
        + ("" if check["status"] == "pass" else f" ({html.escape(check['status'])})")
        + "</li>"
        for check in checks
    )
    return f'<details style="margin-left: 1em"><summary>all checks</summary><ul style="list-style: none; padding-left: 1em">{rows}</ul></details>'
