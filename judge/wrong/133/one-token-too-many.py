# /// wrong
# says = "You yield max_new_tokens + 1 tokens: the prefill's token counts as well."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    token = int(step(list(prompt)).argmax())
    yield token
    for _ in range(max_new_tokens):
        if token in eos_ids:
            return
        token = int(step([token]).argmax())
        yield token
