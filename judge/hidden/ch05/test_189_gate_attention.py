"""Exercise 189, the gate of chapter 5: a mixed batch against dense attention, and five architectures against Hugging Face."""

import weakref

import numpy as np

from judge import expect, prompts, questions
from judge.hidden.ch05.test_181_paged_attention import (
    LAYERS,
    PAGE_SIZES,
    make_case,
    run_or_explain,
    serve,
    simulate,
    title,
)
from judge.reference import Reference

TINY = ("tiny-mistral", "tiny-llama", "tiny-qwen3", "tiny-qwen2", "tiny-qwen3-moe")
SMOL = "SmolLM2-135M-Instruct"
ALL_PROMPTS = tuple(range(len(prompts.PROMPTS)))
SMOL_PROMPTS = (0, 2, 3, 4, 5)
EXTRA = [7, 300]  # two tokens behind each prompt, for decode steps
GARBAGE = 1_000_000  # a slot that no pool has
# queries, slots, window
PLANS = [
    (1, [40, 41, 42, 7, 3], None), (1, [40, 41, 42, 7, 3], 2), (1, [9], None), (1, [5, 6, 7, 8, 9, 10], 4), (1, [3, 8], 5), (1, [3, 8, 1], 3),
    (4, [3, 9, 1, 7], None), (4, [12, 13, 14, 15], None), (4, [3, 9, 1, 7], 4), (4, [3, 9, 1, 7], 9), (4, [3, 9, 1, 7], 3),
    (3, [40, 41, 42, 43, 20, 22, 21], None), (3, [40, 41, 42, 43, 20, 22, 21], 3), (3, [40, 41, 42, 43, 20, 22, 21], 50),
    (3, [40, 41, 42, 43, 20, 22, 21], 1), (2, [8, 7, 6, 5], 2), (2, [10, 12, 11, 13], None), (2, [10, 12, 11, 13], 4), (6, [9, 8, 7, 6, 5, 4, 3], 7),
]  # fmt: skip


# ---- probes and a question -----------------------------------------------------------------------------------------


def plan_requests(cases):
    """plan_request of each case, the rows beginning at 5; slots as a list."""
    import torch

    from minisgl.attention.torch_backend import plan_request

    found = []
    for queries, slots, window in cases:
        given, rows = torch.tensor(slots, dtype=torch.int32), slice(5, 5 + queries)
        plan = plan_request(rows, given, window)
        if plan is None:
            found.append(None)
            continue
        read = list(range(plan.slots.start, plan.slots.stop)) if isinstance(plan.slots, slice) else plan.slots.tolist()
        span = [plan.rows.start, plan.rows.stop] if isinstance(plan.rows, slice) else str(plan.rows)
        found.append({"rows": span, "slots": read, "mask": plan.mask, "is_causal": bool(plan.is_causal), "kept": given.tolist() == slots})
    return found


def make_plans(query_lens, kv_lens, table, windows):
    """plans(window) of metadata that is made by hand, for each window in turn; then a second batch with the same backend and lengths."""
    import torch

    from minisgl.attention.torch_backend import TorchAttnMetadata

    def look(plan):
        read = list(range(plan.slots.start, plan.slots.stop)) if isinstance(plan.slots, slice) else plan.slots.tolist()
        return {"rows": [plan.rows.start, plan.rows.stop], "slots": read, "mask": plan.mask, "is_causal": bool(plan.is_causal)}

    def metadata(shift):
        starts = torch.tensor([0, *query_lens]).cumsum(0).int()
        return TorchAttnMetadata(list(query_lens), list(kv_lens), starts, table + shift)

    first, second = metadata(0), metadata(1000)
    made, kept = [], []
    for window in windows:
        plans = first.plans(window)
        if not isinstance(plans, (list, tuple)):
            return {"type": type(plans).__name__}
        made.append([look(plan) for plan in plans])
        kept.append([plan for plan in plans])
    again = [first.plans(window) for window in windows]
    same = [len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True)) for a, b in zip(again, kept, strict=True)]
    return {"type": "list", "made": made, "same": same, "other batch": [[look(plan) for plan in second.plans(w)] for w in windows]}


def run_models(jobs, page_sizes, extra):
    """Each model serves its sequences with each page size, in passes; the logits of each request's last token in each pass.

    A sequence is a prompt and `extra` tokens. Pass 1 computes prefixes, pass 2 the rest of all prompts in one mixed batch, the others decode.
    Of two equal prompts the second one shares the pages that the first one has filled by then.
    """
    import json
    from pathlib import Path
    from types import SimpleNamespace

    import torch

    from minisgl.attention import create_attention_backend
    from minisgl.core import Batch, Context, Req, SamplingParams, reset_global_ctx, set_global_ctx
    from minisgl.kvcache import create_kvcache_pool
    from minisgl.models import ModelConfig, load_model

    found = []
    for job in jobs:
        config = ModelConfig.from_hf(SimpleNamespace(**json.loads((Path(job["path"]) / "config.json").read_text())))
        model = load_model(job["path"], config, "cpu", torch.float32)
        sequences = job["sequences"]
        for size in page_sizes:
            width = max(map(len, sequences)) + 1
            per_request = -(-width // size)
            pages = torch.randperm(len(sequences) * per_request + 3, generator=torch.Generator().manual_seed(size)).tolist()
            ctx = Context(page_size=size)
            set_global_ctx(ctx)
            ctx.kv_cache = create_kvcache_pool(config, len(pages), size, torch.float32, torch.device("cpu"))
            for layer in range(config.num_layers):
                ctx.kv_cache.k_cache(layer).fill_(3.0)
                ctx.kv_cache.v_cache(layer).fill_(50.0)
            ctx.page_table = torch.zeros((len(sequences) + 4, per_request * size), dtype=torch.int32)
            ctx.attn_backend = create_attention_backend("torch", config)
            row_of, owned = [len(sequences) + 2 - i for i in range(len(sequences))], []
            for i, shared in enumerate(job["shared"]):
                count = 0 if shared is None else job["cached"][shared] // size
                owned.append((owned[shared][:count] if count else []) + [pages.pop() for _ in range(per_request - count)])
                slots = [page * size + offset for page in owned[-1] for offset in range(size)]
                ctx.page_table[row_of[i]] = torch.tensor(slots, dtype=torch.int32)
            dummy = len(sequences) + 3
            ctx.page_table[dummy, 0] = pages.pop() * size

            done = [0 if s is None else job["cached"][s] // size * size for s in job["shared"]]
            passes = [[(i, n) for i, n in enumerate(job["cached"]) if n], [(i, len(sequences[i]) - extra) for i in job["order"]]]
            passes += [[(i, len(sequences[i]) - extra + step) for i in job["order"][::-1]] for step in range(1, extra + 1)]
            answers = []
            for number, work in enumerate(passes):
                reqs = []
                for i, until in work:
                    ids = torch.tensor(sequences[i][:until], dtype=torch.int32)
                    reqs.append(Req(ids, row_of[i], done[i], 4, i, SamplingParams()))
                    done[i] = until
                batch = Batch(reqs, "prefill" if number < 2 else "decode")
                if number > 2:
                    batch.padded_reqs = [*reqs, Req(torch.zeros(1, dtype=torch.int32), dummy, 0, 1, -1, SamplingParams())]
                batch.input_ids, batch.positions = batch.host_input_ids(), batch.host_positions()
                batch.out_loc = torch.cat([ctx.page_table[r.table_idx, r.cached_len : r.device_len] for r in batch.padded_reqs])
                ctx.attn_backend.prepare_metadata(batch)
                with torch.inference_mode(), ctx.forward_batch(batch):
                    answers.append({"work": work, "logits": model.forward()[: len(reqs)].float()})
            found.append(answers)
            reset_global_ctx()
        del model
    return found


def logits_of(model, sequences, positions):
    """Float32 logits of some positions of each sequence, [positions, vocab] each."""
    import torch
    from transformers import AutoModelForCausalLM

    hf = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.inference_mode():
        return [hf(torch.tensor([ids])).logits[0, at].clone() for ids, at in zip(sequences, positions, strict=True)]


# ---- what is right ---------------------------------------------------------------------------------------------------


def first_key(n, m, window):
    return 0 if window is None else max(0, m - n - (window - 1))


def near(n, m, window):
    age = np.arange(m - n, m)[:, None] - np.arange(m)
    return (age >= 0) & (age < (m if window is None else window))


def plan(n, slots, window):
    """What plan_request should give: slots, mask (None or bool [n, keys]) and is_causal."""
    read = slots[first_key(n, len(slots), window) :]
    m = len(read)
    if n == 1:
        return read, None, False
    if n == m and (window is None or window >= m):
        return read, None, True
    return read, near(n, m, window), False


def as_plan(got):
    return got["slots"], got["mask"], got["is_causal"]


def same_plan(a, b):
    return list(a[0]) == list(b[0]) and a[2] == b[2] and (b[1] is None if a[1] is None else np.array_equal(a[1], b[1]))


def wrong_plans():
    """Mistake -> (queries, slots, window) -> what it would plan."""

    def masked(n, read, window):
        return near(n, len(read), window)

    def without_kernel(n, slots, window):
        read, mask, is_causal = plan(n, slots, window)
        return (read, masked(n, read, window), False) if mask is None and n > 1 else (read, mask, is_causal)

    def always_masked(n, slots, window):
        read, mask, is_causal = plan(n, slots, window)
        return read, masked(n, read, window) if n == 1 else mask, is_causal

    def causal_with_prefix(n, slots, window):
        read, mask, is_causal = plan(n, slots, window)
        return (read, None, True) if mask is not None and window is None else (read, mask, is_causal)

    def window_dropped(n, slots, window):
        read, mask, is_causal = plan(n, slots, window)
        return (read, near(n, len(read), None), False) if mask is not None else (read, mask, is_causal)

    def causal_despite_window(n, slots, window):
        read, mask, is_causal = plan(n, slots, window)
        return (read, None, True) if n == len(read) and n > 1 else (read, mask, is_causal)

    def no_mask(n, slots, window):
        return plan(n, slots, window)[0], None, False

    def uncut(n, slots, window):
        whole = plan(n, slots, None)
        return (slots, near(n, len(slots), window), False) if window is not None and window < len(slots) and n > 1 else whole

    def cut_at_the_end(n, slots, window):
        read, mask, is_causal = plan(n, slots, window)
        return slots[: len(read)], mask, is_causal

    def first_to_last(n, slots, window):
        read, mask, is_causal = plan(n, slots, window)
        return list(range(read[0], read[-1] + 1)), mask, is_causal

    return {
        "window-ignored": lambda n, slots, window: plan(n, slots, None),
        "window-ignored-in-decode": lambda n, slots, window: plan(n, slots, None if n == 1 else window),
        "causal-mask-only": window_dropped,
        "is-causal-with-a-prefix": causal_with_prefix,
        "is-causal-despite-the-window": causal_despite_window,
        "mask-for-everybody": without_kernel,
        "mask-for-one-query": always_masked,
        "no-mask": no_mask,
        "far-keys-read": uncut,
        "cut-at-the-wrong-end": cut_at_the_end,
        "read-in-a-row": first_to_last,
    }


def check_plan(got, n, slots, window, name, suspects):
    read, mask, is_causal = plan(n, slots, window)
    expect.equal(got["slots"], list(read), f"{name}: the slots that are read", suspects=suspects)
    if mask is None:
        wanted = "no mask and is_causal" if is_causal else "neither a mask nor is_causal"
        fine = got["mask"] is None and got["is_causal"] == is_causal
        mistake = next((m for m, hit in suspects.items() if hit), None)
        expect.that(fine, f"{name}: there is {'a' if got['mask'] is not None else 'no'} mask, is_causal is {got['is_causal']}; want {wanted}", mistake=mistake)
    else:
        there = got["mask"] is not None
        mistake = next((m for m, hit in suspects.items() if hit), None)
        expect.that(there and not got["is_causal"], f"{name}: {'is_causal is set' if got['is_causal'] else 'there is no mask'}; this needs a mask", mistake=mistake)
        expect.close(got["mask"], mask, atol=0.0, name=f"{name}: the mask", axes=("query", "key"), dtype="bool", suspects=suspects)


# ---- tests -------------------------------------------------------------------------------------------------------


def test_plan_of_a_request(tree):
    """plan_request leaves out keys that no query sees, gives a single query no mask, a new prompt is_causal, and all others a mask"""
    got = tree.run(plan_requests, cases=PLANS)
    expect.that(all(answer is not None for answer in got), "plan_request returned None; a RequestPlan is wanted", ["Is a `return` missing?"], kind="type")
    suspects = {mistake: all(same_plan(as_plan(a), wrong(*case)) for a, case in zip(got, PLANS, strict=True)) for mistake, wrong in wrong_plans().items()}
    for answer, (n, slots, window) in zip(got, PLANS, strict=True):
        name = f"plan_request of {n} queries, slots {slots}, window {window}"
        expect.equal(answer["rows"], [5, 5 + n], f"{name}: the rows")
        check_plan(answer, n, slots, window, name, suspects)
        expect.that(answer["kept"], f"{name} has changed the slots that it was given")


def test_plans_of_a_batch(tree):
    """plans gives each request its rows and its slots, cut to its own length, and keeps a set of plans for each window"""
    query_lens, kv_lens, windows = [3, 1, 4, 1, 2], [7, 9, 4, 1, 5], [3, None, 1, 3, 20, None]
    table = np.random.default_rng(4).permutation(200)[:50].reshape(5, 10).astype(np.int32)
    for row, length in enumerate(kv_lens):
        table[row, length:] = GARBAGE
    got = tree.run(make_plans, query_lens=query_lens, kv_lens=kv_lens, table=table[:, : max(kv_lens)], windows=windows)
    expect.that(got["type"] == "list", f"plans returned a {got['type']}; a list of plans is wanted", kind="type")
    starts = np.cumsum([0, *query_lens]).tolist()

    def of(shift, window, length=lambda row: kv_lens[row]):
        return [plan(n, (table[row, : length(row)] + shift).tolist(), window) for row, n in enumerate(query_lens)]

    def batch_is(answers, wanted):
        return len(answers) == len(wanted) and all(same_plan(as_plan(a), w) for a, w in zip(answers, wanted, strict=True))

    def everywhere(wanted):
        return all(batch_is(answers, wanted(window)) for answers, window in zip(got["made"], windows, strict=True))

    uncut = everywhere(lambda window: of(0, window, lambda row: max(kv_lens)))
    advanced = np.cumsum([0, *kv_lens]).tolist()
    spans = [[plan_["rows"] for plan_ in answers] for answers in got["made"]]
    row_suspects = {
        "rows-of-the-keys": all(s == [[advanced[i], advanced[i] + n] for i, n in enumerate(query_lens)] for s in spans),
        "rows-from-zero": all(s == [[0, n] for n in query_lens] for s in spans),
    }
    suspects = {
        "window-not-a-key": not everywhere(lambda window: of(0, window)) and everywhere(lambda window: of(0, windows[0])),
        "undefined-slots-read": uncut,
    }
    for window, answers in zip(windows, got["made"], strict=True):
        expect.equal(len(answers), len(query_lens), f"the number of plans for window {window}")
        for row, (answer, n) in enumerate(zip(answers, query_lens, strict=True)):
            name = f"the plan of request {row} of {len(query_lens)}, window {window}"
            expect.equal(answer["rows"], [starts[row], starts[row + 1]], f"{name}: the rows", suspects=row_suspects)
            check_plan(answer, n, table[row, : kv_lens[row]].tolist(), window, name, suspects)
    expect.that(all(got["same"]), "plans makes new plans each time it is asked for the same window", mistake="plans-made-again")
    shared = all(batch_is(answers, of(0, window)) for answers, window in zip(got["other batch"], windows, strict=True))
    fresh = all(batch_is(answers, of(1000, window)) for answers, window in zip(got["other batch"], windows, strict=True))
    expect.that(fresh, "the plans of a second batch with the same lengths are wrong", mistake="plans-of-another-batch" if shared else None)


def explain(tree):
    test_plan_of_a_request(tree)
    test_plans_of_a_batch(tree)


DENSE = weakref.WeakKeyDictionary()


def against_dense(tree, seeds, size):
    if tree not in DENSE:
        cases = [make_case(seed, page_size) for page_size in PAGE_SIZES for seed in seeds]
        DENSE[tree] = list(zip(cases, run_or_explain(tree, serve, explain, cases=cases, dtype="float32"), strict=True))
    for case, answer in DENSE[tree]:
        if case["page_size"] == size:
            for layer, want in enumerate(simulate(case)):
                got = answer["outs"][layer]
                expect.close(got, want.astype(np.float32), atol=2e-5, name=title(case, layer), axes=("packed token", "head", "feature"), dtype="float32")
            plans = answer["calls"]["plan"]
            told = [f"{LAYERS} layers with {len(set(case['windows']))} kinds of windows: plan_request was called {plans} times"]
            most = len(set(case["windows"])) * len(case["requests"])
            expect.that(plans <= most, "plans are made anew in every layer", told, mistake="plans-made-again")


def test_page_size_1(tree, seeds):
    """A mixed batch with scattered pages of 1 token equals dense attention"""
    against_dense(tree, seeds, 1)


def test_page_size_4(tree, seeds):
    """A mixed batch with scattered pages of 4 tokens equals dense attention"""
    against_dense(tree, seeds, 4)


def test_page_size_16(tree, seeds):
    """A mixed batch with scattered pages of 16 tokens equals dense attention"""
    against_dense(tree, seeds, 16)


def job_of(tree, oracle, model, which=ALL_PROMPTS):
    texts = [prompts.PROMPTS[i] for i in which]
    sequences = [ids + EXTRA for ids in oracle.ask(questions.encode, model=model, texts=texts)]
    lengths = [len(ids) - len(EXTRA) for ids in sequences]
    cached, shared = [0] * len(texts), [None] * len(texts)
    for i, (text, n) in enumerate(zip(texts, lengths, strict=True)):
        if text in texts[:i]:
            shared[i] = texts.index(text)  # its pages are filled in the first pass
        elif text in texts[i + 1 :]:
            cached[i] = n - 1
        elif n > 6:
            cached[i] = (n // 3, n - 5, 0)[i % 3]
    cached[-1] = lengths[-1] - 1
    order = np.random.default_rng(len(texts)).permutation(len(texts)).tolist()
    return {"path": tree.model(model), "sequences": sequences, "cached": cached, "shared": shared, "order": order}


MODELS = weakref.WeakKeyDictionary()


def compare_model(tree, oracle, model, names, page_sizes, which=ALL_PROMPTS):
    """All models of `names` run in one process, once; `model` is compared."""
    key = (names, which)
    runs = MODELS.setdefault(tree, {})
    if key not in runs:
        jobs = [job_of(tree, oracle, name, which) for name in names]
        answers = run_or_explain(tree, run_models, explain, jobs=jobs, page_sizes=list(page_sizes), extra=len(EXTRA))
        runs[key] = {name: (job, answers[i * len(page_sizes) : (i + 1) * len(page_sizes)]) for i, (name, job) in enumerate(zip(names, jobs, strict=True))}
    job, answers = runs[key][model]
    sequences, cached = job["sequences"], job["cached"]
    # the last token of: the prefix, the prompt, and each decode step
    positions = [[*([c - 1] if c else []), *range(len(ids) - len(EXTRA) - 1, len(ids))] for ids, c in zip(sequences, cached, strict=True)]
    logits = oracle.ask(logits_of, model=model, sequences=sequences, positions=positions)
    passes = ("prefixes", "mixed batch", *(f"decode step {i + 1}" for i in range(len(EXTRA))))
    right = {(i, at): np.asarray(row) for i, (ats, rows) in enumerate(zip(positions, logits, strict=True)) for at, row in zip(ats, rows, strict=True)}

    def ignores_window(_):
        reference = Reference(tree.model(model))
        wrong = [reference.forward(ids, mistake="no_window") for ids in sequences]
        return all(np.allclose(step["logits"][r], wrong[i][n - 1], rtol=0, atol=1e-3) for run in answers for step in run for r, (i, n) in enumerate(step["work"]))

    suspects = {"window-ignored": ignores_window} if model in TINY else None
    for size, run in zip(page_sizes, answers, strict=True):
        for name, step in zip(passes, run, strict=True):
            got = expect.is_tensor(step["logits"], f"the logits of {model}")
            for row, (i, until) in enumerate(step["work"]):
                what = f"{model}, page size {size}, {name}: the logits after token {until} of prompt {which[i]}"
                expect.close(got[row], right[i, until - 1], atol=1e-4, name=what, axes=("token id",), suspects=suspects)


def test_tiny_mistral(tree, oracle):
    """tiny-mistral, whose window is shorter than its prompts, gives Hugging Face's logits"""
    compare_model(tree, oracle, "tiny-mistral", TINY, PAGE_SIZES)


def test_tiny_models(tree, oracle):
    """The other four architectures give Hugging Face's logits, prompts and decode steps mixed, with pages of 1, 4 and 16"""
    for model in TINY[1:]:
        compare_model(tree, oracle, model, TINY, PAGE_SIZES)


def test_smollm2(tree, oracle):
    """SmolLM2 gives Hugging Face's logits, prompts and decode steps mixed"""
    compare_model(tree, oracle, SMOL, (SMOL,), (16,), SMOL_PROMPTS)
