"""Exercise 180: what the attention backend works out once per batch."""

import weakref

import numpy as np

from judge import expect

WIDTH = 24  # columns of the page table
ROWS = 9
LENGTHS = [[3, 1, 2], [6, 3, 1], [5], [1, 1, 1, 1], [0, 4, 0], [], [700, 1, 4096, 33]]
# Each case is a batch: (tokens, cached, row of the page table) of its requests, then those of the padding requests.
CASES = {
    "mixed": ([(6, 0, 4), (7, 4, 1), (9, 8, 6)], []),
    "decode, padded": ([(12, 11, 7), (1, 0, 2), (5, 4, 0)], [(1, 0, 8), (1, 0, 8)]),
    "one token": ([(1, 0, 3)], []),
    "one long request": ([(WIDTH, 5, 5)], []),
    "fully cached but for one": ([(16, 15, 2), (16, 0, 6), (4, 3, 1), (16, 15, 0)], []),
    "rows side by side": ([(4, 1, 2), (9, 0, 3), (7, 6, 4)], []),
    "padded prefill": ([(8, 2, 3), (2, 0, 5)], [(14, 13, 8)]),
}
FIELDS = ("query_lens", "kv_lens", "cu_seqlens_q", "page_table")


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def sums(lengths):
    """make_cu_seqlens of each list, given as a list and as a tuple, and whether the list is as before."""
    import torch

    from minisgl.attention.utils import make_cu_seqlens

    found = []
    for lens in lengths:
        given = list(lens)
        one, two = make_cu_seqlens(given, torch.device("cpu")), make_cu_seqlens(tuple(lens), torch.device("cpu"))
        found.append({"sums": one, "of a tuple": two, "kept": given == list(lens)})
    return found


def last_rows(cases):
    """get_last_indices of metadata that is made by hand: (cu_seqlens_q, sizes) -> one answer for each size."""
    import itertools

    import torch

    from minisgl.attention.torch_backend import TorchAttnMetadata

    found = []
    for cu, sizes in cases:
        lens = [b - a for a, b in itertools.pairwise(cu)]
        tensor = torch.tensor(cu, dtype=torch.int32)
        metadata = TorchAttnMetadata(lens, lens, tensor, torch.zeros((len(lens), max(lens)), dtype=torch.int32))
        answers = [metadata.get_last_indices(size) for size in sizes]
        found.append({"answers": [a.clone() if isinstance(a, torch.Tensor) else a for a in answers], "cu": tensor})
    return found


def prepare(cases, table):
    """prepare_metadata for some batches, one after the other with one backend. All answers are looked at twice: at once,
    and when all batches are prepared and the page table has been overwritten."""
    from types import SimpleNamespace

    import torch

    from minisgl.attention.torch_backend import TorchAttnBackend, TorchAttnMetadata
    from minisgl.core import Batch, Context, Req, SamplingParams, set_global_ctx
    from minisgl.kvcache.mha_pool import MHAKVCache

    def request(tokens, cached, row, uid):
        return Req(torch.arange(tokens, dtype=torch.int32), row, cached, 4, uid, SamplingParams())

    def look(metadata):
        known = {name: getattr(metadata, name) for name in ("query_lens", "kv_lens", "cu_seqlens_q", "page_table")}
        known = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in known.items()}
        return known | {"on the host": [type(known[name]).__name__ for name in ("query_lens", "kv_lens")]}

    ctx = Context(page_size=1)
    set_global_ctx(ctx)
    ctx.page_table = table.clone()
    ctx.kv_cache = MHAKVCache(2, 1, 8, 4, 1, torch.float32, torch.device("cpu"))
    backend = TorchAttnBackend(SimpleNamespace(head_dim=8, num_qo_heads=4, num_kv_heads=2, num_layers=1))
    found, batches = {}, {}
    for name, (real, padding) in cases.items():
        reqs = [request(*r, uid=100 - i) for i, r in enumerate(real)]
        batch = Batch(reqs, "decode" if "decode" in name else "prefill")
        batch.padded_reqs = reqs + [request(*r, uid=-1) for r in padding]
        returned = backend.prepare_metadata(batch)
        metadata = getattr(batch, "attn_metadata", None)
        if not isinstance(metadata, TorchAttnMetadata):
            found[name] = {"type": type(metadata).__name__, "returned": type(returned).__name__}
            continue
        lengths = [[r.cached_len, r.device_len, r.table_idx] for r in batch.padded_reqs]
        found[name] = {"type": "TorchAttnMetadata", "at once": look(metadata), "last": metadata.get_last_indices(len(reqs)), "requests": lengths}
        batches[name] = batch
    untouched = bool(torch.equal(ctx.page_table, table))
    ctx.page_table.fill_(-77)
    for name, batch in batches.items():
        found[name]["later"] = look(batch.attn_metadata)
    return {"found": found, "table kept": untouched}


# ---- inputs and what is right ------------------------------------------------------------------------------------


def page_table():
    """[ROWS, WIDTH] slots, all different, in no order; behind a request's length they are as good as any."""
    return np.random.default_rng(5).permutation(ROWS * WIDTH).reshape(ROWS, WIDTH).astype(np.int32)


def cumulated(lens):
    return np.concatenate([[0], np.cumsum(lens)]).astype(np.int32)


def lens_of(requests):
    return [tokens - cached for tokens, cached, _ in requests], [tokens for tokens, _, _ in requests]


ANSWERS = weakref.WeakKeyDictionary()


def prepared(tree):
    """Name -> what the learner's prepare_metadata made, all of one process."""
    if tree not in ANSWERS:
        ANSWERS[tree] = tree.run(prepare, cases=CASES, table=page_table())
    found = ANSWERS[tree]
    for name, answer in found["found"].items():
        kind = answer["type"]
        hint = [f"prepare_metadata returned a {answer['returned']}; it returns nothing"] if answer.get("returned", "NoneType") != "NoneType" else []
        none = "there is no" if kind == "NoneType" else f"there is a {kind} as"
        expect.that(kind == "TorchAttnMetadata", f"{none} batch.attn_metadata after prepare_metadata; a TorchAttnMetadata is wanted ({name})", hint, kind="type")
    return found


def all_cases(found, wrongly):
    """Does a mistake explain the answers to all cases? `wrongly(answer, real, everybody)` says so for one of them."""

    def explains(_):
        return all(wrongly(found[name]["at once"], real, real + padding) for name, (real, padding) in CASES.items())

    return explains


def same(got, want):
    return isinstance(got, (list, np.ndarray)) and np.array_equal(np.asarray(got), np.asarray(want))


# ---- tests -------------------------------------------------------------------------------------------------------


def test_running_sums(tree):
    """make_cu_seqlens gives the running sum from 0, one entry more than there are lengths, int32"""
    got = tree.run(sums, lengths=LENGTHS)

    def always(make):
        return all(same(answer["sums"], make(np.asarray(lens, np.int64))) for answer, lens in zip(got, LENGTHS, strict=True))

    suspects = {
        "no-leading-zero": always(np.cumsum),
        "total-left-out": always(lambda lens: cumulated(lens)[:-1]),
        "lengths-not-summed": always(lambda lens: [0, *lens]),
    }
    for answer, lens in zip(got, LENGTHS, strict=True):
        want, name = cumulated(lens), f"make_cu_seqlens({lens})"
        expect.close(answer["sums"], want, atol=0.0, name=name, axes=("entry",), dtype="int32", suspects=suspects)
        expect.close(answer["of a tuple"], want, atol=0.0, name=f"make_cu_seqlens of the tuple {tuple(lens)}", dtype="int32")
        expect.that(answer["kept"], f"{name} has changed the list of lengths")


def test_last_rows(tree):
    """get_last_indices(bs) gives the row of the last token of each of the first bs requests, int32"""
    cases = [([0, 6, 9, 10], [3, 2, 1]), ([0, 1], [1]), ([0, 1, 2, 3, 4], [2, 4]), ([0, 4, 5, 700], [3, 1])]
    got = tree.run(last_rows, cases=cases)
    pairs = [(answer, np.asarray(cu), size) for (cu, sizes), g in zip(cases, got, strict=True) for answer, size in zip(g["answers"], sizes, strict=True)]

    def always(make):
        return all(same(answer, make(cu, size)) for answer, cu, size in pairs)

    suspects = {
        "last-indices-one-too-far": always(lambda cu, n: cu[1 : n + 1]),
        "first-rows": always(lambda cu, n: cu[:n]),
        "all-requests": always(lambda cu, n: cu[1:] - 1),
        "last-requests": always(lambda cu, n: cu[-n:] - 1),
    }
    for answer, cu, size in pairs:
        name = f"get_last_indices({size}) with cu_seqlens_q {cu.tolist()}"
        expect.close(answer, (cu[1 : size + 1] - 1).astype(np.int32), atol=0.0, name=name, axes=("request",), dtype="int32", suspects=suspects)
    for (cu, _), answer in zip(cases, got, strict=True):
        expect.equal(answer["cu"], np.asarray(cu), "cu_seqlens_q after get_last_indices")


def test_lengths(tree):
    """prepare_metadata: queries are extend_len and keys device_len, lists on the host; cu_seqlens_q sums the queries up"""
    found = prepared(tree)["found"]
    swapped = lambda got, _, all_: same(got["query_lens"], lens_of(all_)[1]) and same(got["kv_lens"], lens_of(all_)[0])  # noqa: E731
    cached = lambda got, _, all_: same(got["kv_lens"], [c for _, c, _ in all_])  # noqa: E731
    everything = lambda got, _, all_: same(got["query_lens"], lens_of(all_)[1])  # noqa: E731
    unpadded = lambda got, real, _: all(same(got[key], lens) for key, lens in zip(FIELDS, lens_of(real), strict=False))  # noqa: E731
    headless = lambda got, _, all_: same(got["cu_seqlens_q"], cumulated(lens_of(all_)[0])[1:])  # noqa: E731
    of_keys = lambda got, _, all_: same(got["cu_seqlens_q"], cumulated(lens_of(all_)[1]))  # noqa: E731
    lists = {"padding-forgotten": unpadded, "lengths-swapped": swapped, "cached-len-for-keys": cached, "queries-of-all-tokens": everything}
    for name, (real, padding) in CASES.items():
        queries, keys = lens_of(real + padding)
        got = found[name]["at once"]
        suspects = {mistake: all_cases(found, wrongly) for mistake, wrongly in lists.items()}
        expect.equal(got["query_lens"], queries, f"query_lens of the batch '{name}'", suspects=suspects)
        expect.equal(got["kv_lens"], keys, f"kv_lens of the batch '{name}'", suspects=suspects)
        told = [f"they are: {' and '.join(got['on the host'])}"]
        expect.that(got["on the host"] == ["list", "list"], "query_lens and kv_lens must be lists on the host", told, kind="type")
        suspects = {"cu-seqlens-of-the-keys": all_cases(found, of_keys), "no-leading-zero": all_cases(found, headless)}
        expect.close(got["cu_seqlens_q"], cumulated(queries), atol=0.0, name=f"cu_seqlens_q of the batch '{name}'", axes=("entry",), dtype="int32", suspects=suspects)
        others = {"all-requests": all(same(found[c]["last"], cumulated(lens_of(r + p)[0])[1:] - 1) for c, (r, p) in CASES.items())}
        last = (cumulated(queries)[1 : len(real) + 1] - 1).astype(np.int32)
        expect.close(found[name]["last"], last, atol=0.0, name=f"get_last_indices of the batch '{name}'", axes=("request",), suspects=others)
        expect.equal(found[name]["requests"], [[c, t, row] for t, c, row in real + padding], "the lengths and rows of the requests afterwards")


def test_slots(tree):
    """prepare_metadata: each request's own page-table row, up to the longest request, int32"""
    found, table = prepared(tree)["found"], page_table()

    def rows(pick, cut=lambda all_: max(lens_of(all_)[1])):
        return lambda got, _, all_: same(got["page_table"], table[pick(all_), : cut(all_)])

    row_of = lambda all_: [row for _, _, row in all_]  # noqa: E731
    suspects = {
        "rows-in-batch-order": rows(lambda all_: list(range(len(all_)))),
        "padding-forgotten": lambda got, real, _: same(got["query_lens"], lens_of(real)[0]),
        "table-not-cut": rows(row_of, lambda all_: WIDTH),
        "table-cut-at-the-queries": rows(row_of, lambda all_: max(lens_of(all_)[0])),
        "last-slot-cut-off": rows(row_of, lambda all_: max(lens_of(all_)[1]) - 1),
        "cut-at-the-first": rows(row_of, lambda all_: lens_of(all_)[1][0]),
        "new-slots-only": lambda got, _, all_: got["page_table"].shape[1] == max(lens_of(all_)[0])
        and all(same(got["page_table"][i, : t - c], table[row, c:t]) for i, (t, c, row) in enumerate(all_)),
    }
    suspects = {mistake: all_cases(found, wrongly) for mistake, wrongly in suspects.items()}
    for name, (real, padding) in CASES.items():
        everybody = real + padding
        got = found[name]["at once"]["page_table"]
        shape = (len(everybody), max(lens_of(everybody)[1]))
        known = isinstance(got, np.ndarray) and got.shape == shape
        want = np.zeros(shape, np.int32)
        for i, (tokens, _, row) in enumerate(everybody):
            want[i, :tokens] = table[row, :tokens]
            if known:
                want[i, tokens:] = got[i, tokens:]  # undefined
        expect.close(got, want, atol=0.0, name=f"page_table of the batch '{name}'", axes=("request", "position"), dtype="int32", suspects=suspects)


def test_the_rows_are_copied(tree):
    """What a batch knows stays when other batches are prepared and the page table changes"""
    got = prepared(tree)
    expect.that(got["table kept"], "prepare_metadata has changed the context's page table")
    for name, (real, padding) in CASES.items():
        for field in FIELDS:
            before, after = (got["found"][name][when][field] for when in ("at once", "later"))
            view = isinstance(after, np.ndarray) and bool((after == -77).all())
            title = f"{field} of the batch '{name}', after the page table was overwritten,"
            suspects = {"table-not-copied": view and field == "page_table"}
            if field == "page_table":
                before, after = (written(x, real + padding) for x in (before, after))
            elif isinstance(before, np.ndarray):
                before = before.tolist()
            expect.equal(after, before, title, suspects=suspects)


def written(slots, requests):
    """The entries of the metadata's page table that mean something, as far as they are there."""
    slots = expect.is_tensor(slots, "page_table")
    expect.that(slots.ndim == 2, f"page_table has shape {list(slots.shape)}; want [requests, positions]", kind="shape")
    return [slots[i, : tokens].tolist() for i, (tokens, _, _) in enumerate(requests) if i < len(slots)]
