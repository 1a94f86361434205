"""Exercise 155: the embedding and the LM head, tied or not, whole or in parts."""

import numpy as np

from judge import expect

VOCAB, DIM = 33, 6
LENGTHS, CACHED = (5, 2, 9), (0, 7, 3)
DONE = "OK"
TIED = ["embed_tokens.weight", "norm"]  # the names of a model whose head is tied
PADDING = 1000.0  # what the rows behind the vocabulary hold


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def look_up(table, ids, ranks, padding):
    """The embedding of ids (int32, then int64) on each of `ranks` ranks, and what each rank hands to all_reduce.

    Ranks run one after another: the first pass notes what each hands over, the second gives it the sum.
    """
    import torch

    from minisgl.distributed import DistributedCommunicator, reset_tp_info, set_tp_info
    from minisgl.layers import VocabParallelEmbedding

    vocab, dim = table.shape
    rows = -(-vocab // ranks)
    padded = torch.full((rows * ranks, dim), padding)
    padded[:vocab] = table

    class Ranks:
        def __init__(self):
            self.parts, self.total = [], None

        def all_reduce(self, x):
            if self.total is None:
                self.parts.append(x.clone())
                return x
            return x.copy_(self.total) if x.shape == self.total.shape else self.total.clone()

        def all_gather(self, x):
            raise RuntimeError("an embedding has nothing to gather")

    group = Ranks()
    DistributedCommunicator.plugins.append(group)
    before = ids.clone()
    outs = []
    for _ in range(2 if ranks > 1 else 1):
        outs.clear()
        for rank in range(ranks):
            reset_tp_info()
            if ranks > 1:
                set_tp_info(rank, ranks)
            layer = VocabParallelEmbedding(vocab, dim)
            layer.load_state_dict({"weight": padded[rank * rows : (rank + 1) * rows].clone()})
            outs.append(layer.forward(ids))
        if group.parts:
            group.total = torch.stack(group.parts).sum(0)
    wide = layer.forward(ids.long()) if ranks == 1 else None
    return {"outs": outs, "parts": group.parts, "int64": wide, "ids unchanged": torch.equal(before, ids)}


def logits(cases):
    """Logits for each case; see one()."""
    import torch
    from torch.overrides import TorchFunctionMode

    from minisgl.core import Batch, Context, Req, SamplingParams, reset_global_ctx, set_global_ctx
    from minisgl.distributed import DistributedCommunicator, reset_tp_info, set_tp_info
    from minisgl.layers import ParallelLMHead, VocabParallelEmbedding

    def one(x, table, lengths, cached, phase, ranks=1, tied=False, dummies=0, padding=0.0):
        """Logits of the head for the rows x of a batch with these requests, on each of `ranks` ranks.

        The table is the head's weight; with `tied` the embedding has it, and the head has none. Ranks run one after
        another: the first pass notes what each hands to all_gather, the second gives it all of them.
        """
        vocab, dim = table.shape
        rows = -(-vocab // ranks)
        padded = torch.full((rows * ranks, dim), padding)
        padded[:vocab] = table

        class Metadata:
            def get_last_indices(self, bs):
                if phase == "decode":
                    return torch.arange(bs)
                return torch.tensor(lengths).cumsum(0)[:bs] - 1

        class Watch(TorchFunctionMode):
            """Notes whether a product of every row with every row of the weight is made."""

            def __init__(self):
                super().__init__()
                self.seen = False

            def __torch_function__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                if isinstance(out, torch.Tensor) and {len(x), rows} <= set(out.shape):
                    self.seen = True
                return out

        class Ranks:
            def __init__(self):
                self.parts, self.whole = [], None

            def all_gather(self, x):
                if self.whole is None:
                    self.parts.append(x.clone())
                    return torch.cat([x] * ranks)
                return self.whole.clone()

            def all_reduce(self, x):
                raise RuntimeError("a head has nothing to sum")

        group, watch = Ranks(), Watch()
        DistributedCommunicator.plugins.append(group)
        reset_global_ctx()
        ctx = Context(page_size=1)
        set_global_ctx(ctx)
        new = lengths if phase == "prefill" else [1] * len(lengths)
        reqs = []
        for i, (n, old) in enumerate(zip(new, cached, strict=True)):
            reqs.append(Req(torch.arange(old + n, dtype=torch.int32), i, old, 4, i, SamplingParams()))
        batch = Batch(reqs, phase)
        batch.padded_reqs = reqs + [reqs[-1]] * dummies
        batch.attn_metadata = Metadata()
        before, outs = x.clone(), []
        for _ in range(2 if ranks > 1 else 1):
            outs.clear()
            for rank in range(ranks):
                reset_tp_info()
                if ranks > 1:
                    set_tp_info(rank, ranks)
                share = padded[rank * rows : (rank + 1) * rows].clone()
                if tied:
                    embedding = VocabParallelEmbedding(vocab, dim)
                    head = ParallelLMHead(vocab, dim, tied_embedding=embedding)
                    embedding.load_state_dict({"weight": share})
                    head.load_state_dict({})
                else:
                    head = ParallelLMHead(vocab, dim)
                    head.load_state_dict({"weight": share})
                with ctx.forward_batch(batch), watch:
                    outs.append(head.forward(x))
            if group.parts:
                group.whole = torch.cat(group.parts)
        return {"outs": outs, "every row": watch.seen, "unchanged": torch.equal(x, before)}

    return [one(**case) for case in cases]


def load(cases, embedding_weight, head_weight, x):
    """Load a model of embedding and head, or the head alone, from a dict that `case` describes, and compute logits.

    A decode batch, so that every row of x gives a row of logits.
    """
    import torch

    from minisgl.core import Batch, Context, Req, SamplingParams, reset_global_ctx, set_global_ctx
    from minisgl.layers import BaseOP, ParallelLMHead, VocabParallelEmbedding

    vocab, dim = embedding_weight.shape
    reset_global_ctx()
    ctx = Context(page_size=1)
    set_global_ctx(ctx)

    class Metadata:
        def get_last_indices(self, bs):
            return torch.arange(bs)

    class Model(BaseOP):
        def __init__(self, tied):
            self.embed_tokens = VocabParallelEmbedding(vocab, dim)
            self.lm_head = ParallelLMHead(vocab, dim, tied_embedding=self.embed_tokens if tied else None)
            self.norm = torch.zeros(dim)

        def forward(self, x):
            return self.lm_head.forward(x)

    def compute(head):
        reqs = [Req(torch.arange(4, dtype=torch.int32), i, 3, 4, i, SamplingParams()) for i in range(len(x))]
        batch = Batch(reqs, "decode")
        batch.attn_metadata = Metadata()
        with ctx.forward_batch(batch):
            return head.forward(x.clone())

    def one(case):
        tied = case["tied"]
        model = Model(tied)
        listed = list(model.state_dict())
        state = {"embed_tokens.weight": embedding_weight.clone(), "norm": torch.ones(dim)}
        if case["head"] == "other":
            state["lm_head.weight"] = head_weight.clone()
        elif case["head"] == "equal":
            state["lm_head.weight"] = embedding_weight.clone()
        elif case["head"] == "shape":
            state["lm_head.weight"] = head_weight[:-1].clone()
        elif case["head"] == "dtype":
            state["lm_head.weight"] = head_weight.bfloat16()
        if case.get("extra"):
            state["lm_head.bias"] = torch.zeros(vocab)
        target, prefix, internal = model, "", False
        if case.get("call") == "nested":  # what a model's own load_state_dict does, step by step
            model.embed_tokens.load_state_dict(state, "embed_tokens", _internal=True)
            target, prefix, internal = model.lm_head, "lm_head", True
        elif case.get("call") == "alone":
            model.embed_tokens.load_state_dict({"weight": state["embed_tokens.weight"]})
            state = {"weight": state["lm_head.weight"]} if "lm_head.weight" in state else {}
            target = model.lm_head
        file = state.get("lm_head.weight", state.get("weight"))
        before = sorted(state)
        found = {"listed": listed, "before": before}
        try:
            target.load_state_dict(state, prefix, _internal=internal)
            found["outcome"] = "OK"
        except NotImplementedError:
            raise
        except Exception as error:
            found["outcome"] = {"raised": type(error).__name__, "text": str(error)}
        found["left"] = sorted(state)
        if found["outcome"] == "OK" and case["head"] not in ("shape", "dtype"):
            found["logits"] = compute(model.lm_head)
            found["names"] = list(model.state_dict())
            with torch.no_grad():
                model.embed_tokens.weight.zero_()
            found["after the embedding"] = compute(model.lm_head)
            if file is not None:
                file.zero_()
            found["after both"] = compute(model.lm_head)
        return found

    return [one(case) for case in cases]


# ---- inputs and expectations -------------------------------------------------------------------------------------


def make_table(seed, vocab=VOCAB):
    return np.random.default_rng(seed).normal(0, 1, (vocab, DIM)).astype(np.float32)


def last_rows(lengths=LENGTHS):
    return np.cumsum(lengths) - 1


def wrong_logits(x, table, lengths):
    """What the known mistakes would give for a prefill batch."""
    every, ends = x @ table.T, last_rows(lengths)
    firsts = ends - np.asarray(lengths) + 1
    return {
        "every-row-returned": every,
        "last-row-of-the-batch-only": every[-1:],
        "first-rows-taken": every[firsts],
        "last-rows-of-the-batch": every[-len(lengths) :],
    }


def check_logits(out, x, table, lengths, name):
    """The logits of a prefill batch: the last row of each request."""
    want, wrong = (x @ table.T)[last_rows(lengths)], wrong_logits(x, table, lengths)
    expect.close(out, want, atol=1e-5, name=name, axes=("request", "token id"), dtype="float32", suspects=wrong)


def near(a, b):
    """Equal but for rounding; the rows of padding give products of some thousands."""
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-4, atol=1e-4)


def check_outcome(found, what):
    outcome = found["outcome"]
    if outcome != DONE:
        leftover = (
            found["listed"] == TIED and outcome["raised"] == "RuntimeError" and "lm_head.weight" in str(outcome["text"])
        )
        mistake = "tied-weight-left-in-the-dict" if leftover else None
        expect.that(False, f"{what} raises {outcome['raised']}", [str(outcome["text"])[:110]], mistake=mistake)


# ---- tests -------------------------------------------------------------------------------------------------------


def test_embedding_alone(tree, seeds):
    """On one rank the embedding gives the table's row of each id, for int32 and int64 ids"""
    for seed in seeds:
        table = make_table(seed)
        ids = np.concatenate([[0, VOCAB - 1, 17, 17], np.random.default_rng(seed).integers(0, VOCAB, 9)]).astype(
            np.int32
        )
        got = tree.run(look_up, table=table, ids=ids, ranks=1, padding=PADDING)
        name = "the embedding of 13 ids"
        expect.close(got["outs"][0], table[ids], atol=0.0, name=name, axes=("token", "feature"), dtype="float32")
        expect.close(got["int64"], table[ids], atol=0.0, name=f"{name} (int64)", axes=("token", "feature"))
        expect.equal(got["ids unchanged"], True, "'the ids are as before'")
        expect.equal(len(got["parts"]), 0, "the number of sums over ranks that one rank alone asks for")


def test_embedding_in_parts(tree, seeds):
    """On several ranks each gives zeros for ids that are not its own, and the sum is the whole lookup"""
    for seed in seeds:
        for vocab, ranks in ((VOCAB, 2), (9, 4)):
            table = make_table(seed, vocab)
            ids = np.array([vocab - 1, 0, 3, vocab // 2, 2, 5, 5, 6, vocab // 2 + 1], np.int32)
            got = tree.run(look_up, table=table, ids=ids, ranks=ranks, padding=PADDING)
            rows = -(-vocab // ranks)
            expect.that(got["parts"], "the ranks never sum their results", mistake="ranks-not-summed")
            expect.equal(len(got["parts"]), ranks, f"the number of sums that {ranks} ranks ask for")
            padded = np.concatenate([table, np.full((rows * ranks - vocab, DIM), PADDING, np.float32)])
            for rank, (part, out) in enumerate(zip(got["parts"], got["outs"], strict=True)):
                own = ids // rows == rank
                want = np.where(own[:, None], table[ids], 0)
                share = padded[rank * rows : (rank + 1) * rows]
                wrong = {
                    "foreign-ids-not-zeroed": lambda p, own=own, want=want: bool(
                        np.array_equal(p[own], want[own]) and np.abs(p[~own]).min(initial=9) > 0
                    ),
                    "whole-ids-in-a-part": share[ids % rows],
                }
                name = f"what rank {rank} of {ranks} adds to the sum"
                expect.close(part, want, atol=0.0, name=name, axes=("token", "feature"), suspects=wrong)
                name = f"the embedding on rank {rank} of {ranks}"
                expect.close(out, table[ids], atol=1e-6, name=name, axes=("token", "feature"), dtype="float32")


def test_prefill_takes_last_positions(tree, seeds):
    """In prefill only the last row of each request becomes logits, whatever the requests' lengths"""
    for seed in seeds:
        rng, table = np.random.default_rng(seed), make_table(seed)
        cases = []
        for lengths, cached in ((LENGTHS, CACHED), ((1, 1, 6, 1), (4, 0, 0, 12)), ((7,), (0,))):
            x = rng.normal(0, 1, (sum(lengths), DIM)).astype(np.float32)
            how = {"x": x, "table": table, "lengths": lengths, "cached": cached, "phase": "prefill"}
            cases += [how, how | {"tied": True}]
        results = tree.run(logits, cases=cases)
        for case, got in zip(cases, results, strict=True):
            counts = ", ".join(map(str, case["lengths"]))
            name = f"the logits of requests of {counts} tokens{' (tied head)' if 'tied' in case else ''}"
            check_logits(got["outs"][0], case["x"], table, case["lengths"], name)
            expect.equal(got["unchanged"], True, "'the head leaves its input as it is'")
        wasted = "logits of every row are computed, and most of them thrown away"
        expect.that(not results[0]["every row"], wasted, mistake="every-row-computed")


def test_decode_takes_all(tree, rng):
    """In decode every row becomes logits, those of padding requests too"""
    table, x = make_table(5), rng.normal(0, 1, (5, DIM)).astype(np.float32)
    how = {"table": table, "lengths": LENGTHS, "cached": CACHED, "phase": "decode"}
    cases = [how | {"x": x[: 3 + dummies], "dummies": dummies} for dummies in (0, 2)]
    for case, got in zip(cases, tree.run(logits, cases=cases), strict=True):
        want = case["x"] @ table.T
        wrong = {"padding-rows-dropped": want[:3], "last-row-of-the-batch-only": want[-1:]}
        wrong["last-rows-of-the-batch"] = want[-3:]
        name = f"the logits of a decode step with 3 requests and {case['dummies']} padding requests"
        axes = ("row", "token id")
        expect.close(got["outs"][0], want, atol=1e-5, name=name, axes=axes, dtype="float32", suspects=wrong)


def test_logits_from_parts(tree, seeds):
    """On several ranks every rank has the logits of all ids, each request's side by side, without padding"""
    for seed in seeds:
        cases = []
        for vocab, ranks, tied in ((VOCAB, 2, False), (VOCAB, 2, True), (9, 4, False)):
            table = make_table(seed, vocab)
            x = np.random.default_rng(seed + 2).normal(0, 1, (sum(LENGTHS), DIM)).astype(np.float32)
            how = {"phase": "prefill", "ranks": ranks, "tied": tied, "padding": PADDING}
            cases.append({"x": x, "table": table, "lengths": LENGTHS, "cached": CACHED} | how)
        for case, got in zip(cases, tree.run(logits, cases=cases), strict=True):
            ranks, table, x = case["ranks"], case["table"], case["x"]
            rows = -(-len(table) // ranks)
            padded = np.concatenate([table, np.full((rows * ranks - len(table), DIM), PADDING, np.float32)])
            last = x[last_rows()]
            for rank, out in enumerate(got["outs"]):
                parts = [last @ padded[r * rows : (r + 1) * rows].T for r in range(ranks)]
                whole = last @ padded.T
                wrong = {"parts-not-gathered": lambda out, own=parts[rank]: near(out, own)}
                wrong["padding-not-cut"] = lambda out, whole=whole: near(out, whole)
                wrong |= wrong_logits(x, table, LENGTHS)
                name = f"the logits on rank {rank} of {ranks}"
                want, axes = last @ table.T, ("request", "token id")
                expect.close(out, want, atol=1e-5, name=name, axes=axes, dtype="float32", suspects=wrong)


def test_untied(tree, rng):
    """An untied head needs its weight in the dict, keeps it by reference, and refuses one that does not fit"""
    table, own, x = make_table(1), make_table(2), rng.normal(0, 1, (3, DIM)).astype(np.float32)
    cases = [{"tied": False, "head": "other", "call": call} for call in ("model", "alone", "nested")]
    refused = [
        {"tied": False, "head": head, "call": call}
        for call in ("model", "alone")
        for head in ("none", "shape", "dtype")
    ]
    refused.append({"tied": False, "head": "other", "extra": True})
    got = tree.run(load, cases=cases + refused, embedding_weight=table, head_weight=own, x=x)
    for case, found in zip(cases, got, strict=False):
        check_outcome(found, "loading an untied head")
        expect.close(
            found["logits"],
            x @ own.T,
            atol=1e-5,
            name="the logits of an untied head",
            suspects={"last-row-of-the-batch-only": x[-1:] @ own.T},
        )
        expect.close(
            found["after the embedding"], x @ own.T, atol=1e-5, name="the logits after the embedding was set to zero"
        )
        expect.close(
            found["after both"],
            0 * (x @ own.T),
            atol=0.0,
            name="the logits after the dict's own tensor was set to zero",
        )
        left = ["norm"] if case["call"] == "nested" else found["before"]
        expect.equal(found["left"], left, f"what is left in the dict ({case['call']})")
    expect.equal(
        got[0]["listed"], ["embed_tokens.weight", "lm_head.weight", "norm"], "the names of a model with an untied head"
    )
    for case, found in zip(refused, got[len(cases) :], strict=True):
        outcome, name = found["outcome"], "weight" if case.get("call") == "alone" else "lm_head.weight"
        if case.get("extra"):
            expect.raised(outcome, "RuntimeError", "lm_head.bias", "a dict with lm_head.bias")
        elif case["head"] == "none":
            missing = "missing-head-passed-over" if outcome == DONE else None
            expect.raised(outcome, "KeyError", name, "a dict without the weight of an untied head", mistake=missing)
            expect.raised(outcome, "KeyError", "tie", "a dict without the weight of an untied head")
        else:
            expect.raised(outcome, "ValueError", name, f"a head's weight of the wrong {case['head']}")
        expect.equal(found["left"], found["before"], "the caller's dict after an error")


def test_tied(tree, rng):
    """A tied head needs no weight of its own, and shares the embedding's, also where the file repeats it"""
    table, own, x = make_table(1), make_table(2), rng.normal(0, 1, (3, DIM)).astype(np.float32)
    cases = [
        {"tied": True, "head": head, "call": call}
        for head in ("none", "equal")
        for call in ("model", "alone", "nested")
    ]
    got = tree.run(load, cases=cases, embedding_weight=table, head_weight=own, x=x)
    for case, found in zip(cases, got, strict=True):
        what = f"a tied head {'with' if case['head'] == 'equal' else 'without'} a weight in the dict"
        expect.equal(found["listed"], TIED, "the names of a model with a tied head")
        check_outcome(found, f"loading {what}")
        cut = {"last-row-of-the-batch-only": x[-1:] @ table.T}
        expect.close(found["logits"], x @ table.T, atol=1e-5, name=f"the logits of {what}", suspects=cut)
        kept = {"equal-weight-kept-twice": lambda out: np.allclose(out, x @ table.T, atol=1e-5)}
        kept = kept if case["head"] == "equal" else {}
        name = f"the logits of {what}, after the embedding was set to zero"
        expect.close(found["after the embedding"], 0 * (x @ table.T), atol=0.0, name=name, suspects=kept)
        expect.equal(found["names"], TIED, f"the names after loading {what}")
        left = ["norm"] if case["call"] == "nested" else found["before"]
        in_dict = {"tied-weight-left-in-the-dict": ["lm_head.weight", "norm"]} if case["call"] == "nested" else {}
        expect.equal(found["left"], left, f"what is left in the dict ({case['call']})", suspects=in_dict)


def test_tied_but_different(tree, rng):
    """If the file has another weight for a tied head, the head uses it; one that does not fit is refused"""
    table, own, x = make_table(1), make_table(2), rng.normal(0, 1, (3, DIM)).astype(np.float32)
    cases = [{"tied": True, "head": "other", "call": call} for call in ("model", "alone", "nested")]
    refused = [{"tied": True, "head": head, "call": call} for call in ("model", "alone") for head in ("shape", "dtype")]
    got = tree.run(load, cases=cases + refused, embedding_weight=table, head_weight=own, x=x)
    for case, found in zip(cases, got, strict=False):
        check_outcome(found, "loading a tied head that has another weight in the dict")
        wrong = {"files-weight-ignored": x @ table.T, "last-row-of-the-batch-only": x[-1:] @ own.T}
        expect.close(
            found["logits"],
            x @ own.T,
            atol=1e-5,
            name="the logits of a head with another weight in the dict",
            suspects=wrong,
        )
        expect.close(
            found["after the embedding"], x @ own.T, atol=1e-5, name="the logits after the embedding was set to zero"
        )
        expect.close(
            found["after both"],
            0 * (x @ own.T),
            atol=0.0,
            name="the logits after the dict's own tensor was set to zero",
        )
        left = ["norm"] if case["call"] == "nested" else found["before"]
        expect.equal(found["left"], left, f"what is left in the dict ({case['call']})")
    for case, found in zip(refused, got[len(cases) :], strict=True):
        name = "weight" if case["call"] == "alone" else "lm_head.weight"
        unchecked = "tied-fit-not-checked" if found["outcome"] == DONE else None
        expect.raised(
            found["outcome"], "ValueError", name, f"a tied head's weight of the wrong {case['head']}", mistake=unchecked
        )
