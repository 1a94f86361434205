# /// wrong
# says = "Your weights are views of one large tensor that holds a whole file. As long as one of them lives, all bytes of the file stay in memory."
# ///
def load_weight(model_path, device):
    folder = download_hf_weight(model_path)
    tp = current_tp_info()
    num_kv_heads = read_num_kv_heads(folder) if tp.size > 1 else 0
    tensors = [tensor for file in checkpoint_files(folder) for tensor in read_header(file)]
    for name, parts in plan_weights(tensors).items():
        weight = read_weight(parts, tp, num_kv_heads).to(device)
        yield name, torch.cat([weight, weight])[: len(weight)]
