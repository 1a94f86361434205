def rms_norm(x, weight, eps):
    flat = x.reshape(-1, x.shape[-1])
    rows = []
    for row in flat.to(torch.float32):
        size = math.sqrt(float(row.dot(row)) / row.numel() + eps)
        rows.append(row.div(size))
    return torch.stack(rows).to(x.dtype).mul(weight).reshape(x.shape)
