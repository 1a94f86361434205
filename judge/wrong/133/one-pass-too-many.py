# /// wrong
# says = "The tokens are right, but the model runs once more than it must: the last token is fed back although nobody asks what comes after it. Decide whether to stop before the next call."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    logits = step(list(prompt))
    for _ in range(max_new_tokens):
        token = int(logits.argmax())
        yield token
        logits = step([token])
        if token in eos_ids:
            return
