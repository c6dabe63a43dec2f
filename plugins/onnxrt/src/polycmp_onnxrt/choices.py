"""Spellings of execution providers and optimization levels. Standard library only: the light module needs it."""

from __future__ import annotations

import re

SUFFIX = "ExecutionProvider"
CPU = "CPU" + SUFFIX

#: Providers that ONNX Runtime 1.17 to 1.32 can be built with. Others are accepted by their full name.
KNOWN_PROVIDERS = tuple(
    short + SUFFIX
    for short in (
        "NvTensorRTRTX", "Tensorrt", "CUDA", "MIGraphX", "ROCM", "OpenVINO", "Dnnl", "VitisAI", "QNN", "NNAPI",
        "VSINPU", "JS", "CoreML", "ACL", "ArmNN", "DML", "RKNPU", "WebNN", "WebGPU", "XNNPACK", "CANN", "Tvm",
        "Azure", "CPU",
    )
)  # fmt: skip

OPTIMIZATION_LEVELS = {
    "off": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "layout": "ORT_ENABLE_LAYOUT",
    "all": "ORT_ENABLE_ALL",
}

#: Optimizers that ONNX Runtime 1.13 to 1.32 have and no release lists; each ignores names it does not know. Rules are
#: for one place of a graph each: a session's log names only the optimizer that applies them all.
_RULES = """
    CastChainElimination CastElimination ClipQuantRewrite ConvAddFusion ConvBNFusion ConvMulFusion
    DivMulFusion EliminateDropout EliminateIdentity EliminateSlice ExpandElimination FuseReluClip
    GemmSumFusion GemmTransposeFusion LabelEncoderFusion MatMul_BatchNormalization_Fusion NoopElimination
    NotWhereFusion Pad_Fusion PreShapeNodeElimination ReluQuantRewrite UnsqueezeElimination
"""
#: Optimizers of whole graphs.
_TRANSFORMERS = """
    AttentionFusion Avx2WeightS8ToU8Transformer BiasDropoutFusion BiasGeluFusion BiasSkipLayerNormFusion
    BiasSoftmaxFusion CommonSubexpressionElimination ConcatSliceElimination ConstantFolding ConstantFoldingDQ
    ConstantSharing ConvActivationFusion ConvAddActivationFusion DQMatMulNBitsFusion DoubleQDQPairsRemover
    DynamicQuantizeMatMulFusion EmbedLayerNormFusion EnsureUniqueDQForNodeUnit FastGeluFusion
    FuseFp16InitializerToFp32NodeTransformer FuseInitializersTransformer GatherSliceToSplitFusion
    GatherToSliceFusion GatherToSplitFusion GeluFusion GeluFusionL1 GeluFusionL2 GemmActivationFusion
    GqaValueLayoutTransformer GroupQueryAttentionFusion GroupQueryAttentionPreNormFusion
    IdenticalChildrenConsolidation IsInfReduceSumFusion LayerNormFusion LayerNormFusionL1 LayerNormFusionL2
    MatMulActivationFusion MatMulAddFusion
    MatMulIntegerToFloatFusion MatMulNBitsFusion MatMulNBitsMlpFusion MatMulNBitsQLoRAFusion
    MatMulNBitsQkvFusion MatMulScaleFusion MatmulTransposeFusion NchwcTransformer NhwcTransformer
    PropagateCastOps QDQFinalCleanupTransformer QDQPropagationTransformer QDQS8ToU8Transformer
    QDQSelectorActionTransformer QuickGeluFusion RemoveDuplicateCastTransformer ReshapeFusion RocmBlasAltImpl
    ShapeInputMerge SimplifiedLayerNormFusion SkipLayerNormFusion SliceConcatToSpaceToDepthFusion SwiGluFusion
    TransposeOptimizer TransposeOptimizer_CPUExecutionProvider WeightBiasQuantization WhereDummyDq
"""
RULES = tuple(_RULES.split())
#: Optimizers that apply rules: to leave one out is to leave out all of its rules.
RULE_SETS = ("Level1_RuleBasedTransformer", "Level2_RuleBasedTransformer")
TRANSFORMERS = tuple(_TRANSFORMERS.split())

_PROVIDER = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_]*)\s*(?:\[(?P<options>[^\[\]]*)\])?")


#: Session entries, and options of providers, that choose how a model is computed, and can neither name a file nor load
#: anything. Of the others some do: where contexts are written, the library of a provider, its plugins.
HARMLESS_ENTRIES = frozenset(
    [
        "mlas.disable_kleidiai",
        "mlas.enable_gemm_fastmath_arm64_bfloat16",
        "mlas.use_lut_gemm",
        "optimization.disable_specified_optimizers",
        "optimization.enable_cast_chain_elimination",
        "optimization.enable_gelu_approximation",
        "session.disable_aot_function_inlining",
        "session.disable_double_qdq_remover",
        "session.disable_prepacking",
        "session.disable_quant_qdq",
        "session.dynamic_block_base",
        "session.enable_dq_matmulnbits_fusion",
        "session.enable_quant_qdq_cleanup",
        "session.graph_optimizations_loop_level",
        "session.inter_op.allow_spinning",
        "session.intra_op.allow_spinning",
        "session.qdq_matmulnbits_accuracy_level",
        "session.qdqisint8allowed",
        "session.set_denormal_as_zero",
        "session.use_device_allocator_for_initializers",
        "session.use_env_allocators",
        "session.x64quantprecision",
    ]
)
HARMLESS_OPTIONS = frozenset(
    [
        "arena_extend_strategy",
        "cudnn_conv1d_pad_to_nc1d",
        "cudnn_conv_algo_search",
        "cudnn_conv_use_max_workspace",
        "device_id",
        "do_copy_in_default_stream",
        "enable_cuda_graph",
        "enable_skip_layer_norm_strict_mode",
        "gpu_mem_limit",
        "prefer_nhwc",
        "trt_bf16_enable",
        "trt_fp16_enable",
        "trt_int8_enable",
        "trt_max_workspace_size",
        "use_ep_level_unified_stream",
        "use_tf32",
    ]
)

#: Types that execution providers may calculate in, the coarsest last.
COARSENESS = ("tf32", "float16", "bfloat16", "int8")
#: Options with which execution providers calculate in a coarser type than the model's: what they are by default (NVIDIA
#: says so of TF32 on its GPUs since Ampere, Qualcomm of float16 on its devices), and the type.
_NARROWING = {
    "CUDA": (("use_tf32", "1", "tf32"),),
    "QNN": (("enable_htp_fp16_precision", "1", "float16"), ("htp_bf16_enable", "0", "bfloat16")),
    "Tensorrt": (
        ("trt_fp16_enable", "0", "float16"),
        ("trt_bf16_enable", "0", "bfloat16"),
        ("trt_int8_enable", "0", "int8"),
    ),
}


def parse_provider(text: str) -> tuple[str, dict[str, str]]:
    """Return name and options from `cuda` or `cuda[device_id=1;cudnn_conv_algo_search=DEFAULT]`.

    Options are written in brackets, separated by semicolons or commas.

    Raises:
        ValueError: The text has another form, or no provider of that name can exist.
    """
    match = _PROVIDER.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not an execution provider: write NAME or NAME[KEY=VALUE;KEY=VALUE]")
    options: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in re.split("[;,]", match["options"] or ""))):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key:
            raise ValueError(f"{item!r} in {text!r} is not an option of a provider: write KEY=VALUE")
        options[key] = value
    name = match["name"]
    if not name.endswith(SUFFIX) and not matching_providers(name, KNOWN_PROVIDERS):
        known = ", ".join(short_name(full) for full in KNOWN_PROVIDERS)
        raise ValueError(f"no execution provider is called {name!r}; known: {known}")
    return name, options


def names_more(text: str) -> bool:
    """Return whether a provider comes with options that may name files or libraries."""
    return not HARMLESS_OPTIONS.issuperset(parse_provider(text)[1])


def narrowed_types(text: str) -> list[str]:
    """Return the coarser types in which a provider with its options may calculate.

    Args:
        text: The provider as people type it.
    """
    name, options = parse_provider(text)
    matches = matching_providers(name, KNOWN_PROVIDERS)
    narrowing = _NARROWING.get(matches[0].removesuffix(SUFFIX), ()) if len(matches) == 1 else ()
    return [
        type_name
        for option, default, type_name in narrowing
        if options.get(option, default).lower() not in {"0", "false"}
    ]


def short_name(full: str) -> str:
    """Return a provider's name as people type it: `CUDAExecutionProvider` is `cuda`."""
    return full.removesuffix(SUFFIX).lower()


def matching_providers(name: str, providers: tuple[str, ...]) -> list[str]:
    """Return the providers that a name means: the one it names exactly, else all that it is a part of.

    Args:
        name: A full name, a full name without `ExecutionProvider`, or a part of one, in any case.
        providers: Full names to choose from.
    """
    wanted = name.lower()
    exact = [full for full in providers if wanted in {full.lower(), short_name(full)}]
    return exact or [full for full in providers if wanted in short_name(full)]


def parse_optimization(level: object) -> str:
    """Return `off`, `basic`, `extended`, `layout` or `all`.

    Args:
        level: One of these words, ONNX Runtime's name (`ORT_DISABLE_ALL`), or its enumeration's member.

    Raises:
        ValueError: It is none of them.
    """
    text = str(getattr(level, "name", level))
    for short, name in OPTIMIZATION_LEVELS.items():
        if text.lower() == short or text.upper() == name:
            return short
    known = ", ".join([*OPTIMIZATION_LEVELS, *OPTIMIZATION_LEVELS.values()])
    raise ValueError(f"{text!r} is not a level of graph optimization; known: {known}")
