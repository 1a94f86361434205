# /// wrong
# mistake = "dummy-row-counts-up"
# ///
class Engine:
    def _initialize(self):
        cfg = self.config
        model_cfg, tp = cfg.model_config, cfg.tp_info
        set_tp_info(tp.rank, tp.size)
        self.device, self.dtype = pick_device(cfg.device, tp.rank), cfg.model_dtype
        self._set_cpu_threads()
        torch.manual_seed(cfg.seed)
        self.stream = create_stream(self.device)
        set_stream(self.stream)
        self.ctx = Context(cfg.page_size)
        set_global_ctx(self.ctx)
        self._init_communication()

        before = self._agree(get_free_memory(self.device))
        self.model = self._load_model()
        after = self._agree(get_free_memory(self.device))
        page_bytes = kv_bytes_per_page(model_cfg, cfg.page_size, self.dtype, tp.size)
        self.num_pages = self._determine_num_pages(page_bytes, before, after)
        self.ctx.kv_cache = self.kv_cache = create_kvcache_pool(
            model_cfg, self.num_pages + 1, cfg.page_size, self.dtype, self.device
        )
        width = align_ceil(cfg.max_seq_len, 32)
        self.page_table = torch.zeros(cfg.max_running_req + 1, width, dtype=torch.int32, device=self.device)
        self.ctx.page_table = self.page_table
        self.ctx.attn_backend = self.attn_backend = create_attention_backend(cfg.attention_backend, model_cfg)
        self.ctx.moe_backend = None
        if model_cfg.is_moe:
            self.ctx.moe_backend = create_moe_backend(cfg.moe_backend, self.device)
        self.sampler = Sampler(self.device, model_cfg.vocab_size, cfg.seed)

        row = cfg.max_running_req
        self.dummy_req = Req(torch.zeros(1, dtype=torch.int32), row, 0, 1, -1, SamplingParams())
        extra = self.num_pages * cfg.page_size
        self.page_table[row] = torch.arange(extra, extra + width, dtype=torch.int32, device=self.device)
        self.graph_runner = GraphRunner(
            stream=self.stream, device=self.device, model=self.model, attn_backend=self.attn_backend,
            moe_backend=self.ctx.moe_backend, is_moe=model_cfg.is_moe, cuda_graph_bs=cfg.cuda_graph_bs,
            cuda_graph_max_bs=cfg.cuda_graph_max_bs, free_memory=before, max_seq_len=width,
            vocab_size=model_cfg.vocab_size, dtype=self.dtype, dummy_req=self.dummy_req,
        )
