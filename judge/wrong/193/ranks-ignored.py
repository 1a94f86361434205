# /// wrong
# says = "You plan with the KV heads of the whole model. A rank stores its own share of them."
# ///
class Engine:
    def _initialize(self) -> None:
        config, model_config = self.config, self.config.model_config
        tp = config.tp_info
        set_tp_info(tp.rank, tp.size)
        self.device = pick_device(config.device, tp.rank)
        self.dtype = config.model_dtype
        self._set_cpu_threads()
        torch.manual_seed(config.seed)
        self.stream = create_stream(self.device)
        set_stream(self.stream)

        self.ctx = Context(config.page_size)
        set_global_ctx(self.ctx)
        self._init_communication()

        free_before = self._agree(get_free_memory(self.device))
        self.model = self._load_model()
        free_after = self._agree(get_free_memory(self.device))

        bytes_per_page = kv_bytes_per_page(model_config, config.page_size, self.dtype)
        self.num_pages = self._determine_num_pages(bytes_per_page, free_before, free_after)
        self.kv_cache = create_kvcache_pool(model_config, self.num_pages + 1, config.page_size, self.dtype, self.device)
        self.ctx.kv_cache = self.kv_cache
        max_len = align_ceil(config.max_seq_len, 32)
        self.page_table = torch.zeros((config.max_running_req + 1, max_len), dtype=torch.int32, device=self.device)
        self.ctx.page_table = self.page_table

        self.attn_backend = create_attention_backend(config.attention_backend, model_config)
        self.ctx.attn_backend = self.attn_backend
        self.ctx.moe_backend = create_moe_backend(config.moe_backend, self.device) if model_config.is_moe else None

        self.sampler = Sampler(self.device, model_config.vocab_size, config.seed)
        self.dummy_req = Req(
            input_ids=torch.zeros(1, dtype=torch.int32),
            table_idx=config.max_running_req,
            cached_len=0,
            output_len=1,
            uid=-1,
            sampling_params=SamplingParams(),
        )
        self.page_table[self.dummy_req.table_idx] = self.num_pages * config.page_size

        self.graph_runner = GraphRunner(
            stream=self.stream,
            device=self.device,
            model=self.model,
            attn_backend=self.attn_backend,
            moe_backend=self.ctx.moe_backend,
            is_moe=model_config.is_moe,
            cuda_graph_bs=config.cuda_graph_bs,
            cuda_graph_max_bs=config.cuda_graph_max_bs,
            free_memory=free_before,
            max_seq_len=max_len,
            vocab_size=model_config.vocab_size,
            dtype=self.dtype,
            dummy_req=self.dummy_req,
        )
        kv_gib = self.num_pages * bytes_per_page / GIB
        logger.info_rank0("%s on %s, KV %.2f GiB, %d pages", self.dtype, self.device, kv_gib, self.num_pages)
