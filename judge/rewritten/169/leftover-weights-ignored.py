# /// wrong
# mistake = "leftover-weights-ignored"
# ///
def load_model(model_path, config, device, dtype):
    set_rope_device(device)
    with torch.device("meta"), torch_dtype(dtype):
        net = create_model(config)
    asked_for = set(net.state_dict()) | {"lm_head.weight"}
    state = {}
    for name, tensor in load_weight(model_path, device):
        if name in asked_for:
            state[name] = tensor.to(dtype)
    net.load_state_dict(state)
    return net
