"""Exercise 142: one active batch, Context.forward_batch."""

from judge import expect

# ---- probes: run next to the learner's code ----------------------------------------------------------------------
# Each notes what ctx.batch is at each moment: the label of a batch, "none" (RuntimeError was raised), or what else came.


def straight():
    """Two batches, one after another, in one context, with managers that were made beforehand."""
    import torch

    from minisgl.core import Batch, Context, Req, SamplingParams

    def batch(uid):
        return Batch([Req(torch.arange(3, dtype=torch.int32), 0, 0, 4, uid, SamplingParams())], "prefill")

    first, second = batch(1), batch(2)
    names = {id(first): "first", id(second): "second"}

    def now():
        try:
            return names.get(id(ctx.batch), f"a {type(ctx.batch).__name__} that is none of the batches")
        except NotImplementedError:
            raise
        except RuntimeError:
            return "none"

    ctx = Context(page_size=1)
    seen = [now()]
    with ctx.forward_batch(first):
        seen += [now(), now()]
    seen.append(now())
    one, two = ctx.forward_batch(first), ctx.forward_batch(second)
    seen.append(now())
    with two:
        seen.append(now())
    seen.append(now())
    with one:
        seen.append(now())
    seen.append(now())
    return seen


def raising(kinds):
    """A block that raises, for each kind of exception: is it passed on, and what is active afterwards?"""
    import builtins

    import torch

    from minisgl.core import Batch, Context, Req, SamplingParams

    class Odd(BaseException):
        pass

    def batch():
        return Batch([Req(torch.arange(2, dtype=torch.int32), 0, 0, 4, 1, SamplingParams())], "decode")

    rows = []
    for kind in kinds:
        ctx, error = Context(page_size=1), (Odd if kind == "Odd" else getattr(builtins, kind))("from the model")
        row = {"kind": kind, "passed on": "nothing was raised"}
        try:
            with ctx.forward_batch(batch()):
                raise error
        except BaseException as caught:
            row["passed on"] = "the same" if caught is error else type(caught).__name__
        try:
            _ = ctx.batch
            row["afterwards"] = "a batch is active"
        except NotImplementedError:
            raise
        except RuntimeError:
            row["afterwards"] = "none"
        after = batch()
        try:
            with ctx.forward_batch(after):
                row["next"] = "works" if ctx.batch is after else "another batch is active"
        except NotImplementedError:
            raise
        except RuntimeError:
            row["next"] = "refused"
        rows.append(row)

    def leaves_early(ctx):
        with ctx.forward_batch(batch()):
            return "left"

    ctx = Context(page_size=1)
    leaves_early(ctx)
    for _ in range(2):
        with ctx.forward_batch(batch()):
            break
    try:
        _ = ctx.batch
        early = "a batch is active"
    except RuntimeError:
        early = "none"
    return {"rows": rows, "early": early}


def nested(same):
    """A second batch (or the same one) inside the block of the first, caught there."""
    import torch

    from minisgl.core import Batch, Context, Req, SamplingParams

    def batch(uid):
        return Batch([Req(torch.arange(3, dtype=torch.int32), 0, 0, 4, uid, SamplingParams())], "prefill")

    outer = batch(1)
    inner = outer if same else batch(2)
    ctx = Context(page_size=1)

    def now():
        try:
            found = ctx.batch
            return "outer" if found is outer else "inner" if found is inner else "something else"
        except NotImplementedError:
            raise
        except RuntimeError:
            return "none"

    row = {}
    with ctx.forward_batch(outer):
        row["entered"] = False
        try:
            with ctx.forward_batch(inner):
                row["entered"] = True
                row["inside"] = now()
            row["refused"] = "not at all"
        except NotImplementedError:
            raise
        except RuntimeError:
            row["refused"] = "RuntimeError"
        except Exception as error:
            row["refused"] = type(error).__name__
        row["behind it"] = now()
    row["afterwards"] = now()
    with ctx.forward_batch(inner):
        row["later"] = now() if same else now().replace("inner", "outer")
    return row


def two_contexts():
    """Two contexts at once, each with a batch of its own; and the global one, as the layers see it."""
    import torch

    from minisgl.core import Batch, Context, Req, SamplingParams, get_global_ctx, reset_global_ctx, set_global_ctx

    def batch(uid):
        return Batch([Req(torch.arange(3, dtype=torch.int32), 0, 0, 4, uid, SamplingParams())], "prefill")

    left, right, a, b = Context(page_size=1), Context(page_size=4), batch(1), batch(2)

    def active(ctx):
        try:
            return {id(a): "a", id(b): "b"}.get(id(ctx.batch), "something else")
        except NotImplementedError:
            raise
        except RuntimeError:
            return "none"

    seen = []
    try:
        with left.forward_batch(a):
            seen.append([active(left), active(right)])
            with right.forward_batch(b):
                seen.append([active(left), active(right)])
            seen.append([active(left), active(right)])
        seen.append([active(left), active(right)])
    except NotImplementedError:
        raise
    except RuntimeError as error:
        seen.append(["refused", str(error)[:80]])
    set_global_ctx(left)
    with left.forward_batch(b):
        seen.append([active(get_global_ctx()), active(right)])
    reset_global_ctx()
    return seen


def many(count):
    """Many forward passes, some of which fail; how often was the right batch active, and how often none between?"""
    import torch

    from minisgl.core import Batch, Context, Req, SamplingParams

    ctx, right, between = Context(page_size=1), 0, 0
    req = Req(torch.arange(3, dtype=torch.int32), 0, 0, 4, 1, SamplingParams())
    for i in range(count):
        batch = Batch([req], "prefill" if i % 2 else "decode")
        try:
            with ctx.forward_batch(batch):
                right += ctx.batch is batch and ctx.batch.is_prefill == bool(i % 2)
                if i % 3 == 0:
                    raise ValueError("from the model")
        except NotImplementedError:
            raise
        except (ValueError, RuntimeError):
            pass
        try:
            _ = ctx.batch
        except NotImplementedError:
            raise
        except RuntimeError:
            between += 1
    return {"right": right, "between": between}


# ---- tests -------------------------------------------------------------------------------------------------------


def test_active_inside_only(tree):
    """ctx.batch is the very batch inside the block, and raises RuntimeError before and after it"""
    moments = ["at first", "in the block of the first batch", "again there", "behind it", "when two more blocks are prepared, none entered",
               "in the block of the second batch", "behind it", "in the block of the first batch", "behind it"]  # fmt: skip
    want = ["none", "first", "first", "none", "none", "second", "none", "first", "none"]
    got = tree.run(straight)
    none_type = "a NoneType that is none of the batches"
    suspects = {
        "none-instead-of-an-error": [none_type if w == "none" else w for w in want],
        "batch-never-set": [none_type] * 9,
        "batch-stays-active": ["none", "first", "first", "first", "first", "second", "second", "first", "first"],
        "batch-is-a-copy": ["none" if w == "none" else "a Batch that is none of the batches" for w in want],
    }
    expect.that(isinstance(got, list) and len(got) == 9, "ctx.batch cannot be read")
    mistake = next((name for name, other in suspects.items() if got == other), None)
    for moment, mine, right in zip(moments, got, want, strict=True):
        lines = [f"{moment}: want {_active(right)}, got {_active(mine)}"]
        expect.that(mine == right, "ctx.batch is not the active batch", lines, mistake)


def _active(label):
    return "RuntimeError" if label == "none" else label if label.startswith("a ") else f"the {label} batch"


def test_a_block_that_raises(tree):
    """A block that raises: its exception is passed on, no batch stays active, and the next forward pass works"""
    kinds = ["ValueError", "RuntimeError", "KeyError", "KeyboardInterrupt", "SystemExit", "Odd"]
    got = tree.run(raising, kinds=kinds)
    rows = got["rows"]
    want = [{"kind": kind, "passed on": "the same", "afterwards": "none", "next": "works"} for kind in kinds]
    stuck = {"afterwards": "a batch is active", "next": "refused"}
    base = [i for i, kind in enumerate(kinds) if kind in ("KeyboardInterrupt", "SystemExit", "Odd")]
    suspects = {
        "no-finally": [row | stuck for row in want],
        "only-exception-is-handled": [row | stuck if i in base else row for i, row in enumerate(want)],
        "errors-swallowed": [row | {"passed on": "nothing was raised"} for row in want],
        "only-exception-is-swallowed": [row if i in base else row | {"passed on": "nothing was raised"} for i, row in enumerate(want)],
    }
    mistake = next((name for name, other in suspects.items() if rows == other), None)
    if mistake == "only-exception-is-swallowed":
        mistake = "errors-swallowed"
    for row, right in zip(rows, want, strict=True):
        differing = [f"{key}: want {right[key]}, got {row.get(key)}" for key in right if row.get(key) != right[key]]
        expect.that(not differing, f"after a block that raises {row['kind']}", differing, mistake)
    expect.equal(got["early"], "none", "what is active after blocks that are left by return and break")


def test_no_nesting(tree):
    """A second batch inside the block is refused with RuntimeError; the first stays active until its block ends"""
    want = {"entered": False, "refused": "RuntimeError", "behind it": "outer", "afterwards": "none", "later": "outer"}
    in_it = want | {"entered": True, "inside": "inner", "refused": "not at all"}
    suspects = {
        "nesting-allowed": lambda row: row.get("entered") is True,
        "refusal-ends-the-first": want | {"behind it": "none"},
        "set-before-refusing": want | {"behind it": "inner"},
    }
    for same in (False, True):
        got = tree.run(nested, same=same)
        if same:
            alternatives = {"same-batch-may-nest": lambda row: row.get("entered") is True}
            alternatives |= {"refusal-ends-the-first": want | {"behind it": "none"}}
        else:
            alternatives = suspects
        name = "what happens when the same batch is entered twice" if same else "what happens with a batch inside a batch"
        if got != want and same is False and got == in_it:
            alternatives = {"nesting-allowed": True}
        expect.equal(got, want, name, suspects=alternatives)


def test_contexts_are_independent(tree):
    """Each context has its own active batch"""
    want = [["a", "none"], ["a", "b"], ["a", "none"], ["none", "none"], ["b", "none"]]
    got = tree.run(two_contexts)
    shared = lambda rows: rows[0] == ["a", "a"] or rows[1][0] == "b" or rows[1][0] == "refused"  # noqa: E731
    expect.equal(got, want, "the active batches of two contexts", suspects={"state-shared-by-all-contexts": shared})


def test_many_passes(tree):
    """A hundred forward passes, every third of which fails: always the right batch, and none between"""
    got = tree.run(many, count=100)
    expect.equal(got, {"right": 100, "between": 100}, "the passes with the right batch, and the times with none between")
