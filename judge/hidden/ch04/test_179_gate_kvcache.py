"""Exercise 179: the gate of chapter 4: scattered writes read back, page size 1, 4 and 16."""

import numpy as np

from judge import expect

PAGES = {1: 17, 4: 13, 16: 8}  # how many pages the pool has, for each page size: few enough that they are used twice
HEADS, LAYERS, DIM = 3, 3, 4
EMPTY = -3.0  # what a slot holds that nobody has written
ONE_MORE_LAYER = 1_000.0  # by so much the numbers of one layer differ from the next layer's
VALUES_HIGHER = 100_000.0  # by so much the values differ from the keys


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def serve(jobs, heads, layers, dim, dtype, layer_step, value_step, empty):
    """Serve some requests as the engine does, but for the model: rows, pages, stores step by step, and reads at the end.

    jobs: dicts with page_size, num_pages, requests (dicts with tokens [n, heads, dim], pages, chunks: the tokens of each
    step, starts and leaves: its first step, and the one after which it gives row and pages back, or -1) and steps.
    All live requests take a step together, in one call of store_kv for each layer. There are four rows.
    """
    import torch

    from minisgl.kvcache.mha_pool import MHAKVCache
    from minisgl.scheduler.table import TableManager, page_slots

    dtype = getattr(torch, dtype)

    def run(job):
        size, requests = job["page_size"], job["requests"]
        pool = MHAKVCache(heads, layers, dim, job["num_pages"], size, dtype, torch.device("cpu"))
        for i in range(layers):
            pool.k_cache(i).fill_(empty)
            pool.v_cache(i).fill_(empty)
        longest = max(len(r["pages"]) for r in requests) * size
        table = TableManager(4, torch.zeros((5, longest), dtype=torch.int32))
        rows, done = {}, [0] * len(requests)
        for step in range(job["steps"]):
            batch = []
            for i, request in enumerate(requests):
                if request["starts"] == step:
                    rows[i] = table.allocate()
                    slots = page_slots(torch.tensor(request["pages"], dtype=torch.int32), size)
                    table.page_table[rows[i], : len(slots)] = slots
                if i in rows and request["starts"] <= step < request["starts"] + len(request["chunks"]):
                    batch.append((i, request["chunks"][step - request["starts"]]))
            if batch:
                tokens = torch.cat([requests[i]["tokens"][done[i] : done[i] + n] for i, n in batch]).to(dtype)
                out_loc = torch.cat([table.page_table[rows[i], done[i] : done[i] + n] for i, n in batch])
                for layer in range(layers):
                    pool.store_kv(tokens + layer * layer_step, tokens + layer * layer_step + value_step, out_loc, layer)
            for i, n in batch:
                done[i] += n
            for i in [i for i in rows if requests[i]["leaves"] == step]:
                table.free(rows.pop(i))
        read = []
        for i, row in rows.items():
            slots = table.page_table[row, : done[i]]
            kv = [torch.stack(pool.load_kv(layer, slots)) for layer in range(layers)]
            read.append({"request": i, "kv": torch.stack(kv, 1)})
        return read

    return [run(job) for job in jobs]


def read(cases, heads, layers, dim, pages, size, dtype):
    """A pool whose slot s of layer l holds s + 100 l in its keys and 1000 more in its values, read by several slots."""
    import torch

    from minisgl.kvcache.mha_pool import MHAKVCache

    pool = MHAKVCache(heads, layers, dim, pages, size, getattr(torch, dtype), torch.device("cpu"))
    per_slot = torch.arange(pages * size).view(pages, size, 1, 1) + torch.arange(heads).view(-1, 1) * 0.25 + torch.arange(dim) * 0.03125
    for i in range(layers):
        pool.k_cache(i).copy_(per_slot + 100 * i)
        pool.v_cache(i).copy_(per_slot + 100 * i + 1000)
    found = []
    for layer, slots, kind in cases:
        given = slice(*slots) if kind == "slice" else torch.tensor(slots, dtype=getattr(torch, kind))
        k, v = pool.load_kv(layer, given)
        same = [x.untyped_storage().data_ptr() == pool.k_cache(layer).untyped_storage().data_ptr() for x in (k, v)]
        kept = [k.clone(), v.clone()]
        pages_read = [slot // size for slot in slots[:1]]
        caches = pool.k_cache(layer), pool.v_cache(layer)
        before = [cache.clone() for cache in caches]
        for cache in caches:
            cache[pages_read] += 7
        moved = [bool((x != y).any()) for x, y in zip((k, v), kept)]
        for cache, old in zip(caches, before):
            cache.copy_(old)
        found.append({"k": kept[0], "v": kept[1], "shares": same, "follows": moved})
        if kind != "slice":
            found[-1]["unchanged"] = given.tolist() == list(slots)
    untouched = all(torch.equal(pool.k_cache(i), (per_slot + 100 * i).to(pool.dtype)) for i in range(layers))
    return {"found": found, "pool kept": untouched}


# ---- the work, and what the known mistakes would read ------------------------------------------------------------


def requests_of(rng, size, num_pages):
    """Ragged requests whose scattered pages together fill the pool; two end and others take their pages over."""
    free = rng.permutation(num_pages).tolist()
    lengths = {1: (5, 1, 3, 8), 4: (10, 4, 3, 17), 16: (33, 16, 5, 20)}[size]
    requests = []

    def new(length, starts, leaves, chunks):
        pages = [free.pop() for _ in range(-(-length // size))]
        tokens = np.empty((length, HEADS, DIM), np.float32)
        # a whole number for each token of each request; head and feature are small parts of it
        tokens[:] = (20 + 40 * len(requests) + np.arange(length))[:, None, None]
        tokens += np.arange(HEADS)[:, None] * 0.25 + np.arange(DIM) * 0.03125
        requests.append({"tokens": tokens, "pages": pages, "starts": starts, "leaves": leaves, "chunks": chunks})
        return pages

    def chunked(length):
        """A prefill in two pieces, cut anywhere, then two decode steps where there are tokens enough."""
        tail = [1, 1] if length > 4 else []
        rest = length - len(tail)
        cut = int(rng.integers(1, rest)) if rest > 1 else rest
        return [part for part in (cut, rest - cut, *tail) if part]

    new(lengths[0], 0, -1, chunked(lengths[0]))
    gone = new(lengths[1], 0, 1, [lengths[1]])
    new(lengths[2], 1, -1, chunked(lengths[2]))
    gone += new(lengths[3], 0, 3, chunked(lengths[3]))
    free += rng.permutation(gone).tolist()  # at the end of the list, so they are taken first
    new(lengths[3] - 1, 5, -1, chunked(lengths[3] - 1))
    new(lengths[1], 6, -1, [lengths[1]])
    return requests


def job_of(rng, size, num_pages):
    return {"page_size": size, "num_pages": num_pages, "requests": requests_of(rng, size, num_pages), "steps": 11}


def stored(request):
    """What should be read for a request: [keys/values, layer, token, head, feature]."""
    one = np.stack([request["tokens"] + layer * ONE_MORE_LAYER for layer in range(LAYERS)])
    return np.stack([one, one + VALUES_HIGHER])


def read_wrongly(job, mistake):
    """What all live requests would read with a mistake in load_kv: a list like that of `serve`."""
    size = job["page_size"]
    pool = np.full((2, LAYERS, job["num_pages"] * size, HEADS, DIM), EMPTY, np.float32)
    for request in job["requests"]:  # in the order of time: later ones overwrite
        pool[:, :, _slots(request, size)] = stored(request)
    answers = []
    for request in _live(job):
        slots = _slots(request, size)
        kv = pool[:, :, slots]
        if mistake == "values-before-keys":
            kv = kv[::-1]
        if mistake == "keys-twice":
            kv = np.stack([kv[0], kv[0]])
        if mistake == "layer-zero-for-all":
            kv = np.repeat(kv[:, :1], LAYERS, axis=1)
        if mistake == "slots-sorted":
            kv = pool[:, :, np.sort(slots)]
        if mistake == "read-in-a-row":
            kv = pool[:, :, slots[0] : slots[0] + len(slots)]
        answers.append(kv)
    return answers


def _slots(request, size):
    return (np.asarray(request["pages"])[:, None] * size + np.arange(size)).reshape(-1)[: len(request["tokens"])]


def _live(job):
    return [request for request in job["requests"] if request["leaves"] == -1]


GATE_MISTAKES = ("values-before-keys", "keys-twice", "layer-zero-for-all", "slots-sorted", "read-in-a-row")
AXES = ("keys/values", "layer", "token", "head", "feature")


def compare(job, answers, name):
    """Each live request reads what was stored for it. A mistake must explain what all of them read."""
    live = _live(job)
    expect.that(len(answers) == len(live), f"{name}: {len(answers)} requests were read, {len(live)} are live")
    got = [expect.is_tensor(answer["kv"], f"{name}: what request {answer['request']} reads") for answer in answers]
    explained = []
    for mistake in GATE_MISTAKES:
        wrong = read_wrongly(job, mistake)
        if all(a.shape == b.shape and np.array_equal(a, b) for a, b in zip(got, wrong, strict=True)):
            explained.append(mistake)
    for kv, answer, request in zip(got, answers, live, strict=True):
        what = f"{name}: what request {answer['request']} ({len(request['tokens'])} tokens in pages {request['pages'][:6]}) reads"
        mistake = explained[0] if explained else None
        expect.close(kv, stored(request), atol=0.0, name=what, axes=AXES, suspects={mistake: True} if mistake else None)


# ---- tests -------------------------------------------------------------------------------------------------------


def gate(tree, size, seeds):
    jobs = [job_of(np.random.default_rng([seed, size]), size, PAGES[size]) for seed in seeds]
    same = {"heads": HEADS, "layers": LAYERS, "dim": DIM, "layer_step": ONE_MORE_LAYER, "value_step": VALUES_HIGHER, "empty": EMPTY}
    for job, answers in zip(jobs, tree.run(serve, jobs=jobs, dtype="float32", **same), strict=True):
        compare(job, answers, f"page size {size}")


def test_page_size_1(tree, seeds):
    """With pages of 1 token, every request reads its own keys and values back, in order"""
    gate(tree, 1, seeds)


def test_page_size_4(tree, seeds):
    """With pages of 4 tokens, every request reads its own keys and values back, in order"""
    gate(tree, 4, seeds)


def test_page_size_16(tree, seeds):
    """With pages of 16 tokens, every request reads its own keys and values back, in order"""
    gate(tree, 16, seeds)


def slot_values(slots, layer):
    row = np.asarray(slots, np.float32).reshape(-1, 1, 1)
    one = row + np.arange(2)[:, None] * 0.25 + np.arange(4) * 0.03125 + 100 * layer
    return one.astype(np.float32), (one + 1000).astype(np.float32)


def look(tree, cases, size=4, pages=6, dtype="float32"):
    got = tree.run(read, cases=cases, heads=2, layers=3, dim=4, pages=pages, size=size, dtype=dtype)
    expect.that(got["pool kept"], "load_kv has changed the pool")
    checked = []
    for (layer, slots, kind), found in zip(cases, got["found"], strict=True):
        wanted = range(*slots) if kind == "slice" else slots
        name = f"load_kv({layer}, {f'slice({slots[0]}, {slots[1]})' if kind == 'slice' else f'{kind} {slots}'})"
        for part, want in zip("kv", slot_values(list(wanted), layer), strict=True):
            expect.close(found[part], want, atol=0.0, name=f"{name}: {part}", axes=("slot", "head", "feature"), dtype=dtype)
        checked.append((name, found))
    return checked


def test_a_tensor_gathers(tree):
    """A tensor of slots gathers rows in its order, also a slot twice and no slot at all; later stores do not change them"""
    lists = [[3, 17, 8, 9, 10, 0, 23, 4], [5, 5, 2, 5], [], [23], [4, 5, 6, 7]]
    cases = [[layer, slots, kind] for layer, kind in ((1, "int32"), (2, "int64"), (0, "int32")) for slots in lists]
    for name, found in look(tree, cases):
        expect.that(not any(found["follows"]), f"{name}: the rows change when the pool does", ["gathered rows are copies"])
        expect.that(found["unchanged"], f"{name}: the slots that were given have changed")


def test_a_slice_is_a_view(tree):
    """A slice of slots gives views: nothing is copied, and a later store is seen through them"""
    cases = [[layer, span, "slice"] for layer in (2, 0, 1) for span in ([3, 11], [0, 24], [20, 24], [7, 8])]
    for name, found in look(tree, cases):
        copied = not any(found["shares"]) and not any(found["follows"])
        expect.that(not copied, f"{name}: the rows are a copy", mistake="slice-copied")
        expect.that(all(found["shares"]) and all(found["follows"]), f"{name}: keys and values are not both views of the pool")


def test_one_token_per_page_and_one_page(tree):
    """Pages of one token, one large page, and bfloat16 are read the same way"""
    for size, pages in ((1, 9), (9, 1)):
        cases = [[1, [3, 8, 0], "int32"], [2, [2, 6], "slice"], [0, [1], "int64"]]
        look(tree, cases, size=size, pages=pages)
    got = tree.run(read, cases=[[0, [1, 3], "int32"], [0, [0, 2], "slice"]], heads=2, layers=1, dim=4, pages=2, size=2, dtype="bfloat16")
    for found, slots in zip(got["found"], ([1, 3], [0, 1]), strict=True):
        want = np.asarray(slots, np.float32).reshape(-1, 1, 1) + np.arange(2)[:, None] * 0.25 + np.arange(4) * 0.03125
        expect.close(found["k"], want, atol=0.01, name=f"the keys of slots {slots} in bfloat16", dtype="bfloat16")
        expect.close(found["v"], want + 1000, atol=4.0, name=f"the values of slots {slots} in bfloat16", dtype="bfloat16")
