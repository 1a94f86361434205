# /// wrong
# mistake = "last-weight-kept"
# ///
def load_weight(model_path, device):
    directory = download_hf_weight(model_path)
    group = current_tp_info()
    heads = 0
    if group.size > 1:
        heads = read_num_kv_heads(directory)
    everything = []
    for path in checkpoint_files(directory):
        everything += read_header(path)
    plan = plan_weights(everything)
    for name in plan:
        tensor = read_weight(plan[name], group, heads)
        tensor = tensor.to(device)
        yield name, tensor
