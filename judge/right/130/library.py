def rms_norm(x, weight, eps):
    normed = F.rms_norm(x.to(torch.float32), (x.shape[-1],), weight=None, eps=eps)
    return weight * normed.to(x.dtype)
