#include "plan/network/carried_inputs.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "base/checked_math.h"
#include "facts/npu_targets.h"

namespace carina::plan {
namespace {

// An input that could stand in the storage of an output.
struct Carried {
  TensorId input = {};
  TensorId output = {};
  int64_t place_bytes = 0;  // of the input, from the start of the output
  int64_t copied_bytes = 0;
  std::vector<size_t> copies = {};  // indices in Network::copies
};

// The distance in bytes between the elements of both views; nothing if it is not one number.
std::optional<int64_t> distance(const ViewCopy& copy) {
  for (size_t i = 0; i < copy.from.rank(); ++i) {
    const Axis &from = copy.from.axes[i], &to = copy.to.axes[i];
    if (from.size != to.size || (from.size > 1 && from.stride != to.stride)) return std::nullopt;
  }
  return (copy.from.offset - copy.to.offset) * copy.element_bytes;
}

bool reads_from(const Step& step, TensorId id) {
  return step.ifm.tensor == id || (step.reads_second_map() && step.ifm2.tensor == id);
}

// Whether the steps compute nothing but the copy: no scaling or activation has become part of them.
bool only_copies(const Network& network, const ViewCopy& copy) {
  return std::all_of(network.steps.begin() + static_cast<std::ptrdiff_t>(copy.first),
                     network.steps.begin() + static_cast<std::ptrdiff_t>(copy.end), [&](const Step& step) {
                       if (step.kind == StepKind::kDma) return true;
                       const ElementType type = step.ofm.type;
                       return step.kind == StepKind::kPool && step.scaling.is_unit() && !step.per_channel &&
                              !step.uses_table() && step.ifm.zero_point == step.ofm.zero_point &&
                              step.activation.min == type.min() && step.activation.max == type.max();
                     });
}

bool is_part_of(const ViewCopy& copy, size_t step) {
  return step >= copy.first && step < copy.end;
}

// Whether an earlier step writes the output, so that the copy might be meant to overwrite it.
bool is_first_write(const Network& network, const ViewCopy& copy, const std::vector<bool>& is_carried) {
  for (size_t s = 0; s < copy.first; ++s) {
    if (network.steps[s].ofm.tensor == copy.to.tensor && !is_carried[s]) return false;
  }
  return true;
}

// The inputs of which all readers are copies to one output with one distance.
std::vector<Carried> candidates(const Network& network) {
  std::map<TensorId, Carried> found;
  for (size_t c = 0; c < network.copies.size(); ++c) {
    const ViewCopy& copy = network.copies[c];
    const bool fits = network[copy.from.tensor].kind == TensorKind::kInput &&
                      network[copy.to.tensor].kind == TensorKind::kOutput && only_copies(network, copy);
    const std::optional<int64_t> place = fits ? distance(copy) : std::nullopt;
    if (!place) continue;
    const Carried fresh{.input = copy.from.tensor, .output = copy.to.tensor, .place_bytes = -*place};
    Carried& carried = found.emplace(copy.from.tensor, fresh).first->second;
    if (carried.output != copy.to.tensor || carried.place_bytes != -*place) continue;  // its copy stays a reader
    carried.copies.push_back(c);
    carried.copied_bytes += copy.to.elements() * copy.element_bytes;
  }
  std::vector<Carried> all;
  for (auto& [input, carried] : found) {
    const bool has_other_reader = [&] {
      for (size_t s = 0; s < network.steps.size(); ++s) {
        const bool copies =
            std::ranges::any_of(carried.copies, [&](size_t c) { return is_part_of(network.copies[c], s); });
        if (!copies && reads_from(network.steps[s], input)) return true;
      }
      return false;
    }();
    if (!has_other_reader) all.push_back(std::move(carried));
  }
  return all;
}

bool overlap(const Network& network, const Carried& a, const Carried& b) {
  return a.place_bytes < b.place_bytes + network[b.input].bytes() &&
         b.place_bytes < a.place_bytes + network[a.input].bytes();
}

// Of the inputs that could stand at one output, those that do not overlap, largest first.
std::vector<Carried> apart(const Network& network, std::vector<Carried> all) {
  std::ranges::stable_sort(all, std::greater(), &Carried::copied_bytes);
  std::vector<Carried> chosen;
  for (Carried& one : all) {
    if (std::ranges::none_of(chosen, [&](const Carried& other) { return overlap(network, one, other); }))
      chosen.push_back(std::move(one));
  }
  return chosen;
}

// The output stands at an aligned place, since operations may address it as if it began there.
void place(Network& network, TensorId output, const std::vector<Carried>& inputs) {
  int64_t before = 0;
  for (const Carried& one : inputs) before = std::max(before, -one.place_bytes);
  network[output].place_bytes = round_up<int64_t>(before, npu::kBaseAlignmentBytes);
  for (const Carried& one : inputs) {
    network[one.input].beside = output;
    network[one.input].place_bytes = network[output].place_bytes + one.place_bytes;
  }
}

void remove(Network& network, const std::vector<bool>& is_carried) {
  std::vector<Step> kept;
  for (size_t s = 0; s < network.steps.size(); ++s) {
    if (!is_carried[s]) kept.push_back(std::move(network.steps[s]));
  }
  network.steps = std::move(kept);
}

}  // namespace

void carry_inputs(Network& network) {
  std::map<TensorId, std::vector<Carried>> by_output;
  for (Carried& carried : candidates(network)) by_output[carried.output].push_back(std::move(carried));
  std::vector<bool> is_carried(network.steps.size(), false);
  for (auto& [output, all] : by_output) {
    const std::vector<Carried> inputs = apart(network, std::move(all));
    int64_t copied = 0;
    std::vector<bool> without = is_carried;
    for (const Carried& one : inputs) {
      copied += one.copied_bytes;
      for (const size_t c : one.copies)
        std::fill(without.begin() + static_cast<std::ptrdiff_t>(network.copies[c].first),
                  without.begin() + static_cast<std::ptrdiff_t>(network.copies[c].end), true);
    }
    // The output takes its bytes from the start on. That is worth it if most of them are inputs, which take them
    // anyway.
    const bool is_most = 2 * copied >= network[output].bytes();
    const bool is_first = std::ranges::all_of(inputs, [&](const Carried& one) {
      return std::ranges::all_of(one.copies,
                                 [&](size_t c) { return is_first_write(network, network.copies[c], without); });
    });
    const bool leaves_none = std::ranges::find(without, false) == without.end();  // a stream needs an operation
    if (!is_most || !is_first || leaves_none) continue;
    is_carried = std::move(without);
    place(network, output, inputs);
  }
  remove(network, is_carried);
  network.copies.clear();
}

}  // namespace carina::plan
