"""Stubs, replacements, overlays and the drift guard, by syntax tree."""

import ast

import pytest

from judge import skeleton

SOURCE = '''"""Module."""

import os


# what f is for
@decorate
def f(
    a: int = (3),
    *rest: str,
    key=None,
) -> dict[str, int]:
    # a comment that gives the answer away
    """Doc of f."""
    x = 1
    return x


def bare(a):
    # only a comment
    return a


class A:
    field: int = 3

    @property
    def p(self) -> int:
        """Doc."""
        return 3

    @p.setter
    def p(self, value) -> None:
        self.x = value

    def q(self, a,
          b):
        """Doc
        in two lines."""

        def inner():
            return 1

        return inner()

    async def r(self):
        return 1
'''


def stubbed(*names):
    return skeleton.stub(SOURCE, {name: f"TODO 1: {name}" for name in names})


def test_signature_docstring_and_comments_above_stay():
    result = stubbed("f")
    assert "# what f is for\n@decorate\ndef f(\n    a: int = (3)," in result
    assert '"""Doc of f."""\n    raise NotImplementedError("TODO 1: f")\n' in result
    assert "x = 1" not in result


@pytest.mark.parametrize("name", ["f", "bare", "A.p", "A.q", "A.r"])
def test_a_stub_is_recognised_and_nothing_else_changes(name):
    result = stubbed(name)
    assert skeleton.is_stub(result, name) and not skeleton.is_stub(SOURCE, name)
    for other in skeleton.symbols(SOURCE):
        if other != name and not name.startswith(other + "."):
            assert skeleton.same(SOURCE, result, other), other


def test_all_at_once_and_back():
    names = ("f", "bare", "A.p", "A.q", "A.r")
    result = stubbed(*names)
    for name in names:
        result = skeleton.replace(result, name, skeleton.text_of(SOURCE, name))
    assert ast.dump(ast.parse(result)) == ast.dump(ast.parse(SOURCE))


def test_no_answer_is_left_in_a_skeleton():
    assert "only a comment" not in stubbed("bare")


def test_a_class_stands_for_its_methods():
    assert skeleton.expand(SOURCE, ("A", "f")) == ("A.p", "A.q", "A.r", "f")
    with pytest.raises(skeleton.SkeletonError, match="no definition of nothing"):
        skeleton.expand(SOURCE, ("nothing",))


def test_a_body_on_the_signature_line_is_refused():
    with pytest.raises(skeleton.SkeletonError, match="line of its own"):
        skeleton.stub("def f(a): return a\n", {"f": "TODO 1"})


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "...",
        "raise NotImplementedError",
        "raise NotImplementedError('later')",
        "return None",
        "raise ValueError('TODO 1')",
    ],
)
def test_what_is_no_stub(body):
    assert not skeleton.is_stub(f"def f():\n    {body}\n", "f")


def test_overlay():
    patch = "import re\nLIMIT = 3\n\ndef f(a):\n    return LIMIT\n\nclass A:\n    def q(self):\n        return 2\n\n    def s(self):\n        return 3\n\ndef g():\n    return 4\n"
    result = skeleton.overlay(SOURCE.replace("@decorate\n", ""), patch)
    space: dict = {}
    exec(result, space)
    a = space["A"]()
    assert (space["f"](1), a.q(), a.s(), space["g"](), a.p, a.field) == (3, 2, 3, 4, 3, 3)


@pytest.mark.parametrize(
    ("source", "name", "there"),
    [
        ("def f(): pass", "f", True), ("f = lambda: 1", "f", True), ("from m import f", "f", True), ("from m import *", "f", True),
        ("try:\n    import f\nexcept ImportError:\n    f = None", "f", True), ("def g(): pass", "f", False), ("class f: pass", "f", True),
        ("class A:\n    def m(self): pass", "A.m", True), ("class A:\n    m = helper", "A.m", True), ("class A:\n    def n(self): pass", "A.m", False),
        ("class A(Base):\n    pass", "A.m", True), ("class B:\n    def m(self): pass", "A.m", False), ("A = make()", "A.m", True),
    ],
)  # fmt: skip
def test_binds(source, name, there):
    assert skeleton.binds(source, name) is there


def test_drift_is_named():
    after = SOURCE.replace("x = 1", "x = 2").replace("field: int = 3", "field: int = 4")
    assert skeleton.drift(SOURCE, after, set()) == ["f", "A"]
    assert skeleton.drift(SOURCE, after, {"f", "A"}) == []
    assert skeleton.drift(SOURCE, SOURCE + "\n\ndef new():\n    pass\n", set()) == ["new"]
    assert skeleton.drift(SOURCE, SOURCE.replace("# what f is for", "# other words"), set()) == []
    assert skeleton.drift(SOURCE, SOURCE.replace("return inner()", "return 2"), {"A.q"}) == []
    assert skeleton.drift(SOURCE, SOURCE.replace("return inner()", "return 2"), {"A.r"}) == ["A.q"]
