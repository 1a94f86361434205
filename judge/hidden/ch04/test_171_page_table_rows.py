"""Exercise 171: the slots of pages, and the rows of the page table."""

import numpy as np

from judge import expect

# (pages, page_size): scattered and out of order, in order, page 0 alone, one page, none
LISTS = [
    ([7, 2, 9, 0], 4), ([3, 11, 5], 1), ([1, 0], 16), ([0], 4), ([6], 5), ([], 4), ([4, 5, 6], 2), ([8, 1, 4, 6, 2], 3),
    ([100_000, 3], 16),
]  # fmt: skip


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def slots_of(lists):
    """page_slots of each (pages, page_size), given once as a tensor of its own and once as every second entry of one."""
    import torch

    from minisgl.scheduler.table import page_slots

    found = []
    for pages, size in lists:
        given = torch.tensor(pages, dtype=torch.int32)
        spread = torch.stack([given, torch.full_like(given, 999)], dim=1)
        before = given.clone(), spread.clone()
        found.append({"slots": page_slots(given, size), "of a view": page_slots(spread[:, 0], size)})
        found[-1]["unchanged"] = torch.equal(given, before[0]) and torch.equal(spread, before[1])
    return found


def drive(managers, steps):
    """Take several TableManagers through steps; note what each step gave and how many rows were free behind it.

    managers: (max_running_reqs, rows of the page table); steps: [manager, "allocate"] or [manager, "free", row].
    A note is [row or None, rows that are free], or [the exception's name, rows that are free].
    """
    import torch

    from minisgl.scheduler.table import TableManager

    tables = [torch.arange(rows * 4, dtype=torch.int32).view(rows, 4) for _, rows in managers]
    made = [TableManager(most, table) for (most, _), table in zip(managers, tables, strict=True)]
    for manager in made:
        manager.token_pool += 7
    notes = []
    for number, what, *row in steps:
        manager = made[number]
        try:
            given = manager.allocate() if what == "allocate" else manager.free(*row)
        except NotImplementedError:
            raise
        except Exception as error:
            given = type(error).__name__
        notes.append([given, manager.available_size])
    kept = [
        torch.equal(table, torch.arange(table.numel(), dtype=torch.int32).view_as(table)) and bool((manager.token_pool == 7).all())
        for manager, table in zip(made, tables, strict=True)
    ]
    return {"notes": notes, "kept": kept}


# ---- what should happen, and what the known mistakes would do ----------------------------------------------------


def slots(pages, size, mistake=None):
    pages, offsets = np.asarray(pages, np.int64), np.arange(size)
    if mistake == "pages-sorted":
        pages = np.sort(pages)
    if mistake == "offsets-from-one":
        offsets = offsets + 1
    if mistake == "page-number-as-slot":
        return (pages[:, None] + offsets).reshape(-1)
    if mistake == "offsets-forgotten":
        return (pages[:, None] * size + 0 * offsets).reshape(-1)
    if mistake == "first-slots-only":
        return pages * size
    if mistake == "one-offset-after-the-other":
        return (pages[:, None] * size + offsets).T.reshape(-1)
    return (pages[:, None] * size + offsets).reshape(-1)


SLOT_MISTAKES = (
    "pages-sorted", "offsets-from-one", "page-number-as-slot", "offsets-forgotten", "first-slots-only", "one-offset-after-the-other",
)  # fmt: skip


def model(managers, steps, mistake=None):
    """The notes of `drive` and whether the tables are as before, by plain bookkeeping; or with a mistake."""
    free = [list(range(most))[::-1] for most, _ in managers]
    notes, kept = [], [True for _ in managers]
    if mistake == "highest-row-first":
        free = [rows[::-1] for rows in free]
    for number, what, *row in steps:
        rows, (most, total) = free[number], managers[number]
        if what == "allocate":
            given = "RuntimeError" if not rows else rows[-1] if mistake == "row-never-taken" else rows.pop()
            if given == "RuntimeError":
                given = {"exhausted-not-refused": None, "exhausted-gives-index-error": "IndexError"}.get(mistake, given)
        else:
            (row,) = row
            there = 0 <= row < (total if mistake == "row-of-somebody-else" else most)
            if mistake == "rows-not-checked":
                there = True
            if mistake == "negative-rows-accepted":
                there = row < most
            twice = row in rows and mistake != "double-free-accepted"
            given = None if there and not twice else "ValueError"
            if given is None or mistake == "freed-before-the-check":
                rows.insert(0 if mistake == "oldest-row-first" else len(rows), row)
            if mistake == "row-wiped" and given is None:
                kept[number] = False
        notes.append([given, len(rows)])
    return {"notes": notes, "kept": kept}


ROW_MISTAKES = (
    "highest-row-first", "row-never-taken", "exhausted-not-refused", "exhausted-gives-index-error", "row-of-somebody-else", "rows-not-checked", "negative-rows-accepted",
    "double-free-accepted", "freed-before-the-check", "oldest-row-first", "row-wiped",
)  # fmt: skip


def follow(tree, managers, steps):
    want = model(managers, steps)
    got = tree.run(drive, managers=managers, steps=steps)
    if got == want:
        return
    mistake = next((m for m in ROW_MISTAKES if model(managers, steps, m) == got), None)
    for (number, what, *row), a, b in zip(steps, want["notes"], got["notes"], strict=True):
        call = f"{what}({', '.join(map(str, row))}) of a manager of {managers[number][0]} rows"
        expect.that(
            a == b, f"{call} is not right",
            [f"want {_said(a)}", f"got  {_said(b)}"], mistake=mistake,
        )  # fmt: skip
    for (most, _), kept in zip(managers, got["kept"], strict=True):
        expect.that(kept, f"the tables of a manager of {most} rows have changed", mistake=mistake)


def _said(note):
    given, free = note
    return f"{'nothing' if given is None else given}, and {free} rows free"


# ---- tests -------------------------------------------------------------------------------------------------------


def test_slots_of_pages(tree, seeds):
    """page_slots gives the slots of each page in order, one page after the other, in the order of the pages"""
    lists = list(LISTS)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        lists += [(rng.permutation(40)[: rng.integers(3, 9)].tolist(), size) for size in (1, 4, 16)]
    got = tree.run(slots_of, lists=lists)
    explained = []
    for mistake in SLOT_MISTAKES:
        predicted = [slots(pages, size, mistake) for pages, size in lists]
        if all(isinstance(g["slots"], np.ndarray) and np.array_equal(g["slots"], p) for g, p in zip(got, predicted, strict=True)):
            explained.append(mistake)
    for (pages, size), found in zip(lists, got, strict=True):
        want = slots(pages, size)
        name = f"the slots of pages {pages} of {size}"
        suspects = {mistake: slots(pages, size, mistake) for mistake in explained}
        expect.close(found["slots"], want, atol=0.0, name=name, axes=("entry",), suspects=suspects)
        expect.close(found["of a view"], want, atol=0.0, name=f"{name}, given as a view,", axes=("entry",))
        expect.that(found["unchanged"], f"{name}: the pages that were given have changed")


def test_slots_are_int32(tree):
    """Slots are int32, like the page table, also for no page at all"""
    for (pages, size), found in zip(LISTS, tree.run(slots_of, lists=LISTS), strict=True):
        got = expect.is_tensor(found["slots"], f"the slots of pages {pages} of {size}")
        wide = getattr(got, "torch_dtype", "") == "int64"
        expect.that(not wide, f"the slots of pages {pages} of {size} are int64", ["want int32"], mistake="slots-are-int64")
        expect.is_tensor(got, f"the slots of pages {pages} of {size}", dtype="int32")


def test_rows_in_order(tree):
    """Rows are given out as 0, 1, 2, ...; later the one that was freed last comes first"""
    steps = [[0, "allocate"]] * 4
    steps += [[0, "free", 1], [0, "free", 3], [0, "allocate"], [0, "allocate"], [0, "allocate"]]
    steps += [[0, "free", 0], [0, "allocate"], [0, "free", 2], [0, "free", 4], [0, "free", 1], [0, "allocate"], [0, "allocate"]]
    follow(tree, [(6, 7)], steps)


def test_no_row_left(tree):
    """With no row left allocate raises RuntimeError, and goes on when one comes back"""
    steps = [*[[0, "allocate"]] * 5, [0, "free", 1], [0, "allocate"], [0, "allocate"], [1, "allocate"], [1, "allocate"]]
    follow(tree, [(3, 3), (1, 4)], steps)


def test_rows_that_cannot_be_freed(tree):
    """A row that is free, or that is not given out at all, is refused with ValueError, and nothing changes"""
    take = [[number, "allocate"] for number in (0, 1, 2)] * 3
    twice = [[0, "free", 3], [0, "free", 1], [0, "free", 1], [0, "allocate"], [0, "allocate"], [0, "free", 1]]
    high = [[1, "free", 5], [1, "free", 6], [1, "allocate"], [1, "free", 7], [1, "free", 99], [1, "allocate"]]
    negative = [[2, "free", -1], [2, "free", -5], [2, "free", -6], [2, "allocate"], [2, "allocate"], [2, "allocate"]]
    never = [[0, "free", 0], [1, "free", 4]]  # free since the beginning
    follow(tree, [(5, 7), (5, 7), (5, 5)], [*never, *take, *twice, *high, *negative])


def test_a_long_life(tree, seeds):
    """Hundreds of requests come and go: no row has two owners, none is lost, and the tables stay as they are"""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        managers, live, steps = [(4, 5), (9, 9), (1, 3)], [[], [], []], []
        order = [list(range(most))[::-1] for most, _ in managers]
        for _ in range(600):
            number = int(rng.integers(3))
            if live[number] and (not order[number] or rng.random() < 0.5):
                row = live[number].pop(int(rng.integers(len(live[number]))))
                order[number].append(row)
                steps.append([number, "free", row])
            elif order[number]:
                live[number].append(order[number].pop())
                steps.append([number, "allocate"])
        follow(tree, managers, steps)
