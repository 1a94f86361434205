"""Chapter texts: listings kept equal to the source, and notebooks made by jupytext and executed by nbclient on the reference tree."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from judge import skeleton  # noqa: E402
from judge import tree as trees  # noqa: E402
from judge.steps import Chapter, Registry, load  # noqa: E402

NOTEBOOKS = ROOT / "notebooks"
LISTING = re.compile(r"^```py listing=(?P<target>\S+)[ \t]*\n(?P<body>.*?)^```[ \t]*$", re.M | re.S)
CELL_SECONDS = 300
SETUP = """\
# Set-up: puts the engine as it stands at this chapter on sys.path and goes to the chapter's folder.
# From then on `%judge 190` judges exercise 190, and `%hint 190` gives a hint.
import sys
from pathlib import Path

root = next(p for p in [Path.cwd(), *Path.cwd().parents] if (p / "steps.toml").is_file())
sys.path.insert(0, str(root))
from judge.notebooks import use_chapter

use_chapter({number})
%load_ext judge.magic"""


class TextError(Exception):
    """A chapter's text shows something that the engine does not have, or a cell fails. The text names the file and the mend."""


def text_path(chapter: Chapter) -> Path:
    return ROOT / "chapters" / chapter.slug / "README.md"


def filled_text(registry: Registry, chapter: Chapter) -> str:
    """The chapter's text with every listing equal to the chapter's source."""
    path = text_path(chapter)
    if not path.is_file():
        raise TextError(f"chapters/{chapter.slug}/README.md is missing; write the chapter's text")
    files = trees.reference(registry, chapter.number)
    text = path.read_text(encoding="utf-8")
    check_folded(registry, chapter, text)
    return LISTING.sub(lambda match: _listing(match, files, chapter), text)


def solves(registry: Registry, target: str) -> list[int]:
    """The exercises whose solution a listing shows: they ask for its symbol, for a part of it, or for what it is a part of."""
    path, _, name = target.partition(":")
    return [
        number
        for number, exercise in registry.exercises.items()
        for symbol in exercise.targets.get(path, ())
        if not name or f"{symbol}.".startswith(f"{name}.") or f"{name}.".startswith(f"{symbol}.")
    ]


def check_folded(registry: Registry, chapter: Chapter, text: str) -> None:
    """A listing that solves an exercise stands in a <details> block whose summary names the exercise: it must not be met by accident."""
    for match in LISTING.finditer(text):
        numbers = sorted(set(solves(registry, match["target"])))
        if not numbers:
            continue
        before, after = text[: match.start()], text[match.end() :]
        where = f"chapters/{chapter.slug}/README.md:{before.count(chr(10)) + 1}: listing={match['target']}"
        solved = f"solves exercise{'s' if len(numbers) > 1 else ''} {' and '.join(map(str, numbers))}"
        name = match["target"].partition(":")[2] or match["target"]
        opened = before.rfind("<details")
        if opened <= before.rfind("</details>"):
            raise TextError(
                f"{where} {solved} and is not folded. Put these lines above it and </details> below it, with an empty line on either side of both:\n"
                f"<details><summary>The code of <code>{name}</code> ({solved})</summary>"
            )
        summary = re.search(r"<summary>(.*?)</summary>", before[opened:], re.S)
        missing = [n for n in numbers if summary is None or not re.search(rf"\bsolves exercises? [\d, and]*\b{n}\b", summary[1])]
        if missing:
            raise TextError(f"{where}: the <summary> above it must say '(solves exercise {missing[0]})', so that nobody opens it by accident")
        if not before.endswith("\n\n") or not re.match(r"\n\n", after):
            raise TextError(f"{where}: a listing in <details> needs an empty line above and below it, or it is not shown as code")


def _listing(match: re.Match, files: dict[str, str], chapter: Chapter) -> str:
    target = match["target"]
    path, _, name = target.partition(":")
    where = f"chapters/{chapter.slug}/README.md: listing={target}"
    if path not in files:
        raise TextError(f"{where}: the chapter's tree has no file {path}")
    if not name:
        body = files[path]
    elif name not in skeleton.symbols(files[path]):
        raise TextError(f"{where}: {path} defines no {name}")
    else:
        body = skeleton.text_of(files[path], name)
    return f"```py listing={target}\n{body}```"


def notebook_path(chapter: Chapter) -> Path:
    return NOTEBOOKS / f"{chapter.slug}.ipynb"


def source_digest(registry: Registry, chapter: Chapter, text: str) -> str:
    """A hash of all that decides a notebook's outputs: the text, the chapter's tree and its main.py."""
    digest = hashlib.sha256(text.encode())
    digest.update(SETUP.encode())
    for path, source in trees.reference(registry, chapter.number).items():
        digest.update(f"{path}\0{source}\0".encode())
    main = ROOT / "chapters" / chapter.slug / "main.py"
    if main.is_file():
        digest.update(main.read_bytes())
    return digest.hexdigest()[:16]


def build(registry: Registry, chapters: list[Chapter], check: bool) -> list[Path]:
    """Execute and write each notebook whose sources changed; with `check`, only tell which those are."""
    changed = []
    for chapter in chapters:
        text = filled_text(registry, chapter)
        digest = source_digest(registry, chapter, text)
        path = notebook_path(chapter)
        if path.is_file() and f'"source_digest": "{digest}"' in path.read_text(encoding="utf-8"):
            continue
        changed.append(path)
        if not check:
            notebook = execute(registry, chapter, text)
            notebook.metadata["workbook"] = {"source_digest": digest}
            path.parent.mkdir(exist_ok=True)
            path.write_text(_as_text(notebook), encoding="utf-8")
    known = {notebook_path(chapter) for chapter in registry.open_chapters}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")) if NOTEBOOKS.is_dir() else []:
        if path not in known:
            changed.append(path)
            if not check:
                path.unlink()
    return changed


def convert(chapter: Chapter, text: str) -> Any:
    """The text as a notebook, not executed, with a set-up cell in front."""
    import jupytext
    import nbformat

    notebook = jupytext.reads(text, fmt="md")
    notebook.cells.insert(0, nbformat.v4.new_code_cell(SETUP.format(number=chapter.number)))
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index}"
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata.pop("jupytext", None)
    return notebook


def execute(registry: Registry, chapter: Chapter, text: str) -> Any:
    """The executed notebook of a chapter.

    Raises:
        TextError: with the cell and the last lines of its traceback.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = convert(chapter, text)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
        "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }  # fmt: skip
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(text_path(chapter).parent)}},
    )
    try:
        client.execute(env=environment)
    except CellExecutionError as error:
        lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines()
        raise TextError(
            f"chapters/{chapter.slug}/README.md: a cell fails:\n" + "\n".join([*lines[:12], "…", *lines[-6:]])
        ) from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise TextError(f"chapters/{chapter.slug}/README.md: {type(error).__name__}: {str(error)[:300]}") from None
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            _depersonalise(output)
    return notebook


def _depersonalise(output: Any) -> None:
    """Take this machine's paths out of an output."""
    root, temporary = str(ROOT), tempfile.gettempdir()

    def clean(text: str) -> str:
        return re.sub(
            re.escape(temporary) + r"/(tree|judge)-\w+", "<tree>", text.replace(root + os.sep, "").replace(root, ".")
        )

    if "text" in output:
        output["text"] = clean(output["text"])
    for kind, value in output.get("data", {}).items():
        if kind.startswith("text/") and isinstance(value, str):
            output["data"][kind] = clean(value)


def _as_text(notebook: Any) -> str:
    import nbformat

    return nbformat.writes(notebook, version=nbformat.NO_CONVERT, indent=1, sort_keys=True) + "\n"


def use_chapter(number: int) -> None:
    """For a notebook's first cell: the reference tree of a chapter on sys.path, the chapter's folder as working directory."""
    registry = load()
    chapter = registry.by_number[number]
    folder = tempfile.TemporaryDirectory(prefix="tree-")
    trees.Assembled(trees.reference(registry, number), chapter.package).write(Path(folder.name))
    use_chapter.folder = folder  # removed when the kernel ends
    for name in [name for name in sys.modules if name.split(".")[0] in ("minisgl", "tiny_engine")]:
        del sys.modules[name]
    sys.path.insert(0, folder.name)
    os.chdir(ROOT / "chapters" / chapter.slug)


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(
        prog="python judge/notebooks.py", description="Execute chapter texts without writing anything."
    )
    p.add_argument("chapters", nargs="*", type=int)
    options = p.parse_args(argv)
    registry = load()
    for chapter in registry.open_chapters:
        if not options.chapters or chapter.number in options.chapters:
            try:
                notebook = execute(registry, chapter, filled_text(registry, chapter))
            except TextError as error:
                print(error, file=sys.stderr)
                return 1
            pictures = sum("image/png" in o.get("data", {}) for c in notebook.cells for o in c.get("outputs", []))
            print(f"chapter {chapter.number}: {len(notebook.cells)} cells, {pictures} pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
