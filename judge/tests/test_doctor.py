"""--doctor: right on a whole machine, and each thing that is missing is named with its mend."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from judge import doctor, machine
from judge.steps import ROOT


def by_name(findings):
    return {finding.name: finding for finding in findings}


def test_all_is_there_and_nothing_heavy_is_imported():
    code = "import sys; sys.argv = ['run.py', '--doctor']\nfrom judge import run\ncode = run.main()\n"
    code += "print(code, [m for m in ('torch', 'transformers', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=os.environ | {"COLUMNS": "200"})
    for name in ("interpreter", "packages", "versions", "cores", "memory", "disk", "tiny models", "SmolLM2", "watching files", "bubblewrap", "GPU"):
        assert name in done.stdout
    last = done.stdout.splitlines()[-1]
    assert last == ("1 []" if "MISSING" in done.stdout else "0 []")
    assert "next: " in done.stdout


def test_without_any_package():
    done = subprocess.run([sys.executable, "-S", str(ROOT / "judge" / "doctor.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not done.stderr
    assert "MISSING  packages: missing: " in done.stdout and done.stdout.splitlines()[-1] == "next: make setup"


@pytest.fixture
def copy(tmp_path):
    """A root with the lists, the recipes and one checkpoint."""
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "models").mkdir()
    for name in ("fetch.py", "hashes.json", "tiny_models.py", "gguf_checkpoint.py"):
        shutil.copyfile(ROOT / "models" / name, tmp_path / "models" / name)
    return tmp_path


@pytest.fixture
def fetch(monkeypatch, copy):
    """models/fetch.py of the copy; other tests have their own."""
    monkeypatch.delitem(sys.modules, "fetch", raising=False)
    yield
    sys.modules.pop("fetch", None)


def test_missing_and_damaged_models(copy, fetch):
    found = by_name(doctor.models(copy))
    assert found["tiny models"].state == found["SmolLM2"].state == "bad" and "tiny-llama is missing" in found["tiny models"].found
    assert found["SmolLM2"].mend == "python models/fetch.py smollm2"
    names = ("tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-qwen3-moe", "tiny-mistral")
    if not all((ROOT / "models" / name).is_dir() for name in names):
        pytest.skip("the tiny checkpoints are not there: python models/fetch.py tiny")
    for name in names:
        shutil.copytree(ROOT / "models" / name, copy / "models" / name)
    assert by_name(doctor.models(copy))["tiny models"].state == "ok"
    with open(copy / "models" / "tiny-qwen3" / "config.json", "a") as file:
        file.write(" ")
    damaged = by_name(doctor.models(copy))["tiny models"]
    assert damaged.state == "bad" and damaged.found == "tiny-qwen3 is damaged: config.json has changed"


def test_a_large_file_is_not_hashed(copy, fetch):
    folder = copy / "models" / "SmolLM2-135M-Instruct"
    folder.mkdir()
    with open(folder / "model.safetensors", "wb") as file:
        file.truncate(1 << 40)  # a sparse file: to hash it would take an hour
    finding = by_name(doctor.models(copy))["SmolLM2"]
    assert finding.state == "note" and finding.mend == "python models/fetch.py --check"
    info = (folder / "model.safetensors").stat()
    (folder / ".stamp.json").write_text(json.dumps({"model.safetensors": [info.st_size, info.st_mtime_ns]}))
    assert by_name(doctor.models(copy))["SmolLM2"].state == "bad"  # SHA256SUMS is missing


def test_packages(monkeypatch, copy):
    versions = {"torch": "2.13.0+cpu", "numpy": "1.26.0", "rich": None, "ruff": None}
    monkeypatch.setattr(machine, "installed", lambda name: versions.get(name, lock.get(name, "1")))
    lock = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().splitlines() if "==" in line)
    found = by_name(doctor.packages(copy))
    assert (found["packages"].state, found["packages"].found, found["packages"].mend) == ("bad", "missing: rich", "make setup")
    assert found["for notebooks"].state == "ok" and found["for authors"].state == "note" and "ruff" in found["for authors"].found
    assert found["versions"].state == "note" and "2 missing" in found["versions"].found and "others: numpy 1.26.0" in found["versions"].found
    (copy / "requirements.lock").unlink()
    assert doctor.packages(copy)[0].state == "bad"


def script(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
def test_bubblewrap_and_the_gpu(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor._bubblewrap_command() is None and doctor.sandbox(None).state == "note" and "apt install" in doctor.sandbox(None).mend
    script(tmp_path, "bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    finding = doctor.sandbox(doctor._start(doctor._bubblewrap_command()))
    assert finding.state == "note" and "No permissions" in finding.found
    script(tmp_path, "bwrap", "exit 0")
    assert doctor.sandbox(doctor._start(doctor._bubblewrap_command())).state == "ok"
    script(tmp_path, "nvidia-smi", "echo 'NVIDIA H200, 143771 MiB, 570.1'")
    assert doctor.gpu(doctor._start(doctor._nvidia_command())).found == "NVIDIA H200, 143771 MiB, 570.1"
    script(tmp_path, "nvidia-smi", "exec /bin/sleep 30")  # a driver that hangs
    assert doctor.gpu(doctor._start(doctor._nvidia_command())).name == "GPU"


def test_what_is_required_decides_the_exit_code(monkeypatch, capsys):
    rows = [doctor.Finding("a", "ok", "x", "y"), doctor.Finding("b", "note", "x", "y", "mend b")]
    monkeypatch.setattr(doctor, "examine", lambda: rows)
    assert doctor.main() == 0 and "1 note above" in capsys.readouterr().out
    rows.append(doctor.Finding("c", "bad", "x", "y", "mend c"))
    assert doctor.main() == 1
    out = capsys.readouterr().out
    assert "missing: c" in out and out.splitlines()[-1] == "next: mend c"


def test_the_machine():
    total, free = machine.memory()
    assert 0 < free <= total and 0 < machine.cores() <= os.cpu_count()
    assert machine.installed("no-such-package") is None
