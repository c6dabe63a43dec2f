"""The names of ONNX Runtime's optimizers, which it does not publish: those of releases 1.13 to 1.32.

A release ignores the names that it does not know.
"""

from __future__ import annotations

from typing import Any

#: Rules, each for one place of a graph. A release's log names only the optimizer that applies them all.
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
    Level1_RuleBasedTransformer Level2_RuleBasedTransformer MatMulActivationFusion MatMulAddFusion
    MatMulIntegerToFloatFusion MatMulNBitsFusion MatMulNBitsMlpFusion MatMulNBitsQLoRAFusion
    MatMulNBitsQkvFusion MatMulScaleFusion MatmulTransposeFusion NchwcTransformer NhwcTransformer
    PropagateCastOps QDQFinalCleanupTransformer QDQPropagationTransformer QDQS8ToU8Transformer
    QDQSelectorActionTransformer QuickGeluFusion RemoveDuplicateCastTransformer ReshapeFusion RocmBlasAltImpl
    ShapeInputMerge SimplifiedLayerNormFusion SkipLayerNormFusion SliceConcatToSpaceToDepthFusion SwiGluFusion
    TransposeOptimizer TransposeOptimizer_CPUExecutionProvider WeightBiasQuantization WhereDummyDq
"""


def optimizers(model: Any, options: Any) -> tuple[str, ...]:
    """Return the names that `disable_optimizers` may be given, those for one place of a graph last.

    They depend on neither the model nor the options.
    """
    return (*_TRANSFORMERS.split(), *_RULES.split())
