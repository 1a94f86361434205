# /// wrong
# mistake = "dtype-of-the-file"
# ///
def load_model(model_path, config, device, dtype):
    set_rope_device(device)
    with torch_dtype(config.dtype), torch.device("meta"):
        net = create_model(config)
    weights = {}
    for name, tensor in load_weight(model_path, device):
        weights[name] = tensor
    net.load_state_dict(weights)
    return net
