#include <algorithm>
#include <array>
#include <bit>

#include "npu/cost/channel.h"
#include "npu/cost/cost.h"
#include "plan/select/emit_internal.h"
#include "plan/select/estimate_internal.h"
#include "plan/select/selection.h"

// The epilogue of a step: the operators after a sum that the NPU's output stage computes as well. Each is absorbed
// while its input has no other reader.
//   Example: CONV2D -> RESCALE -> CLAMP -> TABLE is one step: scale, limits and the lookup table are its epilogue.
namespace carina::plan {

int64_t Rescale::result_of(int64_t x) const {
  const auto moved = static_cast<int32_t>(x - input_zp), multiplier = static_cast<int32_t>(factors[0].multiplier);
  return std::clamp(apply_scale_32(moved, multiplier, factors[0].shift, rounding) + output_zp, out.min(), out.max());
}

Result<Rescale> Selection::rescale_of(const ir::Node& node) const {
  CARINA_TRY(const std::vector<int64_t> multipliers, constant(node.inputs[1], "multiplier"));
  CARINA_TRY(const std::vector<int64_t> shifts, constant(node.inputs[2], "shift"));
  Rescale r;
  CARINA_TRY(r.input_zp, constant_scalar(node.inputs[3], "input zero point"));
  CARINA_TRY(r.output_zp, constant_scalar(node.inputs[4], "output zero point"));
  const auto in = element_type_of(value(node.inputs[0]).dtype);
  const auto out = element_type_of(value(node.outputs[0]).dtype);
  // int48 exists only in the accumulators and is never read from memory.
  r.in = in.value_or(ElementType{64, true});
  if (!out)
    return reject("RESCALE to this type is not supported", {}, std::string(name_of(value(node.outputs[0]).dtype)));
  r.out = *out;
  const auto unsign = [](ElementType& type, int64_t& zero_point) {
    type.is_signed = false;
    zero_point &= (int64_t{1} << type.bits) - 1;
  };
  if (node.attributes.get<bool>("input_unsigned")) unsign(r.in, r.input_zp);
  if (node.attributes.get<bool>("output_unsigned")) unsign(r.out, r.output_zp);
  r.per_channel = node.attributes.get<bool>("per_channel") && multipliers.size() > 1;
  constexpr int64_t kDoubleRound = 3;
  r.rounding = node.attributes.integer("rounding_mode") == kDoubleRound ? Rounding::kDouble : Rounding::kSingle;
  const size_t channels = r.per_channel ? multipliers.size() : 1;
  if (multipliers.empty() || shifts.size() < channels) return reject("RESCALE needs as many shifts as multipliers");
  for (size_t i = 0; i < channels; ++i) {
    if (multipliers[i] < 0 || shifts[i] < 0 || shifts[i] > 63)
      return reject("RESCALE multiplier or shift is out of range");
    r.factors.push_back({.multiplier = static_cast<uint32_t>(multipliers[i]), .shift = static_cast<int>(shifts[i])});
  }
  return r;
}

Epilogue store_only(ir::ValueId value, ElementType type) {
  Epilogue epilogue{.value = value, .type = type, .activation = {.min = type.min(), .max = type.max()}};
  return epilogue;
}

bool Selection::absorb_rescale(Epilogue& epilogue, const ir::Node& next, const EpilogueRules& rules) {
  using Scale = EpilogueRules::Scale;
  if (epilogue.scaled || rules.scale == Scale::kNone || epilogue.type.bits < 32) return false;
  const auto rescale = rescale_of(next);
  if (!rescale || rescale->input_zp != 0 || (rescale->per_channel && rules.scale != Scale::kAny)) return false;
  if (rescale->out.bits == 32 && rescale->output_zp != 0) return false;
  const Scaling simple = simplified(rescale->scaling());
  const bool shift_only =
      rules.scale == Scale::kShift || (rules.scale == Scale::kGlobal && (rules.wide_input || rescale->out.bits == 32));
  if (shift_only && simple.multiplier != 1) return false;
  epilogue.type = rescale->out;
  epilogue.zero_point = rescale->output_zp;
  epilogue.rounding = rescale->rounding;
  epilogue.per_channel = rescale->per_channel;
  epilogue.scaled = true;
  epilogue.factors = rescale->factors;
  if (shift_only) {
    epilogue.factors = {simple};
    epilogue.rounding = simple.rounding;
  }
  epilogue.activation = {.min = rescale->out.min(), .max = rescale->out.max()};
  return true;
}

bool Selection::absorb_clamp(Epilogue& epilogue, const ir::Node& next) {
  if (epilogue.type.bits > 16 || !epilogue.type.is_signed || !options_.uses(Optimization::kActivations)) return false;
  Activation& activation = epilogue.activation;
  // min(max(x, a), b) of a range that is already clamped.
  const int64_t low = next.attributes.integer("min_val");
  const int64_t high = next.attributes.integer("max_val");
  activation.min = std::clamp(activation.min, low, high);
  activation.max = std::clamp(activation.max, low, high);
  return true;
}

namespace {

double cycles_to_load(const Selection& s, int64_t table_bytes) {
  const Target& target = s.target();
  const npu::MemoryPort& constants = target.constants_port();
  return npu::transfer_cycles(target.accelerator, static_cast<double>(table_bytes), &constants, nullptr);
}

// Whether the first operation of the network would wait longer for its table than a lookup after it takes. During the
// operation the table is loaded. The result of the lookup takes the memory of the operation's input.
bool is_looked_up_later(const Selection& s, const Epilogue& epilogue, const LookupTable& table,
                        const PlanTensor& constant) {
  const ir::ValueId input = s.input(0);
  const auto bytes = [&](ir::ValueId id) {
    return s.shape(id).elements() * static_cast<int64_t>(element_bytes(s.value(id).dtype));
  };
  if (s.sole_user(input) != s.node_id() || bytes(table.value) > bytes(input)) return false;
  const Target& target = s.target();
  const npu::MemoryPort& arena = target.arena_port();
  const Extent extent = extent_of(s.shape(table.value));
  const FeatureMap map{.height = extent.height, .width = extent.width, .depth = extent.depth, .type = epilogue.type};
  Activation activation = epilogue.activation;
  activation.table = table.tensor;
  const double lookup =
      cycles_of(s, {.kind = StepKind::kPool, .ofm = map, .ifm = map, .activation = activation, .name = {}}) +
      arena.read_latency_cycles + arena.write_latency_cycles;
  return cycles_to_load(s, constant.bytes()) > lookup;
}

// Whether a table of 8-bit results takes no more of the output unit's time than scaling them in an operation of their
// own, and is loaded in the time of that operation. Tables slow elementwise operations down.
//   Example: if an element of MUL takes 0.75 cycles, 0.5 in an operation that scales, and 1 in MUL with a table, the
//   table is worth it. It is not if these are 0.375, 0.25 and 1.
bool is_worth_a_table(const Selection& s, ir::ValueId value, int64_t table_bytes) {
  using Kind = npu::OutputWork::Kind;
  const auto kind = [&] {
    if (s.node().op == ir::Op(TosaOp::MUL)) return Kind::kMul;
    if (s.node().op == ir::Op(TosaOp::ADD) || s.node().op == ir::Op(TosaOp::SUB)) return Kind::kAddSub;
    return Kind::kOther;
  };
  const auto cycles = [&](Kind of, npu::ActivationKind activation) {
    const npu::AcceleratorConfig& npu = s.target().accelerator;
    return npu::output_cycles_per_element({.npu = npu, .kind = of, .activation = activation, .cores = npu.cores});
  };
  const double apart = cycles(Kind::kOther, npu::ActivationKind::kNone);
  return cycles(kind(), npu::ActivationKind::kTable) <= cycles(kind(), npu::ActivationKind::kNone) + apart &&
         cycles_to_load(s, table_bytes) <= apart * static_cast<double>(s.shape(value).elements());
}

}  // namespace

bool Selection::absorb_table(Epilogue& epilogue, ir::NodeId next) {
  if (!epilogue.type.is_signed || !options_.uses(Optimization::kActivations)) return false;
  const auto table = table_of(*this, next);
  if (!table || table->in != epilogue.type) return false;
  if (network_.steps.empty() && options_.optimize != Optimize::kSize &&
      is_looked_up_later(*this, epilogue, *table, network_[table->tensor]))
    return false;
  epilogue.activation.table = table->tensor;
  epilogue.value = table->value;
  if (table->second.valid()) absorb(table->second);
  return true;
}

// Another scale of 8-bit results is a table of them.
bool Selection::absorb_requantization(Epilogue& epilogue, const ir::Node& next) {
  if (epilogue.type != kSigned8 || !options_.uses(Optimization::kActivations) || options_.optimize == Optimize::kSize)
    return false;
  const auto rescale = rescale_of(next);
  std::array<int8_t, 256> table{};
  const auto bytes = static_cast<int64_t>(table.size());
  if (!rescale || rescale->in != kSigned8 || rescale->out != kSigned8 || !rescale->has_one_factor() ||
      !is_worth_a_table(*this, next.outputs[0], bytes))
    return false;
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<int8_t>(rescale->result_of(static_cast<int64_t>(i) + kSigned8.min()));
  epilogue.activation.table = new_constant("table", std::as_bytes(std::span(table)), {bytes}, 1);
  return true;
}

bool Selection::try_absorb(Epilogue& epilogue, ir::NodeId next, const EpilogueRules& rules) {
  if (epilogue.activation.table.valid()) return false;
  const ir::Node& node = graph_[next];
  bool done = false;
  switch (node.op.tosa()) {
    case TosaOp::RESCALE:
      done = absorb_rescale(epilogue, node, rules) || absorb_requantization(epilogue, node);
      break;
    case TosaOp::CLAMP:
      done = absorb_clamp(epilogue, node);
      break;
    case TosaOp::TABLE: {
      done = absorb_table(epilogue, next);
      if (done) absorb(next);
      return done;
    }
    default:
      break;  // any other operator ends the chain
  }
  if (!done) return false;
  epilogue.value = node.outputs[0];
  absorb(next);
  return true;
}

Epilogue Selection::follow(ir::ValueId start, ElementType type, const EpilogueRules& rules) {
  return follow(store_only(start, type), rules);
}

Epilogue Selection::follow(Epilogue epilogue, const EpilogueRules& rules) {
  for (;;) {
    if (absorb_function(epilogue)) return epilogue;
    // A RESHAPE between the operation and its epilogue changes nothing, unless parameters are per channel.
    std::vector<ir::NodeId> reshapes;
    ir::NodeId next = sole_user(epilogue.value);
    while (next.valid() &&
           (graph_[next].op == ir::Op(TosaOp::RESHAPE) || graph_[next].op == ir::Op(TosaOp::IDENTITY))) {
      reshapes.push_back(next);
      next = sole_user(graph_[next].outputs[0]);
    }
    if (!next.valid() ||
        graph_[next].inputs[0] != (reshapes.empty() ? epilogue.value : graph_[reshapes.back()].outputs[0]))
      return epilogue;
    if (!reshapes.empty() && graph_[next].op == ir::Op(TosaOp::RESCALE) &&
        graph_[next].attributes.get<bool>("per_channel"))
      return epilogue;
    if (!try_absorb(epilogue, next, rules)) return epilogue;
    for (const ir::NodeId id : reshapes) absorb(id);
  }
}

}  // namespace carina::plan
