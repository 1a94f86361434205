# /// wrong
# mistake = "all-weights-in-two-dtypes"
# ///
def load_model(model_path, config, device, dtype):
    set_rope_device(device)
    with torch.device("meta"):
        with torch_dtype(dtype):
            net = create_model(config)
    loaded = dict(load_weight(model_path, device))
    converted = {}
    for name in loaded:
        converted[name] = loaded[name].to(dtype)
    net.load_state_dict(converted)
    return net
