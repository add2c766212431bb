#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pte/integer_builder_internal.h"
#include "tensor/elements.h"

namespace carina::pte {

Multiplier multiplier_of(double factor) {
  int shift = 0;
  const double fraction = std::frexp(factor, &shift);
  auto multiplier = static_cast<int64_t>(std::nearbyint(std::ldexp(fraction, 31)));
  if (multiplier == int64_t{1} << 31) {
    multiplier /= 2;
    ++shift;
  }
  return {.multiplier = multiplier, .shift = factor == 0 ? 0 : shift};
}

bool is_applicable(const Multiplier& multiplier) {
  return multiplier.shift >= -31 && multiplier.shift <= 7;
}

IntegerBuilder::IntegerBuilder(const ir::Graph& source) : result_{.graph = source, .steps = {}} {
  undefined_.resize(source.values.size());
}

std::optional<Integers> IntegerBuilder::integers_of(ir::ValueId floats) const {
  const auto found = integers_.find(floats);
  return found == integers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::vector<int64_t>> IntegerBuilder::weights_of(ir::ValueId id) const {
  const ir::Value& value = graph()[id];
  if (!value.constant || !value.quantization || value.quantization->dtype != DType::kInt8) return std::nullopt;
  const Quantization& q = *value.quantization;
  if (std::ranges::any_of(q.zero_points, [](int64_t zero) { return zero != 0; })) return std::nullopt;
  const auto floats = numbers_of(*value.constant);
  if (!floats) return std::nullopt;
  const ChannelOf channel(value.shape, q);
  std::vector<int64_t> integers(floats->size());
  for (size_t i = 0; i < integers.size(); ++i)
    integers[i] = std::clamp<int64_t>(std::llround((*floats)[i] / q.scales[channel(i)]), -128, 127);
  return integers;
}

ir::ValueId IntegerBuilder::value(std::string_view name, const Shape& shape) {
  const ir::ValueId id = result_.graph.add_value(name, DType::kInt8, shape);
  undefined_.resize(result_.graph.values.size());
  return id;
}

ir::ValueId IntegerBuilder::constant(std::string_view name, DType dtype, const Shape& shape,
                                     const std::vector<int64_t>& elements) {
  const auto [known, is_new] = constants_.try_emplace({dtype, elements});
  if (!is_new && graph()[known->second].shape == shape) return known->second;
  MutableTensor tensor(dtype, shape);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (dtype == DType::kInt8)
      tensor.values<int8_t>()[i] = static_cast<int8_t>(elements[i]);
    else
      tensor.values<int32_t>()[i] = static_cast<int32_t>(elements[i]);
  }
  known->second = result_.graph.add_constant(name, std::move(tensor).freeze());
  undefined_.resize(result_.graph.values.size());
  return known->second;
}

void IntegerBuilder::alias(ir::ValueId value, ir::ValueId same) {
  same_.insert_or_assign(value, resolved(same));
}

ir::ValueId IntegerBuilder::resolved(ir::ValueId value) const {
  const auto same = same_.find(value);
  return same == same_.end() ? value : same->second;
}

void IntegerBuilder::define_plain(ir::ValueId integers) {
  if (!undefined_[integers.index()]) return;
  undefined_[integers.index()] = false;
  call("cortex_m::transpose", {channels_last_.at(integers), std::vector<int64_t>{0, 3, 1, 2}}, integers);
}

ir::ValueId IntegerBuilder::plain(ir::ValueId integers) {
  const ir::ValueId made = resolved(integers);
  define_plain(made);
  return made;
}

ir::ValueId IntegerBuilder::channels_last(ir::ValueId integers) {
  const ir::ValueId from = resolved(integers);
  if (const auto known = channels_last_.find(from); known != channels_last_.end()) return known->second;
  const Shape shape = graph()[from].shape;
  const ir::ValueId made = value(graph()[from].name + "_channels_last", Shape{shape[0], shape[2], shape[3], shape[1]});
  call("cortex_m::transpose", {from, std::vector<int64_t>{0, 2, 3, 1}}, made);
  return channels_last_[from] = made;
}

ir::ValueId IntegerBuilder::written_channels_last(ir::ValueId integers) {
  const Shape shape = graph()[integers].shape;
  const ir::ValueId made =
      value(graph()[integers].name + "_channels_last", Shape{shape[0], shape[2], shape[3], shape[1]});
  undefined_[integers.index()] = true;
  return channels_last_[integers] = made;
}

void IntegerBuilder::keep(ir::NodeId node) {
  std::vector<ir::ValueId> inputs = result_.graph[node].inputs;
  for (ir::ValueId& input : inputs) input = input.valid() ? plain(input) : input;
  result_.graph[node].inputs = std::move(inputs);
  result_.steps.emplace_back(node);
}

ir::ValueId IntegerBuilder::moved(const ir::Node& source, std::vector<ir::ValueId> inputs) {
  ir::Node node = source;
  node.name += "_integers";
  node.inputs = std::move(inputs);
  const ir::ValueId output =
      value(graph()[source.outputs.front()].name + "_integers", Shape(graph()[source.outputs.front()].shape));
  node.outputs = {output};
  result_.steps.emplace_back(result_.graph.add_node(std::move(node)));
  return output;
}

ir::ValueId IntegerBuilder::reshaped(ir::ValueId integers, const Shape& shape) {
  const ir::ValueId output = value(graph()[integers].name + "_view", shape);
  const ir::NodeId node =
      result_.graph.add_node({.op = AtenOp::view_default,
                              .name = graph()[output].name,
                              .inputs = {integers},
                              .outputs = {output},
                              .attributes = {{"size", std::vector<int64_t>(shape.dims().begin(), shape.dims().end())}},
                              .source = {}});
  result_.steps.emplace_back(node);
  return output;
}

void IntegerBuilder::call(std::string_view name, std::vector<CallArgument> arguments, ir::ValueId output) {
  result_.steps.emplace_back(IntegerCall{.name = name, .arguments = std::move(arguments), .output = output});
}

namespace {

// The values that a step reads or writes.
std::vector<ir::ValueId> reads(const Step& step, const ir::Graph& graph) {
  if (const auto* node = std::get_if<ir::NodeId>(&step)) return graph[*node].inputs;
  std::vector<ir::ValueId> values;
  for (const CallArgument& argument : std::get<IntegerCall>(step).arguments) {
    if (const auto* value = std::get_if<ir::ValueId>(&argument)) values.push_back(*value);
  }
  return values;
}

std::vector<ir::ValueId> makes(const Step& step, const ir::Graph& graph) {
  if (const auto* node = std::get_if<ir::NodeId>(&step)) return graph[*node].outputs;
  return {std::get<IntegerCall>(step).output};
}

}  // namespace

Steps IntegerBuilder::finish() && {
  std::vector<ir::ValueId> outputs = result_.graph.outputs;
  for (ir::ValueId& output : outputs) output = output.valid() ? plain(output) : output;
  result_.graph.outputs = outputs;
  std::vector<bool> wanted(result_.graph.values.size());
  const auto want = [&](ir::ValueId id) {
    if (id.valid()) wanted[id.index()] = true;
  };
  std::ranges::for_each(outputs, want);
  std::vector<Step> needed;
  for (auto step = result_.steps.rbegin(); step != result_.steps.rend(); ++step) {
    const auto made = makes(*step, result_.graph);
    if (std::ranges::none_of(made, [&](ir::ValueId id) { return id.valid() && wanted[id.index()]; })) continue;
    std::ranges::for_each(reads(*step, result_.graph), want);
    needed.push_back(std::move(*step));
  }
  std::ranges::reverse(needed);
  result_.steps = std::move(needed);
  return std::move(result_);
}

}  // namespace carina::pte
