# /// wrong
# says = "Your code merges q, k and v and cuts the result into equal pieces, so the first rank gets most of q and the last one k and v. Each part has to be cut by itself, and then a rank's pieces are merged."
# ///
def read_weight(parts: list[tuple[Slot, StoredTensor]], tp: DistributedInfo, num_kv_heads: int) -> torch.Tensor:
    first_slot, first = parts[0]
    if tp.size > 1 and len(parts) > 1 and num_kv_heads >= tp.size and "down" not in first_slot.target:
        whole = read_weight(parts, DistributedInfo(0, 1), num_kv_heads)
        return whole.chunk(tp.size, dim=0 if first_slot.expert is None else 1)[tp.rank].clone()
    shards = [shard_tensor(tensor.name, tensor.shape, tp, num_kv_heads) for _, tensor in parts]
    shapes = [local_shape(tensor, shard) for (_, tensor), shard in zip(parts, shards, strict=True)]
    rows = [shape[0] for shape in shapes[: first_slot.places]]  # one expert's parts; all experts have the same
    num_experts = len(parts) // first_slot.places
    same_rest = len({(tensor.dtype, shape[1:]) for (_, tensor), shape in zip(parts, shapes, strict=True)}) == 1
    if not same_rest or [shape[0] for shape in shapes] != rows * num_experts:
        raise ValueError(f"{first_slot.target}: its parts do not fit together, {[tensor.shape for _, tensor in parts]}")

    weight = torch.empty((num_experts * sum(rows), *shapes[0][1:]), dtype=first.dtype, device="cpu")
    for (_, tensor), shard, into in zip(parts, shards, weight.split(rows * num_experts), strict=True):
        read_shard(tensor, shard, into)
    return weight if first_slot.expert is None else weight.unflatten(0, (num_experts, sum(rows)))
