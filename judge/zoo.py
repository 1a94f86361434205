"""Known-wrong and right-in-another-style solutions: patches over the reference, each with the verdict it must get.

judge/wrong/NNN: mistakes that the hidden tests were written with; judge/right/NNN: other styles; judge/rewritten/NNN: the same
mistakes written anew by people who had not seen how they are recognised: these measure the recogniser.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from judge import skeleton
from judge.diagnose import HEADER, HeaderError, wrong_header
from judge.steps import ROOT, Exercise, Registry
from judge.tree import reference
from judge.verdict import Status, Verdict

KINDS = ("wrong", "right", "rewritten")
FIELDS = {"status", "says", "mistake", "kind", "check", "file", "whole"}


@dataclass(frozen=True)
class Specimen:
    """One file of judge/wrong/NNN/, judge/right/NNN/ or judge/rewritten/NNN/."""

    exercise: Exercise
    path: Path
    header: dict

    @property
    def kind(self) -> str:
        """"wrong", "right" or "rewritten"."""
        return self.path.parent.parent.name

    @property
    def right(self) -> bool:
        return self.kind == "right"

    @property
    def name(self) -> str:
        return f"{self.path.parent.parent.name}/{self.exercise.number}/{self.path.name}"

    def sources(self, registry: Registry) -> dict[str, bytes]:
        """File -> bytes to judge: the reference with this patch laid over the file it belongs to."""
        files = reference(registry, self.exercise.chapter)
        patch = HEADER.sub("", self.path.read_text(encoding="utf-8"))
        target = self.header.get("file") or _target(self.exercise, files, patch)
        sources = {path: files[path] for path in self.exercise.targets}
        if target not in sources:
            raise HeaderError(f"{self.name}: file = '{target}' is no file of exercise {self.exercise.number}")
        sources[target] = patch if self.header.get("whole") else skeleton.overlay(files[target], patch)
        return {path: source.encode() for path, source in sources.items()}

    def complaint(self, verdict: Verdict) -> str | None:
        """What is wrong with the verdict that this file got, or None."""
        if self.right:
            return (
                None if verdict.status is Status.PASS else f"a right solution got '{verdict.status}': {told(verdict)}"
            )
        if self.kind == "rewritten":  # must be rejected; how often the right sentence is said is counted over all of them
            return "a wrong solution passes" if verdict.status is Status.PASS else None
        status = self.header.get("status", "fail")
        if verdict.status != status:
            return f"got '{verdict.status}', want '{status}': {told(verdict)}"
        diagnosis = verdict.diagnosis
        if "kind" in self.header:
            if diagnosis is None or diagnosis.kind != self.header["kind"]:
                return f"diagnosed as {diagnosis.kind if diagnosis else None}, want {self.header['kind']}: {told(verdict)}"
        else:
            want = self.header.get("mistake", self.path.stem)
            if diagnosis is None or diagnosis.mistake != want:
                return f"recognised as {diagnosis.mistake if diagnosis else None}, want {want}: {told(verdict)}"
        wanted = self.header.get("check")
        if wanted and verdict.check != wanted:
            return f"the check shown is '{verdict.check}', want '{wanted}'"
        return None


def told(verdict: Verdict) -> str:
    diagnosis = verdict.diagnosis
    return f"{verdict.check}: {diagnosis.headline} {diagnosis.lines[:3]}" if diagnosis else "no diagnosis"


def _target(exercise: Exercise, files: dict[str, str], patch: str) -> str:
    """The file of the exercise that defines most of the patch's symbols."""
    patched = set(skeleton.symbols(patch))
    return max(exercise.targets, key=lambda path: len(patched & set(skeleton.symbols(files[path]))))


def specimens(exercise: Exercise) -> list[Specimen]:
    """All specimens of an exercise.

    Raises:
        HeaderError: if a header is missing, has unknown fields or lacks the teacher's sentence.
    """
    found = []
    for kind in KINDS:
        for path in sorted((ROOT / "judge" / kind / str(exercise.number)).glob("*.py")):
            headed = kind != "right" or path.read_text(encoding="utf-8").startswith("# /// ")
            header = wrong_header(path) if headed else {}
            name = f"{kind}/{exercise.number}/{path.name}"
            if unknown := set(header) - FIELDS:
                raise HeaderError(f"{name}: unknown header field {sorted(unknown)}; known are {sorted(FIELDS)}")
            if kind == "wrong" and not {"says", "kind", "mistake"} & set(header):
                raise HeaderError(f'{name}: say what a teacher would say: # says = "…"')
            if kind == "rewritten" and "mistake" not in header:
                raise HeaderError(f'{name}: name the mistake: # mistake = "…"')
            found.append(Specimen(exercise, path, header))
    return found
