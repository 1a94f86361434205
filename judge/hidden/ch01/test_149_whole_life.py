"""Exercise 149, the gate: a request's whole life, through batches, contexts and a model that only reads its KV."""

import numpy as np

from judge import expect

# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def packed(batches):
    """host_positions and host_input_ids of batches; each batch is {"reqs": [...], "dummies": [...], "phase": ...}.

    A request is (ids, cached_len, output_len, steps): `steps` of "complete" and token ids to append come first.
    """
    import torch

    from minisgl.core import Batch, Req, SamplingParams

    def make(row, uid):
        ids, cached, output, steps = row
        req = Req(torch.tensor(ids, dtype=torch.int32), uid, cached, output, uid, SamplingParams())
        for step in steps:
            req.complete_one() if step == "complete" else req.append_host(step)
        return req

    answers = []
    for i, entry in enumerate(batches):
        reqs = [make(row, 4000 + 100 * i + j) for j, row in enumerate(entry["reqs"])]
        batch = Batch(reqs, entry["phase"])
        batch.padded_reqs = reqs + [make(row, 9000 + j) for j, row in enumerate(entry["dummies"])]
        before = [(r.cached_len, r.device_len, r.input_ids.tolist()) for r in batch.padded_reqs]
        answer = {}
        for name in ("host_positions", "host_input_ids"):
            try:
                first = getattr(batch, name)()
                answer[name] = first.clone() if isinstance(first, torch.Tensor) else first
                if isinstance(first, torch.Tensor):
                    first.fill_(-7)  # whoever gets the tensor may write to it
                    again = getattr(batch, name)()
                    answer[f"{name} again"] = again
            except NotImplementedError:
                raise
            except Exception as error:
                kind = "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__
                answer[name] = {"raised": kind, "text": str(error)}
        answer["unchanged"] = before == [(r.cached_len, r.device_len, r.input_ids.tolist()) for r in batch.padded_reqs]
        answers.append(answer)
    return answers


def lives(requests, order, lag):
    """Serve requests from admission to the last token with a model that is nothing but a look at the KV pool.

    The pool keeps for each slot which token was computed there, and at which position. The model gives, for each request, a
    number that depends on every (position, token) in its row of the page table. If `lag`, tokens reach the host one
    step late, from a copy on the "device"; the ids then come from there.
    """
    import torch

    from minisgl.core import Batch, Context, Req, SamplingParams, get_global_ctx, reset_global_ctx, set_global_ctx

    ctx = Context(page_size=1)
    width = max(len(r["ids"]) + r["output"] for r in requests)
    ctx.page_table = torch.tensor(order[: len(requests) * width], dtype=torch.int32).view(len(requests), width)
    ctx.kv_cache = torch.full((len(requests) * width, 2), -1, dtype=torch.int64)
    set_global_ctx(ctx)
    device_tokens = torch.zeros(len(requests), width, dtype=torch.int64)

    waiting, reqs = [], []
    for row, r in enumerate(requests):
        ids = torch.tensor(r["ids"], dtype=torch.int32)
        device_tokens[row, : len(ids)] = ids
        for position in range(r["cached"]):
            ctx.kv_cache[int(ctx.page_table[row, position])] = torch.tensor([position, r["ids"][position]])
        params = SamplingParams(max_tokens=r["output"])
        waiting.append((r["arrival"], Req(ids, row, r["cached"], r["output"], 70 + row, params)))
        reqs.append(waiting[-1][1])

    def forward():
        batch = get_global_ctx().batch
        slots = get_global_ctx().kv_cache
        slots[batch.out_loc.long()] = torch.stack([batch.positions.long(), batch.input_ids.long()], dim=1)
        tokens = []
        for req in batch.reqs:
            seen = slots[get_global_ctx().page_table[req.table_idx, : req.device_len].long()]
            value = 1
            for position, token in seen.tolist():
                value = (value * 31 + 7 * position + 3 * token + 11) % 9973
            tokens.append(value)
        return tokens

    running, computed, sizes, step, late = [], [0] * len(requests), [], 0, []
    while waiting or running:
        arrived = [req for at, req in waiting if at <= step]
        waiting = [(at, req) for at, req in waiting if at > step]
        batch_reqs = arrived or running
        step += 1
        if not batch_reqs:
            continue
        batch = Batch(batch_reqs, "prefill" if arrived else "decode")
        batch.positions = batch.host_positions()
        rows = torch.cat([torch.full((r.extend_len,), r.table_idx, dtype=torch.int64) for r in batch.padded_reqs])
        if rows.shape != batch.positions.shape:
            reset_global_ctx()
            return {"stopped": f"step {step}: {len(batch.positions)} positions for {len(rows)} tokens"}
        if lag:
            batch.input_ids = device_tokens[rows, batch.positions.long()]
        else:
            batch.input_ids = batch.host_input_ids()
        batch.out_loc = ctx.page_table[rows, batch.positions.long()]
        with ctx.forward_batch(batch):
            tokens = forward()
        for req, token in zip(batch.reqs, tokens, strict=True):
            computed[req.table_idx] += req.extend_len
            req.complete_one()
            device_tokens[req.table_idx, req.device_len - 1] = token
        for req, token in late:
            req.append_host(token)
        late = list(zip(batch.reqs, tokens, strict=True))
        if not lag:
            for req, token in late:
                req.append_host(token)
            late = []
        sizes.append(len(batch.positions))
        running = [req for req in dict.fromkeys([*running, *arrived]) if req.can_decode]
    for req, token in late:
        req.append_host(token)
    reset_global_ctx()
    return {"tokens": [req.input_ids.tolist() for req in reqs], "computed": computed, "sizes": sizes}


# ---- what should happen ------------------------------------------------------------------------------------------


def marks(row):
    """(ids known on the host, cached_len, device_len) of a request after its steps."""
    ids, cached, _, steps = row
    known, device = list(ids), len(ids)
    for step in steps:
        if step == "complete":
            cached, device = device, device + 1
        else:
            known.append(step)
    return known, cached, device


def want_positions(entry, mistake=None):
    reqs = entry["reqs"] + ([] if mistake == "padding-left-out" else entry["dummies"])
    found = []
    for row in reqs:
        known, cached, device = marks(row)
        start, end = cached, device
        if mistake == "positions-from-zero":
            start, end = 0, device - cached
        if mistake == "cache-computed-again":
            start = 0
        if mistake == "positions-start-at-one":
            start, end = cached + 1, device + 1
        if mistake == "last-token-only":
            start = device - 1
        if mistake == "positions-from-the-host":
            end = len(known)
        found.extend(range(start, end))
    if mistake == "positions-run-through":
        found = list(range(len(found)))
    return np.array(found)


def want_ids(entry, mistake=None):
    reqs = entry["reqs"] + ([] if mistake == "padding-left-out" else entry["dummies"])
    found = []
    for row in reqs:
        known, cached, device = marks(row)
        piece = known[cached:device]
        if mistake == "positions-from-zero":
            piece = known[: device - cached]
        if mistake == "cache-computed-again":
            piece = known[:device]
        if mistake == "last-token-only":
            piece = known[device - 1 : device]
        if mistake == "all-that-the-host-knows":
            piece = known[cached:]
        if mistake == "last-tokens-of-the-host":
            piece = known[-(device - cached) :]
        found.extend(piece)
    return np.array(found)


MIXED = {
    "phase": "prefill",
    "reqs": [
        ([11, 12, 13, 14, 15, 16], 2, 3, []),
        ([21, 22, 23], 0, 5, []),
        ([31], 0, 1, []),
        ([41, 42, 43, 44], 3, 2, []),
    ],
    "dummies": [],
}
DECODE = {
    "phase": "decode",
    "reqs": [
        ([51, 52, 53, 54, 55], 2, 4, ["complete", 501, "complete", 502]),
        ([61], 0, 3, ["complete", 601]),
        ([71, 72], 1, 3, ["complete", 701]),
    ],
    "dummies": [],
}
PADDED = {
    "phase": "decode",
    "reqs": [([81, 82, 83], 0, 4, ["complete", 801]), ([91, 92], 0, 4, ["complete", 901])],
    "dummies": [([7], 0, 1, []), ([7], 0, 1, [])],
}
ONE = {"phase": "prefill", "reqs": [([101, 102, 103], 1, 2, [])], "dummies": []}
EARLY = {"phase": "prefill", "reqs": [([5, 6, 7], 1, 3, [8, 9]), ([15, 16], 0, 3, [17])], "dummies": []}
LAGGING = {
    "phase": "decode",
    "reqs": [([1, 2, 3], 0, 4, ["complete", 301]), ([4, 5, 6, 7], 1, 4, ["complete"]), ([8], 0, 3, ["complete", "complete", 302])],
    "dummies": [],
}
POSITION_MISTAKES = [
    "positions-from-zero", "cache-computed-again", "positions-start-at-one", "last-token-only", "positions-run-through", "padding-left-out",
    "positions-from-the-host",
]  # fmt: skip
ID_MISTAKES = [
    "positions-from-zero", "cache-computed-again", "last-token-only", "padding-left-out", "all-that-the-host-knows", "last-tokens-of-the-host",
]  # fmt: skip


def compare(got, entries, key, want_of, mistakes, name):
    """All batches' packed tensors; a known mistake is named only if it explains every one of them."""
    known = None
    for mistake in mistakes:
        others = [want_of(entry, mistake) for entry in entries]
        differs = any(not np.array_equal(other, want_of(entry)) for other, entry in zip(others, entries, strict=True))
        if differs and all(isinstance(g[key], np.ndarray) and np.array_equal(g[key], o) for g, o in zip(got, others, strict=True)):
            known = mistake
            break
    for answer, entry in zip(got, entries, strict=True):
        if isinstance(answer[key], dict) and "raised" in answer[key]:
            expect.that(False, f"{key} raises {answer[key]['raised']}", [answer[key]["text"][:100]])
        expect.close(answer[key], want_of(entry), atol=0.0, name=name, axes=("token",), dtype="int32", suspects={known: True} if known else None)


# ---- tests -------------------------------------------------------------------------------------------------------


def test_positions(tree):
    """host_positions: for each request in order, the positions from cached_len to device_len - 1"""
    entries = [MIXED, DECODE, ONE]
    got = tree.run(packed, batches=entries)
    compare(got, entries, "host_positions", want_positions, POSITION_MISTAKES, "host_positions()")


def test_ids(tree):
    """host_input_ids: the ids at these positions"""
    entries = [MIXED, DECODE, ONE]
    got = tree.run(packed, batches=entries)
    compare(got, entries, "host_input_ids", want_ids, ID_MISTAKES, "host_input_ids()")


def test_dummies(tree):
    """The dummies of padded_reqs are computed too, behind the real requests"""
    entries = [PADDED, MIXED | {"dummies": PADDED["dummies"]}]
    got = tree.run(packed, batches=entries)
    compare(got, entries, "host_positions", want_positions, POSITION_MISTAKES, "host_positions() of a padded batch")
    compare(got, entries, "host_input_ids", want_ids, ID_MISTAKES, "host_input_ids() of a padded batch")


def test_tokens_on_their_way(tree):
    """Where the host does not know a token yet, host_input_ids raises RuntimeError that names the request; the positions are known"""
    entries = [LAGGING, LAGGING | {"reqs": LAGGING["reqs"][1:]}, {"phase": "decode", "reqs": LAGGING["reqs"][:1], "dummies": []}]
    got = tree.run(packed, batches=entries)
    compare(got, entries, "host_positions", want_positions, POSITION_MISTAKES, "host_positions() while a token is on its way")
    for answer, uids in zip(got, (("4001", "4002"), ("4100", "4101")), strict=False):
        ids = answer["host_input_ids"]
        short = isinstance(ids, np.ndarray)
        expect.that(not short, "host_input_ids() gives ids although one of them is not known yet", [f"got {ids}"], mistake="missing-token-overlooked")
        expect.raised(ids, "RuntimeError", what="a batch with a token on its way")
        named = any(uid in ids["text"] for uid in uids)
        expect.that(named, "the error does not name the request", [f"its text: {ids['text'][:80]}"], mistake="request-not-named")
    compare(got[2:], entries[2:], "host_input_ids", want_ids, ID_MISTAKES, "host_input_ids() where all is known")


def test_host_knows_more(tree):
    """Tokens that the host knows beyond device_len are not computed"""
    got = tree.run(packed, batches=[EARLY, MIXED])
    compare(got, [EARLY, MIXED], "host_positions", want_positions, POSITION_MISTAKES, "host_positions() where the host is ahead")
    compare(got, [EARLY, MIXED], "host_input_ids", want_ids, ID_MISTAKES, "host_input_ids() where the host is ahead")


def test_new_tensors(tree):
    """Both give a new int32 tensor each time, and leave the requests as they are"""
    entries = [ONE, MIXED, DECODE]
    got = tree.run(packed, batches=entries)
    overwritten = {"view-of-the-request": lambda again: bool((again == -7).any())}
    for key, want_of, mistakes in (("host_positions", want_positions, POSITION_MISTAKES), ("host_input_ids", want_ids, ID_MISTAKES)):
        compare(got, entries, key, want_of, mistakes, f"{key}()")
        for answer, entry in zip(got, entries, strict=True):
            name = f"{key}(), called again after its first result was overwritten,"
            expect.close(answer.get(f"{key} again"), want_of(entry), atol=0.0, name=name, axes=("token",), dtype="int32", suspects=overwritten)
    shared = "a request has changed, because the result shares memory with it"
    expect.that(all(answer["unchanged"] for answer in got), shared, mistake="view-of-the-request")


def test_whole_lives(tree, seeds):
    """Requests served to the end: every position is computed once, in its place, and the tokens equal those of a plain loop"""
    for lag in (False, True):
        for seed in seeds:
            rng = np.random.default_rng(seed)
            requests = []
            for i in range(5):
                n = int(rng.integers(1, 9))
                ids = rng.integers(1, 900, n).tolist()
                cached, output = int(rng.integers(0, n)), int(rng.integers(1, 6))
                requests.append({"ids": ids, "cached": cached, "output": output, "arrival": int(i // 2 * 2)})
            requests[3]["ids"], requests[3]["cached"] = list(requests[2]["ids"]), 0  # two equal prompts
            width = max(len(r["ids"]) + r["output"] for r in requests)
            order = rng.permutation(len(requests) * width).tolist()
            got = tree.run(lives, requests=requests, order=order, lag=lag)
            expect.that("stopped" not in got, "the life of the requests stops", [str(got.get("stopped"))])
            want = [plain_loop(r["ids"], r["output"]) for r in requests]
            expect.same_tokens(got["tokens"], want)
            computed = [len(r["ids"]) - r["cached"] + r["output"] - 1 for r in requests]
            expect.equal(got["computed"], computed, "the number of positions computed for each request")


def plain_loop(ids, output):
    """The same model, run on the whole text at each step."""
    text = list(ids)
    for _ in range(output):
        value = 1
        for position, token in enumerate(text):
            value = (value * 31 + 7 * position + 3 * token + 11) % 9973
        text.append(value)
    return text
