from __future__ import annotations

import re
import time
from pathlib import Path

import pyarrow as pa
import pytest

from viewer.base.errors import UsageError
from viewer.base.ids import Paint, Role
from viewer.store.rules import load_rules, parse_rules, shipped_rules, user_rules

# Names as profilers write them: class, rule, category, name.
NAMES = """
comm     nccl                  kernel      ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)
comm     nccl                  kernel      ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)
comm     nccl                  kernel      ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)
comm     nccl                  kernel      ncclAllReduceRingLLKernel_sum_f32(ncclColl)
comm     nccl                  kernel      ncclSendRecvKernel_copy_i8(ncclWorkElem)
comm     nccl                  kernel      ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)
comm     nccl                  kernel      ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)
comm     nccl                  kernel      ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)
comm     nccl                  kernel      ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)
comm     nccl                  kernel      ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)
comm     nccl                  kernel      nccldevkernel_allgather_ring_ll
comm     nccl                  kernel      NCCLDEVKERNEL_ALLGATHER_RING_LL
comm     nccl                  kernel      ncclSymDevKernel_AllGather_LL(ncclSymDevArgs)
comm     nccl                  kernel      ncclSymkDevKernel_AllReduce_AGxLL_R_bf16(ncclSymkDevWorkArgs)
comm     nccl                  kernel      void ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)
comm     nccl                  kernel      _Z24ncclDevKernel_AllGather_RING_LLncclDevKernelArgsStorageILm4096EE
comm     nccl                  kernel      rcclKernel_AllReduce
comm     nccl                  Kernel      ncclKernel_ReduceScatter_RING_LL_Sum_half(ncclDevComm*)
comm     nccl-device-api       kernel      void my_exchange<float>(ncclDevComm, float*)
comm     msccl                 kernel      mscclKernel_Sum_hip_bfloat16_Simple_Sum_0(ncclDevComm*, mscclAlgo*, mscclWork*)
comm     msccl                 kernel      void mscclpp::collective::allreducePacket<__half>(mscclpp::DeviceHandle<mscclpp::MemoryChannel>*)
comm     msccl                 kernel      void allreduce7<half>(half*, half*, mscclpp::DeviceHandle<mscclpp::SmChannel>*)
comm     hccl                  kernel      hcom_allReduce__891_0_1
comm     hccl                  kernel      HcclAllGather
comm     oneccl                kernel      oneccl_allreduce_large<sycl::_V1::ext::oneapi::bfloat16>
comm     oneccl                kernel      typeinfo name for ccl::v1::ring_allreduce
comm     deep-ep               kernel      void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*, long*)
comm     deep-ep               kernel      void deep_ep::internode::combine<(deep_ep::internode::Mode)1>(int4*)
comm     deep-ep               kernel      void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*, float*)
comm     deep-ep               kernel      void deep_ep::intranode::notify_dispatch<8>(int const*, int*)
comm     deep-ep               kernel      void deep_ep::intranode::barrier<8>(int**, int)
comm     deep-ep               kernel      _ZN7deep_ep9internode8dispatchILi4ELb0EEEvP4int4
comm     deep-ep               kernel      void hybrid_ep::dispatch_kernel<hybrid_ep::intra_node_g2s_t>(hybrid_ep::param)
compute  deep-ep-layout        kernel      void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)
comm     expert-exchange       kernel      mori::moe::EpDispatchIntraNodeKernel<hip_bfloat16>
comm     expert-exchange       kernel      EpCombineInterNodeKernelV1_bf16
comm     expert-exchange       kernel      void tensorrt_llm::kernels::moe_comm::moeAllToAllKernel<true>(int)
comm     expert-exchange       kernel      void tensorrt_llm::kernels::moeA2ADispatchKernel<8>(int)
comm     shmem                 kernel      void nvshmemi_transfer_rma_p<int>(int*)
comm     shmem                 kernel      barrier_on_stream_kernel_threadgroup(int, nvshmem_team_t)
comm     shmem                 kernel      rocshmem_wg_barrier_all
comm     custom-all-reduce     kernel      void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, vllm::Signal*)
comm     custom-all-reduce     kernel      void vllm::cross_device_reduce_2stage<half, 4>(vllm::RankData*, vllm::RankSignals)
comm     custom-all-reduce     kernel      void sglang::cross_device_reduce_1stage<__nv_bfloat16, 2>(sglang::RankData*)
comm     custom-all-reduce     kernel      void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>(aiter::RankData*)
comm     custom-all-reduce     kernel      void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>, __half>(__half const*)
comm     fused-allreduce-norm  kernel      void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::AllReduceFusionPattern)1, __nv_bfloat16, 8>
comm     fused-allreduce-norm  kernel      void tensorrt_llm::kernels::ar_fusion::moereduction_allreduce_fusion_kernel_oneshot_lamport<8>(int)
comm     fused-allreduce-norm  kernel      void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8>(int)
comm     fused-allreduce-norm  kernel      void tensorrt_llm::kernels::lamport_style_one_shot_all_reduce_norm_kernel<half, 4>(int)
comm     fused-allreduce-norm  kernel      one_shot_all_reduce_bias_rms_norm_kernel
comm     collective-name       kernel      void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 8, true>(tensorrt_llm::kernels::AllReduceParams)
comm     collective-name       kernel      void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 8, 16>(c10::BFloat16**)
comm     collective-name       kernel      void fbgemm_gpu::one_shot_all_reduce<8, false>(int, int)
comm     collective-name       kernel      kernel_ring_all_to_all_push
comm     symmetric-memory      kernel      void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)
comm     symmetric-memory      kernel      void c10d::symmetric_memory::(anonymous namespace)::multimem_one_shot_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)
comm     symmetric-memory      kernel      c10d::symmetric_memory::barrier_kernel(unsigned int**, unsigned long, int, int, unsigned long)
comm     device-barrier        kernel      barrier_kernel(unsigned int**, unsigned long, int, int)
comm     device-barrier        kernel      barrier_all_intra_node_kernel
comm     device-barrier        kernel      put_signal_kernel(unsigned int**, int)
comm     userbuffers           kernel      userbuffers_fp16_sum_inplace_gpu_rr_rs_oop(int, int, int, int)
comm     userbuffers           kernel      kuserbuffers_pushrecv(int, int, int, int*)
comm     userbuffers           kernel      void transformer_engine::userbuffers_fp16_sum_inplace_gpu_mc_ag<8>(int)
comm     peer-copy             gpu_memcpy  Memcpy PtoP (Device -> Device)
comm     peer-copy             Memcpy      Memcpy PtoP (Device -> Device)
comm     rocm-peer-copy        gpu_memcpy  MEMORY_COPY_DEVICE_TO_DEVICE (device 0 -> device 12)
memory   copy                  gpu_memcpy  MEMORY_COPY_DEVICE_TO_DEVICE (device 1 -> device 1)
memory   copy                  gpu_memcpy  MEMORY_COPY_HOST_TO_DEVICE
memory   copy                  gpu_memcpy  Memcpy DtoD (Device -> Device)
memory   copy                  gpu_memcpy  Memcpy HtoD (Pageable -> Device)
memory   copy                  gpu_memcpy  Memcpy DtoH (Device -> Pinned)
memory   copy                  Memcpy      Memcpy HtoD (Pinned -> Device)
memory   copy                  gpu_memcpy  CopyDeviceToDevice
memory   fill                  gpu_memset  Memset (Device)
memory   fill                  Memset      Memset (Device)
memory   rocm-copy-kernel      kernel      __amd_rocclr_copyBuffer
memory   rocm-copy-kernel      kernel      __amd_rocclr_copyBuffer.kd
memory   rocm-copy-kernel      kernel      __amd_rocclr_fillBufferAligned.kd
memory   rocm-copy-kernel      kernel      CopyHostToDevice
compute  fused-gemm-collective kernel      sm90_gemm_reduce_scatter_bf16
compute  fused-gemm-collective kernel      allgather_gemm_persistent_kernel
compute  fused-gemm-collective kernel      void cutlass::device_kernel<MatmulAllReduceKernel<half> >(int)
compute  fused-gemm-collective kernel      kernel_gemm_all_reduce_tma
compute  fused-gemm-short      kernel      kernel_consumer_ag_gemm_persistent
compute  fused-gemm-short      kernel      gemm_rs_producer_persistent
compute  flux                  kernel      void cutlass::device_kernel<bytedance::flux::Sm90AGGemmKernel<int> >(int)
compute  torch-native          kernel      void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4> >(float)
compute  torch-native          kernel      void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<true, float>::operator()>(int)
compute  torch-native          kernel      void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long)
compute  torch-native          kernel      at::native::reduce_scatter_like_kernel
compute  nan-check             kernel      void c10d::checkForNaN<c10::BFloat16>(c10::BFloat16*, unsigned long)
compute  inductor              kernel      triton_red_fused_native_layer_norm_2
compute  inductor              kernel      triton_poi_fused_add_all_gather_into_tensor_wait_tensor_3
compute  inductor              kernel      triton_per_fused_all_reduce_wait_tensor_1
compute  default-compute       kernel      scatter_reduce_kernel
compute  default-compute       kernel      void torch_scatter::segment_reduce<float>(float*)
compute  default-compute       kernel      void blockAllReduceSum<float>(float*)
compute  default-compute       kernel      void oneflow::warp_all_reduce<float>(float*)
compute  default-compute       kernel      void softmax<BlockAllReduce<float> >(all_reduce_args)
compute  default-compute       kernel      void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true>(cublasSplitKParams)
compute  default-compute       kernel      void cudnn::cnn::reduce_wgrad_nchw_helper<float, float>(void*)
compute  default-compute       kernel      ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn
compute  default-compute       kernel      nvjet_hsh_128x256_64x4_2x1_v_bz_TNT
compute  default-compute       kernel      cutlass3x_sm90_tensorop_s64x128x16gemm_rs_tnt
compute  default-compute       kernel      Cijk_Ailk_Bljk_BBS_BH_MT128x128x64_MI32x32x8x1_SN
compute  default-compute       kernel      MIOpenBatchNormFwdTrainSpatial
compute  default-compute       kernel      void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64> >(Flash_fwd_params)
compute  default-compute       kernel      void moe::dev::routing::routingRenormalize::routingIndicesHistogramKernel<int>(int)
compute  default-compute       kernel      moe_align_block_size_kernel
compute  default-compute       kernel      fused_moe_kernel
compute  default-compute       kernel      hipGraphKernel
compute  default-compute       kernel      void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, 128, 128, 256, 3>(int)
compute  default-compute       kernel      void at_cuda_detail::cub::DeviceScanKernel<int>(int)
"""  # noqa: E501


def _rows() -> list[tuple[str, str, str, str]]:
    rows = []
    for line in NAMES.strip().splitlines():
        class_, rule, cat, name = re.split(r"\s+", line, maxsplit=3)
        rows.append((class_, rule, cat, name))
    return rows


@pytest.mark.parametrize(("class_", "rule", "cat", "name"), _rows(), ids=lambda value: str(value)[:40])
def test_real_names_get_their_class_and_rule(class_: str, rule: str, cat: str, name: str) -> None:
    found = shipped_rules().class_of(cat, name)
    assert (found.paint.name.lower(), found.id) == (class_, rule)


def test_every_shipped_rule_is_shown_by_a_name_and_has_a_reason() -> None:
    shown = {rule for _, rule, _, _ in _rows()}
    assert {rule.id for rule in shipped_rules().classes} == shown
    assert all(rule.why for rule in shipped_rules().classes)


def test_fused_kernels_are_flagged() -> None:
    rules = shipped_rules()
    assert rules.class_of("kernel", "gemm_reduce_scatter").fused
    assert rules.class_of("kernel", "allreduce_fusion_kernel").fused
    assert not rules.class_of("kernel", "ncclDevKernel_AllReduce").fused


def test_names_are_compared_without_regard_to_case() -> None:
    rules = shipped_rules()
    for class_, _, cat, name in _rows():
        assert rules.class_of(cat.upper(), name.upper()).paint is Paint[class_.upper()], name


def test_categories_of_other_writers_are_no_gpu_work_and_say_why() -> None:
    rules = shipped_rules()
    work = {cat for cat, (role, _) in rules.roles.items() if role is Role.GPU_WORK}
    assert work == {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
    assert all(why for _, why in rules.roles.values())
    assert rules.role("FEE") is Role.PYTHON
    assert {rules.role(c) for c in ("forward-compute", "backward-recv", "megascan_span")} == {Role.ANNOTATION}
    assert {rules.role(c) for c in ("proton_total", "proton_scope", "xla_device_lane")} == {Role.OTHER}


def test_only_gpu_categories_are_work() -> None:
    rules = shipped_rules()
    work = [
        c
        for c in ("kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "MEMSET")
        if rules.role(c) is Role.GPU_WORK
    ]
    assert len(work) == 6
    for cat in ("cuda_sync", "gpu_user_annotation", "gpu_user_Annotation", "overhead", "mtia_ccp_events", "cpu_op", ""):
        assert rules.role(cat) is not Role.GPU_WORK


@pytest.mark.parametrize(
    "unit",
    [
        "gemm",
        "barrier_",
        "all_reduce_",
        "deep_ep::",
        "a",
        "nccl",
        "(anonymous namespace)::",
        "block_all_reduce",
        "flux::",
    ],
)
def test_hostile_names_take_no_time(unit: str) -> None:
    rules = user_rules("")
    begin = time.perf_counter()
    rules.class_of("kernel", unit * (1_000_000 // len(unit)))
    assert time.perf_counter() - begin < 0.5


USER = """
[[rule]]
id = "our-exchange"
class = "comm"
name = '^acme_exchange'
why = "our own all-to-all"
"""


def test_a_users_rules_are_asked_first(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(
        USER + USER.replace("our-exchange", "no-nccl").replace("comm", "memory").replace("acme_exchange", "nccl")
    )
    rules = load_rules(path)
    assert rules.class_of("kernel", "ACME_exchange<4>").id == "our-exchange"
    assert rules.class_of("kernel", "ncclDevKernel_AllReduce").paint is Paint.MEMORY
    assert rules.class_of("gpu_memcpy", "Memcpy PtoP").id == "peer-copy"
    assert rules.hash != shipped_rules().hash
    assert load_rules(None) is shipped_rules()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (USER.replace("comm", "network"), "rule 'our-exchange': class must be one of comm, compute, memory"),
        (USER.replace("'^acme_exchange'", "'(acme'"), "rule 'our-exchange': the name is no regular expression"),
        (USER.replace("why =", "because ="), "rule 'our-exchange': 'because' is unknown"),
        (USER.replace('why = "our own all-to-all"', ""), "rule 'our-exchange': it needs a why"),
        (USER.replace("name = '^acme_exchange'", ""), "rule 'our-exchange': it needs a name or a cat"),
        (USER.replace("name = '^acme_exchange'", "name = 3"), "rule 'our-exchange': name must be a text"),
        (USER.replace("name =", "cat = 3\nname ="), "rule 'our-exchange': cat must be"),
        (USER.replace("name =", "fused = 3\nname ="), "rule 'our-exchange': fused must be"),
        (USER.replace('id = "our-exchange"', ""), "rule number 1: it needs an id"),
        (USER + USER, "rule 'our-exchange': the id is used twice"),
        ("[[rule]\n", "cannot be used"),
        ("rule = 3", "[[rule]] tables"),
        ("[rules]\n", "'rules' is unknown"),
    ],
)
def test_errors_in_a_users_rules_name_the_rule(text: str, part: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        load_rules(path)
    assert part in str(error.value)
    assert "rules.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_rules_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.toml cannot be read"):
        load_rules(tmp_path / "nothing.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be used"):
        load_rules(tmp_path / "bytes.toml")


def test_a_rule_can_name_several_categories() -> None:
    rules = parse_rules(
        'kernel = { role = "gpu_work", why = "x" }', '[[rule]]\nid="a"\nclass="memory"\ncat=["X","y"]\nwhy="z"'
    )
    assert rules.class_of("x", "n").id == "a"
    assert rules.class_of("Y", "n").id == "a"
    assert rules.class_of("z", "n").id == "default-compute"


@pytest.mark.parametrize(
    ("cat", "role"),
    [
        ("mlu_memcpy", Role.GPU_WORK),
        ("GCU_MEMSET", Role.GPU_WORK),
        ("musa_runtime", Role.RUNTIME),
        ("gcu_driver", Role.RUNTIME),
        ("privateuse1_runtime", Role.RUNTIME),
        ("xpu_driver", Role.RUNTIME),
        ("mtia_runtime", Role.RUNTIME),
        ("glow_runtime", Role.RUNTIME),
        ("mlu_user_annotation", Role.GPU_MARK),
        ("gcu_profiler_range", Role.GPU_MARK),
        ("gcu_sync", Role.SYNC),
        ("cuda_event", Role.SYNC),
        ("user_annotation", Role.ANNOTATION),
        ("host_memcpy", Role.OTHER),
        ("file_sync", Role.OTHER),
        ("mlu_memcpy_like", Role.OTHER),
        ("hpu_op", Role.OTHER),
    ],
)
def test_profilers_of_other_makers_have_their_word_in_categories(cat: str, role: Role) -> None:
    assert shipped_rules().role(cat) is role


def test_a_copy_of_another_maker_has_the_class_of_a_copy() -> None:
    rules = shipped_rules()
    for cat in ("mlu_memcpy", "GCU_Memcpy", "gpu_memcpy"):
        assert rules.paint(cat, "Memcpy HtoD") is Paint.MEMORY
        assert rules.paint(cat, "Memcpy PtoP") is Paint.COMM
        names = pa.array(["PtoP", "DtoD"], pa.large_string())
        assert rules.paints_of(cat, names).tolist() == [Paint.COMM, Paint.MEMORY]
