# /// wrong
# says = "Your code reads all weights into a dict before it yields the first one. So the caller cannot let one go before the next is read, and a cast or a copy to a GPU needs the model's memory twice."
# ///
def load_weight(model_path: str | Path, device: torch.device | str) -> Iterator[tuple[str, torch.Tensor]]:
    folder = download_hf_weight(model_path)
    tp = current_tp_info()
    num_kv_heads = read_num_kv_heads(folder) if tp.size > 1 else 0
    tensors = [tensor for file in checkpoint_files(folder) for tensor in read_header(file)]
    weights = {}
    for name, parts in plan_weights(tensors).items():
        weights[name] = read_weight(parts, tp, num_kv_heads).to(device)
    yield from weights.items()
