def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if not len(prompt):
        raise ValueError("empty prompt")
    if max_new_tokens <= 0:
        raise ValueError("nothing to generate")
    return Answer(step, [*prompt], max_new_tokens, eos_ids)


class Answer:
    def __init__(self, step, unseen, left, eos_ids):
        self.step, self.unseen, self.left, self.eos_ids = step, unseen, left, eos_ids

    def __iter__(self):
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        scores = self.step(self.unseen)
        best = torch.nonzero(scores == scores.max())[0].item()
        self.left = 0 if best in self.eos_ids else self.left - 1
        self.unseen = [best]
        return best
