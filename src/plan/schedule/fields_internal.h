#pragma once

#include <array>
#include <span>
#include <string_view>
#include <tuple>

#include "plan/schedule/schedule.h"

// The fields of all schedule types as data. The printer, the parser and the random generator iterate over these rows,
// so a new field is covered by all of them.
namespace carina::plan {

template <typename T, typename M>
struct Field {
  std::string_view name;
  M T::* member;
};

// Row<T>::kFields is a tuple of Field.
template <typename T>
struct Row {};
template <typename T>
concept HasRow = requires { Row<T>::kFields; };

#define CARINA_PLAN_FIELD(Type, name)                 \
  ::carina::plan::Field<Type, decltype(Type::name)> { \
    #name, &Type::name                                \
  }
#define CARINA_PLAN_ROW(Type, ...)                           \
  template <>                                                \
  struct Row<Type> {                                         \
    static constexpr auto kFields = std::tuple{__VA_ARGS__}; \
  };
#define F(name) CARINA_PLAN_FIELD(T, name)

#define T Extent
CARINA_PLAN_ROW(T, F(height), F(width), F(depth))
#undef T
#define T PlanTensor
CARINA_PLAN_ROW(T, F(name), F(kind), F(element_bytes), F(shape), F(extent), F(format), F(constant_bytes), F(storage),
                F(beside), F(place_bytes))
#undef T
#define T ElementType
CARINA_PLAN_ROW(T, F(bits), F(is_signed))
#undef T
#define T FeatureMap
CARINA_PLAN_ROW(T, F(tensor), F(offset), F(height), F(width), F(depth), F(stride_y), F(stride_x), F(stride_c), F(type),
                F(zero_point))
#undef T
#define T Scaling
CARINA_PLAN_ROW(T, F(multiplier), F(shift), F(rounding), F(first_shift))
#undef T
#define T OperandScaling
CARINA_PLAN_ROW(T, F(first), F(second), F(precise))
#undef T
#define T Activation
CARINA_PLAN_ROW(T, F(min), F(max), F(table), F(built_in), F(wraps))
#undef T
#define T ResizeAxis
CARINA_PLAN_ROW(T, F(scale), F(step), F(offset))
#undef T
#define T Resize
CARINA_PLAN_ROW(T, F(mode), F(y), F(x), F(rounds_away))
#undef T
#define T Kernel
CARINA_PLAN_ROW(T, F(height), F(width), F(stride_y), F(stride_x), F(dilation_y), F(dilation_x))
#undef T
#define T Padding
CARINA_PLAN_ROW(T, F(top), F(bottom), F(left), F(right))
#undef T
#define T Broadcast
CARINA_PLAN_ROW(T, F(height), F(width), F(depth))
#undef T
#define T Step
CARINA_PLAN_ROW(T, F(name), F(kind), F(pool), F(elementwise), F(ofm), F(ifm), F(second), F(ifm2), F(scalar),
                F(broadcast), F(first_broadcast), F(swapped), F(kernel), F(padding), F(upscale), F(inserts_zeros),
                F(stream_block_depth), F(weights), F(sparse_weights), F(first_channel), F(per_channel), F(scaling),
                F(operands), F(activation), F(acc), F(multiplies_second), F(resize), F(dma_bytes), F(indexed),
                F(places), F(node))
#undef T
#define T OfmBox
CARINA_PLAN_ROW(T, F(y), F(x), F(c), F(height), F(width), F(depth))
#undef T
#define T BlockConfig
CARINA_PLAN_ROW(T, F(height), F(width), F(depth), F(order), F(ublock), F(sparsity), F(format))
#undef T
#define T Stripe
CARINA_PLAN_ROW(T, F(step), F(ofm), F(block), F(slice), F(staged_table))
#undef T
#define T CoreStream
CARINA_PLAN_ROW(T, F(scale_offset), F(scale_bytes), F(weight_offset), F(weight_bytes))
#undef T
#define T WeightSlice
CARINA_PLAN_ROW(T, F(weights), F(first_channel), F(channels), F(cores), F(zeros_per_million), F(stored), F(scales),
                F(staged), F(staged_scales))
#undef T
#define T Storage
CARINA_PLAN_ROW(T, F(space), F(bytes), F(rolling_rows), F(address))
#undef T
#define T Cascade
CARINA_PLAN_ROW(T, F(first), F(last), F(stripe_rows))
#undef T
#define T Command
CARINA_PLAN_ROW(T, F(kind), F(stripe), F(slot), F(first_byte), F(bytes))
#undef T

#undef F
#undef CARINA_PLAN_ROW
#undef CARINA_PLAN_FIELD

// The names of an enum's values, by number; empty for numbers that are not values.
template <typename E>
inline constexpr std::array<std::string_view, 0> kNames{};
template <>
inline constexpr std::array<std::string_view, 4> kNames<TensorKind>{"constant", "input", "output", "intermediate"};
template <>
inline constexpr std::array<std::string_view, 2> kNames<Format>{"nhwc", "nhcwb16"};
template <>
inline constexpr std::array<std::string_view, 6> kNames<StepKind>{"conv",        "depthwise", "pool",
                                                                  "elementwise", "dma",       "resize"};
template <>
inline constexpr std::array<std::string_view, 3> kNames<Indexed>{"no", "gather", "scatter"};
template <>
inline constexpr std::array<std::string_view, 4> kNames<SecondOperand>{"none", "feature_map", "scalar",
                                                                       "weight_stream"};
template <>
inline constexpr std::array<std::string_view, 2> kNames<Rounding>{"single", "double"};
template <>
inline constexpr std::array<std::string_view, 3> kNames<OperandScaling::Precise>{"both_alike", "first", "second"};
template <>
inline constexpr std::array<std::string_view, 3> kNames<BuiltIn>{"none", "tanh", "sigmoid"};
template <>
inline constexpr std::array<std::string_view, 2> kNames<AccWidth>{"narrow", "wide"};
template <>
inline constexpr std::array<std::string_view, 5> kNames<Space>{"constants", "arena", "fast_scratch", "tables",
                                                               "chaining"};
template <>
inline constexpr std::array<std::string_view, 5> kNames<Command::Kind>{"stripe", "load_table", "load_weights",
                                                                       "load_scales", "stage_table"};

// Calls visit(name, number) for each value of an enum.
template <typename E>
constexpr void for_each_value(const auto& visit) {
  if constexpr (kNames<E>.empty()) {
    for (const npu::EnumValueRow& row : npu::kEnumRow<E>.values) visit(row.name, row.value);
  } else {
    for (size_t i = 0; i < kNames<E>.size(); ++i) visit(kNames<E>[i], static_cast<uint32_t>(i));
  }
}

// The prefix of an id's number in the text form.
template <typename Id>
inline constexpr char kIdLetter = '?';
template <>
inline constexpr char kIdLetter<TensorId> = 't';
template <>
inline constexpr char kIdLetter<StepId> = 's';
template <>
inline constexpr char kIdLetter<StripeId> = 'p';
template <>
inline constexpr char kIdLetter<SliceId> = 'w';
template <>
inline constexpr char kIdLetter<StorageId> = 'm';
template <>
inline constexpr char kIdLetter<WeightsId> = 'x';
template <>
inline constexpr char kIdLetter<ir::NodeId> = 'n';

}  // namespace carina::plan
