"""Exercise 172: the contract of a prefix cache, kept by one that remembers nothing."""

import numpy as np

from judge import expect

# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def drive(scripts):
    """Take several naive caches through a script each, in turn, all alive together; note what each step gave.

    Steps: ["match", name, tokens], ["insert", name, tokens, slots], ["forge", name, cached_len, slots] (a handle of
    somebody else), ["lock", name], ["unlock", name], ["evict", size], ["reset"], ["check"], ["size"].
    """
    import torch

    from minisgl.kvcache import BaseCacheHandle, create_prefix_cache
    from minisgl.kvcache.naive_cache import NaiveCacheHandle

    caches = [create_prefix_cache(torch.device("cpu"), "naive") for _ in scripts]
    handles = [{} for _ in scripts]
    seen, given = [], []

    def tensor(values):
        given.append((torch.tensor(values, dtype=torch.int32), list(values)))
        return given[-1][0]

    def about(handle):
        if not isinstance(handle, BaseCacheHandle):
            return f"a {type(handle).__name__}"
        new = not any(handle is other for other in seen)
        seen.append(handle)
        slots = handle.get_matched_indices()
        return {"cached_len": handle.cached_len, "slots": slots.tolist(), "dtype": str(slots.dtype), "new": new}

    def step(cache, known, what, *rest):
        if what == "match":
            known[rest[0]] = cache.match_prefix(tensor(rest[1]))
            return about(known[rest[0]])
        if what == "insert":
            result = cache.insert_prefix(tensor(rest[1]), tensor(rest[2]))
            known[rest[0]] = result.handle
            return {"known before": result.cached_len, "handle": about(result.handle)}
        if what == "forge":
            known[rest[0]] = NaiveCacheHandle(rest[1], tensor(rest[2]))
            return None
        if what in ("lock", "unlock"):
            return cache.lock_handle(known[rest[0]], what == "unlock") if what == "unlock" else cache.lock_handle(known[rest[0]])
        if what in ("evict", "reset"):
            slots = cache.evict(*rest) if what == "evict" else cache.reset()
            return {"slots": slots.tolist(), "dtype": str(slots.dtype)} if isinstance(slots, torch.Tensor) else f"a {type(slots).__name__}"
        if what == "size":
            return list(cache.size_info)
        return cache.check_integrity()

    notes = [[] for _ in scripts]
    for turn in range(max(map(len, scripts))):
        for cache, known, script, rows in zip(caches, handles, scripts, notes):
            if turn >= len(script):
                continue
            try:
                rows.append(step(cache, known, *script[turn]))
            except NotImplementedError:
                raise
            except (RuntimeError, ValueError, KeyError, AssertionError) as error:
                rows.append(type(error).__name__)
    return {"notes": notes, "inputs kept": all(tensor.tolist() == values for tensor, values in given)}


def broken_counts(counts):
    """What check_integrity says when a lock count in the cache's own record is overwritten; None without that record."""
    import torch

    from minisgl.kvcache import create_prefix_cache

    found = []
    for count in counts:
        cache = create_prefix_cache(torch.device("cpu"), "naive")
        for _ in range(3):
            handle = cache.match_prefix(torch.arange(2, dtype=torch.int32))
            cache.lock_handle(handle)
        record = getattr(cache, "_locks", None)
        if not isinstance(record, dict) or record.get(handle) != 1:
            return None
        record[handle] = count
        try:
            cache.check_integrity()
            found.append("nothing")
        except NotImplementedError:
            raise
        except Exception as error:
            found.append(type(error).__name__)
    return found


# ---- what should happen, and what the known mistakes would do ----------------------------------------------------

EMPTY = {"slots": [], "dtype": "torch.int32"}
MISTAKES = (
    "locks-do-not-nest", "one-count-for-all", "unlock-not-checked", "count-below-zero", "zero-count-stays", "unlock-gives-key-error",
    "match-locks", "insert-locks", "insert-calls-all-known", "insert-keeps-the-slots", "lengths-not-checked", "shorter-is-fine",
    "evict-gives-nothing", "evict-zero-refused", "negative-size-accepted", "negative-size-as-too-much", "one-handle-for-all",
    "integrity-never-checks", "integrity-forbids-locks", "integrity-counts-only", "match-claims-the-prompt",
)  # fmt: skip


def model(scripts, mistake=None):
    """The notes of `drive` by plain bookkeeping; or with a mistake."""
    return [_one(script, mistake) for script in scripts]


def _one(script, mistake):
    locks, names, notes = {}, {}, []  # names: handle's name -> (cached_len, number of slots)
    shared = False  # whether the one handle of "one-handle-for-all" was handed out before

    def handle(name, length=0, slots=()):
        nonlocal shared
        key = "all" if mistake == "one-handle-for-all" else name
        new = not (key == "all" and shared)
        shared = True
        names[name] = (key, length, len(slots))
        return {"cached_len": length, "slots": list(slots), "dtype": "torch.int32", "new": new}

    def count(name, change):
        key = "all" if mistake == "one-count-for-all" else names[name][0]
        now = locks.get(key, (0, 0, 0))[0]
        if change < 0 and now == 0:
            if mistake == "unlock-gives-key-error":
                return "KeyError"
            if mistake == "unlock-not-checked":
                return None
            if mistake not in ("count-below-zero",):
                return "RuntimeError"
        now = (1 if change > 0 else 0) if mistake == "locks-do-not-nest" else now + change
        if now or mistake == "zero-count-stays":
            locks[key] = (now, *names[name][1:])
        else:
            locks.pop(key, None)
        return None

    def step(what, *rest):
        if what == "match":
            note = handle(rest[0], len(rest[1]) if mistake == "match-claims-the-prompt" else 0)
            if mistake == "match-locks":
                count(rest[0], 1)
            return note
        if what == "insert":
            name, tokens, slots = rest
            unequal = len(tokens) > len(slots) if mistake == "shorter-is-fine" else len(tokens) != len(slots)
            if unequal and mistake != "lengths-not-checked":
                return "ValueError"
            kept = slots if mistake == "insert-keeps-the-slots" else []
            note = {"known before": len(tokens) if mistake == "insert-calls-all-known" else 0}
            note["handle"] = handle(name, len(kept), kept)
            if mistake == "insert-locks":
                count(name, 1)
            return note
        if what == "forge":
            names[rest[0]] = (rest[0], rest[1], len(rest[2]))
            return None
        if what in ("lock", "unlock"):
            return count(rest[0], 1 if what == "lock" else -1)
        if what == "evict":
            (size,) = rest
            if size < 0 and mistake != "negative-size-accepted":
                return "RuntimeError" if mistake == "negative-size-as-too-much" else "ValueError"
            too_much = size > 0 and mistake != "evict-gives-nothing"
            return "RuntimeError" if too_much or (size == 0 and mistake == "evict-zero-refused") else EMPTY
        if what == "reset":
            return "RuntimeError" if locks else EMPTY
        if what == "size":
            return [0, 0]
        claims = any(length or slots for _, length, slots in locks.values()) and mistake != "integrity-counts-only"
        broken = claims or any(now < 1 for now, *_ in locks.values())
        if mistake == "integrity-forbids-locks":
            broken = bool(locks)
        return "RuntimeError" if broken and mistake != "integrity-never-checks" else None

    for line in script:
        notes.append(step(*line))
    return notes


def follow(tree, scripts, without=()):
    got, want = tree.run(drive, scripts=scripts), model(scripts)
    expect.that(got["inputs kept"], "the cache has changed a tensor that it was given")
    if got["notes"] == want:
        return
    mistake = next((m for m in MISTAKES if m not in without and model(scripts, m) == got["notes"]), None)
    for script, wanted, found in zip(scripts, want, got["notes"], strict=True):
        for index, (a, b) in enumerate(zip(wanted, found, strict=True)):
            lines = [f"want {_said(a)}", f"got  {_said(b)}"]
            if index:
                lines.append(f"after {'; '.join(map(_call, script[max(0, index - 5) : index]))}")
            expect.that(a == b, f"{_call(script[index])} is not right", lines, mistake=mistake)


def _call(step):
    what, *rest = step
    shown = [f"{len(r)} tokens" if isinstance(r, list) else str(r) for r in rest]
    if what == "insert":
        shown[2] = f"{len(rest[2])} slots"
    return f"{what}({', '.join(shown)})"


def _said(note):
    if isinstance(note, dict) and "handle" in note:
        return f"{note['known before']} known before, and {_said(note['handle'])}"
    if isinstance(note, dict) and "cached_len" in note:
        slots = note["slots"] if len(note["slots"]) < 6 else f"{len(note['slots'])} slots"
        return f"a {'new' if note['new'] else 'used'} handle of length {note['cached_len']}, slots {slots} {note['dtype']}"
    if isinstance(note, dict):
        return f"slots {note['slots']} {note['dtype']}"
    return "no exception" if note is None else str(note)


# ---- tests -------------------------------------------------------------------------------------------------------

PROMPT = [5, 9, 9, 2, 7, 1]
SLOTS = [20, 21, 22, 23, 8, 9]


def test_nothing_is_remembered(tree):
    """Every match and every insert gives a new handle of length 0, whatever went in before"""
    first = [["match", "a", PROMPT], ["insert", "b", PROMPT, SLOTS], ["match", "c", PROMPT], ["insert", "d", PROMPT, SLOTS[::-1]]]
    first += [["match", "e", PROMPT[:4]], ["match", "f", []], ["insert", "g", [], []], ["insert", "h", [3], [0]], ["size"], ["check"]]
    follow(tree, [first, [["insert", "a", PROMPT, SLOTS], ["match", "b", PROMPT], ["size"], ["match", "c", PROMPT]]])


def test_lengths_must_agree(tree):
    """insert_prefix refuses tokens and slots of different lengths with ValueError"""
    script = [["insert", "a", PROMPT, SLOTS[:5]], ["insert", "b", PROMPT[:2], SLOTS], ["insert", "c", [], [4]], ["insert", "d", [4], []]]
    follow(tree, [[*script, ["insert", "e", PROMPT, SLOTS], ["check"], ["reset"]]])


def test_nobody_locks_but_the_caller(tree):
    """match_prefix and insert_prefix do not lock: without a lock reset works and an unlock is refused"""
    follow(
        tree,
        [
            [["match", "a", PROMPT], ["reset"], ["unlock", "a"], ["reset"], ["check"]],
            [["insert", "a", PROMPT, SLOTS], ["reset"], ["unlock", "a"], ["reset"], ["check"]],
        ],
    )


def test_locks_are_counted(tree):
    """Locks nest, each handle has its own count, and an unlock too many is refused and changes nothing"""
    one = [["match", "a", PROMPT], ["match", "b", PROMPT], ["insert", "c", PROMPT, SLOTS], ["lock", "a"], ["unlock", "b"], ["check"]]
    one += [["lock", "a"], ["lock", "b"], ["reset"], ["unlock", "a"], ["unlock", "b"], ["reset"], ["check"], ["unlock", "b"], ["lock", "c"]]
    one += [["unlock", "a"], ["unlock", "a"], ["reset"], ["unlock", "c"], ["reset"], ["unlock", "c"], ["reset"], ["check"], ["lock", "a"]]
    one += [["reset"], ["check"], ["unlock", "a"], ["check"], ["reset"], ["size"]]
    two = [["match", "a", PROMPT], ["reset"], ["lock", "a"], ["reset"], ["unlock", "a"], ["unlock", "a"], ["reset"], ["check"]]
    three = [["match", "a", []], ["unlock", "a"], ["lock", "a"], ["check"], ["unlock", "a"], ["reset"], ["unlock", "a"], ["lock", "a"], ["reset"]]
    follow(tree, [one, two, three])


def test_evict(tree):
    """evict(0) gives no slots as an int32 tensor; more is a RuntimeError, less than 0 a ValueError"""
    script = [["evict", 0], ["evict", 1], ["evict", -1], ["insert", "a", PROMPT, SLOTS], ["evict", 0], ["evict", 6], ["evict", 2], ["evict", -6]]
    follow(tree, [[*script, ["match", "b", PROMPT], ["lock", "b"], ["evict", 0], ["evict", 1], ["check"], ["size"]]])


def test_integrity(tree):
    """check_integrity accepts every sound state, locked or not, and raises RuntimeError for a record that cannot be"""
    sound = [["check"], ["match", "a", PROMPT], ["lock", "a"], ["check"], ["lock", "a"], ["check"], ["unlock", "a"], ["check"], ["unlock", "a"], ["check"]]
    both = [["match", "a", PROMPT], ["lock", "a"], ["forge", "x", 3, [4, 5, 6]], ["check"], ["lock", "x"], ["check"], ["unlock", "x"], ["check"]]
    length = [["forge", "x", 2, []], ["lock", "x"], ["lock", "x"], ["check"], ["unlock", "x"], ["check"], ["unlock", "x"], ["check"], ["reset"]]
    slots = [["forge", "x", 0, [7]], ["lock", "x"], ["match", "a", []], ["lock", "a"], ["check"], ["unlock", "x"], ["check"], ["reset"]]
    counts = [0, -1, 2]
    found = tree.run(broken_counts, counts=counts)  # None where the locks are counted in another way
    blind = found == ["nothing"] * 3
    without = ["integrity-counts-only" if blind else "integrity-never-checks"]
    if found != ["RuntimeError"] * 3:
        without.append("integrity-forbids-locks")
    follow(tree, [sound, both, length, slots], without)
    if found is None:
        return
    for count, said in zip(counts, found, strict=True):
        wanted = "nothing" if count > 0 else "RuntimeError"
        expect.equal(said, wanted, f"what check_integrity raises for a handle locked {count} times", {"integrity-claims-only": blind})


def test_a_long_life(tree, seed):
    """Hundreds of locks and unlocks in any order are counted right"""
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c", "d"]
    script = [["match", name, PROMPT] if name < "c" else ["insert", name, PROMPT, SLOTS] for name in names]
    for _ in range(300):
        script.append([["lock", "unlock"][int(rng.integers(2))], names[int(rng.integers(4))]])
        script.append([["reset", "check"][int(rng.integers(2))]])
    follow(tree, [script, script[:4] + script[5:200]])
