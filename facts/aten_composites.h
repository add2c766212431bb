#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace carina {

// ATen operators that Carina does not take, some of them in one overload only, but that
// ExportedProgram.run_decompositions() replaces by operators that it does take. Names are without overloads and sorted.
// tests/integration/pytorch/test_composites.py compiles some of them. Source: torch 2.13, core_aten_decompositions and
// CompositeImplicitAutograd; each was compiled after run_decompositions().
inline constexpr auto kAtenComposites = std::to_array<std::string_view>({
    "_weight_norm",
    "_weight_norm_interface",
    "absolute",
    "addr",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "block_diag",
    "broadcast_tensors",
    "cartesian_prod",
    "chain_matmul",
    "clip",
    "column_stack",
    "count_nonzero",
    "cross",
    "cross_entropy_loss",
    "cumulative_trapezoid",
    "diag",
    "diag_embed",
    "diagflat",
    "diff",
    "dsplit",
    "dstack",
    "fix",
    "fliplr",
    "flipud",
    "float_power",
    "ger",
    "gradient",
    "greater",
    "greater_equal",
    "hann_window",
    "heaviside",
    "hsplit",
    "huber_loss",
    "inner",
    "isclose",
    "isin",
    "isneginf",
    "isposinf",
    "kl_div",
    "kron",
    "l1_loss",
    "less",
    "less_equal",
    "linalg_cross",
    "linalg_diagonal",
    "linalg_matmul",
    "linalg_matrix_norm",
    "linalg_matrix_power",
    "linalg_multi_dot",
    "linalg_vecdot",
    "linspace",
    "logaddexp2",
    "logspace",
    "margin_ranking_loss",
    "matrix_power",
    "max_unpool2d",
    "mse_loss",
    "msort",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multiply",
    "nanmean",
    "nanquantile",
    "nansum",
    "negative",
    "nll_loss",
    "nll_loss_nd",
    "not_equal",
    "outer",
    "poisson_nll_loss",
    "quantile",
    "ravel",
    "real",
    "renorm",
    "row_stack",
    "sgn",
    "sinc",
    "smooth_l1_loss",
    "soft_margin_loss",
    "special_entr",
    "special_erf",
    "special_erfc",
    "special_exp2",
    "special_expit",
    "special_expm1",
    "special_log1p",
    "special_log_softmax",
    "special_logit",
    "special_logsumexp",
    "special_ndtr",
    "special_round",
    "special_sinc",
    "special_softmax",
    "special_xlog1py",
    "special_xlogy",
    "subtract",
    "tensordot",
    "trace",
    "trapezoid",
    "trapz",
    "triplet_margin_loss",
    "vdot",
    "vsplit",
    "xlogy",
});

// Operators without tensor operands that make a tensor of numbers, and that no decomposition replaces. Sorted.
inline constexpr auto kAtenNumberSources = std::to_array<std::string_view>({
    "bartlett_window",
    "blackman_window",
    "fft_fftfreq",
    "fft_rfftfreq",
    "hamming_window",
    "kaiser_window",
    "tril_indices",
    "triu_indices",
});

// Operators that nothing else replaces, with what a user writes in their place. Each of the expressions compiles.
struct AtenRemedy {
  std::string_view op;  // what the name begins with
  std::string_view remedy;
};
inline constexpr auto kAtenRemedies = std::to_array<AtenRemedy>({
    {"_upsample_bilinear2d_aa", "leave out antialias=True, or resize the image before the model"},
    {"_upsample_bicubic2d_aa", "leave out antialias=True, or resize the image before the model"},
    {"cdist",
     "the distances are ((x * x).sum(-1, True) - 2 * x @ y.mT + (y * y).sum(-1, True).mT).clamp(min=0).sqrt()"},
    {"_cdist",
     "the distances are ((x * x).sum(-1, True) - 2 * x @ y.mT + (y * y).sum(-1, True).mT).clamp(min=0).sqrt()"},
    {"pdist", "compute all distances, sqrt(|x|^2 - 2 x @ x.mT + |x|^2), and index those above the diagonal"},
    {"_pdist", "compute all distances, sqrt(|x|^2 - 2 x @ x.mT + |x|^2), and index those above the diagonal"},
    {"masked_scatter",
     "give the source the shape of the tensor, each value at its place: torch.where(mask, source, x)"},
});

// Returns what to do about an operator ("aten.clip.default") that neither a target nor a kernel can run.
constexpr std::string_view remedy_without(std::string_view op) {
  constexpr std::string_view kAten = "aten.";
  if (op.starts_with("tosa_mxfp.")) return "use the target TOSA-1.1+FP+mxfp, which computes with MXFP";
  const std::string_view name = op.starts_with(kAten) ? op.substr(kAten.size()) : std::string_view();
  const std::string_view plain = name.substr(0, name.find('.'));
  if (std::ranges::binary_search(kAtenNumberSources, plain))
    return "its numbers do not depend on an input: compute them in the model's constructor, and keep them with "
           "self.register_buffer";
  if (plain.starts_with("_native_batch_norm_legit"))
    return "the model is in training mode: call model.eval() before torch.export.export";
  for (const AtenRemedy& row : kAtenRemedies) {
    if (plain.starts_with(row.op)) return row.remedy;
  }
  if (std::ranges::binary_search(kAtenComposites, plain))
    return "PyTorch makes it of other operators: torch.export.save(program.run_decompositions(), file)";
  return "replace it in the model by supported operators";
}

}  // namespace carina
