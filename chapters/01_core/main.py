"""Chapter 1: the life of two requests, seen through their lengths. No model yet: the sampled tokens are invented."""

from __future__ import annotations

import torch

from minisgl.core import Batch, Context, Req, SamplingParams, get_global_ctx, set_global_ctx

COLUMNS = "{:<10}{:<5}{:>8}{:>8}{:>8}{:>8}{:>6}   {}"


def show(step: str, reqs: list[Req]) -> None:
    for req in reqs:
        known = req.input_ids.tolist()
        lengths = (req.cached_len, req.device_len, req.extend_len, req.remain_len, len(known))
        print(COLUMNS.format(step, f"#{req.uid}", *lengths, bar(req)))


def bar(req: Req) -> str:
    """One character per token: # has its KV in the pool, o is computed next, . may still come."""
    return "#" * req.cached_len + "o" * req.extend_len + "." * req.remain_len


def invented_forward() -> list[int]:
    """Stands for a model: like one, it takes no argument and looks the batch up in the context."""
    batch = get_global_ctx().batch
    print(f"{'':10}forward over {len(batch.input_ids)} tokens: ids {batch.input_ids.tolist()}")
    print(f"{'':10}{'':>26} at {batch.positions.tolist()}")
    return [100 + req.device_len for req in batch.reqs]


def main() -> None:
    set_global_ctx(Context(page_size=1))
    # The first request has 2 of its 6 tokens in a prefix cache already; the second starts from nothing.
    first = Req(torch.tensor([11, 12, 13, 14, 15, 16], dtype=torch.int32), 0, 2, 3, 1, SamplingParams(max_tokens=3))
    second = Req(torch.tensor([21, 22, 23], dtype=torch.int32), 1, 0, 5, 2, SamplingParams(max_tokens=5))
    running = [first, second]

    print("# KV in the pool   o computed next   . still to come\n")
    print(COLUMNS.format("", "uid", "cached", "device", "extend", "remain", "host", ""))
    show("admitted", running)

    phase = "prefill"
    while running:
        batch = Batch(running, phase)
        batch.input_ids = batch.host_input_ids()
        batch.positions = batch.host_positions()
        with get_global_ctx().forward_batch(batch):
            tokens = invented_forward()
        for req, token in zip(batch.reqs, tokens, strict=True):
            req.complete_one()
            req.append_host(token)
        show(phase, running)
        running = [req for req in running if req.can_decode]
        phase = "decode"

    print("\nThe last sampled token of each request is never computed: nobody needs what would come after it.")
    for req in (first, second):
        print(f"request {req.uid}: {req.input_ids.tolist()}")

    print("\nWhat SamplingParams refuses:")
    for wrong in ({"temperature": float("nan")}, {"top_p": 1.5}, {"max_tokens": 0}, {"seed": "7"}):
        try:
            SamplingParams(**wrong)
        except ValueError as error:
            print(f"  {error}")


if __name__ == "__main__":
    main()
