# /// wrong
# says = "The weights stay on the CPU. They should come on the device that the caller names."
# ///
def load_weight(model_path: str | Path, device: torch.device | str) -> Iterator[tuple[str, torch.Tensor]]:
    folder = download_hf_weight(model_path)
    tp = current_tp_info()
    num_kv_heads = read_num_kv_heads(folder) if tp.size > 1 else 0
    tensors = [tensor for file in checkpoint_files(folder) for tensor in read_header(file)]
    for name, parts in plan_weights(tensors).items():
        yield name, read_weight(parts, tp, num_kv_heads)
