# /// wrong
# says = "The first new token is missing: prefill predicts a token already, and it belongs to the answer."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    token = int(step(list(prompt)).argmax())
    for _ in range(max_new_tokens):
        token = int(step([token]).argmax())
        yield token
        if token in eos_ids:
            return
