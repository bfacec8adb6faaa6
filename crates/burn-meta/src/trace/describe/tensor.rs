//! Operations on tensors as such.

use burn::backend::ir::{
    ActivationOperationIr, BaseOperationIr, BoolOperationIr, FloatOperationIr, IntOperationIr,
    InterpolateModeIr, MatmulOpIr, NumericOperationIr, TensorIr,
};
use burn::tensor::IndexingUpdateOp;

use super::super::operation::{OperationKind, product};
use super::{Described, elements, from_last};

/// A write by index that combines what is there with what is written.
fn combined(update: &IndexingUpdateOp, value: &TensorIr) -> u64 {
    match update {
        IndexingUpdateOp::Assign => 0,
        IndexingUpdateOp::Add
        | IndexingUpdateOp::Mul
        | IndexingUpdateOp::Min
        | IndexingUpdateOp::Max => elements(value),
    }
}

pub(super) fn base(operation: &BaseOperationIr) -> Described {
    use BaseOperationIr as Op;
    let written = |name, update, value| {
        Described::new(name, OperationKind::Indexing, combined(update, value))
    };
    match operation {
        Op::Reshape(_) => Described::view("reshape"),
        Op::SwapDims(_) => Described::view("swap_dims"),
        Op::Permute(_) => Described::view("permute"),
        Op::Flip(_) => Described::view("flip"),
        Op::Expand(_) => Described::view("expand"),
        Op::Unfold(_) => Described::view("unfold"),
        Op::Slice(_) => Described::view("slice"),
        Op::SliceAssign(_) => Described::copy("slice_assign"),
        Op::Select(op) => Described::chosen("select", &op.indices, &op.out),
        Op::SelectAssign(op) => written("select_assign", &op.update, &op.value),
        Op::MaskWhere(_) => Described::copy("mask_where"),
        Op::MaskFill(_) => Described::copy("mask_fill"),
        Op::Gather(op) => Described::chosen("gather", &op.indices, &op.out),
        Op::Scatter(op) => written("scatter", &op.update, &op.value),
        Op::ScatterNd(op) => written("scatter_nd", &op.reduction, &op.values),
        Op::GatherNd(op) => Described::chosen("gather_nd", &op.indices, &op.out),
        Op::Equal(op) => Described::elementwise("equal", &op.out, 1),
        Op::EqualElem(op) => Described::elementwise("equal_elem", &op.out, 1),
        Op::NotEqual(op) => Described::elementwise("not_equal", &op.out, 1),
        Op::NotEqualElem(op) => Described::elementwise("not_equal_elem", &op.out, 1),
        Op::RepeatDim(_) => Described::copy("repeat_dim"),
        Op::Cat(_) => Described::copy("cat"),
        Op::Cast(_) => Described::copy("cast"),
        Op::Empty(_) => Described::creation("empty"),
        Op::Ones(_) => Described::creation("ones"),
        Op::Zeros(_) => Described::creation("zeros"),
        Op::All(op) => Described::reduction("all", &op.input),
        Op::Any(op) => Described::reduction("any", &op.input),
        Op::AllDim(op) => Described::reduction("all_dim", &op.input),
        Op::AnyDim(op) => Described::reduction("any_dim", &op.input),
    }
}

/// A sort of rows compares n log2 n times.
fn sorted(name: &'static str, input: &TensorIr, dim: usize) -> Described {
    let row = input.shape[dim] as u64;
    let depth = u64::from(row.next_power_of_two().trailing_zeros());
    Described::new(
        name,
        OperationKind::Sort,
        elements(input).saturating_mul(depth),
    )
}

pub(super) fn numeric(operation: &NumericOperationIr) -> Described {
    use NumericOperationIr as Op;
    let binary = |name, out| Described::elementwise(name, out, 1);
    match operation {
        Op::Add(op) => binary("add", &op.out),
        Op::AddScalar(op) => binary("add_scalar", &op.out),
        Op::Sub(op) => binary("sub", &op.out),
        Op::SubScalar(op) => binary("sub_scalar", &op.out),
        Op::Div(op) => binary("div", &op.out),
        Op::DivScalar(op) => binary("div_scalar", &op.out),
        Op::Rem(op) => binary("remainder", &op.out),
        Op::RemScalar(op) => binary("remainder_scalar", &op.out),
        Op::Mul(op) => binary("mul", &op.out),
        Op::MulScalar(op) => binary("mul_scalar", &op.out),
        Op::Abs(op) => binary("abs", &op.out),
        Op::Neg(op) => binary("neg", &op.out),
        Op::Sign(op) => binary("sign", &op.out),
        Op::Powi(op) => binary("powi", &op.out),
        Op::PowiScalar(op) => binary("powi_scalar", &op.out),
        Op::Greater(op) => binary("greater", &op.out),
        Op::GreaterElem(op) => binary("greater_elem", &op.out),
        Op::GreaterEqual(op) => binary("greater_equal", &op.out),
        Op::GreaterEqualElem(op) => binary("greater_equal_elem", &op.out),
        Op::Lower(op) => binary("lower", &op.out),
        Op::LowerElem(op) => binary("lower_elem", &op.out),
        Op::LowerEqual(op) => binary("lower_equal", &op.out),
        Op::LowerEqualElem(op) => binary("lower_equal_elem", &op.out),
        Op::Clamp(op) => Described::elementwise("clamp", &op.out, 2),
        Op::ClampMin(op) => binary("clamp_min", &op.out),
        Op::ClampMax(op) => binary("clamp_max", &op.out),
        Op::Full(_) => Described::creation("full"),
        Op::IntRandom(_) => Described::creation("random"),
        Op::MeanDim(op) => Described::reduction("mean_dim", &op.input),
        Op::Mean(op) => Described::reduction("mean", &op.input),
        Op::Sum(op) => Described::reduction("sum", &op.input),
        Op::SumDim(op) => Described::reduction("sum_dim", &op.input),
        Op::SumDims(op) => Described::reduction("sum_dims", &op.input),
        Op::Prod(op) => Described::reduction("prod", &op.input),
        Op::ProdDim(op) => Described::reduction("prod_dim", &op.input),
        Op::ArgMax(op) => Described::reduction("argmax", &op.input),
        Op::ArgMin(op) => Described::reduction("argmin", &op.input),
        Op::Max(op) => Described::reduction("max", &op.input),
        Op::MaxDim(op) => Described::reduction("max_dim", &op.input),
        Op::MaxDimWithIndices(op) => Described::reduction("max_dim_with_indices", &op.tensor),
        Op::Min(op) => Described::reduction("min", &op.input),
        Op::MinDim(op) => Described::reduction("min_dim", &op.input),
        Op::MinDimWithIndices(op) => Described::reduction("min_dim_with_indices", &op.tensor),
        Op::MaxAbs(op) => Described::reduction("max_abs", &op.input),
        Op::MaxAbsDim(op) => Described::reduction("max_abs_dim", &op.input),
        Op::CumSum(op) => Described::reduction("cumsum", &op.input),
        Op::CumProd(op) => Described::reduction("cumprod", &op.input),
        Op::CumMin(op) => Described::reduction("cummin", &op.input),
        Op::CumMax(op) => Described::reduction("cummax", &op.input),
        Op::ArgTopK(op) => sorted("arg_top_k", &op.input, op.axis),
        Op::TopK(op) => sorted("top_k", &op.input, op.axis),
        Op::TopKWithIndices(op) => sorted("top_k_with_indices", &op.tensor, op.dim),
        Op::Sort(op) => sorted("sort", &op.input, op.dim),
        Op::SortWithIndices(op) => sorted("sort_with_indices", &op.input, op.dim),
        Op::ArgSort(op) => sorted("argsort", &op.input, op.dim),
        Op::Pad(_) => Described::copy("pad"),
    }
}

fn matmul(op: &MatmulOpIr) -> Described {
    let products = product([2, elements(&op.out), from_last(&op.lhs, 0)]);
    Described::products("matmul", OperationKind::Product, products, 0)
}

/// How many operations an interpolated element takes once its place is known: a multiplication and
/// an addition for each neighbour.
pub(super) fn interpolated(mode: &InterpolateModeIr) -> u64 {
    match mode {
        InterpolateModeIr::Nearest | InterpolateModeIr::NearestExact => 0,
        InterpolateModeIr::Bilinear => 2 * 4,
        InterpolateModeIr::Bicubic => 2 * 16,
        InterpolateModeIr::Lanczos3 => 2 * 36,
    }
}

pub(super) fn float(operation: &FloatOperationIr) -> Described {
    use FloatOperationIr as Op;
    let unary = |name, out| Described::elementwise(name, out, 1);
    match operation {
        Op::Exp(op) => unary("exp", &op.out),
        Op::Log(op) => unary("log", &op.out),
        Op::Log1p(op) => unary("log1p", &op.out),
        Op::Erf(op) => unary("erf", &op.out),
        Op::PowfScalar(op) => unary("powf_scalar", &op.out),
        Op::Sqrt(op) => unary("sqrt", &op.out),
        Op::Cos(op) => unary("cos", &op.out),
        Op::Cosh(op) => unary("cosh", &op.out),
        Op::Sin(op) => unary("sin", &op.out),
        Op::Sinh(op) => unary("sinh", &op.out),
        Op::Tan(op) => unary("tan", &op.out),
        Op::Tanh(op) => unary("tanh", &op.out),
        Op::ArcCos(op) => unary("acos", &op.out),
        Op::ArcCosh(op) => unary("acosh", &op.out),
        Op::ArcSin(op) => unary("asin", &op.out),
        Op::ArcSinh(op) => unary("asinh", &op.out),
        Op::ArcTan(op) => unary("atan", &op.out),
        Op::ArcTanh(op) => unary("atanh", &op.out),
        Op::ArcTan2(op) => unary("atan2", &op.out),
        Op::Round(op) => unary("round", &op.out),
        Op::Floor(op) => unary("floor", &op.out),
        Op::Ceil(op) => unary("ceil", &op.out),
        Op::Trunc(op) => unary("trunc", &op.out),
        Op::Recip(op) => unary("recip", &op.out),
        Op::IsNan(op) => unary("is_nan", &op.out),
        Op::IsInf(op) => unary("is_inf", &op.out),
        Op::Powf(op) => unary("powf", &op.out),
        Op::Hypot(op) => unary("hypot", &op.out),
        // Two multiplications and a subtraction.
        Op::Cross(op) => Described::elementwise("cross", &op.out, 3),
        Op::IntoInt(_) => Described::copy("into_int"),
        Op::Matmul(op) => matmul(op),
        Op::Random(_) => Described::creation("random"),
        Op::Quantize(_) => Described::uncounted("quantize"),
        Op::Dequantize(_) => Described::uncounted("dequantize"),
        Op::GridSample2d(op) => {
            let each = interpolated(&op.options.mode);
            Described::new(
                "grid_sample_2d",
                OperationKind::Pooling,
                elements(&op.out).saturating_mul(each),
            )
        }
    }
}

pub(super) fn int(operation: &IntOperationIr) -> Described {
    use IntOperationIr as Op;
    let unary = |name, out| Described::elementwise(name, out, 1);
    match operation {
        Op::IntoFloat(_) => Described::copy("into_float"),
        Op::BitwiseAnd(op) => unary("bitwise_and", &op.out),
        Op::BitwiseAndScalar(op) => unary("bitwise_and_scalar", &op.out),
        Op::BitwiseOr(op) => unary("bitwise_or", &op.out),
        Op::BitwiseOrScalar(op) => unary("bitwise_or_scalar", &op.out),
        Op::BitwiseXor(op) => unary("bitwise_xor", &op.out),
        Op::BitwiseXorScalar(op) => unary("bitwise_xor_scalar", &op.out),
        Op::BitwiseNot(op) => unary("bitwise_not", &op.out),
        Op::BitwiseLeftShift(op) => unary("bitwise_left_shift", &op.out),
        Op::BitwiseLeftShiftScalar(op) => unary("bitwise_left_shift_scalar", &op.out),
        Op::BitwiseRightShift(op) => unary("bitwise_right_shift", &op.out),
        Op::BitwiseRightShiftScalar(op) => unary("bitwise_right_shift_scalar", &op.out),
        Op::Matmul(op) => matmul(op),
    }
}

pub(super) fn bool(operation: &BoolOperationIr) -> Described {
    use BoolOperationIr as Op;
    match operation {
        Op::IntoFloat(_) => Described::copy("into_float"),
        Op::IntoInt(_) => Described::copy("into_int"),
        Op::Not(op) => Described::elementwise("bool_not", &op.out, 1),
        Op::And(op) => Described::elementwise("bool_and", &op.out, 1),
        Op::Or(op) => Described::elementwise("bool_or", &op.out, 1),
        Op::Xor(op) => Described::elementwise("bool_xor", &op.out, 1),
    }
}

pub(super) fn activation(operation: &ActivationOperationIr) -> Described {
    use ActivationOperationIr as Op;
    let norm = |name, out: &TensorIr, each| {
        Described::new(
            name,
            OperationKind::Normalization,
            elements(out).saturating_mul(each),
        )
    };
    match operation {
        Op::Relu(op) => Described::elementwise("relu", &op.out, 1),
        Op::ReluBackward(op) => Described::elementwise("relu_backward", &op.out, 1),
        // A comparison and a multiplication.
        Op::LeakyRelu(op) => Described::elementwise("leaky_relu", &op.out, 2),
        Op::PRelu(op) => Described::elementwise("prelu", &op.out, 2),
        // x / 2 (1 + erf(x / √2)).
        Op::Gelu(op) => Described::elementwise("gelu", &op.out, 5),
        // That, without its multiplication by x, plus x times the density, times the gradient.
        Op::GeluBackward(op) => Described::elementwise("gelu_backward", &op.out, 11),
        // 1 / (1 + exp(-x)).
        Op::Sigmoid(op) => Described::elementwise("sigmoid", &op.out, 4),
        // y (1 - y), times the gradient.
        Op::SigmoidBackward(op) => Described::elementwise("sigmoid_backward", &op.out, 3),
        // αx + β, between two bounds.
        Op::HardSigmoid(op) => Described::elementwise("hard_sigmoid", &op.out, 4),
        // -log(1 + exp(-x)).
        Op::LogSigmoid(op) => Described::elementwise("log_sigmoid", &op.out, 5),
        Op::LogSigmoidBackward(op) => Described::elementwise("log_sigmoid_backward", &op.out, 5),
        // Largest, difference, exponential, sum, quotient.
        Op::Softmax(op) => norm("softmax", &op.out, 5),
        Op::LogSoftmax(op) => norm("log_softmax", &op.out, 5),
        Op::Softmin(op) => norm("softmin", &op.out, 6),
    }
}
