"""Exercise 191: plan the memory, how many pages fit."""

import numpy as np

from judge import expect

MISTAKES = (
    "ratio-of-what-is-left", "weights-not-counted", "dummy-page-forgotten", "ratio-of-the-rest-after-weights",
    "rounded-up", "limit-ignored", "limit-wins-always", "ratio-of-the-limit", "dummy-added", "limit-without-dummy",
)  # fmt: skip


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def page_bytes(cases):
    """kv_bytes_per_page for some models, page sizes, dtypes and numbers of ranks; None stands for the default."""
    import torch

    from minisgl.engine.engine import kv_bytes_per_page
    from minisgl.models.config import ModelConfig, RotaryConfig

    answers = []
    for case in cases:
        config = ModelConfig(
            num_layers=case["layers"], num_qo_heads=case["heads"], num_kv_heads=case["kv_heads"], head_dim=case["head_dim"],
            hidden_size=case["hidden"], intermediate_size=4 * case["hidden"], vocab_size=1000, rms_norm_eps=1e-6,
            rotary_config=RotaryConfig(2048, 1e4),
        )  # fmt: skip
        more = {} if case["ranks"] is None else {"tp_size": case["ranks"]}
        size = kv_bytes_per_page(config, case["page"], getattr(torch, case["dtype"]), **more)
        answers.append({"bytes": size, "type": type(size).__name__})
    return answers


def pool_bytes(cases):
    """What kv_bytes_per_page says, and what a real pool of that many pages takes."""
    import torch

    from minisgl.engine.engine import kv_bytes_per_page
    from minisgl.kvcache import create_kvcache_pool
    from minisgl.models.config import ModelConfig, RotaryConfig

    answers = []
    for layers, kv_heads, head_dim, page, pages, dtype in cases:
        config = ModelConfig(layers, 4 * kv_heads, kv_heads, head_dim, 96, 200, 500, 1e-6, RotaryConfig(2048, 1e4))
        dtype = getattr(torch, dtype)
        pool = create_kvcache_pool(config, pages, page, dtype, torch.device("cpu"))
        real = 2 * sum(pool.k_cache(i).numel() * pool.k_cache(i).element_size() for i in range(layers))
        answers.append({"said": kv_bytes_per_page(config, page, dtype) * pages, "real": real})
    return answers


def plans(cases):
    """plan_num_pages for some numbers; an error is an answer too."""
    from minisgl.engine.engine import plan_num_pages

    answers = []
    for case in cases:
        try:
            pages = plan_num_pages(**case)
            answers.append({"pages": pages, "type": type(pages).__name__})
        except NotImplementedError:
            raise
        except Exception as error:
            answers.append({"raised": type(error).__name__, "text": str(error)})
    return answers


# ---- inputs and expectations -------------------------------------------------------------------------------------

SIZES = {"float32": 4, "bfloat16": 2, "float16": 2, "float64": 8}


def model(layers, heads, kv_heads, head_dim, hidden, page, dtype, ranks=None):
    return dict(layers=layers, heads=heads, kv_heads=kv_heads, head_dim=head_dim, hidden=hidden, page=page, dtype=dtype, ranks=ranks)


def bytes_of(case, mistake=None):
    """The right size of a page, or the one that a known mistake gives."""
    ranks = case["ranks"] or 1
    heads = case["heads"] if mistake == "query-heads" else case["kv_heads"]
    heads = max(1, heads // ranks) if mistake != "ranks-ignored" else heads
    if mistake == "less-than-one-head":
        heads = case["kv_heads"] / ranks
    head_dim = case["hidden"] // case["heads"] if mistake == "head-dim-computed" else case["head_dim"]
    size = {"two-bytes-always": 2, "four-bytes-always": 4, "bits-not-bytes": 8 * SIZES[case["dtype"]]}.get(mistake, SIZES[case["dtype"]])
    factors = [
        1 if mistake == "values-forgotten" else 2,
        1 if mistake == "one-layer-only" else case["layers"],
        1 if mistake == "page-size-forgotten" else case["page"],
        heads, head_dim, size,
    ]  # fmt: skip
    return int(np.prod(factors)) if all(float(f).is_integer() for f in factors) else int(np.prod([float(f) for f in factors]))


def pages_of(case, mistake=None):
    """The right number of pages, or the one that a known mistake gives; None where that is no plan."""
    before, after, ratio, limit = case["free_before"], case["free_after"], case["memory_ratio"], case.get("max_bytes")
    size = case["bytes_per_page"]
    budget = int(ratio * before) - (before - after)
    if mistake == "ratio-of-what-is-left":
        budget = int(ratio * after)
    elif mistake == "ratio-of-the-rest-after-weights":
        budget = int(ratio * (before - after))
    elif mistake == "weights-not-counted":
        budget = int(ratio * before)
    if limit is not None and mistake != "limit-ignored":
        if mistake == "ratio-of-the-limit":
            limit = int(limit * ratio)
        elif mistake == "limit-without-dummy":
            limit += size
        budget = limit if mistake == "limit-wins-always" else min(budget, limit)
    pages = -(-budget // size) if mistake == "rounded-up" else budget // size
    pages += {"dummy-page-forgotten": 0, "dummy-added": 1}.get(mistake, -1)
    return int(pages) if pages >= 1 else None


def check_plans(cases, got):
    want = [pages_of(case) for case in cases]
    expect.that(isinstance(got, list) and len(got) == len(cases), "plan_num_pages cannot be called")
    pages = [row.get("pages") for row in got]
    errors = [f"{case}: {row['raised']}: {row['text'][:60]}" for case, row in zip(cases, got, strict=True) if "raised" in row]
    suspects = {name: [pages_of(case, name) for case in cases] for name in MISTAKES}
    if not any(pages[i] is not None for i in range(len(pages)) if want[i] is not None):
        expect.that(not errors, "plan_num_pages raises where pages do fit", errors[:3])
    expect.equal(pages, want, "the number of pages", suspects=suspects)
    kinds = {row.get("type") for row in got}
    expect.that(kinds <= {"int"}, f"plan_num_pages returns a {', '.join(sorted(map(str, kinds)))}; an int is wanted", kind="type")


def plan(size, before, after, ratio, limit=None, named=True):
    case = dict(bytes_per_page=size, free_before=before, free_after=after, memory_ratio=ratio)
    return case if limit is None and not named else case | {"max_bytes": limit}


# ---- tests -------------------------------------------------------------------------------------------------------


def test_bytes_of_a_page(tree):
    """A page's bytes: keys and values, of every layer, of page_size tokens, of the KV heads, in the dtype given"""
    cases = [
        model(28, 16, 8, 128, 1024, 1, "bfloat16"), model(30, 9, 3, 64, 576, 16, "float32"), model(2, 4, 2, 32, 64, 4, "float32"),
        model(5, 14, 2, 64, 896, 7, "float16"), model(3, 6, 6, 48, 200, 1, "float64"), model(80, 64, 8, 128, 8192, 256, "bfloat16"),
    ]  # fmt: skip
    got = tree.run(page_bytes, cases=cases)
    names = ("values-forgotten", "one-layer-only", "page-size-forgotten", "query-heads", "head-dim-computed", "two-bytes-always", "four-bytes-always", "bits-not-bytes")
    suspects = {name: [bytes_of(case, name) for case in cases] for name in names}
    expect.equal([row["bytes"] for row in got], [bytes_of(case) for case in cases], "the bytes of a page", suspects=suspects)
    kinds = {row["type"] for row in got}
    expect.that(kinds == {"int"}, f"kv_bytes_per_page returns a {', '.join(sorted(kinds))}; an int is wanted", kind="type")


def test_share_of_a_rank(tree):
    """A rank counts its own heads: num_kv_heads / tp_size, and one where there are fewer heads than ranks"""
    cases = [model(4, 16, 8, 64, 256, 2, "bfloat16", ranks) for ranks in (1, 2, 4, 8, 16, 32)] + [model(2, 4, 1, 8, 32, 1, "float32", 4)]
    got = [row["bytes"] for row in tree.run(page_bytes, cases=cases)]
    suspects = {name: [bytes_of(case, name) for case in cases] for name in ("ranks-ignored", "query-heads", "less-than-one-head")}
    suspects["less-than-one-head"] = lambda rows: [int(x) for x in rows] != [bytes_of(c) for c in cases] and [int(x) for x in rows] in (
        [bytes_of(case, "less-than-one-head") for case in cases], [bytes_of(case) if case["kv_heads"] >= case["ranks"] else 0 for case in cases]
    )  # fmt: skip
    expect.equal(got, [bytes_of(case) for case in cases], "the bytes of a page on one of 1, 2, 4, 8, 16, 32 and 4 ranks", suspects=suspects)


def test_equals_a_real_pool(tree):
    """That many bytes is what a real pool takes"""
    cases = [(2, 2, 32, 4, 9, "float32"), (3, 1, 16, 1, 5, "bfloat16"), (1, 3, 24, 16, 2, "float16")]
    got = tree.run(pool_bytes, cases=cases)
    expect.equal([row["said"] for row in got], [row["real"] for row in got], "the planned bytes of three pools")


def test_ratio_and_weights(tree):
    """Weights and pool together take memory_ratio of what was free before; one page of the pool is the dummy's"""
    cases = [
        plan(100, 10_000, 6_000, 0.75, named=False), plan(64, 100_000, 40_000, 0.9), plan(7, 1_000, 999, 0.5), plan(1000, 64_000, 60_500, 1.0),
        plan(114_688, 80 << 30, 64 << 30, 0.9), plan(1 << 20, 3 << 40, 1 << 40, 0.875), plan(4096, 1 << 30, 1 << 30, 0.5),
    ]  # fmt: skip
    check_plans(cases, tree.run(plans, cases=cases))


def test_upper_limit(tree):
    """max_bytes limits the pool, its dummy page included, where the memory would allow more"""
    cases = [
        plan(100, 100_000, 80_000, 0.75, 5_050), plan(100, 100_000, 80_000, 0.75, 10**12), plan(100, 100_000, 40_000, 0.75, 40_000),
        plan(256, 1 << 30, 1 << 29, 0.9, 512), plan(100, 100_000, 80_000, 0.75, 54_000), plan(100, 100_000, 80_000, 0.75),
    ]  # fmt: skip
    check_plans(cases, tree.run(plans, cases=cases))


def test_whole_pages(tree):
    """Only whole pages count: one byte less than two pages is refused, two pages leave one for the requests"""
    cases = [plan(100, 1_000, before, 1.0) for before in (200, 201, 299, 300, 301)]
    check_plans(cases, tree.run(plans, cases=cases))


def test_no_room(tree):
    """Without a page for the requests: ValueError with the number of bytes, also where the weights alone are too large"""
    cases = [
        plan(100, 1_000, 199, 1.0), plan(100, 4_000, 1_100, 0.75), plan(100, 10_000, 1_000, 0.75), plan(100, 10_000, 9_000, 0.75, 199),
        plan(100, 10_000, 9_000, 0.75, 0), plan(100, 100_000, 0, 0.9),
    ]  # fmt: skip
    got = tree.run(plans, cases=cases)
    for case, row in zip(cases, got, strict=True):
        before, after, limit = case["free_before"], case["free_after"], case.get("max_bytes")
        budget = int(case["memory_ratio"] * before) - (before - after)
        what = f"a page of 100 bytes with {budget if limit is None else min(budget, limit)} bytes for the pool"
        mistake = None
        if row.get("pages") is not None:
            mistake = "zero-limit-is-no-limit" if limit == 0 and row["pages"] > 1 else "no-error-without-room"
            if row["pages"] == 1 and limit != 0:
                mistake = "room-for-the-dummy-only"
        expect.raised(row, "ValueError", what=what, mistake=mistake)
        plain = row["text"].replace(",", "").replace("_", "").replace("'", "")
        known = {budget, min(budget, budget if limit is None else limit), before, after, 2 * case["bytes_per_page"]}
        lines = [f"its text: {row['text'][:80]}"]
        expect.that(any(str(abs(number)) in plain for number in known), "the error does not say how many bytes there were", lines, "error-without-numbers")


def test_fresh_numbers(tree, seed):
    """The same for numbers that this run made up"""
    rng = np.random.default_rng(seed)
    cases = []
    while len(cases) < 40:
        size = int(rng.integers(1, 1 << 20))
        before = int(rng.integers(1 << 24, 1 << 40))
        after = int(before * rng.uniform(0.4, 1.0))
        ratio = float(rng.choice([0.5, 0.625, 0.75, 0.875, 1.0]))
        limit = None if rng.random() < 0.5 else int(rng.integers(4 * size, 1 << 38))
        case = plan(size, before, after, ratio, limit)
        budget = int(ratio * before) - (before - after)
        if min(budget, limit or budget) >= 3 * size and min(budget, limit or budget) % size not in (0, 1, size - 1):
            cases.append(case)
    check_plans(cases, tree.run(plans, cases=cases))
