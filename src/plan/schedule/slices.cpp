// What:   encodes the weights and scales of each stripe as a slice, and lays out the constants: slices, tables, tensors.
// Before: stripe block=...                               tensor t1 kind=constant
// After:  stripe block=... slice=w0                      tensor t1 kind=constant storage=m4
//         slice w0 stored=m3 cores=[...]                 storage m3 space=constants bytes=240 address=0
// Needs:  blocks, whose depth and order decide the order of the weights.
// Gives:  slices that cover their stripes (rule 4), storages of constants with addresses (rule 7).
// Legal:  equal requests are encoded once and equal bytes stored once; both are compared, never only their hashes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/checked_math.h"
#include "base/content_hash.h"
#include "plan/schedule/transformations.h"

namespace carina::plan {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

// What decides the bytes of a slice.
struct Request {
  WeightsId weights = {};
  int64_t first_channel = 0;
  npu::WeightTraversal traversal = {};
  [[nodiscard]] auto key() const {
    const npu::WeightTraversal& t = traversal;
    return std::tuple(weights, first_channel, t.kind, t.order, t.ofm_depth, t.dilation_y, t.dilation_x,
                      t.ofm_block_depth, t.ifm_bits, t.cores, t.stride_y, t.stride_x, t.microblock, t.sparsity);
  }
};

struct Requests {
  std::vector<Request> distinct = {};
  std::vector<size_t> of_stripe = {};  // kNone: no weights
};

Requests requests_of(const Schedule& schedule, const Material& material, const Context& context) {
  Requests requests{.of_stripe = std::vector<size_t>(schedule.stripes.size(), kNone)};
  std::map<decltype(Request().key()), size_t> known;
  for (size_t i = 0; i < schedule.stripes.size(); ++i) {
    const Stripe& stripe = schedule.stripes[i];
    const WeightsId id = schedule[stripe.step].weights;
    if (!id.valid()) continue;
    const Step piece = piece_of(schedule, stripe);
    const Request request{.weights = id,
                          .first_channel = piece.first_channel,
                          .traversal = context.family.traversal(piece, stripe.block, material[id], context.target)};
    const auto [entry, is_new] = known.emplace(request.key(), requests.distinct.size());
    if (is_new) requests.distinct.push_back(request);
    requests.of_stripe[i] = entry->second;
  }
  return requests;
}

// The TOSA node of the first step that reads request `r`.
std::optional<size_t> node_of(const Schedule& schedule, const Requests& requests, size_t r) {
  const auto reader = static_cast<size_t>(std::ranges::find(requests.of_stripe, r) - requests.of_stripe.begin());
  const ir::NodeId node = schedule[schedule.stripes[reader].step].node;
  return node.valid() ? std::optional(node.index()) : std::nullopt;
}

Result<void> check_lengths(const EncodedSlice& slice, const Weights& weights, const npu::ProductLimits& limits,
                           std::optional<size_t> node) {
  for (const CoreStream& core : slice.cores) {
    if (core.scale_bytes >> limits.scale_length_bits == 0 && core.weight_bytes <= limits.max_weight_stream_bytes)
      continue;
    return fail({.where = weights.name,
                 .what = "the weights are too long for the NPU's registers",
                 .expected = fmt::format("at most {} bytes of scales, {} of weights",
                                         (1 << limits.scale_length_bits) - 1, limits.max_weight_stream_bytes),
                 .got = fmt::format("{} and {}", core.scale_bytes, core.weight_bytes),
                 .node = node});
  }
  return {};
}

// For each slice the first that has the same bytes.
std::vector<size_t> first_equals(const std::vector<EncodedSlice>& slices) {
  std::multimap<uint64_t, size_t> by_hash;
  std::vector<size_t> first(slices.size());
  for (size_t i = 0; i < slices.size(); ++i) {
    const uint64_t hash = content_hash(slices[i].bytes);
    const auto [begin, end] = by_hash.equal_range(hash);
    const auto same = std::find_if(begin, end, [&](const auto& entry) {
      return slices[entry.second].cores == slices[i].cores && slices[entry.second].bytes == slices[i].bytes;
    });
    first[i] = same == end ? i : same->second;
    if (same == end) by_hash.emplace(hash, i);
  }
  return first;
}

// Writes constants into their space in the order of their first use.
class Layout {
 public:
  explicit Layout(Schedule& schedule) : schedule_(schedule) {}

  StorageId append(std::span<const std::byte> bytes) {
    space_.resize(round_up<size_t>(space_.size(), npu::kBaseAlignmentBytes));
    const StorageId id = schedule_.add({.space = Space::kConstants,
                                        .bytes = static_cast<int64_t>(bytes.size()),
                                        .address = static_cast<int64_t>(space_.size())});
    space_.insert(space_.end(), bytes.begin(), bytes.end());
    return id;
  }
  void append(TensorId id, const Material& material) {
    if (!id.valid()) return;
    PlanTensor& tensor = schedule_.tensors[id.index()];
    if (tensor.kind == TensorKind::kConstant && !tensor.storage.valid())
      tensor.storage = append(material.constants[id.index()].bytes());
  }
  std::vector<std::byte> take() && {
    space_.resize(round_up<size_t>(space_.size(), npu::kBaseAlignmentBytes));
    return std::move(space_);
  }

 private:
  Schedule& schedule_;
  std::vector<std::byte> space_;
};

WeightSlice slice_of(const Request& request, const EncodedSlice& encoded, StorageId stored) {
  return {.weights = request.weights,
          .first_channel = request.first_channel,
          .channels = request.traversal.ofm_depth,
          .cores = encoded.cores,
          .stored = stored};
}

}  // namespace

Result<Encoded> encode_slices(Schedule schedule, const Material& material, const Context& context,
                              ThreadPool& threads) {
  const Requests requests = requests_of(schedule, material, context);
  std::vector<EncodedSlice> encoded(requests.distinct.size());
  threads.parallel_for(encoded.size(), [&](size_t i) {
    const Request& r = requests.distinct[i];
    encoded[i] = context.family.encode(r.traversal, material[r.weights], r.first_channel);
  });
  for (size_t i = 0; i < encoded.size(); ++i)
    CARINA_CHECKED(check_lengths(encoded[i], material[requests.distinct[i].weights], context.family.limits,
                                 node_of(schedule, requests, i)));
  const std::vector<size_t> first = first_equals(encoded);
  std::vector<StorageId> stored(encoded.size());
  Layout layout(schedule);
  for (size_t i = 0; i < schedule.stripes.size(); ++i) {
    Stripe& stripe = schedule.stripes[i];
    const Step& step = schedule[stripe.step];
    if (const size_t r = requests.of_stripe[i]; r != kNone) {
      StorageId& storage = stored[first[r]];
      if (!storage.valid()) storage = layout.append(encoded[first[r]].bytes);
      schedule.slices.push_back(slice_of(requests.distinct[r], encoded[r], storage));
      stripe.slice = SliceId(schedule.slices.size() - 1);
    }
    layout.append(step.activation.table, material);
    layout.append(step.ifm.tensor, material);
    if (step.reads_second_map()) layout.append(step.ifm2.tensor, material);
  }
  std::vector<std::byte> constants = std::move(layout).take();
  return Encoded{.schedule = std::move(schedule), .constants = std::move(constants)};
}

}  // namespace carina::plan
