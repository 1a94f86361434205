# /// wrong
# says = "Your code puts the parts side by side. A weight is [output, input], and the outputs are merged: the parts lie below each other, along dimension 0."
# ///
def read_weight(parts, tp, num_kv_heads):
    tensors = []
    for _, tensor in parts:
        shard = shard_tensor(tensor.name, tensor.shape, tp, num_kv_heads)
        into = torch.empty(local_shape(tensor, shard), dtype=tensor.dtype)
        read_shard(tensor, shard, into)
        tensors.append(into)
    if parts[0][0].expert is not None:
        places = parts[0][0].places
        return torch.stack([torch.cat(tensors[i : i + places], dim=0) for i in range(0, len(tensors), places)])
    return torch.cat(tensors, dim=-1)
