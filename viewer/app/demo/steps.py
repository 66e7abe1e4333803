"""The steps of the demo job's training run, written onto a tape: loading, forward, backward, optimizer, one sync."""

from __future__ import annotations

from viewer.app.demo import kernels
from viewer.app.demo.model import (
    AUTOGRAD,
    BATCH,
    COMPUTE,
    COPY,
    EMBED_WEIGHTS,
    GATHER,
    HEADS,
    HIDDEN,
    LAYER_WEIGHTS,
    REDUCE,
    TOKENS,
    VOCAB,
    Item,
    Load,
    Tape,
    shapes,
)

SEQUENCE = TOKENS // BATCH
FIRST_STEP = 10
FSDP = "torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py"

ROWS = [BATCH, SEQUENCE, HIDDEN]
_Saved = dict[str, int]


def training_run(seed: int, steps: int, layers: int, shard: int, replicas: int) -> list[Item]:
    """The whole programme: ``steps`` training steps and a metric that is reduced after the last one.

    Args:
        seed: of the small differences between equal operations.
        steps: how many training steps.
        layers: transformer layers.
        shard: ranks that hold one copy of the parameters together.
        replicas: copies of the parameters.
    """
    tape = Tape(seed)
    run = _Run(tape, layers, shard, replicas)
    with tape.span("train.py(241): <module>", "python_function"), tape.span("train.py(187): main", "python_function"):
        for step in range(steps):
            with tape.span(f"ProfilerStep#{FIRST_STEP + step}", "user_annotation"):
                run.step(step)
        run.metric()
    return tape.items


class _Run:
    """One rank's training loop."""

    def __init__(self, tape: Tape, layers: int, shard: int, replicas: int) -> None:
        self.tape, self.layers, self.shard, self.replicas = tape, layers, shard, replicas

    def step(self, step: int) -> None:
        t = self.tape
        self._load(step)
        with t.span("train.py(121): train_step", "python_function"):
            self._zero_grad()
            saved = self._forward()
            self._backward(saved)
            self._optimizer()
        self._item("train.py(203): log_loss")

    def metric(self) -> None:
        """After the last step: in no step."""
        t = self.tape
        with t.block(), t.frame("train.py(226): reduce_metrics"):
            with t.op("aten::mul", shapes([1], [])):
                t.kernel(kernels.SCALE, 2_100, 1, 128)
            t.fence("metric", COMPUTE, REDUCE)
            with t.frame("torch/distributed/distributed_c10d.py(2953): all_reduce"):
                t.collective("all_reduce", "world", 1, 1, 16_400, "Float")
            t.fence("metric-done", REDUCE, COMPUTE)
        self._item("train.py(231): report")

    def _load(self, step: int) -> None:
        t = self.tape
        with t.span("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "user_annotation"):
            with t.span("torch/utils/data/dataloader.py(733): __next__", "python_function"):
                with t.span("torch/utils/data/_utils/fetch.py(46): fetch", "python_function"):
                    with t.span("data.py(88): __getitem__", "python_function"):
                        t.items.append(Load(step))
        count = 8 * TOKENS
        with t.block(), t.frame("train.py(97): to_device"):
            for _ in range(2):
                with t.frame("<built-in method to of Tensor object>"), t.op("aten::to"), t.op("aten::_to_copy"):
                    t.memory(count)
                    with t.op("aten::copy_", shapes([BATCH, SEQUENCE], [BATCH, SEQUENCE], dtype="long int")):
                        t.copy("Memcpy HtoD (Pinned -> Device)", 6_700, count, COPY)
            t.fence("batch", COPY, COMPUTE)

    def _zero_grad(self) -> None:
        t = self.tape
        with t.block(), t.frame("torch/optim/optimizer.py(970): zero_grad"):
            with t.op("Optimizer.zero_grad#AdamW.zero_grad", category="user_annotation"):
                for _ in range(2):
                    with t.op("aten::zero_"):
                        t.copy("Memset (Device)", 4_300, 8_388_608, call="cudaMemsetAsync")
                with t.op("aten::fill_", shapes([HIDDEN], [])):
                    t.kernel(kernels.FILL, 2_000, 8, 128, 20)

    def _gather(self, unit: str, after: str, elements: int, ns: int) -> None:
        """Queue the all-gather of a unit's parameters behind ``after``, which frees the buffer that it writes."""
        t = self.tape
        with t.frame(
            f"{FSDP}(261): unshard", "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py(135): foreach_all_gather"
        ):
            if after:
                t.fence(f"{unit}:free", COMPUTE, GATHER)
            t.collective("all_gather", "shard", elements, self.shard, ns)

    def _need(self, unit: str) -> None:
        """Compute goes on only with the gathered parameters."""
        self.tape.fence(f"{unit}:ready", GATHER, COMPUTE)

    # Forward

    def _linear(self, out: int, inner: int, kernel: str, ns: int) -> int:
        t = self.tape
        with t.op("aten::linear", shapes([*ROWS[:2], inner], [out, inner], [out])):
            with t.op("aten::t", shapes([out, inner])), t.op("aten::transpose", shapes([out, inner], [], [])):
                pass
            with t.op("aten::addmm", shapes([out], [TOKENS, inner], [inner, out], [], [])):
                sequence = t.sequence()
                t.memory(2 * TOKENS * out)
                t.kernel(kernel, ns, TOKENS // 128 * out // 128, 384, 168, 205_824)
        return sequence

    def _norm(self, name: str) -> int:
        t = self.tape
        with (
            t.module(name, "torch/nn/modules/normalization.py(228)"),
            t.op("aten::layer_norm", shapes(ROWS, [], [HIDDEN], [HIDDEN], [])),
        ):
            with t.op("aten::native_layer_norm", shapes(ROWS, [], [HIDDEN], [HIDDEN], [])):
                sequence = t.sequence()
                t.memory(2 * TOKENS * HIDDEN)
                t.kernel(kernels.NORM, 14_200, TOKENS, 128, 40, 24)
        return sequence

    def _add(self) -> int:
        t = self.tape
        with t.op("aten::add", shapes(ROWS, ROWS, [])):
            sequence = t.sequence()
            t.kernel(kernels.ADD, 17_600, 8192, 128, 24)
        return sequence

    def _layer(self, i: int) -> _Saved:
        t, saved = self.tape, _Saved()
        with t.block(), t.module(f"Block_{i}", "model.py(112)"):
            if i + 1 < self.layers:
                self._gather(f"forward {i + 1}", "layer", LAYER_WEIGHTS, 82_000)
            self._need(f"forward {i}")
            saved["norm1"] = self._norm(f"LayerNorm_{2 * i}")
            with t.module(f"CausalSelfAttention_{i}", "model.py(41)"):
                with t.module(f"Linear_{4 * i}", "torch/nn/modules/linear.py(134)"):
                    saved["qkv"] = self._linear(3 * HIDDEN, HIDDEN, kernels.GEMM.format("tn", "128x256x64"), 116_000)
                heads = [BATCH, HEADS, SEQUENCE, HIDDEN // HEADS]
                with t.frame("<built-in function scaled_dot_product_attention>"):
                    with t.op("aten::scaled_dot_product_attention", shapes(heads, heads, heads, [], [], [])):
                        with t.op("aten::_scaled_dot_product_flash_attention", shapes(heads, heads, heads, [], [])):
                            saved["attention"] = t.sequence()
                            with t.op("aten::_flash_attention_forward"):
                                t.memory(2 * TOKENS * HIDDEN)
                                t.kernel(kernels.FLASH, 104_000, 16 * BATCH * HEADS, 128, 255, 65_536)
                with t.module(f"Linear_{4 * i + 1}", "torch/nn/modules/linear.py(134)"):
                    saved["proj"] = self._linear(HIDDEN, HIDDEN, kernels.AMPERE.format("tn"), 41_000)
            saved["add1"] = self._add()
        with t.block(), t.module(f"MLP_{i}", "model.py(84)"):
            saved["norm2"] = self._norm(f"LayerNorm_{2 * i + 1}")
            with t.module(f"Linear_{4 * i + 2}", "torch/nn/modules/linear.py(134)"):
                saved["fc1"] = self._linear(4 * HIDDEN, HIDDEN, kernels.GEMM.format("tn", "256x128x64"), 152_000)
            with (
                t.module(f"GELU_{i}", "torch/nn/modules/activation.py(734)"),
                t.op("aten::gelu", shapes([*ROWS[:2], 4 * HIDDEN], [])),
            ):
                saved["gelu"] = t.sequence()
                t.memory(8 * TOKENS * HIDDEN)
                t.kernel(kernels.GELU, 53_000, 65_536, 128, 24)
            with t.module(f"Linear_{4 * i + 3}", "torch/nn/modules/linear.py(134)"):
                saved["fc2"] = self._linear(HIDDEN, 4 * HIDDEN, kernels.GEMM.format("tn", "128x128x64"), 149_000)
            saved["add2"] = self._add()
        return saved

    def _forward(self) -> list[_Saved]:
        t = self.tape
        head = _Saved()
        out = []
        with t.span("nn.Module: GPT_0", "python_function"), t.span("model.py(171): forward", "python_function"):
            with t.block(), t.module("Embedding_0", "torch/nn/modules/sparse.py(190)"):
                self._gather("embedding", "", EMBED_WEIGHTS, 318_000)
                self._gather("forward 0", "", LAYER_WEIGHTS, 82_000)
                self._need("embedding")
                with (
                    t.op("aten::embedding", shapes([VOCAB, HIDDEN], [BATCH, SEQUENCE], [], [], [])),
                    t.op("aten::index_select"),
                ):
                    head["embedding"] = t.sequence()
                    t.kernel(kernels.EMBED, 21_000, 1056, 128)
            out = [self._layer(i) for i in range(self.layers)]
            with t.block():
                head["norm"] = self._norm(f"LayerNorm_{2 * self.layers}")
                with t.module(f"Linear_{4 * self.layers}", "torch/nn/modules/linear.py(134)"):
                    head["head"] = self._linear(VOCAB, HIDDEN, kernels.GEMM.format("tn", "256x128x64"), 1_630_000)
                logits = [TOKENS, VOCAB]
                with (
                    t.frame("torch/nn/functional.py(3494): cross_entropy"),
                    t.op("aten::cross_entropy_loss", shapes(logits, [TOKENS], [], [], [])),
                ):
                    with (
                        t.op("aten::log_softmax", shapes(logits, [], [])),
                        t.op("aten::_log_softmax", shapes(logits, [], [])),
                    ):
                        head["softmax"] = t.sequence()
                        t.memory(4 * TOKENS * VOCAB)
                        t.kernel(kernels.SOFTMAX, 880_000, TOKENS, 1024, 32, 128)
                    with t.op("aten::nll_loss_nd", shapes(logits, [TOKENS])), t.op("aten::nll_loss_forward"):
                        head["nll"] = t.sequence()
                        t.kernel(kernels.NLL, 9_400, 1, 512, 26, 8_192)
        return [*out, head]

    # Backward

    def _linear_backward(self, sequence: int, kernel: str, ns: int, bias: int, freed: int) -> None:
        t = self.tape
        with t.backward("AddmmBackward0", sequence):
            for layout in ("nn", "nt"):
                with t.op("aten::mm"):
                    t.kernel(kernel.format(layout, "128x128x64"), ns, 1024, 384, 168, 205_824)
            with t.op("aten::sum"):
                t.kernel(kernels.SUM, bias, 256, 512, 32, 2_064)
        t.memory(-freed)

    def _norm_backward(self, sequence: int) -> None:
        t = self.tape
        with t.backward("NativeLayerNormBackward0", sequence), t.op("aten::native_layer_norm_backward"):
            t.kernel(kernels.NORM_INPUT, 24_000, TOKENS, 128, 48, 1_024)
            t.kernel(kernels.NORM_WEIGHT, 15_500, 64, 64, 61, 8_448)
        t.memory(-2 * TOKENS * HIDDEN)

    def _add_backward(self, sequence: int) -> None:
        t = self.tape
        with t.backward("AddBackward0", sequence), t.op("aten::add_"):
            t.kernel(kernels.ADD, 17_900, 8192, 128, 24)

    def _reduce(self, unit: str, elements: int, scatter: int, reduce: int) -> None:
        """Queue the gradient reduction of a unit: scatter inside the shard, then sum over the replicas."""
        t = self.tape
        with t.frame(
            f"{FSDP}(405): post_backward",
            "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py(320): foreach_reduce",
        ):
            t.fence(f"{unit}:gradients", COMPUTE, REDUCE)
            t.collective("reduce_scatter", "shard", elements, self.shard, scatter)
            if self.replicas > 1:
                t.collective("all_reduce", "replica", elements // self.shard, self.replicas, reduce)

    def _layer_backward(self, i: int, saved: _Saved) -> None:
        t, row = self.tape, 2 * TOKENS * HIDDEN
        with t.block(AUTOGRAD):
            if i:
                with t.frame(f"{FSDP}(381): pre_backward"):
                    self._gather(f"backward {i - 1}", "layer", LAYER_WEIGHTS, 82_000)
            self._need(f"backward {i}")
            self._add_backward(saved["add2"])
            self._linear_backward(saved["fc2"], kernels.GEMM, 151_000, 12_400, row)
            with t.backward("GeluBackward0", saved["gelu"]), t.op("aten::gelu_backward"):
                t.kernel(kernels.GELU_BACKWARD, 78_000, 65_536, 128, 30)
            t.memory(-4 * row)
            self._linear_backward(saved["fc1"], kernels.GEMM, 154_000, 26_000, 4 * row)
            self._norm_backward(saved["norm2"])
        with t.block(AUTOGRAD):
            self._add_backward(saved["add1"])
            self._linear_backward(saved["proj"], kernels.CUTLASS, 44_000, 11_800, row)
            with t.backward("ScaledDotProductFlashAttentionBackward0", saved["attention"]):
                with (
                    t.op("aten::_scaled_dot_product_flash_attention_backward"),
                    t.op("aten::_flash_attention_backward"),
                ):
                    t.kernel(kernels.FLASH_DOT, 18_000, 16 * BATCH * HEADS, 256, 52)
                    t.kernel(kernels.FLASH_BACKWARD, 262_000, 16 * BATCH * HEADS, 256, 255, 147_456)
                    t.kernel(kernels.FLASH_CONVERT, 13_300, 16 * BATCH * HEADS, 256, 40, 16_384)
            t.memory(-row)
            self._linear_backward(saved["qkv"], kernels.GEMM, 118_000, 20_500, 3 * row)
            self._norm_backward(saved["norm1"])
            self._reduce(f"layer {i}", LAYER_WEIGHTS, 96_000, 610_000)

    def _backward(self, saved: list[_Saved]) -> None:
        t, head = self.tape, saved[-1]
        with (
            t.span("torch/_tensor.py(592): backward", "python_function"),
            t.span("<built-in method run_backward of torch._C._EngineBase object>", "python_function"),
        ):
            with t.block(AUTOGRAD):
                self._gather(f"backward {self.layers - 1}", "layer", LAYER_WEIGHTS, 82_000)
                with t.backward("NllLossBackward0", head["nll"]), t.op("aten::nll_loss_backward"):
                    t.kernel(kernels.NLL_BACKWARD, 6_100, 1, 256, 20)
                with t.backward("LogSoftmaxBackward0", head["softmax"]), t.op("aten::_log_softmax_backward_data"):
                    t.kernel(kernels.SOFTMAX_BACKWARD, 1_040_000, TOKENS, 1024, 32, 128)
                t.memory(-4 * TOKENS * VOCAB)
                self._linear_backward(head["head"], kernels.GEMM, 1_660_000, 96_000, 2 * TOKENS * VOCAB)
                self._norm_backward(head["norm"])
            for i in range(self.layers - 1, -1, -1):
                self._layer_backward(i, saved[i])
            with t.block(AUTOGRAD):
                with t.backward("EmbeddingBackward0", head["embedding"]), t.op("aten::embedding_dense_backward"):
                    t.kernel(kernels.EMBED_BACKWARD, 147_000, 2112, 128, 36)
                self._reduce("embedding", EMBED_WEIGHTS, 372_000, 1_240_000)

    def _optimizer(self) -> None:
        t = self.tape
        with t.block(), t.frame("torch/nn/utils/clip_grad.py(221): clip_grad_norm_"):
            t.fence("reduced", REDUCE, COMPUTE)
            for _ in range(4):
                with t.op("aten::_foreach_norm"):
                    t.kernel(kernels.FOREACH_NORM, 41_000, 320, 512, 34)
            t.fence("norm", COMPUTE, REDUCE)
            with t.frame("torch/distributed/distributed_c10d.py(2953): all_reduce"):
                t.collective("all_reduce", "world", 1, 1, 19_000, "Float")
            t.fence("norm-done", REDUCE, COMPUTE)
            for _ in range(4):
                with t.op("aten::_foreach_mul_"):
                    t.kernel(kernels.FOREACH_SCALE, 58_000, 320, 512, 32)
        with t.span("torch/optim/optimizer.py(508): wrapper", "python_function"):
            with t.span("Optimizer.step#AdamW.step", "user_annotation"):
                with t.block(), t.frame("torch/optim/adam.py(807): _fused_adam"):
                    for _ in range(6):
                        with t.op("aten::_fused_adamw_"):
                            t.kernel(kernels.ADAM, 128_000, 320, 512, 48)

    def _item(self, where: str) -> None:
        """Read one number back: the host waits for everything that the default stream holds."""
        t = self.tape
        with t.span(where, "python_function"), t.span("<built-in method item of Tensor object>", "python_function"):
            with (
                t.span("aten::item", "cpu_op", shapes([1])),
                t.span("aten::_local_scalar_dense", "cpu_op", shapes([1])),
            ):
                with t.block():
                    t.copy("Memcpy DtoH (Device -> Pinned)", 1_400, 4)
                t.drain(COMPUTE)
