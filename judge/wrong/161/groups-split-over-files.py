# /// wrong
# says = "Your code plans each file by itself. A large checkpoint is cut wherever a file is full, so q can lie in one file and k in the next: plan over all files together."
# ///
def load_weight(model_path, device):
    folder = download_hf_weight(model_path)
    tp = current_tp_info()
    num_kv_heads = read_num_kv_heads(folder) if tp.size > 1 else 0
    for file in checkpoint_files(folder):
        for name, parts in plan_weights(read_header(file)).items():
            yield name, read_weight(parts, tp, num_kv_heads).to(device)
