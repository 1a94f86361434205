# /// wrong
# says = "Your softmax runs over the rows of the batch; it must run over the vocabulary."
# ///
def filter_min_p(scores, min_ps):
    p = torch.nn.functional.softmax(scores, dim=0)
    return scores.masked_fill(p < min_ps[:, None] * p.max(dim=1, keepdim=True).values, -torch.inf)
