class Engine:
    def _initialize(self):
        self._identity()
        self._context()
        before, after = self._weights()
        self._memory(before, after)
        self._backends()
        self._dummy()
        self._graphs(before)

    def _identity(self):
        info = self.config.tp_info
        set_tp_info(info.rank, info.size)
        self.dtype = self.config.dtype or self.config.model_config.dtype
        self.device = pick_device(self.config.device, info.rank)
        self.stream = create_stream(self.device)
        set_stream(self.stream)
        self._set_cpu_threads()
        torch.random.manual_seed(self.config.seed)

    def _context(self):
        self.ctx = Context(page_size=self.config.page_size)
        set_global_ctx(self.ctx)
        self._init_communication()

    def _weights(self):
        free = [get_free_memory(self.device)]
        self.model = self._load_model()
        free.append(get_free_memory(self.device))
        return [self._agree(value) for value in free]

    def _memory(self, before, after):
        config, model = self.config, self.config.model_config
        size = kv_bytes_per_page(model, config.page_size, self.dtype, config.tp_info.size)
        self.num_pages = self._determine_num_pages(size, before, after)
        self.kv_cache = self.ctx.kv_cache = create_kvcache_pool(
            model, num_pages=1 + self.num_pages, page_size=config.page_size, dtype=self.dtype, device=self.device
        )
        width = -(-config.max_seq_len // 32) * 32
        table = torch.full((1 + config.max_running_req, width), 0, dtype=torch.int32, device=self.device)
        table[-1, :] = config.page_size * self.num_pages
        self.page_table = self.ctx.page_table = table

    def _backends(self):
        model = self.config.model_config
        self.ctx.moe_backend = None
        if model.is_moe:
            self.ctx.moe_backend = create_moe_backend(self.config.moe_backend, self.device)
        self.ctx.attn_backend = create_attention_backend(self.config.attention_backend, model)
        self.attn_backend = self.ctx.attn_backend

    def _dummy(self):
        self.sampler = Sampler(self.device, self.config.model_config.vocab_size, seed=self.config.seed)
        one_token = torch.zeros((1,), dtype=torch.int32)
        self.dummy_req = Req(one_token, self.page_table.shape[0] - 1, 0, 1, -1, SamplingParams())

    def _graphs(self, free):
        config, model = self.config, self.config.model_config
        self.graph_runner = GraphRunner(
            self.stream, self.device, self.model, self.attn_backend, self.ctx.moe_backend, model.is_moe,
            config.cuda_graph_bs, config.cuda_graph_max_bs, free, self.page_table.shape[1], model.vocab_size,
            self.dtype, self.dummy_req,
        )
