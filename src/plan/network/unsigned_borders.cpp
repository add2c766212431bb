#include "plan/network/unsigned_borders.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

namespace carina::plan {
namespace {

constexpr int64_t kOffset = 128;  // of unsigned bytes from signed ones

enum class Side : uint8_t { kInput, kOutput };

// A tensor of signed bytes and the input or output with the same numbers in unsigned bytes.
struct Border {
  Side side = Side::kInput;
  TensorId inner = {};
  TensorId outer = {};
  int64_t converted = 0;  // elements
  bool folds = true;
};

// The operands and the result of a step that are such tensors and fold; nullptr: not.
struct Folded {
  const Border* first = nullptr;
  const Border* second = nullptr;
  const Border* result = nullptr;
};

bool is_byte(const FeatureMap& map, bool is_signed) {
  return map.type.bits == 8 && map.type.is_signed == is_signed;
}

bool has_same_elements(const FeatureMap& a, const FeatureMap& b) {
  return a.offset == b.offset && a.height == b.height && a.width == b.width && a.depth == b.depth &&
         a.stride_y == b.stride_y && a.stride_x == b.stride_x && a.stride_c == b.stride_c;
}

// The side of which a step only changes the type.
std::optional<Side> converted_side(const Network& network, const Step& step) {
  const bool is_copy = step.kind == StepKind::kPool && step.pool == npu::PoolingMode::AVERAGE &&
                       step.kernel == Kernel{} && step.padding == Padding{} && !step.per_channel &&
                       step.scaling.is_unit() && has_same_elements(step.ifm, step.ofm) &&
                       step.activation == Activation{.min = step.ofm.type.min(), .max = step.ofm.type.max()};
  if (!is_copy) return std::nullopt;
  if (is_byte(step.ifm, false) && is_byte(step.ofm, true) && step.ifm.zero_point == kOffset &&
      step.ofm.zero_point == 0 && network[step.ifm.tensor].kind == TensorKind::kInput)
    return Side::kInput;
  if (is_byte(step.ifm, true) && is_byte(step.ofm, false) && step.ifm.zero_point == 0 &&
      step.ofm.zero_point == kOffset && network[step.ofm.tensor].kind == TensorKind::kOutput)
    return Side::kOutput;
  return std::nullopt;
}

class Folding {
 public:
  explicit Folding(Network& network) : network_(network), sides_(network.steps.size()) {}

  void fold() {
    find();
    while (std::ranges::any_of(network_.steps, [this](const Step& step) { return give_up(step); })) {
    }
    if (std::ranges::none_of(borders_, [](const auto& entry) { return entry.second.folds; })) return;
    apply();
  }

 private:
  // The border that a step converts, if it folds.
  Border* converted(size_t s) {
    if (!sides_[s]) return nullptr;
    const Step& step = network_.steps[s];
    const TensorId inner = *sides_[s] == Side::kInput ? step.ofm.tensor : step.ifm.tensor;
    const TensorId outer = *sides_[s] == Side::kInput ? step.ifm.tensor : step.ofm.tensor;
    const auto found = borders_.find(inner);
    const bool is_it = found != borders_.end() && found->second.folds && found->second.side == *sides_[s] &&
                       found->second.outer == outer;
    return is_it ? &found->second : nullptr;
  }

  const Border* folded(TensorId tensor, Side side) const {
    const auto found = borders_.find(tensor);
    return found != borders_.end() && found->second.folds && found->second.side == side ? &found->second : nullptr;
  }

  void find() {
    for (const Side side : {Side::kInput, Side::kOutput}) {
      for (size_t s = 0; s < network_.steps.size(); ++s) {
        const Step& step = network_.steps[s];
        if (converted_side(network_, step) != side) continue;
        const bool is_input = side == Side::kInput;
        const TensorId inner = is_input ? step.ofm.tensor : step.ifm.tensor;
        const TensorId outer = is_input ? step.ifm.tensor : step.ofm.tensor;
        // A RESHAPE in between keeps the elements and their order.
        if (network_[inner].kind != TensorKind::kIntermediate ||
            network_[inner].shape.elements() != network_[outer].shape.elements())
          continue;
        Border& border = borders_.emplace(inner, Border{.side = side, .inner = inner, .outer = outer}).first->second;
        if (border.side != side || border.outer != outer) continue;  // the conversion stays, and so does the tensor
        border.converted += step.ofm.height * step.ofm.width * step.ofm.depth;
        sides_[s] = side;
      }
    }
    for (auto& [inner, border] : borders_) border.folds = border.converted == network_[inner].shape.elements();
    // Steps other than the conversion that write such an input, or read what becomes an output.
    for (size_t s = 0; s < network_.steps.size(); ++s) {
      const Step& step = network_.steps[s];
      if (const auto input = borders_.find(step.ofm.tensor);
          input != borders_.end() && input->second.side == Side::kInput && converted(s) != &input->second)
        input->second.folds = false;
      for (const TensorId read : {step.ifm.tensor, step.reads_second_map() ? step.ifm2.tensor : TensorId()}) {
        const auto output = borders_.find(read);
        if (output != borders_.end() && output->second.side == Side::kOutput && converted(s) != &output->second)
          output->second.folds = false;
      }
    }
  }

  bool can_store(const Step& step) const {
    const Activation& activation = step.activation;
    if (!is_byte(step.ofm, true) || activation.wraps || activation.built_in != BuiltIn::kNone) return false;
    constexpr int64_t kTableBytes = 256;
    return !step.uses_table() || network_[activation.table].constant_bytes == kTableBytes;
  }

  // Whether a step can read and write the borders that fold.
  bool is_possible(const Step& step, const Folded& folded) const {
    const bool first = folded.first != nullptr, second = folded.second != nullptr, result = folded.result != nullptr;
    if ((first && !is_byte(step.ifm, true)) || (second && !is_byte(step.ifm2, true)) || (result && !can_store(step)))
      return false;
    const bool reads_one = !step.reads_second_map();
    switch (step.kind) {
      case StepKind::kConv:
      case StepKind::kDepthwise:
        return reads_one;
      case StepKind::kPool:
        if (step.pool == npu::PoolingMode::AVERAGE || step.pool == npu::PoolingMode::REDUCE_SUM) return reads_one;
        return step.pool == npu::PoolingMode::MAX && reads_one && first == result;
      case StepKind::kElementwise: {
        if (step.second == SecondOperand::kFeatureMap && first != second) return false;
        constexpr int64_t kMin = -128, kMax = 127;
        if (first && step.second == SecondOperand::kScalar && (step.scalar < kMin || step.scalar > kMax)) return false;
        using enum npu::ElementwiseMode;
        const bool keeps_type =
            step.elementwise == MIN || step.elementwise == MAX || step.elementwise == ABS || step.elementwise == LRELU;
        const bool sums = step.elementwise == ADD || step.elementwise == SUB || step.elementwise == MUL;
        return sums || (keeps_type && first == result);
      }
      case StepKind::kDma:
        return step.indexed == Indexed::kNo && first && result;
      case StepKind::kResize:
        return false;
    }
    return false;
  }

  // Returns whether a border no longer folds because of this step.
  bool give_up(const Step& step) {
    const auto s = static_cast<size_t>(&step - network_.steps.data());
    if (converted(s) != nullptr) return false;
    const Folded touched{
        .first = folded(step.ifm.tensor, Side::kInput),
        .second = step.reads_second_map() ? folded(step.ifm2.tensor, Side::kInput) : nullptr,
        .result = folded(step.ofm.tensor, Side::kOutput),
    };
    const std::array borders{touched.first, touched.second, touched.result};
    if (std::ranges::count(borders, nullptr) == std::ssize(borders) || is_possible(step, touched)) return false;
    for (const Border* border : borders) {
      if (border != nullptr) borders_.at(border->inner).folds = false;
    }
    return true;
  }

  static void readdress(FeatureMap& map, const Border& border) {
    map.tensor = border.outer;
    map.type.is_signed = false;
    map.zero_point += kOffset;
  }

  TensorId with_exchanged_signs(TensorId table) {
    const auto [known, is_new] = tables_.emplace(table, TensorId());
    if (!is_new) return known->second;
    std::vector<std::byte> bytes(network_.material.constants[table.index()].bytes().begin(),
                                 network_.material.constants[table.index()].bytes().end());
    for (std::byte& byte : bytes) byte ^= std::byte{kOffset};
    known->second = network_.add(network_[table]);
    network_.material.constants.resize(network_.tensors.size());
    network_.material.constants.back() = Buffer::copy_of(bytes);
    return known->second;
  }

  void store(Step& step, const Border& border) {
    if (!step.uses_table()) {
      readdress(step.ofm, border);
      step.activation.min += kOffset;
      step.activation.max += kOffset;
      return;
    }
    // The type is that of the number that is looked up.
    step.ofm.tensor = border.outer;
    step.activation.table = with_exchanged_signs(step.activation.table);
  }

  void apply() {
    for (size_t s = 0; s < network_.steps.size(); ++s) {
      if (const Border* border = converted(s)) note_done(network_.steps[s].node, *border);
    }
    std::vector<Step> kept;
    for (size_t s = 0; s < network_.steps.size(); ++s) {
      if (converted(s) != nullptr) continue;
      Step& step = network_.steps[s];
      if (const Border* first = folded(step.ifm.tensor, Side::kInput)) {
        if (step.kind == StepKind::kElementwise && step.second == SecondOperand::kScalar) {
          step.scalar += kOffset;
          step.ifm2.type.is_signed = false;
          step.ifm2.zero_point += kOffset;
        }
        readdress(step.ifm, *first);
      }
      if (step.reads_second_map()) {
        if (const Border* second = folded(step.ifm2.tensor, Side::kInput)) readdress(step.ifm2, *second);
      }
      if (const Border* result = folded(step.ofm.tensor, Side::kOutput)) store(step, *result);
      kept.push_back(std::move(step));
    }
    network_.steps = std::move(kept);
    network_.copies.clear();
    for (auto& view : network_.material.values) {
      const auto border = view ? borders_.find(view->tensor) : borders_.end();
      if (border != borders_.end() && border->second.folds) view.reset();
    }
  }

  // For reports: the node of a conversion is computed by a step of its reader or writer.
  void note_done(ir::NodeId node, const Border& border) {
    if (!node.valid()) return;
    for (size_t s = 0; s < network_.steps.size(); ++s) {
      const Step& step = network_.steps[s];
      const bool is_it = border.side == Side::kInput ? reads(step, border.inner) : step.ofm.tensor == border.inner;
      if (is_it && converted(s) == nullptr) network_.material.done_by[node.index()] = step.node;
    }
  }

  static bool reads(const Step& step, TensorId tensor) {
    return step.ifm.tensor == tensor || (step.reads_second_map() && step.ifm2.tensor == tensor);
  }

  Network& network_;
  std::vector<std::optional<Side>> sides_;  // by step: what it converts
  std::map<TensorId, Border> borders_;      // by inner tensor
  std::map<TensorId, TensorId> tables_;     // with exchanged signs
};

}  // namespace

void fold_unsigned_borders(Network& network) {
  Folding(network).fold();
}

}  // namespace carina::plan
