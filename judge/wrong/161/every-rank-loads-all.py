# /// wrong
# says = "Your code ignores the tensor-parallel group: every rank gets whole weights. current_tp_info says which part is this rank's."
# ///
def load_weight(model_path: str | Path, device: torch.device | str) -> Iterator[tuple[str, torch.Tensor]]:
    folder = download_hf_weight(model_path)
    tp = DistributedInfo(0, 1)
    num_kv_heads = read_num_kv_heads(folder) if tp.size > 1 else 0
    tensors = [tensor for file in checkpoint_files(folder) for tensor in read_header(file)]
    for name, parts in plan_weights(tensors).items():
        yield name, read_weight(parts, tp, num_kv_heads).to(device)
