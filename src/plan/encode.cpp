#include "plan/encode.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/content_hash.h"
#include "npu/scales.h"
#include "npu/weight_codec.h"
#include "npu/weight_order.h"

namespace carina::plan {
namespace {

// What decides the bytes of an operation's weights.
struct Request {
  WeightsId weights = {};
  int64_t first_channel = 0;
  npu::WeightTraversal traversal = {};
  auto key() const {
    return std::tuple(weights, first_channel, traversal.kind, traversal.order, traversal.ofm_depth,
                      traversal.dilation_y, traversal.dilation_x, traversal.ofm_block_depth, traversal.ifm_bits);
  }
};

Request request_of(const Program& program, size_t index, const Target& target) {
  const Operation& op = program.network.operations[index];
  const Weights& weights = program.network[op.weights];
  const BlockConfig& block = program.blocks[index];
  return {
      .weights = op.weights,
      .first_channel = op.first_channel,
      .traversal = {.accelerator = &target.accelerator,
                    .kind = op.kind == OperationKind::kDepthwise ? npu::WeightKind::kDepthwise : npu::WeightKind::kConv,
                    .order = block.order,
                    .ofm_depth = static_cast<int>(op.ofm.depth),
                    .ifm_depth = static_cast<int>(weights.in_channels),
                    .kernel_height = static_cast<int>(weights.height),
                    .kernel_width = static_cast<int>(weights.width),
                    .dilation_y = static_cast<int>(op.kernel.dilation_y),
                    .dilation_x = static_cast<int>(op.kernel.dilation_x),
                    .ofm_block_depth = static_cast<int>(block.depth),
                    .ifm_bits = op.ifm.type.bits,
                    .stride_y = static_cast<int>(op.kernel.stride_y),
                    .stride_x = static_cast<int>(op.kernel.stride_x)}};
}

EncodedWeights encode(const Request& request, const Weights& weights) {
  const auto first = static_cast<size_t>(request.first_channel),
             count = static_cast<size_t>(request.traversal.ofm_depth);
  std::vector<npu::ChannelScale> scales;
  scales.reserve(count);
  for (size_t o = first; o < first + count; ++o) {
    scales.push_back({.bias = weights.biases[o], .scale = weights.multipliers[o], .shift = weights.shifts[o]});
  }
  EncodedWeights encoded{.bytes = npu::encode_scales(scales, npu::ScaleForm::kBias40Scale32, 1)};
  encoded.scale_bytes = static_cast<int64_t>(encoded.bytes.size());
  if (weights.values.empty()) return encoded;
  const size_t each = weights.values.size() / static_cast<size_t>(weights.out_channels);
  const std::vector<int16_t> sequence =
      npu::reorder(request.traversal, 0, std::span<const int16_t>(weights.values).subspan(first * each, count * each));
  const std::vector<std::byte> stream = npu::encode_swd(sequence);
  encoded.weight_bytes = static_cast<int64_t>(stream.size());
  encoded.bytes.insert(encoded.bytes.end(), stream.begin(), stream.end());
  return encoded;
}

Result<void> check_lengths(const EncodedWeights& encoded, const Weights& weights, const npu::ProductLimits& limits) {
  if (encoded.scale_bytes >> limits.scale_length_bits == 0 && encoded.weight_bytes <= limits.max_weight_stream_bytes)
    return {};
  return fail({.where = weights.name,
               .what = "the weights are too long for the NPU's registers",
               .expected = fmt::format("at most {} bytes of scales, {} of weights", (1 << limits.scale_length_bits) - 1,
                                       limits.max_weight_stream_bytes),
               .got = fmt::format("{} and {}", encoded.scale_bytes, encoded.weight_bytes)});
}

// Equal streams become one.
void share_equal_streams(Program& program) {
  std::multimap<uint64_t, size_t> by_hash;
  std::vector<size_t> kept(program.encoded.size());
  std::vector<EncodedWeights> distinct;
  for (size_t i = 0; i < program.encoded.size(); ++i) {
    EncodedWeights& candidate = program.encoded[i];
    const uint64_t hash = content_hash(candidate.bytes);
    const auto [begin, end] = by_hash.equal_range(hash);
    const auto same = std::find_if(begin, end, [&](const auto& entry) {
      return distinct[entry.second].scale_bytes == candidate.scale_bytes &&
             distinct[entry.second].bytes == candidate.bytes;
    });
    if (same != end) {
      kept[i] = same->second;
      continue;
    }
    kept[i] = distinct.size();
    by_hash.emplace(hash, distinct.size());
    distinct.push_back(std::move(candidate));
  }
  program.encoded = std::move(distinct);
  for (size_t& index : program.encoded_of) {
    if (index != Program::kNone) index = kept[index];
  }
}

}  // namespace

Result<void> encode_weights(Program& program, const Target& target, ThreadPool& threads) {
  const auto& operations = program.network.operations;
  program.encoded_of.assign(operations.size(), Program::kNone);
  std::vector<Request> requests;
  std::map<decltype(Request().key()), size_t> known;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (!operations[i].weights.valid()) continue;
    const Request request = request_of(program, i, target);
    const auto [entry, is_new] = known.emplace(request.key(), requests.size());
    if (is_new) requests.push_back(request);
    program.encoded_of[i] = entry->second;
  }
  program.encoded.resize(requests.size());
  threads.parallel_for(requests.size(), [&](size_t i) {
    program.encoded[i] = encode(requests[i], program.network[requests[i].weights]);
  });
  for (size_t i = 0; i < requests.size(); ++i) {
    CARINA_CHECKED(check_lengths(program.encoded[i], program.network[requests[i].weights], target.limits()));
  }
  share_equal_streams(program);
  return {};
}

namespace {

int64_t append(std::vector<std::byte>& region, std::span<const std::byte> bytes) {
  region.resize(round_up<size_t>(region.size(), npu::kBaseAlignmentBytes));
  const auto address = static_cast<int64_t>(region.size());
  region.insert(region.end(), bytes.begin(), bytes.end());
  return address;
}

}  // namespace

void place_constants(Program& program) {
  const auto place = [&](TensorId id) {
    if (!id.valid()) return;
    PlanTensor& tensor = program.network[id];
    if (tensor.kind == TensorKind::kConstant && tensor.address < 0)
      tensor.address = append(program.constants, tensor.data.bytes());
  };
  for (size_t i = 0; i < program.network.operations.size(); ++i) {
    const Operation& op = program.network.operations[i];
    if (program.encoded_of[i] != Program::kNone) {
      EncodedWeights& encoded = program.encoded[program.encoded_of[i]];
      if (encoded.address < 0) encoded.address = append(program.constants, encoded.bytes);
    }
    place(op.activation.table);
    place(op.ifm.tensor);
    if (op.second == SecondOperand::kFeatureMap) place(op.ifm2.tensor);
  }
  program.constants.resize(round_up<size_t>(program.constants.size(), npu::kBaseAlignmentBytes));
}

}  // namespace carina::plan
