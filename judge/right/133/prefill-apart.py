def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) < 1:
        raise ValueError("there is no prompt")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be positive")
    token = torch.argmax(step(list(prompt))).item()
    yield token
    produced = 1
    while produced != max_new_tokens and token not in eos_ids:
        scores = step([token]).tolist()
        token = scores.index(max(scores))
        produced += 1
        yield token
