"""Symbols of a source file: find them, stub them, replace them, compare them. `ast` for positions, text for the edit."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class SkeletonError(Exception):
    """A symbol cannot be found or stubbed. The text says which and what to do."""


@dataclass(frozen=True)
class Symbol:
    """One definition: `name` is "function", "Class" or "Class.method"; lines are 1-based and inclusive."""

    name: str
    node: Definition
    first: int  # first line, decorators included
    last: int

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)


@lru_cache(maxsize=128)
def _parse(source: str) -> ast.Module:
    return ast.parse(source)


@lru_cache(maxsize=128)
def symbols(source: str) -> dict[str, Symbol]:
    """All top-level functions and classes of `source`, and the methods of those classes. Read only: the answer is kept."""
    found: dict[str, Symbol] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                name = prefix + node.name
                if name in found and node.decorator_list:  # a property's setter: keep the first, the getter
                    continue
                found[name] = Symbol(name, node, first, node.end_lineno)
                if isinstance(node, ast.ClassDef) and not prefix:
                    visit(node.body, node.name + ".")

    visit(_parse(source).body, "")
    return found


def binds(source: str, name: str) -> bool:
    """True if `source` gives `name` ("function" or "Class.method") a meaning: by def, assignment or import, also inside if and try.

    What cannot be seen in the text (a star import, a base class, a class decorator) gets the benefit of the doubt.
    """
    first, _, member = name.partition(".")
    tree = _parse(source)
    if first not in _bound_names(tree.body):
        return "*" in _bound_names(tree.body)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == first]
    if not member or not classes:
        return True
    return any(member in _bound_names(c.body) or c.bases or c.keywords or c.decorator_list for c in classes)


def bound_names(source: str) -> set[str]:
    """All names that the top level of `source` binds."""
    return _bound_names(_parse(source).body)


def _bound_names(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                found.add(part.id)
            elif isinstance(part, ast.alias):
                found.add((part.asname or part.name).split(".")[0])
            elif isinstance(part, (*FUNCTIONS, ast.ClassDef)):
                found.add(part.name)
            elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                found.add(part.attr)
    return found


def expand(source: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Replace each class among `names` by its methods; functions and methods stay as they are.

    Raises:
        SkeletonError: if a name is not defined in `source`.
    """
    table = symbols(source)
    result: list[str] = []
    for name in names:
        if name not in table:
            raise SkeletonError(f"no definition of {name} (defined are {', '.join(table)})")
        if table[name].is_class:
            result += [key for key in table if key.startswith(name + ".") and not table[key].is_class]
        else:
            result.append(name)
    return tuple(dict.fromkeys(result))


def stub(source: str, todos: dict[str, str]) -> str:
    """Return `source` with the body of each symbol replaced by `raise NotImplementedError(todo)`.

    Signature, decorators, docstring and the comments above the definition stay.
    """
    lines = source.splitlines()
    table = symbols(source)
    for name in sorted(todos, key=lambda n: -table[n].first):
        node = table[name].node
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        start = node.body[0].end_lineno + 1 if body is not node.body else body[0].lineno
        if body is node.body:
            header_end = max([node.lineno] + [n.end_lineno for n in _signature_nodes(node)])
            if start == header_end:
                raise SkeletonError(f"{name}: put the body on a line of its own, so that it can be replaced")
            start = header_end + 1  # drop comments between the signature and the body too
            while not lines[start - 2].rstrip().endswith(":"):  # a signature that closes on a later line
                start += 1
        indent = " " * (node.col_offset + 4)
        lines[start - 1 : node.end_lineno] = [f"{indent}raise NotImplementedError({_quoted(todos[name])})"]
    return "\n".join(lines) + "\n"


def _signature_nodes(node: Definition) -> list[ast.AST]:
    arguments = node.args
    parts = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *arguments.defaults,
        *arguments.kw_defaults,
    ]
    return [part for part in [*parts, arguments.vararg, arguments.kwarg, node.returns] if part is not None]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def is_stub(source: str, name: str) -> bool:
    """True if the symbol's body is nothing but (a docstring and) `raise NotImplementedError("TODO …")`."""
    symbol = symbols(source).get(name)
    if symbol is None:
        return False
    body = [n for n in symbol.node.body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Raise):
        return False
    raised = body[0].exc
    if not isinstance(raised, ast.Call) or getattr(raised.func, "id", "") != "NotImplementedError" or not raised.args:
        return False
    return isinstance(raised.args[0], ast.Constant) and str(raised.args[0].value).startswith("TODO ")


def same(left: str, right: str, name: str) -> bool:
    """True if both sources define `name` with the same syntax tree (comments and layout do not count)."""
    a, b = symbols(left).get(name), symbols(right).get(name)
    return a is not None and b is not None and ast.dump(a.node) == ast.dump(b.node)


def text_of(source: str, name: str) -> str:
    """The lines of one symbol, dedented, without comments above it."""
    symbol = symbols(source)[name]
    indent = symbol.node.col_offset
    return "\n".join(line[indent:] for line in source.splitlines()[symbol.first - 1 : symbol.last]) + "\n"


def replace(source: str, name: str, definition: str) -> str:
    """Put `definition` (dedented text) in the place of the symbol `name` of `source`."""
    symbol = symbols(source)[name]
    lines = source.splitlines()
    indent = " " * symbol.node.col_offset
    lines[symbol.first - 1 : symbol.last] = [indent + line if line.strip() else "" for line in definition.splitlines()]
    return "\n".join(lines) + "\n"


def overlay(source: str, patch: str) -> str:
    """Lay the definitions of `patch` over `source`.

    Functions and methods replace those of the same name; a class in `patch` replaces method by method, and its new
    members are appended to the class; imports and assignments go below the imports of `source`; new functions and
    classes go to the end.
    """
    table = symbols(source)
    front: list[str] = []
    back: list[str] = []
    patch_lines = patch.splitlines()
    for node in ast.parse(patch).body:
        text = "\n".join(patch_lines[_first(node) - 1 : node.end_lineno]) + "\n"
        if isinstance(node, FUNCTIONS) and node.name in table:
            source = replace(source, node.name, text)
        elif isinstance(node, ast.ClassDef) and node.name in table:
            source = _overlay_class(source, patch, node)
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            back.append("\n\n" + text)
        elif not _is_docstring(node) and not _is_future(node):
            front.append(text)
    return _insert_after_imports(source, "".join(front)) + "".join(back)


def _overlay_class(source: str, patch: str, node: ast.ClassDef) -> str:
    patch_lines = patch.splitlines()
    for member in node.body:
        if _is_docstring(member):
            continue
        text = "\n".join(line[4:] for line in patch_lines[_first(member) - 1 : member.end_lineno]) + "\n"
        name = f"{node.name}.{getattr(member, 'name', '')}"
        if name in symbols(source):
            source = replace(source, name, text)
        else:
            lines = source.splitlines()
            last = symbols(source)[node.name].last
            lines[last:last] = ["", *("    " + line if line.strip() else "" for line in text.splitlines())]
            source = "\n".join(lines) + "\n"
    return source


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _insert_after_imports(source: str, text: str) -> str:
    if not text:
        return source
    last = 0
    for node in ast.parse(source).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) or (_is_docstring(node) and last == 0):
            last = node.end_lineno
    lines = source.splitlines()
    lines[last:last] = text.splitlines()
    return "\n".join(lines) + "\n"


def drift(before: str, after: str, changed: set[str]) -> list[str]:
    """Symbols of `after` that differ from `before` although they are not named in `changed`.

    A class named in `changed` covers all its methods; naming a method covers the method alone. New and removed symbols
    must be named too.
    """
    old, new = symbols(before), symbols(after)
    covered = lambda name: name in changed or name.split(".")[0] in changed  # noqa: E731
    found = []
    for name in {**old, **new}:
        if covered(name):
            continue
        if (name in old) != (name in new):
            found.append(name)
        elif old[name].is_class:
            if _class_shell(old[name].node) != _class_shell(new[name].node):
                found.append(name)
        elif ast.dump(old[name].node) != ast.dump(new[name].node):
            found.append(name)
    return found


def _class_shell(node: ast.ClassDef) -> str:
    """A class without its methods: bases, decorators, fields."""
    fields = [member for member in node.body if not isinstance(member, FUNCTIONS)]
    return ast.dump(ast.ClassDef(node.name, node.bases, node.keywords, fields or [ast.Pass()], node.decorator_list))
