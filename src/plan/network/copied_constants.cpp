#include "plan/network/copied_constants.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/checked_math.h"
#include "facts/npu_targets.h"

// An operand of a few bytes costs its memory's latency in each operation: with constants in DRAM, some 550 of the 720
// cycles of an operation on 80 elements. NPUs with scalar_bits have most of them in a register.
namespace carina::plan {
namespace {

constexpr int64_t kMaxBytes = 512;      // of a constant
constexpr int64_t kMaxAllBytes = 2048;  // of the copy
constexpr int64_t kMinGain = 4;         // so many times what the copy takes

struct Constant {
  TensorId id;
  int64_t reads = 0;
  size_t first_step = 0;
};

void visit_operands(Step& step, const auto& visit) {
  if (step.kind != StepKind::kElementwise) return;
  visit(step.ifm);
  if (step.second == SecondOperand::kFeatureMap) visit(step.ifm2);
}

// The small constants, those with the most reads per byte first.
std::vector<Constant> small_constants(Network& network) {
  std::map<TensorId, Constant> found;
  for (size_t s = 0; s < network.steps.size(); ++s) {
    visit_operands(network.steps[s], [&](const FeatureMap& map) {
      const PlanTensor& tensor = network[map.tensor];
      if (tensor.kind != TensorKind::kConstant || tensor.bytes() > kMaxBytes) return;
      ++found.try_emplace(map.tensor, Constant{.id = map.tensor, .first_step = s}).first->second.reads;
    });
  }
  std::vector<Constant> out;
  for (const auto& [id, constant] : found) out.push_back(constant);
  std::ranges::stable_sort(out, std::greater(), [&](const Constant& c) {
    return static_cast<double>(c.reads) / static_cast<double>(network[c.id].bytes());
  });
  return out;
}

FeatureMap bytes_of(TensorId tensor, int64_t bytes) {
  return {.tensor = tensor, .depth = bytes, .type = kSigned8};
}

}  // namespace

void copy_constants(Network& network, const CopyOfConstants& cycles) {
  if (cycles.saved_per_read <= 0) return;
  std::map<TensorId, int64_t> places;
  size_t first_step = network.steps.size();
  int64_t reads = 0, bytes = 0;
  for (const Constant& constant : small_constants(network)) {
    const int64_t own = round_up<int64_t>(network[constant.id].bytes(), npu::kBaseAlignmentBytes);
    if (bytes + own > kMaxAllBytes) continue;
    places.emplace(constant.id, bytes);
    bytes += own;
    reads += constant.reads;
    first_step = std::min(first_step, constant.first_step);
  }
  if (reads * cycles.saved_per_read < kMinGain * cycles.whole) return;
  MutableBuffer all = MutableBuffer::allocate(static_cast<size_t>(bytes));
  std::ranges::fill(all.bytes(), std::byte{0});
  for (const auto& [id, place] : places) {
    const std::span<const std::byte> from = network.material.constants[id.index()].bytes();
    std::ranges::copy(from, all.bytes().begin() + place);
  }
  const PlanTensor packed{.name = "constants", .shape = {bytes}, .extent = {.depth = bytes}};
  const TensorId copy = network.add(packed), source = network.add(packed);
  network[source].kind = TensorKind::kConstant;
  network[source].constant_bytes = bytes;
  network.material.constants.resize(network.tensors.size());
  network.material.constants[source.index()] = std::move(all).freeze();
  for (Step& step : network.steps) {
    visit_operands(step, [&](FeatureMap& map) {
      const auto place = places.find(map.tensor);
      if (place == places.end()) return;
      map.tensor = copy;
      map.offset += place->second / map.type.bytes();
    });
  }
  network.steps.insert(network.steps.begin(), Step{.kind = StepKind::kDma,
                                                   .ofm = bytes_of(copy, bytes),
                                                   .ifm = bytes_of(source, bytes),
                                                   .dma_bytes = bytes,
                                                   .node = network.steps[first_step].node,
                                                   .name = network.steps[first_step].name});
}

}  // namespace carina::plan
