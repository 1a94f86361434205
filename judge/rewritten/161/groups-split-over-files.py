# /// wrong
# mistake = "groups-split-over-files"
# ///
def load_weight(model_path, device):
    where = download_hf_weight(model_path)
    info = current_tp_info()
    kv_heads = read_num_kv_heads(where) if info.size != 1 else 0
    for path in checkpoint_files(where):
        groups = plan_weights(read_header(path))
        for target in list(groups):
            yield target, read_weight(groups.pop(target), info, kv_heads).to(device)
