"""Exercise 170: the KV pool, its layout and its store."""

import numpy as np

from judge import expect

# heads, layers, head_dim, pages, page_size; all numbers differ, so that a mixed-up order shows
POOLS = [(2, 3, 6, 5, 4), (3, 2, 8, 7, 1), (1, 4, 2, 3, 16), (4, 1, 5, 1, 3)]
KEY_BEFORE, VALUE_BEFORE = -5, -9  # what every slot holds before the first store


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def describe(pools, dtype="float32"):
    """Build some pools, all alive together, and say what they look like from outside."""
    import torch

    from minisgl.kvcache.mha_pool import MHAKVCache

    built = [MHAKVCache(h, n, d, p, ps, getattr(torch, dtype), torch.device("cpu")) for h, n, d, p, ps in pools]
    found = []
    for pool, (_, layers, *_) in zip(built, pools, strict=True):
        views = [pool.k_cache(i) for i in range(layers)] + [pool.v_cache(i) for i in range(layers)]
        starts = [view.data_ptr() for view in views]
        for number, view in enumerate(views):
            view.fill_(number)
        found.append(
            {
                "shapes": [list(view.shape) for view in views],
                "in one piece": [view.is_contiguous() for view in views],
                "buffers": len({view.untyped_storage().data_ptr() for view in views}),
                "bytes": views[0].untyped_storage().nbytes(),
                "dtypes": [str(view.dtype) for view in views] + [str(pool.dtype)],
                "layers": pool.num_layers,
                "device": str(pool.device),
                "apart": [bool((view == number).all()) for number, view in enumerate(views)],
                "keys first": max(starts[:layers]) < min(starts[layers:]),
            }
        )
    return found


def heads_of_ranks(cases):
    """The heads that a pool for `heads` heads keeps on a rank of a group of `size`, or the exception that it raises."""
    import torch

    from minisgl.distributed import reset_tp_info, set_tp_info
    from minisgl.kvcache.mha_pool import MHAKVCache

    found = []
    for heads, rank, size in cases:
        reset_tp_info()
        set_tp_info(rank, size)
        try:
            pool = MHAKVCache(heads, 2, 4, 3, 2, torch.float32, torch.device("cpu"))
            k, v = torch.ones(2, 1, 4), torch.full((2, 1, 4), 2.0)
            if pool.k_cache(1).shape[2] == 1:
                pool.store_kv(k, v, torch.tensor([5, 0], dtype=torch.int32), 1)
            found.append({"shape": list(pool.k_cache(1).shape)})
        except NotImplementedError:
            raise
        except Exception as error:
            found.append({"raised": type(error).__name__, "text": str(error)})
    return found


def store(jobs, before, dtype="float32", strided=False):
    """Fill pools with a mark, make some calls of store_kv, and return all of each pool, [2, layers, pages, size, H, D].

    jobs: (pool, calls) pairs; a call is a dict with k, v [T, H, D], out_loc [T] and layer.
    strided: k and v are parts of one larger tensor, as they are behind a merged QKV projection.
    """
    import torch

    from minisgl.kvcache.mha_pool import MHAKVCache

    dtype = getattr(torch, dtype)

    def marked(heads, layers, dim, pages, size):
        made = MHAKVCache(heads, layers, dim, pages, size, dtype, torch.device("cpu"))
        for i in range(layers):
            made.k_cache(i).fill_(before[0])
            made.v_cache(i).fill_(before[1])
        return made

    def run(pool, calls):
        heads, layers, *_ = pool
        made, other, unchanged = marked(*pool), marked(*pool), True
        for call in calls:
            k, v = call["k"].to(dtype), call["v"].to(dtype)
            if strided:
                both = torch.cat([v, k, v], dim=1).contiguous()
                k, v = both[:, heads : 2 * heads], both[:, 2 * heads :]
            loc = call["out_loc"].to(torch.int32)
            copies = k.clone(), v.clone(), loc.clone()
            made.store_kv(k, v, loc, call["layer"])
            unchanged &= all(torch.equal(a, b) for a, b in zip((k, v, loc), copies, strict=True))
            k.fill_(77)  # the caller uses its tensors again
            v.fill_(78)
            loc.zero_()
        clean = all(bool((other.k_cache(i) == before[0]).all() and (other.v_cache(i) == before[1]).all()) for i in range(layers))
        kv = [torch.stack([of(i) for i in range(layers)]) for of in (made.k_cache, made.v_cache)]
        return {"kv": torch.stack(kv), "unchanged": unchanged, "other pool clean": clean}

    return [run(pool, calls) for pool, calls in jobs]


# ---- what should be in the pool, and what the known mistakes would put there -------------------------------------


def numbered(rng, pool, slots, layer):
    """A call of store_kv with different whole numbers (small, so that bfloat16 holds them) everywhere."""
    heads, _, dim, *_ = pool
    shape = (2, len(slots), heads, dim)
    values = rng.integers(0, 120, shape).astype(np.float32)
    return {"k": values[0], "v": values[1], "out_loc": np.asarray(slots, np.int32), "layer": layer}


def filled(pool, calls, mistake=None):
    heads, layers, dim, pages, size = pool
    kv = np.empty((2, layers, pages, size, heads, dim), np.float32)
    kv[0], kv[1] = KEY_BEFORE, VALUE_BEFORE
    if mistake == "slots-are-copies":
        return kv
    for call in calls:
        layer, slots = call["layer"], call["out_loc"].astype(int)
        parts = (call["v"], call["k"]) if mistake == "keys-and-values-swapped" else (call["k"], call["v"])
        if mistake == "first-layer-for-all":
            layer = 0
        if mistake == "stored-in-a-row" and len(slots):
            slots = np.minimum(np.arange(slots[0], slots[0] + len(slots)), pages * size - 1)
        if mistake == "sorted-slots":
            slots = np.sort(slots)
        for kind, part in enumerate(parts):
            for slot, row in zip(slots, part, strict=True):
                page, offset = slot // size, slot % size
                if mistake == "page-and-offset-swapped":
                    page, offset = slot % pages, slot // pages
                if mistake == "offset-forgotten":
                    offset = 0
                if mistake == "keys-only" and kind == 1:
                    continue
                kv[kind, layer, page, offset] = row
    return kv


MISTAKES = (
    "slots-are-copies", "keys-and-values-swapped", "first-layer-for-all", "stored-in-a-row", "sorted-slots",
    "page-and-offset-swapped", "offset-forgotten", "keys-only",
)  # fmt: skip
AXES = ("keys/values", "layer", "page", "offset", "head", "feature")


def compare(got, pool, calls, dtype="float32"):
    want = filled(pool, calls)
    suspects = {}
    for mistake in MISTAKES:
        try:
            suspects[mistake] = filled(pool, calls, mistake)
        except IndexError:  # the mistake would raise here
            continue
    suspects = {mistake: kv for mistake, kv in suspects.items() if not np.array_equal(kv, want)}
    heads, layers, dim, pages, size = pool
    suspects["pages-and-slots-mixed-up"] = lambda kv: size != pages and kv.shape == (2, layers, size, pages, heads, dim)
    ignored = dtype != "float32" and getattr(got["kv"], "torch_dtype", dtype) == "float32"
    expect.that(not ignored, f"a pool asked for in {dtype} holds float32", mistake="dtype-ignored")
    expect.close(got["kv"], want, atol=0.0, name="the pool after the stores", axes=AXES, dtype=dtype, suspects=suspects)


# ---- tests -------------------------------------------------------------------------------------------------------


def test_the_layout(tree):
    """One buffer holds it all: a page's tokens of a layer lie in one piece, keys and values and layers apart"""
    for pool, got in zip(POOLS, tree.run(describe, pools=POOLS), strict=True):
        heads, layers, dim, pages, size = pool
        name = f"the pool with {heads} heads of {dim}, {layers} layers, {pages} pages of {size}"
        wrong = {"pages-and-slots-mixed-up": [[size, pages, heads, dim]] * (2 * layers) if size != pages else False}
        expect.equal(got["shapes"], [[pages, size, heads, dim]] * (2 * layers), f"{name}: the views' shapes", wrong)
        expect.that(
            all(got["in one piece"]), f"{name}: a layer's keys are not contiguous in the order page, offset, head, feature",
            mistake="heads-before-tokens",
        )  # fmt: skip
        expect.equal(got["buffers"], 1, f"{name}: the number of buffers behind the views")
        expect.equal(got["bytes"], 2 * layers * pages * size * heads * dim * 4, f"{name}: the buffer's bytes")
        expect.equal(got["layers"], layers, f"{name}: num_layers")
        expect.that(all(got["apart"]), f"{name}: two of the views share memory")
        expect.that(got["keys first"], f"{name}: the keys do not lie before the values")
        expect.equal(got["device"], "cpu", f"{name}: the device")


def test_dtype(tree):
    """The pool has the dtype that it was asked for"""
    for dtype in ("bfloat16", "float16"):
        for pool, got in zip(POOLS[:2], tree.run(describe, pools=POOLS[:2], dtype=dtype), strict=True):
            seen = set(got["dtypes"])
            always = {"dtype-ignored": lambda found: found == ["torch.float32"]}
            expect.equal(sorted(seen), [f"torch.{dtype}"], f"the dtypes of a pool asked for in {dtype}", always)
            heads, layers, dim, pages, size = pool
            expect.equal(got["bytes"], 2 * layers * pages * size * heads * dim * 2, f"the bytes of a {dtype} pool")


def test_heads_of_a_rank(tree):
    """A rank keeps its share of the heads, or one where there are fewer heads than ranks"""
    even = [(8, 0, 1), (8, 1, 2), (6, 0, 3), (2, 3, 4), (1, 1, 2), (4, 3, 4)]
    uneven = [(3, 0, 2), (6, 1, 4), (3, 2, 4)]
    got = tree.run(heads_of_ranks, cases=[*even, *uneven])
    kept = [found["shape"][2] if "shape" in found else found["raised"] for found in got]
    want = [max(1, heads // size) for heads, _, size in even] + ["ValueError"] * 3
    suspects = {
        "all-heads-on-every-rank": [heads for heads, _, _ in [*even, *uneven]],
        "heads-rounded-down": [max(1, heads // size) for heads, _, size in [*even, *uneven]],
        "replication-refused": ["ValueError" if heads % size else heads // size for heads, _, size in [*even, *uneven]],
        "no-head-left": [heads // size for heads, _, size in [*even, *uneven]],
    }
    mistake = next((name for name, predicted in suspects.items() if kept == predicted), None)
    for (heads, rank, size), wanted, found, answer in zip([*even, *uneven], want, kept, got, strict=True):
        what = f"a pool for {heads} heads on rank {rank} of {size}"
        lines = [f"want {wanted}", f"got  {found} {answer.get('text', '')[:80]}"]
        expect.that(wanted == found, f"{what}: the heads it keeps, or the error, are not right", lines, mistake=mistake)
        if "shape" in answer:
            expect.equal(answer["shape"], [3, 2, wanted, 4], f"{what}: the shape of a layer's keys")


def test_store_reaches_the_slots(tree, seeds):
    """Token t goes to slot out_loc[t] of its layer, page by page; no other slot changes"""
    jobs = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        for pool in POOLS:
            _, layers, _, pages, size = pool
            slots = pages * size
            calls = []
            for layer in reversed(range(layers)):
                # scattered and out of order, the last slot and slot 0 among them; one slot is written again later
                chosen = rng.permutation(slots)[: max(1, (2 * slots) // 3)].tolist()
                chosen = [slots - 1, *(s for s in chosen if s not in (0, slots - 1)), *([0] if slots > 1 else [])]
                calls.append(numbered(rng, pool, chosen, layer))
                calls.append(numbered(rng, pool, chosen[len(chosen) // 2 :][::-1], layer))
            jobs.append((pool, calls))
    for (pool, calls), got in zip(jobs, tree.run(store, jobs=jobs, before=(KEY_BEFORE, VALUE_BEFORE)), strict=True):
        compare(got, pool, calls)


def test_store_what_a_step_brings(tree, rng):
    """One token, a whole page, several requests in one call, no token at all"""
    pool = POOLS[0]
    steps = [[13], [8, 9, 10, 11], [19, 2, 3, 16, 17], [], [7, 6, 5, 4], [0]]
    calls = [numbered(rng, pool, slots, layer) for layer in (1, 0, 2) for slots in steps]
    (got,) = tree.run(store, jobs=[(pool, calls)], before=(KEY_BEFORE, VALUE_BEFORE))
    compare(got, pool, calls)


def test_inputs_of_a_real_model(tree, rng):
    """Keys and values may be parts of a larger tensor, in bfloat16; they stay as they are, and are copied"""
    for dtype in ("float32", "bfloat16"):
        pool = POOLS[0]
        calls = [numbered(rng, pool, rng.permutation(20)[:9].tolist(), layer) for layer in (2, 0, 1)]
        (got,) = tree.run(store, jobs=[(pool, calls)], before=(KEY_BEFORE, VALUE_BEFORE), dtype=dtype, strided=True)
        compare(got, pool, calls, dtype)
        expect.equal(got["unchanged"], True, "whether k, v and out_loc are as before the call")
        expect.equal(got["other pool clean"], True, "whether a second pool in the same process is left alone")
