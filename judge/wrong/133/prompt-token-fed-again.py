# /// wrong
# says = "After prefill you feed the prompt's last token a second time. Its logits are there already: take the first new token from the prefill."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    step(list(prompt))
    token = prompt[-1]
    for _ in range(max_new_tokens):
        token = int(step([token]).argmax())
        yield token
        if token in eos_ids:
            return
