"""What the learner has done so far: one JSON file, written atomically, the previous one kept. Never trusted for a verdict."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from judge import skeleton
from judge.steps import ROOT, Chapter, Exercise, Registry
from judge.verdict import Status, Verdict

FOLDER = ROOT / ".progress"
VERSION = 1
HINT_LEVELS = 3


@dataclass(frozen=True)
class State:
    """What is known of one exercise: the last verdict's status, how often it was tried, and what has become of a pass."""

    status: str = Status.NOT_ATTEMPTED.value
    attempts: int = 0
    note: str = ""

    @property
    def done(self) -> bool:
        return self.status == Status.PASS and not self.note


class Progress:
    """States and attempts by exercise number. A damaged file is replaced by its predecessor, with a message."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.file = folder / "progress.json"
        self.previous = folder / "progress.previous.json"
        self.messages: list[str] = []
        self.entries: dict[str, dict] = self._read()

    def _read(self) -> dict[str, dict]:
        for file in (self.file, self.previous):
            try:
                data = json.loads(file.read_text(encoding="utf-8"))
                entries = data["exercises"]
                if data["version"] > VERSION:
                    self.messages.append(f"{file.name} was written by a newer version; progress starts anew beside it")
                    continue
                if isinstance(entries, dict) and all(isinstance(entry, dict) for entry in entries.values()):
                    return entries
            except FileNotFoundError:
                continue
            except (OSError, ValueError, KeyError, TypeError):
                pass
            self.messages.append(
                f"{file.name} is damaged; "
                + ("trying the previous one" if file is self.file else "progress starts anew")
            )
        return {}

    def save(self) -> None:
        """Write atomically. A folder that cannot be written costs the record, never the verdict."""
        text = json.dumps({"version": VERSION, "exercises": self.entries}, indent=1, sort_keys=True)
        temporary = self.file.with_suffix(f".{os.getpid()}.tmp")
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(text, encoding="utf-8")
            if self.file.is_file():
                with contextlib.suppress(OSError):
                    os.replace(self.file, self.previous)
            os.replace(temporary, self.file)
        except OSError as error:
            self.messages.append(f"progress could not be saved ({error.strerror}); the verdict stands all the same")

    def entry(self, exercise: Exercise) -> dict:
        entry = self.entries.setdefault(str(exercise.number), {})
        for key, value in (
            ("status", Status.NOT_ATTEMPTED.value),
            ("attempts", 0),
            ("hints", 0),
            ("hints_at", -1),
            ("digest", ""),
        ):
            if not isinstance(entry.get(key), type(value)):
                entry[key] = value
        return entry

    def record(self, exercise: Exercise, chapter: Chapter, verdict: Verdict) -> None:
        """Note a verdict on the learner's own files. An attempt is a verdict on text that changed since the last one."""
        entry = self.entry(exercise)
        digest = source_digest(exercise, chapter)
        if verdict.status is not Status.NOT_ATTEMPTED and digest != entry["digest"]:
            entry["attempts"] += 1
        entry |= {"digest": digest, "at": int(time.time())}
        if verdict.base == "mine":
            entry["mine"] = verdict.status.value
        else:
            entry["status"] = verdict.status.value

    def states(self, registry: Registry) -> dict[int, State]:
        """Where the learner is with each exercise that was judged."""
        found = {}
        for number, exercise in registry.exercises.items():
            entry = self.entries.get(str(number))
            if entry is None or not isinstance(entry.get("status"), str):
                continue
            entry = self.entry(exercise)
            note = ""
            if entry["status"] == Status.PASS:
                if entry["digest"] != source_digest(exercise, registry.chapter_of(exercise)):
                    note = "changed since"
                elif entry.get("mine") not in (None, Status.PASS.value, Status.NOT_ATTEMPTED.value):
                    note = "on the reference's base only"
            found[number] = State(entry["status"], entry["attempts"], note)
        return found

    def upcoming(self, registry: Registry) -> list[Exercise]:
        """What is not done, in order, from the exercise on that was judged last; then what lies before it."""
        states = self.states(registry)
        judged = {
            int(n): e.get("at", 0) for n, e in self.entries.items() if n.isdigit() and isinstance(e.get("at"), int)
        }
        last = max(judged, key=judged.get, default=0)
        left = [ex for ex in registry.exercises.values() if ex.number not in states or not states[ex.number].done]
        return sorted(left, key=lambda ex: (ex.number < last, ex.number))

    def hint_level(self, exercise: Exercise) -> int:
        """How many hints to show now: one more than before, if there was an attempt since."""
        entry = self.entry(exercise)
        if entry["hints"] == 0 or entry["attempts"] > entry["hints_at"]:
            entry["hints"] = min(HINT_LEVELS, entry["hints"] + 1)
            entry["hints_at"] = entry["attempts"]
        return entry["hints"]


def source_digest(exercise: Exercise, chapter: Chapter) -> str:
    """A hash of what the learner wrote for an exercise: its files without the symbols of the chapter's other exercises."""
    digest = hashlib.sha256()
    for path in exercise.targets:
        with contextlib.suppress(OSError):
            text = (chapter.folder("chapters") / path).read_bytes().decode("utf-8", "replace")
            digest.update(_without_siblings(text, exercise, chapter, path).encode())
    return digest.hexdigest()[:16]


def _without_siblings(text: str, exercise: Exercise, chapter: Chapter, path: str) -> str:
    siblings = [name for ex in chapter.exercises if ex is not exercise for name in ex.targets.get(path, ())]
    try:
        table = skeleton.symbols(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    dropped = {line for name in siblings if name in table for line in range(table[name].first, table[name].last + 1)}
    return "\n".join(line for number, line in enumerate(text.splitlines(), 1) if number not in dropped)
