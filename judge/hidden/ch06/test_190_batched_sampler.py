"""Exercise 190: batched sampling, one set of parameters per request.

All cases go to the learner's code in one process, with at most `DRAWS` draws a row. The uniform numbers are stratified:
of n draws of a row, one gets a number from each [j/n, (j+1)/n). Chernoff's bound in `expect.same_distribution` holds for
such draws too (what counts is the mean of their probabilities), and code that inverts a cumulative sum gets frequencies
within 2/n of the distribution that it follows, so few draws suffice to tell distributions apart.
"""

import weakref

import numpy as np
import pytest

from judge import expect, questions, warpers
from judge.sandbox import ProbeFailed

VOCAB = 12
DRAWS = 192
ROWS = [
    {"temperature": 0.7, "top_k": 3, "top_p": 0.8},
    {"temperature": 2.2},
    {"temperature": 1.3, "top_p": 0.45},
    {"temperature": 0.0, "top_p": 0.5},
    {"temperature": 1.8, "top_k": 2},
    {"temperature": 0.6, "top_k": 6, "top_p": 0.7},
    {"temperature": 1.5, "min_p": 0.3},
    {"temperature": 1.6, "top_k": 9, "top_p": 0.75, "min_p": 0.25},
]
# Found by a search: no kept set hangs on rounding, and each two of the known mistakes differ in at least one row.
LOGITS = np.array([
    [0.7, -2.8, 2.1, -0.8, -1.5, 0.1, 0.8, -0.4, 1.2, -3.2, -0.2, 1.5],
    [4.1, 1.3, 2.5, -1.4, -2.6, 0.9, 0.3, 1.0, 2.8, 1.5, -2.8, -0.9],
    [2.2, 3.0, -0.1, -0.4, -2.2, 0.7, -1.8, 3.5, -0.3, 1.0, -1.6, -1.1],
    [-5.6, 0.5, -1.3, -0.3, 3.4, 0.9, 0.0, -3.7, 2.9, -0.2, 1.9, 0.1],
    [0.2, 0.4, -0.5, -0.6, 0.7, -1.0, -1.6, 1.1, -0.3, 0.3, -3.4, -0.2],
    [0.7, 0.4, 0.5, 2.6, -3.3, -1.1, 0.9, -0.9, -2.6, 3.7, -0.1, 0.6],
    [-2.4, -0.3, -3.3, 1.1, 4.3, 0.4, 1.0, -0.7, -0.5, 1.5, -0.4, -1.0],
    [-1.9, 5.2, 2.2, -2.4, 3.4, 1.4, -0.6, -1.7, 3.6, -0.4, -2.6, -0.8],
], np.float32)  # fmt: skip
FRESH = [{"temperature": 0.8, "top_k": 5, "top_p": 0.75}, {"temperature": 1.1, "top_p": 0.9}, {"temperature": 1.3, "min_p": 0.15}]
FRESH_DRAWS = 100
MANY = [{"temperature": 3.0}, {"temperature": 0.4, "top_k": 6}, {"temperature": 1.5, "min_p": 0.2}, {"temperature": 1.0}, {"temperature": 0.05}, {"temperature": 1.0}]
TAILS = np.log(np.array([0.008, *[0.0984] * 10, 0.008], np.float32))
MANY_LOGITS = np.stack([*LOGITS[[1, 2, 7]], np.zeros(VOCAB, np.float32), LOGITS[0] * np.float32(0.05), TAILS])
MANY_DRAWS = 1000
# A suspect must fit closely: better leave a mistake unnamed than name one that fits by accident.
TIGHT, NEAR = 0.05, 0.06
OFF = [
    {"temperature": 1.0, "top_k": -1}, {"temperature": 1.0, "top_k": 0}, {"temperature": 1.0, "top_k": 999}, {"temperature": 1.0, "top_k": 2},
    {"temperature": 1.0, "top_k": 4, "top_p": 1.0}, {"temperature": 1.0, "top_k": 3, "top_p": 1.0}, {"temperature": 1.0, "top_p": 0.5},
]  # fmt: skip
OFF_LOGITS = np.tile(np.log(np.array([0.24, 0.28, 0.22, 0.26], np.float32)), (7, 1))
OFF_DRAWS = 128
NEARLY_ONE = np.log(np.array([[0.1905, 0.6, 0.0095, 0.2]], np.float32))
# Every row uses every filter, so a batch can do without any one of them, and no row's value is that of all.
LONE = [
    {"temperature": 1.1, "top_k": 2, "top_p": 0.6, "min_p": 0.2}, {"temperature": 1.3, "top_k": 5, "top_p": 0.5, "min_p": 0.2},
    {"temperature": 1.7, "top_k": 3, "top_p": 0.75, "min_p": 0.15}, {"temperature": 2.4, "top_k": 9, "top_p": 0.8, "min_p": 0.4},
]  # fmt: skip
LONE_GIVEN = {  # name -> the filters that are passed, and how many draws a row gets
    "top_k alone": (("top_k",), 64), "top_p alone": (("top_p",), 40), "min_p alone": (("min_p",), 64), "no filter": ((), 64),
    "no top_k": (("top_p", "min_p"), 16), "no top_p": (("top_k", "min_p"), 64), "no min_p": (("top_k", "top_p"), 16),
}  # fmt: skip


# ---- the probe: runs next to the learner's code ------------------------------------------------------------------


def serve(cases):
    """Each case is a batch: `prepare` and `sample` ("how": "sampler"), or `sample_torch` alone with unprepared parameters ("raw").

    With "uniforms" [draws * rows] each row is drawn several times, with these numbers instead of its own. "given" names the
    filters that a raw case passes; the others, and the uniform numbers where there are none, are left at their defaults.
    Requests "in flight" have a token that the host does not know yet; "cached" lengths are those of prefill.
    """
    import torch

    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine import sample as module

    names = ("temperatures", "top_ks", "top_ps", "min_ps", "uniforms")

    def requests(case):
        reqs = []
        for i, p in enumerate(case["params"]):
            length = case.get("lengths", [4 + i % 3] * (i + 1))[i]
            uid = case["uids"][i] if "uids" in case else i
            flying = i in case.get("in flight", ())
            known = torch.arange(length - flying, dtype=torch.int32)
            cached = case["cached"][i] if "cached" in case else len(known) - 1
            reqs.append(Req(known, i, cached, 8 + uid % 4, uid, SamplingParams(**p)))
            if flying:
                reqs[-1].complete_one()
        return reqs

    def prepared(case):
        reqs = requests(case)
        batch = Batch(reqs, "prefill" if "cached" in case else "decode")
        batch.padded_reqs = reqs + requests({"params": [{"temperature": 5.0, "top_k": 2, "top_p": 0.1, "min_p": 0.9}] * case.get("padding", 0)})
        sampler = module.Sampler(torch.device("cpu"), case.get("vocab") or case["logits"].shape[-1], **case.get("base", {}))
        return sampler, reqs, sampler.prepare(batch), batch

    def fields(args):
        return {name: getattr(args, name) for name in names}

    def states(reqs):
        return [[r.cached_len, r.device_len, len(r.input_ids), r.max_device_len] for r in reqs]

    def copies(found):
        return {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in found.items()}

    def differ(before, after):
        """Names of the tensors that have changed."""
        pairs = {name: (value, after[name]) for name, value in before.items() if isinstance(value, torch.Tensor)}
        return [name for name, (a, b) in pairs.items() if a.shape != b.shape or not torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0))]

    def numbers(case):
        """What `prepare` gives, and what the docstring says about the uniform numbers; some mistakes too."""
        sampler, reqs, args, batch = prepared(case)
        if not isinstance(args, module.BatchSamplingArgs):
            return {"prepared": type(args).__name__}
        first = copies(fields(args))
        others = [{"temperature": 3.0, "top_k": 2, "seed": 1}, {"temperature": 4.0, "top_p": 0.6, "min_p": 0.2}] * len(reqs)
        other = sampler.prepare(Batch(requests({"params": others[: len(reqs)]}), "decode"))
        other = copies(fields(other)) if isinstance(other, module.BatchSamplingArgs) else None
        kept = differ(first, fields(args)) == []
        unmoved = states(reqs) == states(requests(case)) and batch.size == len(reqs)
        again = sampler.prepare(batch)
        again = fields(again) if isinstance(again, module.BatchSamplingArgs) else dict.fromkeys(names)
        seeds = [module.request_seed(r.sampling_params, r.uid, sampler.seed) for r in reqs]
        steps = {
            "right": [r.device_len for r in reqs],
            "step-ignored": [0] * len(reqs),
            "one": [1] * len(reqs),
            "limit": [r.max_device_len for r in reqs],
            "cached": [r.cached_len for r in reqs],
            "one-step-behind": [r.device_len - 1 for r in reqs],
            "tokens-on-the-host-counted": [len(r.input_ids) for r in reqs],
        }
        told = {key: [module.uniform(s, at) for s, at in zip(seeds, step, strict=True)] for key, step in steps.items()}
        told["seed-ignored"] = [module.uniform(module.request_seed(SamplingParams(), r.uid, sampler.seed), r.device_len) for r in reqs]
        told["base-ignored"] = [module.uniform(module.request_seed(r.sampling_params, r.uid, 42), r.device_len) for r in reqs]
        told["uid as seed"] = [module.uniform(r.uid, r.device_len) for r in reqs]
        told["one-seed-for-all"] = [module.uniform(sampler.seed, r.device_len) for r in reqs]
        own = [r.sampling_params.seed for r in reqs]
        told["uid-ignored"] = [module.uniform(sampler.seed if o is None else o, r.device_len) for o, r in zip(own, reqs, strict=True)]
        zero = [module.request_seed(SamplingParams(seed=o or None), r.uid, sampler.seed) for o, r in zip(own, reqs, strict=True)]
        told["seed-zero-ignored"] = [module.uniform(s, r.device_len) for s, r in zip(zero, reqs, strict=True)]
        found = {"fields": first, "other": other and other["temperatures"], "again": again, "told": told, "kept": kept, "unmoved": unmoved}
        return {"prepared": "BatchSamplingArgs"} | found

    def elsewhere(case):
        """Where `prepare` puts its tensors, and whether `sample` hands a batch on CUDA to FlashInfer. Both without a GPU."""

        class OnCuda(torch.Tensor):
            is_cuda, device = True, torch.device("cuda", 0)

        found = {"prepared": "BatchSamplingArgs", "devices": [], "flashinfer": None}
        batch = Batch(requests(case), "decode")
        try:
            args = module.Sampler(torch.device("meta"), 12).prepare(batch)
            found["devices"] = sorted({value.device.type for value in fields(args).values() if value is not None})
        except (RuntimeError, AttributeError):
            pass  # the device holds no numbers: code that looks at them cannot be asked
        sampler = module.Sampler(torch.device("cpu"), 12)
        args = sampler.prepare(batch)
        if not isinstance(args, module.BatchSamplingArgs):
            return {"prepared": type(args).__name__}
        logits = torch.arange(12.0 * len(batch.reqs)).reshape(-1, 12)
        original, module.sample_flashinfer = module.sample_flashinfer, lambda *a, **k: torch.full((len(batch.reqs),), 77, dtype=torch.int32)
        try:
            sampler.use_flashinfer, sampler.device = True, torch.device("cuda", 0)
            tokens = sampler.sample(logits.as_subclass(OnCuda), args)
            found["flashinfer"] = bool((torch.as_tensor(tokens).as_subclass(torch.Tensor) == 77).all())
            sampler.use_flashinfer = False
            tokens = sampler.sample(logits.as_subclass(OnCuda), args)
            found["unasked"] = bool((torch.as_tensor(tokens).as_subclass(torch.Tensor) == 77).any())
        except (RuntimeError, AssertionError, TypeError):
            pass  # code that makes tensors on the logits' device fails where there is none
        finally:
            module.sample_flashinfer = original
        return found

    def draw(case):
        rows, logits = len(case["params"]), case["logits"].to(getattr(torch, case.get("dtype", "float32")))
        uniforms = case.get("uniforms")
        times = len(uniforms) // rows if uniforms is not None else 1
        if case["how"] == "raw":
            off = {"temperature": 0.0, "top_k": -1, "top_p": 1.0, "min_p": 0.0}
            plain = {key: [p.get(key, off[key]) for p in case["params"]] for key in off}
            kinds = dict(zip(off, (torch.float32, torch.int64, torch.float64, torch.float32), strict=True))
            tensors = {key + "s": torch.tensor(plain[key], dtype=kinds[key]).repeat(times) for key in off}
            if "given" in case:
                tensors = {key: value for key, value in tensors.items() if key == "temperatures" or key[:-1] in case["given"]}
            if uniforms is not None:
                tensors["uniforms"] = uniforms.clone()

            def run(given):
                if len(tensors) == 5 and not case.get("twice"):
                    return module.sample_torch(given, *tensors.values())
                return module.sample_torch(given, **tensors)

        else:
            sampler, _, args, _ = prepared(case)
            if not isinstance(args, module.BatchSamplingArgs):
                return {"prepared": type(args).__name__}
            if uniforms is not None:
                many = {n: torch.as_tensor(v).repeat(times) for n, v in fields(args).items() if v is not None}
                args = module.BatchSamplingArgs(**many | {"uniforms": uniforms})
            tensors = fields(args)

            def run(given):
                return sampler.sample(given, args)

        given = logits.repeat(times, 1)
        before, arguments = given.clone(), copies(tensors)
        tokens = run(given)
        changed = differ({"logits": before} | arguments, {"logits": given} | tensors)
        found = {"prepared": "BatchSamplingArgs", "tokens": tokens, "changed": changed, "again": None}
        if case.get("twice"):
            first = copies({"tokens": tokens})["tokens"]
            run(before.flip(-1))  # other logits: what the first call returned must not change with them
            found |= {"tokens": first, "later": copies({"tokens": tokens})["tokens"], "again": run(before)}
        return found

    how = {"prepare": numbers, "elsewhere": elsewhere}
    return {name: how.get(case["how"], draw)(case) for name, case in cases.items()}


# ---- inputs ------------------------------------------------------------------------------------------------------


def strata(draws, rows, seed=1):
    """[draws * rows] uniform numbers; the `draws` numbers of a row fall one into each stratum, in random order."""
    rng = np.random.default_rng(seed)
    table = np.stack([(rng.permutation(draws) + rng.random(draws)) / draws for _ in range(rows)], axis=1)
    return np.minimum(table, 1 - 2.0**-24).astype(np.float32).reshape(-1)


def fresh_logits(seed):
    rng = np.random.default_rng(seed)
    table = []
    for params in FRESH:
        while not table or len(table) <= FRESH.index(params):
            logits = rng.normal(0.0, 1.6, VOCAB).astype(np.float32)
            if warpers.margin(logits, params) > 0.01:
                table.append(logits)
    return np.stack(table)


def ties():
    tied, flat = np.zeros(VOCAB, np.float32), np.zeros(VOCAB, np.float32)
    tied[[3, 5, 9]] = 4.0
    return np.stack([tied, flat, tied, tied, tied])


def masked():
    """Logits with -inf for some tokens, as constrained decoding makes them: one, most of them, all but one."""
    logits = LOGITS[[0, 1, 2, 4]].copy()
    logits[0, 2] = logits[1, 3:] = logits[2, 4:] = logits[3] = -np.inf
    logits[3, 8] = -0.5
    return logits


MASKED = [{"temperature": 1.5}, {"temperature": 2.0, "top_k": 3}, {"temperature": 2.0, "top_p": 0.95}, {"temperature": 1.0, "min_p": 0.1}]
MASKED_DRAWS = 32


def edge_rows():
    """Logits [48, 12]: at top_k 3 the probabilities of half of the rows add up to slightly less than 1; token 0 and the last never stay."""
    logits = np.random.default_rng(3).normal(0, 0.5, (48, VOCAB)).astype(np.float32)
    logits[:, [0, -1]] = -4.0
    return logits


GREEDY = [
    {"temperature": 0.0},
    {"temperature": 1.0},
    {"temperature": 0.0, "top_p": 0.3},
    {"temperature": 2.0, "top_k": 1},
    {"temperature": 0.0, "top_k": 4, "min_p": 0.1},
]
SMALL = [{"temperature": 1.0, "top_p": p} for p in (1e-9, 0.0, 0.2, 1e-6)]
TINY = [{"temperature": t, "top_k": k} for t, k in ((1.0, -1), (1e-4, -1), (1e-6, 4), (1e-8, 2), (2e-38, -1))]
MIXED = [{"temperature": 1.0, "seed": 100 + i} for i in range(8)]
MIXED[2], MIXED[5] = {"temperature": 0.0}, {"temperature": 1.5, "top_k": 5, "seed": 3}
MIXED[6] = {"temperature": 0.9, "top_p": 0.9}
TURN = [3, 0, 7, 5, 1, 6, 2, 4]
PREPARE = [
    {"temperature": 0.7, "top_k": 5, "seed": 0}, {"temperature": 0.0, "top_p": 0.5, "top_k": 7}, {"temperature": 1.0, "top_k": 32, "top_p": 0.9},
    {"temperature": 2.0, "top_k": 1, "top_p": 0.4, "min_p": 0.3}, {"temperature": 1.3125, "top_k": 0, "min_p": 0.25},
    {"temperature": 0.5, "top_k": 31, "top_p": 0.995, "seed": -9},
]  # fmt: skip
SINGLE = {  # name -> the requests and what each field of prepare holds, where only one filter is used
    "top_k": ([{"temperature": 1.0}, {"temperature": 0.5, "top_k": 100}, {"temperature": 0.9, "top_k": 4}, {"temperature": 0.0, "top_p": 0.1}], [32, 32, 4, 32]),
    "top_p": ([{"temperature": 1.0, "top_k": 32, "top_p": 0.35}, {"temperature": 0.9}, {"temperature": 0.0, "top_k": 3}], [0.35, 1.0, 1.0]),
    "min_p": ([{"temperature": 0.8, "min_p": 0.005}], [0.005]),
}  # fmt: skip
PLAIN = [
    {"temperature": 0.0, "top_k": 3, "top_p": 0.2, "min_p": 0.5},
    {"temperature": 0.8, "top_k": 400, "seed": 4},
    {"temperature": 1.5, "top_k": 1, "top_p": 0.1},
]


def bad_logits():
    logits = np.random.default_rng(2).normal(0, 1, (8, VOCAB)).astype(np.float32)
    clean = logits.copy()
    logits[1, 4], logits[3, 0], logits[4], logits[6, 7] = np.nan, np.inf, -np.inf, np.nan
    logits[5, :9] = clean[5, :9] = -np.inf
    return clean, logits


BAD = [
    {"temperature": 1.0, "seed": 1},
    {"temperature": 1.0, "seed": 2, "top_p": 0.9},
    {"temperature": 0.0},
    {"temperature": 0.7, "top_k": 3},
    {"temperature": 1.0},
]
BAD += [{"temperature": 1.0, "top_p": 0.95, "seed": 5}, {"temperature": 0.0}, {"temperature": 1.2, "top_k": 3, "min_p": 0.1, "seed": 6}]


def wide():
    """Logits [2, 32000] whose float32 probabilities sum up to clearly less than 1; the first and the last one are 0."""
    row = np.random.default_rng(17).normal(0, 0.3, 32_000).astype(np.float32)
    row[[0, -1]] = -300.0
    return np.tile(row, (2, 1))


def peaks(rows):
    logits = np.random.default_rng(5).normal(0, 1, (rows, VOCAB)) * np.array([[1e5], [1.0], [1e4], [1e4], [50.0]])
    logits[:, 6] = logits.max(1) * 1.5 + 10
    return logits.astype(np.float32)


def near():
    """Three float32 numbers that float16 and bfloat16 cannot tell apart."""
    row = np.full(VOCAB, -3.0, np.float32)
    row[[2, 4, 7]] = 9.0001, 9.0002, 9.0003
    return row


def half_row(dtype):
    """Three numbers of this dtype, of which two become equal when they are divided by 1.5 in it."""
    row = np.full(VOCAB, -3.0, np.float32)
    row[[2, 4, 7]] = np.array([238, 239, 241]) / 128 if dtype == "bfloat16" else np.array([1906, 1907, 1909]) / 1024
    return row


def cases(seed):
    """Name -> case, for `serve`."""
    small = np.tile(np.array([0.1, 3.0, 2.9, 0.0], np.float32), (4, 1))
    soft = np.random.default_rng(11).normal(0, 0.4, (8, VOCAB)).astype(np.float32)
    uids = [10 + i for i in range(8)]
    batch = {"how": "sampler", "logits": soft, "params": MIXED, "uids": uids, "lengths": [4, 9, 5, 4, 7, 4, 6, 3]}

    def part(order):
        """The requests of `batch` at these places only."""
        picked = {key: [value[i] for i in order] if isinstance(value, list) else value for key, value in batch.items()}
        return picked | {"logits": soft[list(order)]}

    clean, bad = bad_logits()
    edge = np.array([0.0, 1 - 2.0**-24] * 2, np.float32)
    found = {
        "rows": {"how": "sampler", "logits": LOGITS, "params": ROWS, "uniforms": strata(DRAWS, len(ROWS))},
        "fresh": {"how": "sampler", "logits": fresh_logits(seed), "params": FRESH, "uniforms": strata(FRESH_DRAWS, len(FRESH), seed)},
        "off": {"how": "raw", "logits": OFF_LOGITS, "params": OFF, "uniforms": strata(OFF_DRAWS, len(OFF), 2)},
        "greedy": {"how": "sampler", "logits": ties(), "params": GREEDY, "uniforms": strata(40, len(GREEDY), 3)},
        "greedy raw": {"how": "raw", "logits": ties(), "params": [{"temperature": -1.0}, *GREEDY[1:]], "uniforms": strata(40, len(GREEDY), 7)},
        "many": {"how": "sampler", "logits": MANY_LOGITS, "params": MANY, "uniforms": strata(MANY_DRAWS, len(MANY), 8)},
        "near": {"how": "sampler", "logits": near()[None], "params": [{"temperature": 1.0, "top_k": 2}], "uniforms": strata(40, 1, 9)},
        "all greedy": {"how": "sampler", "logits": ties()[:3], "params": [GREEDY[0], GREEDY[3], GREEDY[4]], "twice": True},
        "small": {"how": "sampler", "logits": small, "params": SMALL, "uniforms": strata(20, 4, 4)},
        "half": {
            "how": "sampler",
            "logits": np.zeros((2, 4), np.float32),
            "params": [{"temperature": 1.0, "top_p": 0.5}, {"temperature": 1.0, "top_p": 0.25}],
            "uniforms": strata(24, 2, 5),
        },
        "nearly one": {"how": "sampler", "logits": NEARLY_ONE, "params": [{"temperature": 1.0, "top_p": 0.9902}], "uniforms": strata(110, 1, 14)},
        "wide": {"how": "raw", "logits": wide(), "params": [{"temperature": 1.0, "top_p": 1 - 1e-7}, {"temperature": 1.0}], "uniforms": edge[[1, 1]]},
        "edges": {
            "how": "raw",
            "logits": np.array([[0, 2, 1.9, 0.1], [2, 0, 0.1, 1.9]] * 2, np.float32),
            "params": [{"temperature": 1.0, "top_k": 2}] * 4,
            "uniforms": edge,
        },
        "edge rows": {
            "how": "raw",
            "logits": edge_rows(),
            "params": [{"temperature": 1.0, "top_k": 3}] * 48,
            "uniforms": np.repeat(edge[1:2], 48),
        },
        "masked": {"how": "sampler", "logits": masked(), "params": MASKED, "uniforms": strata(MASKED_DRAWS, 4, 10)},
        "masked raw": {"how": "raw", "logits": masked(), "params": [MASKED[0] | {"top_k": -7}, *MASKED[1:]], "uniforms": strata(MASKED_DRAWS, 4, 12)},
        "all bad": {"how": "sampler", "logits": bad[[1, 3, 4]], "params": [BAD[0], BAD[1], BAD[3]]},
        "together": batch | {"twice": True},
        "arguments": {"how": "raw", "logits": ties(), "params": [*GREEDY[:4], {"temperature": 1e-12, "top_k": 0}], "uniforms": strata(4, 5), "twice": True},
        "turned": part(TURN),
        "clean": {"how": "sampler", "logits": clean, "params": BAD, "uids": uids},
        "bad": {"how": "sampler", "logits": bad, "params": BAD, "uids": uids},
        "bad greedy": {"how": "sampler", "logits": bad, "params": [{"temperature": 0.0}] * 8, "uids": uids},
        "prepare": {
            "how": "prepare",
            "vocab": 32,
            "params": PREPARE,
            "uids": [7, 9, 7000, 3, 2, 1],
            "lengths": [5, 6, 9, 4, 17, 5],
            "in flight": [0, 2, 5],
            "padding": 2,
            "base": {"seed": 5},
        },
        "prepare chunks": {"how": "prepare", "vocab": 32, "params": PREPARE, "lengths": [5, 6, 9, 4, 17, 5], "cached": [0, 5, 6, 0, 12, 3]},
        "prepare plain": {"how": "prepare", "vocab": 32, "params": PLAIN, "lengths": [3, 8, 4], "padding": 2},
        "prepare greedy": {"how": "prepare", "vocab": 32, "params": PLAIN[::2], "lengths": [3, 4], "padding": 1},
    }
    for dtype in ("bfloat16", "float16"):
        params = [{"temperature": 1.5, "top_k": 2}]
        found[f"halves {dtype}"] = {"how": "sampler", "dtype": dtype, "logits": half_row(dtype)[None], "params": params, "uniforms": strata(40, 1, 6)}
    for name, (given, draws) in LONE_GIVEN.items():
        found[f"lone: {name}"] = {"how": "raw", "logits": LOGITS[:4], "params": LONE, "given": given, "uniforms": strata(draws, 4, 13)}
    for given in ((), ("top_k",), ("top_p",), ("min_p",)):
        params = [{"temperature": 0.0, "top_p": 0.4, "top_k": 5}, {"temperature": 1.0 if "top_k" in given else 0.0, "top_k": 1}, {"temperature": 0.0, "min_p": 0.1}]
        found[f"bare: {', '.join(given) or 'no filter'}"] = {"how": "raw", "logits": ties()[:3], "params": params, "given": given}
    for name, (params, _) in SINGLE.items():
        found[f"prepare {name}"] = {"how": "prepare", "vocab": 32, "params": params, "padding": 2}
    found["elsewhere"] = {"how": "elsewhere", "params": [lone(p, ("top_k", "min_p")) for p in LONE]}
    for dtype in ("float32", "bfloat16"):
        found[f"tiny {dtype}"] = {"how": "sampler", "dtype": dtype, "logits": peaks(5), "params": TINY}
    return found | {f"alone {i}": part([i]) for i in range(8)}


_served = weakref.WeakKeyDictionary()


@pytest.fixture
def served(tree, seed):
    """`served(name)`: the evidence of a case. All run in one process; if one of them raises, each check runs its own alone."""

    def answer(name):
        if tree not in _served:
            given, evidence = cases(seed), {}
            _served[tree] = given, evidence
            try:
                evidence |= tree.run(serve, cases=given)
            except ProbeFailed as failure:
                if failure.status != "error":
                    raise
        given, evidence = _served[tree]
        if name not in evidence:
            evidence |= tree.run(serve, cases={name: given[name]})
        tree.answered = True
        found = evidence[name]
        kind = found["prepared"]
        expect.that(
            kind == "BatchSamplingArgs",
            f"Sampler.prepare returned {'None' if kind == 'NoneType' else 'a ' + kind}; BatchSamplingArgs is wanted",
            kind="type",
        )
        return found

    return answer


def tokens_of(found, count, key="tokens"):
    got = expect.is_tensor(found[key], "the sampled tokens", shape=(count,))
    expect.that(got.dtype.kind in "iu", f"the sampled tokens have dtype {got.torch_dtype}; token ids are integers", kind="dtype")
    return got


def label(params):
    return ", ".join(f"{key} {value}" for key, value in params.items())


# ---- what known mistakes would draw --------------------------------------------------------------------------------

WARPED = (
    "temperature-ignored", "temperature-multiplied", "top-p-before-top-k", "crossing-token-dropped", "top-p-keeps-one-more",
    "top-k-keeps-one-more", "first-row-order-for-all", "top-p-without-sorting",
)  # fmt: skip


def first_ids(row, params, filters=("top_k", "top_p")):
    """The mask of the sorted scores laid over the unsorted ones: as many tokens stay as should, but the first ids of the vocabulary."""
    scores = np.asarray(row, np.float64) / params["temperature"]
    kept = warpers.keep_top_k(scores, params.get("top_k", -1) if params.get("top_k", -1) > 0 else VOCAB)
    if "top_k" not in filters:
        scores = kept
    size = int((warpers.keep_top_p(kept, params.get("top_p", 1.0)) > -np.inf).sum())
    if "top_k" not in filters:  # the top-p mask alone is laid wrong; the best token is always kept by many
        size = size if params.get("top_p", 1.0) < 1 else VOCAB
    scores = np.where(np.arange(VOCAB) < size, scores, -np.inf)
    if not np.isfinite(scores).any():
        return np.full(VOCAB, np.nan)  # nothing is left: what comes then nobody can say
    return warpers.softmax(warpers.keep_min_p(scores, params.get("min_p", 0.0)))


def min_p_first(row, params):
    scores = warpers.keep_top_k(np.asarray(row, np.float64) / params["temperature"], params.get("top_k", VOCAB))
    return warpers.softmax(warpers.keep_top_p(warpers.keep_min_p(scores, params.get("min_p", 0.0)), params.get("top_p", 1.0)))


def temperature_last(row, params):
    kept = np.log(np.maximum(warpers.warp(row, params | {"temperature": 1.0}), 1e-300))
    return warpers.softmax(np.where(kept > -600, kept / params["temperature"], -np.inf))


def not_renormalised(row, params, rest):
    """The kept tokens with their share of the full distribution; what is missing to 1 goes to one token."""
    kept = warpers.warp(row, params)
    full = np.where(kept > 0, warpers.softmax(np.asarray(row, np.float64) / params["temperature"]), 0.0)
    order = np.argsort(-full, kind="stable")
    last = {"vocabulary": VOCAB - 1, "sorted": order[int((kept > 0).sum()) - 1], "set": np.nonzero(kept)[0][-1], "least": order[-1]}[rest]
    full[last] += 1 - full.sum()
    return full


def softmax_twice(row, params, way):
    """Filters or the draw take probabilities for scores: all filters (0: another softmax, 1: none before the draw), the draw alone (2), top-p alone (3 to 5)."""
    p = params | {"temperature": 1.0}
    probs = warpers.softmax(np.asarray(row, np.float64) / params["temperature"])
    if way == 0:
        return warpers.warp(probs, p)
    if way == 1:
        kept = np.where(warpers.warp(probs, p) > 0, probs, 0.0)
        return kept / kept.sum()
    if way == 2:
        return warpers.softmax(warpers.warp(row, params))
    probs = warpers.warp(row, {k: v for k, v in params.items() if k not in ("top_p", "min_p")})
    kept = warpers.keep_top_p(probs, params.get("top_p", 1.0)) if params.get("top_p", 1.0) < 1 else np.where(probs > 0, probs, -np.inf)
    if way == 5:
        kept = warpers.keep_top_p(probs, params.get("top_p", 1.0))
    if 0 < (kept[probs == 0] > -np.inf).sum() < (probs == 0).sum():
        return np.full(VOCAB, np.nan)  # the set ends among the removed tokens: which of them come back nobody can say
    if (params.get("top_p", 1.0) < 1 and way == 3) or way == 5:
        return warpers.softmax(warpers.keep_min_p(kept, params.get("min_p", 0.0)))
    kept = np.where(kept > -np.inf, probs, 0.0)
    kept = np.where(kept < params.get("min_p", 0.0) * kept.max(), 0.0, kept)
    return kept / kept.sum()


def one_number(draws, want):
    """Does one uniform number explain all draws, in the order of the vocabulary or in the sorted one? They must not all be the likeliest tokens."""
    if (draws != draws[:, :1]).any() or (draws[:, 0] == want.argmax(1)).all():
        return False
    for orders in (np.tile(np.arange(want.shape[1]), (len(want), 1)), np.argsort(-want, axis=1, kind="stable")):
        low, high = 0.0, 1.0
        for token, row, order in zip(draws[:, 0], want, orders, strict=True):
            place = int(np.nonzero(order == token)[0][0])
            low, high = max(low, row[order[:place]].sum()), min(high, row[order[: place + 1]].sum())
        if low < high:
            return True
    return False


def mistakes(logits, rows):
    """Mistake -> suspect. Each may show in several ways: tables [rows, vocab] of which one must explain all draws."""

    def table(function, greedy_too=False):
        return np.stack(
            [warpers.warp(r, p) if warpers.is_greedy(p) and not greedy_too else function(r, p) for r, p in zip(logits, rows, strict=True)]
        )

    def both(function):
        return explains(lambda: [table(function), table(function, greedy_too=True)])

    def without(key):
        return explains(lambda: [table(lambda r, p: warpers.warp(r, {k: v for k, v in p.items() if k != key}))])

    def shared(key):
        """One value of this parameter in all rows, or in all rows that use the filter."""
        values = {p[key] for p in rows if key in p and not warpers.is_greedy(p)}
        if key == "temperature":
            values |= {np.mean([p[key] for p in rows]), np.mean([p[key] for p in rows if not warpers.is_greedy(p)])}
        return explains(
            lambda: [
                table(lambda r, p, v=v, some=some: warpers.warp(r, p | {key: v} if key in p or not some else p))
                for v in sorted(values)
                for some in (False, True)
            ]
        )

    order, places = np.argsort(-logits[0], kind="stable"), ("vocabulary", "sorted", "set", "least")
    found = {m: explains(lambda m=m: [table(lambda r, p: warpers.warp(r, p, m, order))]) for m in WARPED}
    return found | {
        "one-row-for-all": both(lambda r, p: warpers.warp(r, rows[0])),
        "one-temperature-for-all": shared("temperature"),
        "one-top-k-for-all": shared("top_k"),
        "one-top-p-for-all": shared("top_p"),
        "one-min-p-for-all": shared("min_p"),
        "softmax-twice": explains(lambda: [table(lambda r, p, way=way: softmax_twice(r, p, way)) for way in range(6)]),
        "top-k-zero-keeps-one": explains(lambda: [table(lambda r, p: warpers.warp(r, p | {"top_k": max(1, p.get("top_k", -1))}))]),
        "one-number-for-all": lambda draws: one_number(draws, table(warpers.warp)),
        "mask-not-scattered-back": explains(lambda: [table(first_ids), table(lambda r, p: first_ids(r, p, ("top_p",)))]),
        "sorted-position-returned": both(lambda r, p: np.sort(warpers.warp(r, p))[::-1]),
        "always-the-argmax": explains(lambda: [table(lambda r, p: np.eye(VOCAB)[int(np.argmax(r))])]),
        "temperature-last": explains(lambda: [table(temperature_last)]),
        "draw-not-renormalised": explains(lambda: [table(lambda r, p, rest=rest: not_renormalised(r, p, rest)) for rest in places]),
        "min-p-before-top-p": explains(lambda: [table(min_p_first)]),
        "top-k-ignored": without("top_k"),
        "top-p-ignored": without("top_p"),
        "min-p-ignored": without("min_p"),
    }


def explains(tables):
    """A suspect: do the draws follow one of the tables that `tables()` makes? A row of NaN stands for anything."""

    def fits(draws):
        for table in tables():
            known = ~np.isnan(table).any(axis=1)
            try:
                expect.same_distribution(draws[known], table[known], error=TIGHT)
                shares = np.stack([np.bincount(row, minlength=table.shape[1]) for row in draws[known]]) / draws.shape[1]
                if np.abs(shares - table[known]).max() > NEAR:
                    continue
                return True
            except expect.Mismatch:
                continue
        return False

    return fits


# ---- tests -------------------------------------------------------------------------------------------------------


def test_each_row_follows_its_own_distribution(served, oracle):
    """Each row follows its own distribution, as Hugging Face's warpers make it"""
    want = np.asarray(oracle.ask(questions.warped, logits=LOGITS, params=ROWS))
    rows = tokens_of(served("rows"), DRAWS * len(ROWS)).reshape(DRAWS, len(ROWS)).T
    others = [i for i, p in enumerate(ROWS) if not warpers.is_greedy(p)]
    suspects = {
        "zeros-returned": lambda draws: bool((draws == 0).all()),
        "greedy-row-drawn": lambda draws: len(set(draws[3].tolist())) > 1 and explains(lambda: [want[others]])(draws[others]),
    }
    known = mistakes(LOGITS, ROWS)

    def one_value(key, case):
        """One value for all also where every row has its own; the largest of these rows, of which some do without, is that of no filter."""

        def fits(draws):
            name, given = key.replace("_", "-"), LONE_GIVEN[case][0]
            if key == "temperature" and known["temperature-ignored"](draws):
                return False
            if not known[f"one-{name}-for-all"](draws) and not known.get(f"{name}-ignored", lambda _: False)(draws):
                return False
            values = sorted({p[key] for p in LONE} | {np.mean([p[key] for p in LONE])} if key == "temperature" else {p[key] for p in LONE})
            tables = [np.stack([warpers.warp(r, lone(p, given) | {key: v}) for r, p in zip(LOGITS[:4], LONE, strict=True)]) for v in values]
            try:
                return explains(lambda: tables)(lone_draws(served, case))
            except ProbeFailed:
                return False

        return fits

    cases = {"temperature": "no filter", "top_k": "top_k alone", "top_p": "top_p alone", "min_p": "min_p alone"}
    suspects |= {f"one-{key.replace('_', '-')}-for-all": one_value(key, case) for key, case in cases.items()}
    expect.same_distribution(rows, want, rows=[label(p) for p in ROWS], suspects=suspects | {k: v for k, v in known.items() if k not in suspects})
    exactly(served, rows, want, ROWS)


def lone(params, given):
    return {key: value for key, value in params.items() if key == "temperature" or key in given}


def lone_draws(served, name):
    draws = LONE_GIVEN[name][1]
    return tokens_of(served(f"lone: {name}"), 4 * draws).reshape(draws, 4).T


def test_filters_that_are_not_given(served):
    """sample_torch works with each filter None, and all-greedy rows need no uniform numbers"""
    for name in ("no filter", "top_k", "top_p", "min_p"):
        got = tokens_of(served(f"bare: {name}"), 3).tolist()
        passed = "nothing else" if name == "no filter" else f"{name}s alone"
        expect.equal(got, [3, 0, 3], f"what sample_torch gave greedy rows, with temperatures and {passed},")
    for name, (given, _) in LONE_GIVEN.items():
        want = np.stack([warpers.warp(row, lone(p, given)) for row, p in zip(LOGITS[:4], LONE, strict=True)])
        what = f"sample_torch's tokens ({', '.join(f'{key}s' for key in given)} given, the other filters None)" if given else "sample_torch's tokens (all filters None)"
        expect.same_distribution(lone_draws(served, name), want, name=what, rows=[label(lone(p, given)) for p in LONE])


def test_masked_tokens(served):
    """A token at -inf is never drawn, and the rest of its row is drawn as ever: only the largest logit tells whether a row is usable"""
    want = np.stack([warpers.warp(row, p) for row, p in zip(masked(), MASKED, strict=True)])
    for case in ("masked", "masked raw"):
        got = tokens_of(served(case), MASKED_DRAWS * len(MASKED)).reshape(MASKED_DRAWS, len(MASKED)).T
        lines = [f"row {i} ({label(p)}): tokens {sorted(set(g.tolist()))}" for i, (g, p) in enumerate(zip(got, MASKED, strict=True))]
        expect.that(not (got == -1).any(), "a row with some logits at -inf got -1; its largest logit is finite", lines, mistake="masked-token-fails-the-row")
        greedy = bool((got == masked().argmax(1)[:, None]).all())
        names = [f"{label(p)}, some logits -inf" for p in MASKED]
        expect.same_distribution(got, want, rows=names, suspects={"masked-row-becomes-greedy": greedy})


def test_many_draws(served):
    """Many draws show the temperature in the frequencies, and that a row without a filter keeps its rare tokens"""
    want = np.stack([warpers.warp(row, p) for row, p in zip(MANY_LOGITS, MANY, strict=True)])
    rows = tokens_of(served("many"), MANY_DRAWS * len(MANY)).reshape(MANY_DRAWS, len(MANY)).T
    known = mistakes(MANY_LOGITS, MANY)
    suspects = {name: known[name] for name in ("one-min-p-for-all", "temperature-ignored", "one-temperature-for-all")}
    expect.same_distribution(rows, want, rows=[label(p) for p in MANY], suspects=suspects)
    exactly(served, rows, want, MANY)


def test_fresh_logits(served, seed):
    """The same holds for logits that this run made up"""
    logits = fresh_logits(seed)
    want = np.stack([warpers.warp(row, p) for row, p in zip(logits, FRESH, strict=True)])
    rows = tokens_of(served("fresh"), FRESH_DRAWS * len(FRESH)).reshape(FRESH_DRAWS, len(FRESH)).T
    expect.same_distribution(rows, want, rows=[label(p) for p in FRESH])
    exactly(served, rows, want, FRESH)


def test_greedy_rows(served):
    """Greedy rows take the argmax, the lowest index on ties, alone or in a mixed batch, whatever their filters say"""
    got = tokens_of(served("greedy"), 40 * len(GREEDY)).reshape(40, len(GREEDY))
    seen = [sorted(set(got[:, row].tolist())) for row in (0, 2, 3, 4)]
    names = [label(GREEDY[row]) for row in (0, 2, 3, 4)]
    drawn = len(set(got[:, 1].tolist())) > 6
    for tokens, name in zip(seen, names, strict=True):
        suspects = {
            "greedy-ties-at-random": drawn and all(set(s) <= {3, 5, 9} for s in seen) and len(tokens) > 1,
            "last-index-on-ties": drawn and all(s == [9] for s in seen),
            "greedy-row-drawn": drawn and seen[0] == [3] and len(tokens) > 1 and not set(tokens) <= {3, 5, 9},
        }
        expect.equal(tokens, [3], f"the list of tokens that a greedy row ({name}) got in 40 batches", suspects=suspects)
    expect.that(drawn, "the row with temperature 1.0 beside them is hardly drawn at all: few different tokens")
    raw = tokens_of(served("greedy raw"), 40 * len(GREEDY)).reshape(40, len(GREEDY))
    for row, name in zip((0, 2, 3, 4), names, strict=True):
        expect.equal(sorted(set(raw[:, row].tolist())), [3], f"the list of tokens that sample_torch gave a greedy row ({name}) in 40 batches")
    alone = served("all greedy")
    expect.equal(tokens_of(alone, 3).tolist(), [3, 0, 3], "the tokens of a batch of greedy rows")
    expect.equal(tokens_of(alone, 3, "again").tolist(), [3, 0, 3], "the tokens of the same batch, sampled again,")


def test_filters_that_are_off(served):
    """For sample_torch, top_k -1, 0 and from the vocabulary size on, and top_p 1.0, are off; beside them, real ones work"""

    def table(minus_one, zero, beyond=-1, p_one=1.0):
        """The distributions with other values in the place of top_k -1, 0 and 999, and of top_p 1.0 (0.0 leaves one token)."""
        ks = {-1: minus_one, 0: zero, 999: beyond}
        other = [
            p | {"top_k": ks.get(p.get("top_k", -1), p.get("top_k")), "top_p": p_one if p.get("top_p", 2.0) == 1.0 else p.get("top_p", 1.0)}
            for p in OFF
        ]
        return np.stack([warpers.warp(row, p) for row, p in zip(OFF_LOGITS, other, strict=True)])

    all_greedy = [{"top_p": 0.0 if p.get("top_p", 1.0) == 1.0 else p["top_p"], "temperature": 1.0} for p in OFF]
    want = table(-1, -1)
    cuts = [(a, b, c) for a in (-1, 2, 3) for b in (-1, 2, 3) for c in (-1, 2, 3) if (a, b, c) != (-1, -1, -1)]
    suspects = {
        "minus-one-drops-the-last": explains(lambda: [table(3, -1), table(3, 1)]),
        "off-filters-cut": explains(lambda: [table(*cut) for cut in cuts]),
        "top-k-zero-keeps-one": explains(lambda: [table(1, 1), table(-1, 1)]),
        "top-p-one-is-greedy": explains(
            lambda: [table(-1, -1, p_one=0.0), np.stack([warpers.warp(row, p) for row, p in zip(OFF_LOGITS, all_greedy, strict=True)])]
        ),
    }
    rows = tokens_of(served("off"), OFF_DRAWS * len(OFF)).reshape(OFF_DRAWS, len(OFF)).T
    expect.same_distribution(rows, want, rows=[label(p) for p in OFF], suspects=suspects)


def test_the_edges_of_top_p(served):
    """At least one token stays however small top_p is, the set ends exactly where its mass reaches top_p, and no token lies outside the vocabulary"""
    got = tokens_of(served("small"), 80).reshape(20, 4)
    seen = [sorted(set(got[:, i].tolist())) for i in range(4)]
    empty = {"tiny-top-p-empties-the-row": seen[2] == [1] and all(seen[i] != [1] for i in (0, 1))}
    expect.equal(
        seen, [[1]] * 4, f"the tokens drawn with top_p {[p['top_p'] for p in SMALL]} where the best token has a mass of 0.48", suspects=empty
    )
    half, quarter = (sorted(set(row.tolist())) for row in tokens_of(served("half"), 48).reshape(24, 2).T)
    suspects = {"boundary-token-kept": len(half) == 3}
    expect.equal(len(half), 2, "the number of tokens drawn with top_p 0.5 from four with a probability of 0.25 each", suspects=suspects)
    expect.equal(len(quarter), 1, "the number of tokens drawn with top_p 0.25 from four with a probability of 0.25 each")
    most = sorted(set(tokens_of(served("nearly one"), 110).tolist()))
    expect.equal(most, [0, 1, 3], "the tokens drawn with top_p 0.9902 where three tokens have a mass of 0.9905")
    wide, got = tokens_of(served("wide"), 2).tolist(), tokens_of(served("edges"), 4).tolist()
    inside = all(0 <= token < 32_000 for token in wide) and all(0 <= token < 4 for token in got)
    lines = [f"uniform number 1 - 2**-24, top_p 1 - 1e-7 and 1.0, a vocabulary of 32000; tokens {wide}"]
    expect.that(inside, "a token outside the vocabulary was drawn", [*lines, f"a vocabulary of 4; tokens {got}"], mistake="cumsum-never-reaches-p")
    allowed = [t in kept for t, kept in zip(got, ([1, 2], [0, 3], [1, 2], [0, 3]), strict=True)]
    expect.that(
        all(allowed),
        "a token that top-k 2 removed was drawn",
        [f"uniform numbers 0 and 1 - 2**-24; tokens {got}"],
        mistake="removed-token-drawn-at-the-edge",
    )
    tail = tokens_of(served("edge rows"), 48)
    kept = np.argsort(-edge_rows(), axis=1)[:, :3]
    removed = sorted(set(tail[~(tail[:, None] == kept).any(1)].tolist()) | ({0, 31_999} & set(wide)))
    lines = [f"uniform number 1 - 2**-24, top_k 3, vocabulary of 12; tokens {sorted(set(tail.tolist()))}, never 0 and 11"]
    lines += [f"the same, vocabulary of 32000, tokens 0 and 31999 with probability 0; tokens {wide}"]
    name = "first" if set(removed) == {0} else "last" if set(removed) <= {11, 31_999} else None
    expect.that(not removed, "a token of probability 0 was drawn", lines, mistake=name and f"{name}-token-at-the-edge")


def test_tiny_temperatures(served):
    """Tiny temperatures with large logits are finite and equal the argmax; bfloat16 logits are computed in float32"""
    for dtype in ("float32", "bfloat16"):
        got = tokens_of(served(f"tiny {dtype}"), 5).tolist()
        right = [token == 6 for token in got]  # from row to row, logits / temperature grows
        overflow = {"tiny-temperature-overflows": right[0] and right == sorted(right, reverse=True)}
        expect.equal(got, [6] * 5, f"the tokens at temperatures from 1 to 2e-38 ({dtype} logits)", suspects=overflow)
    seen = sorted(set(tokens_of(served("near"), 40).tolist()))
    expect.equal(seen, [4, 7], "the tokens drawn at top_k 2 from float32 logits that differ by 0.0001")
    for dtype in ("bfloat16", "float16"):
        seen = set(tokens_of(served(f"halves {dtype}"), 40).tolist())
        suspects = {"computed-in-bfloat16": seen == {2, 4, 7}}
        expect.equal(sorted(seen), [4, 7], f"the tokens drawn from {dtype} logits at top_k 2 and temperature 1.5", suspects=suspects)


def test_neighbours_do_not_matter(served):
    """A request's token depends on its own seed, step and logits, not on its neighbours"""
    together = tokens_of(served("together"), 8)
    alone = [int(tokens_of(served(f"alone {i}"), 1)[0]) for i in range(8)]
    turned = tokens_of(served("turned"), 8)
    right = np.stack([warpers.warp(row, p) for row, p in zip(LOGITS, ROWS, strict=True)])
    rows = tokens_of(served("rows"), DRAWS * len(ROWS)).reshape(DRAWS, len(ROWS)).T
    neighbours = {"neighbours-change-the-draw": alone[2] == int(together[2]) and follows(rows, right)}
    expect.equal(together.tolist(), alone, "the tokens of a batch, against each request alone,", suspects=neighbours)
    expect.equal(turned.tolist(), together[TURN].tolist(), "the tokens of the batch in another order", suspects=neighbours)
    expect.equal(
        tokens_of(served("together"), 8, "again").tolist(),
        alone,
        "the tokens when sample() is called again with the same arguments",
        suspects=neighbours,
    )


def exactly(served, draws, want, params):
    """Frequencies to within a few draws, for code that inverts a cumulative sum: its draws of equally likely tokens are as even as the numbers."""
    flat = tokens_of(served("many"), MANY_DRAWS * len(MANY)).reshape(MANY_DRAWS, len(MANY))[:, 3]
    if np.abs(np.bincount(flat, minlength=VOCAB) - MANY_DRAWS / VOCAB).max() > 3:
        return
    for row, wanted, p in zip(draws, want, params, strict=True):
        off = np.bincount(row, minlength=len(wanted)) - len(row) * wanted
        token = int(np.abs(off).argmax())
        lines = [f"token {token}: want {wanted[token]:.3f}, got {wanted[token] + off[token] / len(row):.3f} of {len(row)} draws with evenly spread numbers"]
        expect.that(abs(off[token]) <= 4, f"the frequencies of a row ({label(p)}) are slightly wrong", lines)


def follows(draws, table):
    try:
        expect.same_distribution(draws, table)
    except expect.Mismatch:
        return False
    return True


def test_prepare(served):
    """prepare gives one row per request, None for what nobody needs, and the uniform number of the request's seed and step"""
    found = served("prepare")
    got, vocab = found["fields"], 32
    wants = {
        "temperatures": ("float32", [0.7, 0.0, 1.0, 0.0, 1.3125, 0.5]), "top_ks": ("int64", [5, vocab, vocab, vocab, vocab, 31]),
        "top_ps": ("float64", [1.0, 1.0, 0.9, 1.0, 1.0, 0.995]), "min_ps": ("float32", [0.0, 0.0, 0.0, 0.0, 0.25, 0.0]),
    }  # fmt: skip
    given = {"temperatures": [p["temperature"] for p in PREPARE], "top_ks": [p.get("top_k", -1) for p in PREPARE],
             "top_ps": [p.get("top_p", 1.0) for p in PREPARE], "min_ps": [p.get("min_p", 0.0) for p in PREPARE]}  # fmt: skip
    clamped = {
        "top_ks": [[5, 7, 32, 1, 32, 31], [5, 7, 32, 1, 0, 31]],
        "temperatures": [given["temperatures"]],
        "top_ps": [given["top_ps"]],
        "min_ps": [given["min_ps"]],
    }
    lacking = {"temperatures": "always-the-argmax", "top_ks": "top-k-ignored", "top_ps": "top-p-ignored", "min_ps": "min-p-ignored"}
    for name, (dtype, values) in wants.items():
        want = np.asarray(values, dtype)
        expect.that(got[name] is not None, f"prepare's {name} is None although a request needs it", mistake=lacking[name])
        count = got[name].shape[0] if isinstance(got[name], np.ndarray) and got[name].ndim == 1 else 6
        expect.that(count != 8, f"prepare's {name} has a row for each padded request; only batch.reqs count", mistake="padding-prepared")
        suspects = {
            "greedy-rows-not-neutral": explains_any(got[name], clamped[name], dtype),
            "top-k-zero-keeps-one": name == "top_ks" and explains_any(got[name], [[5, vocab, vocab, vocab, 1, 31]], dtype),
            "one-row-for-all": isinstance(got[name], np.ndarray)
            and got[name].shape == (6,)
            and len(set(got[name].tolist())) == 1
            and got[name].tolist()[0] == given[name][0],
        }
        if isinstance(got[name], np.ndarray) and got[name].shape == want.shape and np.allclose(got[name], want, rtol=1e-6):
            expect.is_tensor(got[name], f"prepare's {name}", dtype=dtype)  # a narrower dtype would show as tiny errors
        expect.close(got[name], want, atol=0.0, name=f"prepare's {name}", axes=("request",), dtype=dtype, suspects=suspects)
    told = found["told"]
    numbers = got["uniforms"]
    # Only the rows that are drawn count. Each suspect explains all of them; "one-step-behind" comes before what is the same in decode.
    names = {"step-ignored": "step-ignored", "one": "step-ignored", "limit": "step-ignored", "one-step-behind": "one-step-behind",
             "cached": "one-step-behind", "tokens-on-the-host-counted": "tokens-on-the-host-counted", "seed-ignored": "seed-ignored",
             "uid as seed": "seed-ignored", "base-ignored": "base-ignored", "one-seed-for-all": "one-seed-for-all",
             "uid-ignored": "uid-ignored", "seed-zero-ignored": "seed-zero-ignored"}  # fmt: skip
    rows, known = [0, 2, 4, 5], {}
    for key, mistake in names.items():
        fits = isinstance(numbers, np.ndarray) and numbers.shape == (6,) and np.array_equal(numbers[rows], np.asarray(told[key], np.float32)[rows])
        known[mistake] = known.get(mistake, False) or fits
    again = found["again"]["uniforms"]
    random = isinstance(numbers, np.ndarray) and isinstance(again, np.ndarray) and not np.array_equal(numbers, again)
    known["neighbours-change-the-draw"] = random
    sampled = expect.is_tensor(numbers, "prepare's uniforms", shape=(6,))[rows]
    expect.close(sampled, np.asarray(told["right"], np.float32)[rows], atol=0.0, name="prepare's uniforms of the rows that are drawn", axes=("row",), dtype="float32",
                 suspects=known)  # fmt: skip
    chunks = served("prepare chunks")
    sampled = expect.is_tensor(chunks["fields"]["uniforms"], "prepare's uniforms", shape=(6,))[rows]
    behind = np.asarray(chunks["told"]["one-step-behind"], np.float32)[rows]
    expect.close(sampled, np.asarray(chunks["told"]["right"], np.float32)[rows], atol=0.0, axes=("row",), suspects={"one-step-behind": behind},
                 name="prepare's uniforms of requests whose prompt was cut at different places")  # fmt: skip
    for case, unused in (("prepare plain", ("top_ks", "top_ps", "min_ps")), ("prepare greedy", (*wants, "uniforms"))):
        got = served(case)["fields"]
        what = "where only greedy requests use that filter" if case == "prepare plain" else "in a batch of greedy requests"
        for name in unused:
            expect.that(got[name] is None, f"prepare's {name} is not None {what}", mistake="unneeded-tensors-made")
    for used, (_, values) in SINGLE.items():
        got = served(f"prepare {used}")["fields"]
        expect.that(got["uniforms"] is not None and got["temperatures"] is not None, f"prepare gives no temperatures or no uniforms where only {used} is used")
        for name in ("top_ks", "top_ps", "min_ps"):
            if name == f"{used}s":
                expect.that(got[name] is not None, f"prepare's {name} is None in a batch where a request uses {used} and no other filter is used")
                expect.close(got[name], np.asarray(values, wants[name][0]), atol=0.0, name=f"prepare's {name} where no other filter is used", dtype=wants[name][0])
            else:
                expect.that(got[name] is None, f"prepare's {name} is not None where only {used} is used", mistake="unneeded-tensors-made")
    plain = served("prepare plain")["fields"]["temperatures"]
    expect.close(plain, np.array([0.0, 0.8, 0.0], np.float32), atol=0.0, name="prepare's temperatures without any filter", dtype="float32")


def test_prepare_again(served):
    """prepare changes no request and remembers no batch"""
    for case in ("prepare", "prepare chunks", "prepare plain"):
        found = served(case)
        expect.that(found["unmoved"], "the lengths of the requests or the batch are not the same after prepare")
        want = np.array([3.0, 4.0] * 3, np.float32)[: 6 if case != "prepare plain" else 3]
        expect.close(found["other"], want, atol=0.0, name="prepare's temperatures of another batch of the same size, prepared by the same sampler,")
        expect.that(found["kept"], "what prepare returned for one batch changes when the next batch is prepared")
        for name, value in found["fields"].items():
            if value is None:
                expect.that(found["again"][name] is None, f"prepare's {name} of the same batch, prepared again after another one, is not None any more")
            else:
                expect.close(found["again"][name], np.asarray(value), atol=0.0, name=f"prepare's {name} of the same batch, prepared again after another one,")


def explains_any(got, alternatives, dtype):
    return isinstance(got, np.ndarray) and any(got.shape == (len(a),) and np.array_equal(got, np.asarray(a, dtype)) for a in alternatives)


def test_the_output(served):
    """Tokens are int32, one per request, and nothing that the caller passed is changed"""
    cases = ("all greedy", 3), ("together", 8), ("rows", DRAWS * len(ROWS)), ("off", OFF_DRAWS * len(OFF)), ("arguments", 20)
    for case, count in cases:
        found = served(case)
        expect.is_tensor(found["tokens"], "the sampled tokens", shape=(count,), dtype="int32")
        changed = [name for name in found["changed"] if name != "logits"]
        expect.that("logits" not in found["changed"], "the logits that the sampler was given are not the same afterwards", mistake="logits-changed-in-place")
        expect.that(not changed, f"the {' and the '.join(changed)} that the sampler was given are not the same afterwards", mistake="arguments-changed-in-place")
        if found["again"] is not None:
            first, later = tokens_of(found, count).tolist(), tokens_of(found, count, "later").tolist()
            expect.equal(later, first, "what the first call returned, after another call,")


def test_a_bad_row_harms_nobody(served):
    """A row with a NaN or an infinite largest logit gets the token -1; the others are as without it"""
    clean = tokens_of(served("clean"), 8).tolist()
    got = tokens_of(served("bad"), 8).tolist()
    want = [-1 if i in (1, 3, 4, 6) else token for i, token in enumerate(clean)]
    others = all(got[i] == clean[i] for i in (0, 2, 5, 7))
    places = {1: 4, 3: 0, 4: 0, 6: 7}
    suspects = {
        "bad-row-gets-a-token": others and any(got[i] != -1 for i in places) and all(got[i] >= 0 or got[i] == -1 for i in places),
        "bad-row-spoils-the-batch": all(token == -1 for token in got),
    }
    lost = [i for i in (0, 2, 5, 7) if clean[i] == -1]
    expect.that(not lost, "rows with a finite largest logit got -1", [f"rows {lost}"], mistake="masked-token-fails-the-row" if lost == [5] else None)
    expect.equal(got, want, "the tokens of a batch whose rows 1 and 6 hold a NaN, 3 a +inf, 4 nothing but -inf", suspects=suspects)
    got = tokens_of(served("bad greedy"), 8).tolist()
    want = [-1 if i in places else int(np.argmax(row)) for i, row in enumerate(bad_logits()[0])]
    suspects = {"bad-row-gets-a-token": all(got[i] == want[i] for i in (0, 2, 5, 7))}
    expect.equal(got, want, "the greedy tokens of such a batch", suspects=suspects)
    expect.equal(tokens_of(served("all bad"), 3).tolist(), [-1] * 3, "the tokens of a batch in which every row is bad")


def test_devices(served):
    """prepare's tensors are on the sampler's device, and on CUDA sample uses FlashInfer where it is there"""
    found = served("elsewhere")
    lines = [f"the sampler's device is 'meta', the tensors are on {found['devices']}"]
    expect.that(found["devices"] in ([], ["meta"]), "prepare's tensors are not on the sampler's device", lines, mistake="device-ignored")
    text = "use_flashinfer is set and the logits are on CUDA, but sample does not return what sample_flashinfer gives"
    expect.that(found["flashinfer"] is not False, text, mistake="flashinfer-not-used")
    expect.that(not found.get("unasked"), "sample calls sample_flashinfer although use_flashinfer is not set: FlashInfer may not be there")
