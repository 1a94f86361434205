# /// wrong
# says = "Your code reads the whole file into memory and cuts the weights out of it, so the file and the weights are there at the same time. The header says where each tensor's bytes begin: read only those, straight into their place."
# ///
def read_weight(parts, tp, num_kv_heads):
    tensors = []
    for slot, tensor in parts:
        data = tensor.file.read_bytes()
        flat = torch.frombuffer(bytearray(data[tensor.offset : tensor.offset + math.prod(tensor.shape) * tensor.dtype.itemsize]), dtype=tensor.dtype)
        shard = shard_tensor(tensor.name, tensor.shape, tp, num_kv_heads)
        whole = flat.view(tensor.shape).narrow(shard.dim, shard.start, shard.length)
        if shard.padding:
            whole = torch.cat([whole, whole.new_zeros(shard.padding, *whole.shape[1:])])
        tensors.append(whole)
    slot = parts[0][0]
    if len({t.dtype for t in tensors}) > 1 or len({t.shape[1:] for t in tensors}) > 1:
        raise ValueError(f"{slot.target} does not fit")
    weight = torch.cat(tensors)
    num_experts = len(parts) // slot.places
    if slot.expert is not None and len({t.shape for t in tensors}) > 1:
        raise ValueError(f"{slot.target} does not fit")
    return weight if slot.expert is None else weight.unflatten(0, (num_experts, -1))
