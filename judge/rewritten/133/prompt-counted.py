# /// wrong
# mistake = "prompt-counted"
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("empty prompt")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least one")
    tokens = list(prompt)
    seen = 0
    while len(tokens) < max_new_tokens:
        logits = step(tokens[seen:])
        seen = len(tokens)
        nxt = int(logits.argmax(dim=-1))
        tokens.append(nxt)
        yield nxt
        if nxt in eos_ids:
            return
