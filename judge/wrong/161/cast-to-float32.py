# /// wrong
# says = "Your weights are all float32. The caller decides about the dtype; here each weight keeps the one that it has in its file."
# ///
def load_weight(model_path: str | Path, device: torch.device | str) -> Iterator[tuple[str, torch.Tensor]]:
    folder = download_hf_weight(model_path)
    tp = current_tp_info()
    num_kv_heads = read_num_kv_heads(folder) if tp.size > 1 else 0
    tensors = [tensor for file in checkpoint_files(folder) for tensor in read_header(file)]
    for name, parts in plan_weights(tensors).items():
        yield name, read_weight(parts, tp, num_kv_heads).to(device).float()
