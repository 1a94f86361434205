"""Questions to Hugging Face: each function runs in the oracle's process, so it imports what it needs itself."""

from __future__ import annotations


def warped(logits, params):
    """The distribution [rows, vocab] after HF's own warpers, one parameter dict a row, in generate's order."""
    import torch
    from transformers import MinPLogitsWarper, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    rows = []
    for row, p in zip(logits, params, strict=True):
        temperature, top_k = p.get("temperature", 0.0), p.get("top_k", -1)
        scores = row[None].double()
        if temperature <= 0 or top_k == 1:
            rows.append(torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).double())
            continue
        chain = [TemperatureLogitsWarper(float(temperature))]
        if top_k > 0:
            chain.append(TopKLogitsWarper(top_k=top_k))
        if p.get("top_p", 1.0) < 1.0:
            chain.append(TopPLogitsWarper(top_p=p["top_p"]))
        if p.get("min_p", 0.0) > 0.0:
            chain.append(MinPLogitsWarper(min_p=p["min_p"]))
        for warper in chain:
            scores = warper(None, scores)
        rows.append(scores.softmax(-1))
    return torch.cat(rows)


def logits(model, prompts):
    """Float32 logits of every position, one array [tokens, vocab] a prompt, with eager attention."""
    import torch
    from transformers import AutoModelForCausalLM

    hf = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.inference_mode():
        return [hf(torch.tensor([ids])).logits[0] for ids in prompts]


def greedy(model, prompts, count):
    """`count` greedy tokens after each prompt, with the float32 logits [count, vocab] they were taken from. EOS is ignored."""
    import torch
    from transformers import AutoModelForCausalLM

    hf = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32, attn_implementation="eager").eval()
    answers = []
    with torch.inference_mode():
        for ids in prompts:
            cache, step, rows, tokens = None, torch.tensor([ids]), [], []
            for _ in range(count):
                out = hf(step, past_key_values=cache, use_cache=True)
                cache, last = out.past_key_values, out.logits[0, -1]
                rows.append(last)
                tokens.append(int(last.argmax()))
                step = torch.tensor([tokens[-1:]])
            answers.append({"tokens": tokens, "logits": torch.stack(rows)})
    return answers


def encode(model, texts):
    """Token ids of each text, as the checkpoint's tokenizer gives them."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    return [tokenizer(text)["input_ids"] for text in texts]
