def create_model(config):
    try:
        model_class = MODELS[next(iter(config.architectures))]
    except (KeyError, StopIteration):
        known = sorted(MODELS)
        raise ValueError(f"{config.architectures or 'no architecture'}: this engine knows {known}") from None
    return model_class(config)


def load_model(model_path, config, device, dtype):
    device = torch.device(device)
    set_rope_device(device)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device("meta"):
            model = create_model(config)
    finally:
        torch.set_default_dtype(before)
    state = {}
    stream = load_weight(model_path, device)
    while True:
        try:
            name, weight = next(stream)
        except StopIteration:
            break
        state[name] = weight if weight.dtype == dtype else weight.to(dtype)
        del weight
    model.load_state_dict(state)
    return model
