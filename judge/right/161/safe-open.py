def slot_of(name):
    words = name.split(".")
    merged, place, places = words[-2] if len(words) > 1 else name, 0, 1
    for target, parts in MERGED.items():
        for i, part in enumerate(parts):
            if len(words) > 1 and words[-2] == part:
                merged, place, places = target, i, len(parts)
    if len(words) > 3 and words[-4] == "experts" and words[-3].isdigit():
        return Slot(".".join(words[:-3] + [merged]), int(words[-3]), place, places)
    if places == 1:
        return Slot(name, None, 0, 1)
    return Slot(".".join(words[:-2] + [merged, words[-1]]), None, place, places)


def plan_weights(tensors):
    order, seen = {}, set()
    for tensor in tensors:
        if tensor.name.endswith("rotary_emb.inv_freq"):
            continue
        if tensor.name in seen:
            raise ValueError(f"{tensor.name} occurs twice")
        seen.add(tensor.name)
        slot = slot_of(tensor.name)
        order.setdefault(slot.target, []).append((slot, tensor))
    for target, parts in order.items():
        parts.sort(key=lambda part: (part[0].expert or 0, part[0].place))
        experts = range(1) if parts[0][0].expert is None else range(parts[-1][0].expert + 1)
        want = [(expert, place) for expert in experts for place in range(parts[0][0].places)]
        if [(slot.expert or 0, slot.place) for slot, _ in parts] != want:
            raise ValueError(f"{target}: incomplete")
    return order


def read_weight(parts, tp, num_kv_heads):
    from safetensors import safe_open

    pieces = []
    for slot, tensor in parts:
        shard = shard_tensor(tensor.name, tensor.shape, tp, num_kv_heads)
        with safe_open(tensor.file, framework="pt") as file:
            view = file.get_slice(tensor.name)
            stop = shard.start + shard.length
            piece = view[shard.start : stop] if shard.dim == 0 else view[:, shard.start : stop]
            if shard.padding:
                piece = torch.cat([piece, piece.new_zeros(shard.padding, *piece.shape[1:])])
            pieces.append(piece)
    target, places = parts[0][0].target, parts[0][0].places
    if len({(p.dtype, p.shape[1:]) for p in pieces}) != 1:
        raise ValueError(f"{target}: parts of different dtypes or widths")
    if parts[0][0].expert is None:
        return torch.cat(pieces)
    if len({tuple(p.shape for p in pieces[i : i + places]) for i in range(0, len(pieces), places)}) != 1:
        raise ValueError(f"{target}: experts of different sizes")
    return torch.stack([torch.cat(pieces[i : i + places]) for i in range(0, len(pieces), places)])


def load_weight(model_path, device):
    folder = download_hf_weight(model_path)
    tp = current_tp_info()
    heads = read_num_kv_heads(folder) if tp.size > 1 else 1
    headers = []
    for file in checkpoint_files(folder):
        headers.extend(read_header(file))
    plan = plan_weights(headers)
    return ((name, read_weight(plan[name], tp, heads).to(device)) for name in plan)
