# /// wrong
# says = "Your generator has the weight in a local variable while it waits at the yield. So the weight before stays in memory until the next one has been read. Yield the call's result without naming it."
# ///
def load_weight(model_path: str | Path, device: torch.device | str) -> Iterator[tuple[str, torch.Tensor]]:
    folder = download_hf_weight(model_path)
    tp = current_tp_info()
    num_kv_heads = read_num_kv_heads(folder) if tp.size > 1 else 0
    tensors = [tensor for file in checkpoint_files(folder) for tensor in read_header(file)]
    for name, parts in plan_weights(tensors).items():
        weight = read_weight(parts, tp, num_kv_heads).to(device)
        yield name, weight
