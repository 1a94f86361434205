"""Verdicts as data: statuses, checks, diagnoses and exit codes. Text is made elsewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum


class Status(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    NOT_ATTEMPTED = "not attempted"
    ERROR = "error"  # the learner's code raised, ended early, or could not be read
    TIMEOUT = "timeout"
    MEMORY = "memory"
    SKIPPED = "skipped"
    JUDGE_ERROR = "judge error"


EXIT_CODES = {
    Status.PASS: 0, Status.FAIL: 1, Status.ERROR: 1, Status.NOT_ATTEMPTED: 3, Status.TIMEOUT: 4, Status.MEMORY: 4,
    Status.SKIPPED: 5, Status.JUDGE_ERROR: 70,
}  # fmt: skip
EXIT_USAGE, EXIT_INTERRUPTED = 2, 130

# The worst status of the checks is the status of the exercise, in this order.
SEVERITY = (
    Status.JUDGE_ERROR, Status.MEMORY, Status.TIMEOUT, Status.ERROR, Status.FAIL, Status.NOT_ATTEMPTED, Status.SKIPPED, Status.PASS,
)  # fmt: skip

# Kinds of diagnosis, the most urgent first: what a good teacher would mention first.
KINDS = (
    "judge-error", "missing-file", "cannot-import", "missing-name", "memory", "timeout", "not-attempted", "exited", "killed-parent", "output",
    "processes",
    "malformed", "exception", "type", "shape", "dtype", "mistake", "divergence", "mismatch", "skipped",
)  # fmt: skip


@dataclass
class Diagnosis:
    """What to tell the learner about one failed check."""

    kind: str
    headline: str
    lines: list[str] = field(default_factory=list)
    where: str | None = None  # "engine/sample.py:41  sample_torch"
    mistake: str | None = None  # the stem of a file in judge/wrong/


@dataclass
class Check:
    """One hidden test of an exercise."""

    id: str
    title: str
    status: Status
    diagnosis: Diagnosis | None = None
    seconds: float = 0.0


@dataclass
class Verdict:
    """The outcome of judging one exercise."""

    number: int
    title: str
    status: Status
    checks: list[Check] = field(default_factory=list)
    diagnosis: Diagnosis | None = None
    check: str | None = None  # title of the check that the diagnosis is about
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    sandbox: str = "none"  # "bwrap" or "process"; "none" where no code was run
    base: str = "reference"
    judged: dict[str, str] = field(default_factory=dict)
    hashes: dict[str, str | None] = field(default_factory=dict)  # path shown to the learner -> SHA-256 of what was judged
    filled: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    base_files: list[str] = field(default_factory=list)  # base "mine": the learner's files below the exercise
    culprit: str | None = None  # base "mine": the earlier file that makes it fail
    culprit_exercises: list[int] = field(default_factory=list)
    printed: str = ""

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]

    @property
    def passed(self) -> int:
        return sum(check.status is Status.PASS for check in self.checks)

    def as_json(self) -> dict:
        return asdict(self) | {"exit_code": self.exit_code, "passed": self.passed, "total": len(self.checks)}


def worst(statuses: list[Status]) -> Status:
    """The status that decides. No status at all is never a pass."""
    return min(statuses, key=SEVERITY.index) if statuses else Status.JUDGE_ERROR


def exit_code(verdicts: list[Verdict]) -> int:
    return EXIT_CODES[worst([verdict.status for verdict in verdicts])]


def choose(checks: list[Check]) -> Check | None:
    """The check whose diagnosis is shown: the worst status first, then the most telling kind, then the order of the tests."""
    failed = [check for check in checks if check.status is not Status.PASS and check.diagnosis is not None]

    def rank(check: Check) -> tuple[int, int]:
        kind = check.diagnosis.kind
        hard = check.status in (Status.JUDGE_ERROR, Status.MEMORY, Status.TIMEOUT)
        return (
            0 if hard else 1 if check.status in (Status.ERROR, Status.FAIL) else 2,
            KINDS.index(kind) if kind in KINDS else len(KINDS),
        )

    return min(failed, key=rank, default=None)
