"""Exercise 140: the lengths of a request."""

import numpy as np

from judge import expect

# (prompt length, cached_len, output_len): no prefix, a prefix, all but one cached, one token, nothing to generate
SHAPES = [(6, 2, 3), (5, 0, 2), (9, 8, 4), (1, 0, 1), (4, 1, 0), (7, 3, 5)]
PROPERTIES = ["extend_len", "remain_len", "can_decode"]
MARKS = ["cached_len", "device_len", "max_device_len"]


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def walk(requests):
    """Take several requests, all alive together, through the same kind of steps; note the lengths after each step.

    requests: one (prompt length, cached_len, output_len, steps) each; a step is "complete" or ["append", token, form].
    The value of a note is False if the step raised RuntimeError, another exception's name, or True.
    """
    import torch

    from minisgl.core import Req, SamplingParams

    forms = {
        "int": int,
        "int32 []": lambda token: torch.tensor(token, dtype=torch.int32),
        "int64 [1]": lambda token: torch.tensor([token]),
        "int32 [1]": lambda token: torch.tensor([token], dtype=torch.int32),
    }
    reqs = []
    for i, (n, cached, output, _) in enumerate(requests):
        ids = torch.arange(100 * i, 100 * i + n, dtype=torch.int32)
        reqs.append(Req(ids, i, cached, output, 40 + i, SamplingParams()))

    def note(req, done):
        properties = [req.extend_len, req.remain_len, req.can_decode]
        return {
            "done": done,
            "properties": properties,
            "marks": [req.cached_len, req.device_len, req.max_device_len],
            "host": req.input_ids.tolist(),
            "dtype": str(req.input_ids.dtype),
        }

    notes = [[note(req, True)] for req in reqs]
    for turn in range(max(len(steps) for *_, steps in requests)):
        for req, (*_, steps), rows in zip(reqs, requests, notes, strict=True):
            if turn >= len(steps):
                continue
            try:
                if steps[turn] == "complete":
                    req.complete_one()
                else:
                    _, token, form = steps[turn]
                    given = forms[form](token)
                    req.append_host(given)
                    if isinstance(given, torch.Tensor):
                        given.fill_(-1)  # the caller uses its tensor again
                done = True
            except NotImplementedError:
                raise
            except RuntimeError:
                done = False
            except Exception as error:
                done = type(error).__name__
            rows.append(note(req, done))
    return notes


def many_appends(length, count):
    """Append to a long request, and count the elements that torch reads or creates while doing so."""
    import torch
    from torch.overrides import TorchFunctionMode

    from minisgl.core import Req, SamplingParams

    class Counter(TorchFunctionMode):
        moved = 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            given = [x for x in args if isinstance(x, torch.Tensor)]
            name = getattr(function, "__name__", "")
            if name in ("__setitem__", "copy_"):
                self.moved += args[-1].numel() if isinstance(args[-1], torch.Tensor) else 1
            elif name in ("tolist", "numpy", "__iter__"):
                self.moved += args[0].numel()
            elif isinstance(out, torch.Tensor):
                places = {x.untyped_storage().data_ptr() for x in given}
                self.moved += 0 if out.untyped_storage().data_ptr() in places else out.numel()
            return out

    req = Req(torch.arange(length, dtype=torch.int32), 0, 0, count, 1, SamplingParams())
    before = req.input_ids
    tokens = list(range(500, 500 + count))
    with Counter() as counter:
        for token in tokens:
            req.append_host(token)
    after = req.input_ids
    return {
        "moved": counter.moved,
        "same place": before.data_ptr() == after.data_ptr(),
        "right": after.tolist() == list(range(length)) + tokens,
    }


# ---- what should happen, and what the known mistakes would do ----------------------------------------------------


def model(requests, mistake=None):
    """What `walk` should note, by plain bookkeeping; or what it would note with a mistake."""
    notes = []
    for i, (n, cached, output, steps) in enumerate(requests):
        state = {"cached": cached, "device": n, "max": n + output, "host": list(range(100 * i, 100 * i + n))}
        rows = [_note(state, True, mistake)]
        for step in steps:
            if step == "complete":
                done = _complete(state, mistake)
            else:
                done = _append(state, step[1], mistake)
            rows.append(_note(state, done, mistake))
        notes.append(rows)
    return notes


def _note(state, done, mistake):
    cached, device, most, host = state["cached"], state["device"], state["max"], state["host"]
    extend, remain = device - cached, most - device
    if mistake == "extend-ignores-the-cache":
        extend = device
    if mistake == "extend-counts-host-tokens":
        extend = len(host) - cached
    if mistake == "extend-is-always-one":
        extend = 1
    if mistake == "remain-counts-from-cached":
        remain = most - cached
    if mistake == "remain-counts-host-tokens":
        remain = most - len(host)
    can = remain >= 0 if mistake == "can-decode-one-too-many" else remain > 0
    return {"done": done, "properties": [extend, remain, can], "marks": [cached, device, most], "host": list(host), "dtype": "torch.int32"}


def _complete(state, mistake):
    room = state["max"] - state["device"]
    if mistake == "can-decode-one-too-many":
        room += 1
    if room <= 0 and mistake == "checked-after-moving":
        state["cached"], state["device"] = state["device"], state["device"] + 1
        return False
    if room <= 0 and mistake != "complete-never-refuses":
        return False
    if mistake == "device-moved-first":
        state["device"] += 1
        state["cached"] = state["device"]
    elif mistake == "cached-grows-by-one":
        state["cached"] += 1
        state["device"] += 1
    elif mistake == "device-not-moved":
        state["cached"] = state["device"]
    else:
        state["cached"] = state["device"]
        state["device"] += 1
    return True


def _append(state, token, mistake):
    if len(state["host"]) >= state["max"] and mistake != "append-never-refuses":
        return False
    if mistake == "token-put-at-device-len":
        memory = state.setdefault("memory", {})  # what is not written yet may hold anything: None
        if state["device"] <= len(state["host"]):
            state["host"][state["device"] - 1] = token
        memory[state["device"] - 1] = token
        state["host"].append(memory.get(len(state["host"])))
    else:
        state["host"].append(token)
    if mistake == "append-moves-the-device":
        state["device"] += 1
    return True


def compare(got, want, key, title, suspects, requests, columns=()):
    """Compare one kind of note of all requests at all steps."""
    pick = lambda notes: [[row[key] for row in rows] for rows in notes]  # noqa: E731
    mine, right = pick(got), pick(want)
    if mine == right and [_types(row) for row in mine] == [_types(row) for row in right]:
        return
    alternatives = {name: pick(model(requests, name)) for name in suspects}
    mistake = next((name for name, other in alternatives.items() if _alike(other, mine)), None)
    for (n, cached, output, steps), ours, theirs in zip(requests, mine, right, strict=True):
        for turn, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if a == b and _types([a]) == _types([b]):
                continue
            after = "at first" if turn == 0 else f"after {', '.join(s if s == 'complete' else 'append' for s in steps[:turn])}"
            of = f" ({', '.join(columns)})" if columns else ""
            lines = [f"prompt of {n} tokens, {cached} cached, output_len {output}, {after}:", f"want {b}{of}", f"got  {a}"]
            raise expect.Mismatch("mistake" if mistake else "mismatch", title, lines, mistake)


def _alike(expected, got):
    """Equality of nested lists; None in `expected` stands for anything."""
    if isinstance(expected, list):
        return isinstance(got, list) and len(got) == len(expected) and all(map(_alike, expected, got))
    return expected is None or expected == got


def _types(row):
    return [[isinstance(x, bool) for x in entry] if isinstance(entry, list) else isinstance(entry, bool) for entry in row]


# ---- tests -------------------------------------------------------------------------------------------------------


def test_fresh_requests(tree):
    """extend_len, remain_len and can_decode of a request that has just been admitted"""
    requests = [(*shape, []) for shape in SHAPES]
    suspects = ["extend-ignores-the-cache", "extend-is-always-one", "remain-counts-from-cached", "can-decode-one-too-many"]
    got = tree.run(walk, requests=requests)
    compare(got, model(requests), "properties", "the lengths of a fresh request are wrong", suspects, requests, PROPERTIES)


def test_complete_one(tree):
    """complete_one moves cached_len to the old device_len, and device_len by one"""
    requests = [(n, cached, output, ["complete"] * output) for n, cached, output in SHAPES if output]
    got, want = tree.run(walk, requests=requests), model(requests)
    suspects = ["device-moved-first", "cached-grows-by-one", "device-not-moved"]
    compare(got, want, "marks", "complete_one leaves the wrong lengths", suspects, requests, MARKS)
    compare(got, want, "host", "complete_one changes the tokens known on the host", [], requests)


def test_lengths_while_the_host_lags(tree):
    """The lengths follow the device: they do not wait for the tokens to reach the host"""
    requests = [(n, cached, output, ["complete"] * output) for n, cached, output in SHAPES if output]
    suspects = [
        "extend-counts-host-tokens", "remain-counts-host-tokens", "extend-ignores-the-cache", "extend-is-always-one", "can-decode-one-too-many",
        "remain-counts-from-cached",
    ]  # fmt: skip
    got = tree.run(walk, requests=requests)
    compare(got, model(requests), "properties", "the lengths are wrong while tokens are on their way", suspects, requests, PROPERTIES)


def test_no_token_left(tree):
    """complete_one refuses with RuntimeError when no token may be generated, and changes nothing"""
    requests = [(n, cached, output, ["complete"] * (output + 2)) for n, cached, output in SHAPES]
    got, want = tree.run(walk, requests=requests), model(requests)
    suspects = ["complete-never-refuses", "checked-after-moving", "can-decode-one-too-many"]
    compare(got, want, "done", "complete_one must raise RuntimeError exactly when no token may be generated", suspects, requests)
    suspects = ["checked-after-moving", "can-decode-one-too-many"]
    compare(got, want, "marks", "a refused complete_one changes the lengths", suspects, requests, MARKS)


def test_append_host(tree):
    """append_host puts the token behind the ones known on the host, and moves no length"""
    forms = ["int", "int32 []", "int64 [1]", "int32 [1]"]
    requests = []
    for i, (n, cached, output) in enumerate(SHAPES):
        steps = []
        for k in range(output):
            steps += ["complete", ["append", 1000 + 10 * i + k, forms[(i + k) % 4]]]
        requests.append((n, cached, output, steps))
    got, want = tree.run(walk, requests=requests), model(requests)
    suspects = ["append-moves-the-device", "token-put-at-device-len"]
    compare(got, want, "marks", "append_host moves a length of the device", suspects, requests, MARKS)
    compare(got, want, "done", "append_host does not take a token that fits", suspects, requests)
    compare(got, want, "host", "the tokens known on the host are wrong", suspects, requests)
    compare(got, want, "dtype", "input_ids has another dtype after append_host", [], requests)


def test_tokens_come_late_or_early(tree):
    """The tokens come in their order, however far the device is ahead of the host"""
    a, b, c = (["append", token, "int"] for token in (151_643, 0, 7))
    requests = [
        (4, 1, 3, ["complete", "complete", a, b, "complete", c]),
        (3, 0, 3, ["complete", "complete", "complete", a, b, c]),
        (2, 0, 3, [a, "complete", b, c, "complete"]),
        (6, 5, 2, ["complete", a, "complete", b]),
    ]
    got = tree.run(walk, requests=requests)
    suspects = ["token-put-at-device-len", "append-moves-the-device"]
    compare(got, model(requests), "host", "a token lands in the wrong place when the device is ahead of the host", suspects, requests)


def test_host_is_full(tree):
    """append_host refuses with RuntimeError when all max_device_len tokens are there, and changes nothing"""
    requests = []
    for n, cached, output in SHAPES:
        appends = [["append", 300 + k, "int"] for k in range(output + 2)]
        requests.append((n, cached, output, ["complete"] * output + appends))
    got, want = tree.run(walk, requests=requests), model(requests)
    late = lambda notes: all(  # noqa: E731
        row["done"] == ("IndexError" if right["done"] is False else right["done"])
        for rows, rights in zip(notes, want, strict=True)
        for row, right in zip(rows, rights, strict=True)
    )
    expect.that(
        not late(got), "append_host to a full request must raise RuntimeError", ["IndexError was raised"], mistake="append-never-refuses"
    )  # fmt: skip
    compare(got, want, "done", "append_host must raise RuntimeError exactly when all tokens are there", ["append-never-refuses"], requests)
    compare(got, want, "host", "a refused append_host changes the tokens", ["append-never-refuses"], requests)
    compare(got, want, "marks", "a refused append_host changes the lengths", [], requests, MARKS)


def test_append_copies_nothing(tree):
    """append_host takes constant time: it copies none of the earlier tokens"""
    length, count = 20_000, 50
    got = tree.run(many_appends, length=length, count=count)
    expect.that(got["right"], "the tokens after many appends are wrong")
    copied = got["moved"] > length // 2 or not got["same place"]
    lines = [f"{count} tokens behind {length:,}: torch moved {got['moved']:,} elements; {count} are enough"]
    expect.that(not copied, "append_host copies the earlier tokens", lines, mistake="append-copies-all-tokens")


def test_random_lives(tree, seeds):
    """Requests of this run's own: any lengths, steps in any order"""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        requests = []
        for _ in range(8):
            n, output = int(rng.integers(1, 12)), int(rng.integers(0, 6))
            steps = []
            for _ in range(2 * output + 2):
                steps.append("complete" if rng.random() < 0.5 else ["append", int(rng.integers(0, 50_000)), "int64 [1]"])
            requests.append((n, int(rng.integers(0, n)), output, steps))
        got, want = tree.run(walk, requests=requests), model(requests)
        for key, columns in (("marks", MARKS), ("properties", PROPERTIES), ("done", ()), ("host", ())):
            compare(got, want, key, f"the {key} of a random request are wrong", [], requests, columns)
