#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "plan/select/rule.h"

// The TOSA operators that no family supports, each with an alternative for the user. All families share these rows.
namespace carina::plan {

namespace refusal {
inline constexpr std::string_view kNoFloat = "the NPU computes integers only: quantize the model";
inline constexpr std::string_view kNoControl = "the NPU has no control flow";
inline constexpr std::string_view kNoState = "the NPU keeps no state between runs";
inline constexpr std::string_view kStateInstead = "make the state an input and an output of the network";
}  // namespace refusal

inline constexpr auto kRefusedByAll = std::to_array<Rule>({
    {.op = TosaOp::FFT2D, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::RFFT2D, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::ERF, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::SIGMOID, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::TANH, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::POW, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::CEIL, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::COS, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::EXP, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::FLOOR, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::LOG, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::RECIPROCAL, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::RSQRT, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::SIN, .select = nullptr, .reason = refusal::kNoFloat},
    {.op = TosaOp::REDUCE_PRODUCT, .select = nullptr, .reason = "the NPU cannot multiply along an axis"},
    {.op = TosaOp::CUSTOM, .select = nullptr, .reason = "custom operators are not known to the NPU"},
    {.op = TosaOp::COND_IF,
     .select = nullptr,
     .reason = refusal::kNoControl,
     .hint = "compute both branches, and choose with SELECT"},
    {.op = TosaOp::WHILE_LOOP,
     .select = nullptr,
     .reason = refusal::kNoControl,
     .hint = "unroll the loop, or run its body from the application"},
    {.op = TosaOp::VARIABLE, .select = nullptr, .reason = refusal::kNoState, .hint = refusal::kStateInstead},
    {.op = TosaOp::VARIABLE_WRITE, .select = nullptr, .reason = refusal::kNoState, .hint = refusal::kStateInstead},
    {.op = TosaOp::VARIABLE_READ, .select = nullptr, .reason = refusal::kNoState, .hint = refusal::kStateInstead},
});

// All rows of a family: its own and the shared ones.
template <size_t kOwn>
consteval std::array<Rule, kOwn + kRefusedByAll.size()> with_refusals(const std::array<Rule, kOwn>& own) {
  std::array<Rule, kOwn + kRefusedByAll.size()> rows{};
  std::ranges::copy(kRefusedByAll, std::ranges::copy(own, rows.begin()).out);
  return rows;
}

}  // namespace carina::plan
