// What:   encodes the weights and scales of each stripe as a slice, and lays out the constants: slices, tables,
//         tensors.
// Before: stripe block=...                               tensor t1 kind=constant
// After:  stripe block=... slice=w0                      tensor t1 kind=constant storage=m4
//         slice w0 stored=m3 cores=[...]                 storage m3 space=constants bytes=240 address=0
// Needs:  blocks, whose depth and order decide the order of the weights.
// Gives:  slices that cover their stripes (rule 4), storages of constants with addresses (rule 7).
// Legal:  equal requests are encoded once and equal bytes stored once; both are compared, never only their hashes. What
//         differs in scales only shares its weights.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>

#include "base/checked_math.h"
#include "base/hash/content_hash.h"
#include "base/memory/prefault.h"
#include "plan/optimize/slice_cache.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

// The inputs that decide the bytes of a slice.
struct Request {
  WeightsId weights = {};
  int64_t first_channel = 0;
  npu::WeightTraversal traversal = {};
  [[nodiscard]] auto key() const {
    const npu::WeightTraversal& t = traversal;
    return std::tuple(weights, first_channel, t.kind, t.order, t.ofm_depth, t.dilation_y, t.dilation_x,
                      t.ofm_block_depth, t.ifm_bits, t.cores, t.stride_y, t.stride_x, t.microblock, t.sparsity,
                      t.format);
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
    const Step subop = subop_of(schedule, stripe);
    const Request request{.weights = id,
                          .first_channel = subop.first_channel,
                          .traversal = context.family.traversal(subop, stripe.block, material[id], context.target)};
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

Result<void> check_lengths(const std::vector<CoreStream>& cores, const Weights& weights,
                           const npu::ProductLimits& limits, std::optional<size_t> node) {
  for (const CoreStream& core : cores) {
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

// For each request, the first request with the same values in the same order, whatever its scales. These weights are
// encoded once.
std::vector<size_t> leaders_of(const std::vector<Request>& requests, const Context& context) {
  std::map<decltype(Request().key()), size_t> known;
  std::vector<size_t> leaders;
  for (size_t i = 0; i < requests.size(); ++i) {
    Request values = requests[i];
    values.weights = context.equal[values.weights.index()].values;
    leaders.push_back(known.emplace(values.key(), i).first->second);
  }
  return leaders;
}

Weights scales_only(const Weights& weights) {
  return {.name = weights.name,
          .out_channels = weights.out_channels,
          .height = weights.height,
          .width = weights.width,
          .in_channels = weights.in_channels,
          .biases = weights.biases,
          .factors = weights.factors,
          .acc = weights.acc};
}

int64_t weights_in(const Request& request, const Weights& weights) {
  return request.traversal.ofm_depth * weights.height * weights.width * weights.in_channels;
}

// Reports how many weights are encoded. It reports only from the thread that created it, as listeners expect.
class EncodingProgress {
 public:
  EncodingProgress(size_t total, const Log& log) : total_(total), log_(log) {}
  void add(size_t weights) {
    const size_t done = done_ += weights;
    if (std::this_thread::get_id() == caller_) log_.progress("encode", done, total_);
  }

 private:
  std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<size_t> done_ = 0;
  size_t total_;
  const Log& log_;
};

}  // namespace

class SliceCache::Slices {
 public:
  using Key = decltype(Request().key());
  [[nodiscard]] const EncodedSlice* find(const Request& request) const {
    const auto found = slices_.find(request.key());
    return found == slices_.end() ? nullptr : &found->second;
  }
  void add(const Request& request, const EncodedSlice& slice) { slices_.emplace(request.key(), slice); }

 private:
  std::map<Key, EncodedSlice> slices_;
};

SliceCache::SliceCache() : slices_(std::make_unique<Slices>()) {}
SliceCache::~SliceCache() = default;

namespace {

// Encodes the requests that are their own leaders, the largest first.
void encode_leaders(std::vector<EncodedSlice>& encoded, const std::vector<Request>& requests,
                    const std::vector<size_t>& leaders, const Material& material, const Context& context,
                    ThreadPool& threads) {
  const auto size = [&](size_t i) {
    return static_cast<size_t>(weights_in(requests[i], material[requests[i].weights]));
  };
  std::vector<size_t> missing;
  size_t total = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (leaders[i] != i) continue;
    const EncodedSlice* const known = context.slices == nullptr ? nullptr : context.slices->slices().find(requests[i]);
    if (known != nullptr) {
      encoded[i] = *known;
    } else {
      missing.push_back(i);
      total += size(i);
    }
  }
  EncodingProgress progress(total, context.log);
  std::ranges::stable_sort(missing, std::greater(), size);
  threads.parallel_for(missing.size(), [&](size_t n) {
    const size_t i = missing[n];
    encoded[i] = context.family.encode(requests[i].traversal, material[requests[i].weights], requests[i].first_channel,
                                       context.options.streams);
    progress.add(size(i));
  });
  if (context.slices == nullptr) return;
  for (const size_t i : missing) context.slices->slices().add(requests[i], encoded[i]);
}

// Encodes all requests. A request with a leader has its own scales and the leader's weights.
std::vector<EncodedSlice> encode_all(const std::vector<Request>& requests, const std::vector<size_t>& leaders,
                                     const Material& material, const Context& context, ThreadPool& threads) {
  std::vector<EncodedSlice> encoded(requests.size());
  encode_leaders(encoded, requests, leaders, material, context, threads);
  for (size_t i = 0; i < requests.size(); ++i) {
    if (leaders[i] == i) continue;
    encoded[i] = context.family.encode(requests[i].traversal, scales_only(material[requests[i].weights]),
                                       requests[i].first_channel, context.options.streams);
    const EncodedSlice& leader = encoded[leaders[i]];
    encoded[i].weights = leader.weights;
    encoded[i].values = leader.values;
    for (size_t core = 0; core < leader.cores.size(); ++core) {
      encoded[i].cores[core].weight_offset = leader.cores[core].weight_offset;
      encoded[i].cores[core].weight_bytes = leader.cores[core].weight_bytes;
    }
  }
  return encoded;
}

std::span<const std::byte> weights_of(const EncodedSlice& slice) {
  return slice.weights ? std::span<const std::byte>(*slice.weights) : std::span<const std::byte>();
}

size_t bytes_of(const std::vector<EncodedSlice>& encoded) {
  size_t bytes = 0;
  for (const EncodedSlice& slice : encoded)
    bytes += slice.scales.size() + weights_of(slice).size() + 2 * size_t{npu::kBaseAlignmentBytes};
  return bytes;
}

// Appends constants to their space in the order of their first use. Equal constants are stored once.
class Layout {
 public:
  // `expected_bytes`: the constants have hardly more, unless there are many tables. The reserved space is larger, so
  // that a package can be written around the constants in place. Pages that are not touched cost nothing.
  Layout(Schedule& schedule, size_t expected_bytes) : schedule_(schedule) {
    space_.reserve(expected_bytes + expected_bytes / 16);
  }

  // One storage for both; the second starts at the next aligned base after the first.
  StorageId append(std::span<const std::byte> first, std::optional<std::span<const std::byte>> second = std::nullopt) {
    const size_t before = space_.size();
    populate_until(before + first.size() + (second ? second->size() : 0));
    const int64_t address = append_aligned(space_, first);
    if (second) append_aligned(space_, *second);
    const auto bytes = std::span<const std::byte>(space_).subspan(static_cast<size_t>(address));
    const uint64_t hash = sampled_hash(bytes);
    const auto [begin, end] = by_hash_.equal_range(hash);
    const auto same = std::find_if(begin, end, [&](const auto& entry) {
      const Storage& storage = schedule_[entry.second];
      return std::ranges::equal(
          bytes, std::span(space_).subspan(static_cast<size_t>(storage.address), static_cast<size_t>(storage.bytes)));
    });
    if (same != end) {
      space_.resize(before);
      return same->second;
    }
    const StorageId id =
        schedule_.add({.space = Space::kConstants, .bytes = static_cast<int64_t>(bytes.size()), .address = address});
    by_hash_.emplace(hash, id);
    return id;
  }
  void append(TensorId id, const Material& material) {
    if (!id.valid()) return;
    PlanTensor& tensor = schedule_.tensors[id.index()];
    if (tensor.kind == TensorKind::kConstant && !tensor.storage.valid())
      tensor.storage = append(material.constants[id.index()].bytes());
  }
  [[nodiscard]] int64_t address_of(StorageId id) const { return schedule_[id].address; }
  std::vector<std::byte> take() && {
    space_.resize(round_up<size_t>(space_.size(), npu::kBaseAlignmentBytes));
    return std::move(space_);
  }

 private:
  // So many bytes, and some ahead: enough to be worth all threads' while.
  void populate_until(size_t end) {
    constexpr size_t kAhead = size_t{1} << 23;
    if (end <= populated_) return;
    const size_t ahead = std::min(end + kAhead, space_.capacity());
    if (ahead > populated_) prefault_parallel({space_.data() + populated_, ahead - populated_});
    populated_ = std::max(end, ahead);
  }

  Schedule& schedule_;
  std::multimap<uint64_t, StorageId> by_hash_;
  std::vector<std::byte> space_;
  size_t populated_ = 0;  // bytes of it
};

// The storages of slices. Weights that several slices use with different scales have a storage of their own, and so
// have all weights with Context::scales_apart. Otherwise one storage holds weights and scales, so that one transfer
// copies both.
class SliceStore {
 public:
  SliceStore(Layout& layout, std::vector<EncodedSlice>& encoded, const std::vector<size_t>& leaders,
             const Context& context)
      : layout_(layout),
        encoded_(encoded),
        leaders_(leaders),
        apart_(encoded.size(), context.scales_apart),
        slices_(encoded.size()) {
    for (size_t i = 0; i < encoded.size(); ++i) {
      if (encoded[i].scales != encoded[leaders[i]].scales) apart_[leaders[i]] = true;
    }
  }
  // The slice of request `r`: its storages and streams. The first call takes over the encoded bytes, so they are not
  // held twice.
  const WeightSlice& operator[](size_t r) {
    WeightSlice& slice = slices_[r];
    if (slice.stored.valid()) return slice;
    EncodedSlice encoded = std::exchange(encoded_[r], {});
    slice.cores = std::move(encoded.cores);
    const std::span<const std::byte> weights = weights_of(encoded);
    if (apart_[leaders_[r]] && !weights.empty()) {
      slice.scales = layout_.append(encoded.scales);
      slice.stored = layout_.append(weights);
    } else {
      const auto offset = round_up<int64_t>(static_cast<int64_t>(encoded.scales.size()), npu::kBaseAlignmentBytes);
      for (CoreStream& core : slice.cores) core.weight_offset += offset;
      slice.scales = slice.stored = layout_.append(encoded.scales, weights);
    }
    npu::ValueCounts values;
    for (const npu::ValueCounts& core : encoded.values) values += core;
    if (values.values > 0)
      slice.zeros_per_million = static_cast<int64_t>(values.zeros * uint64_t{1'000'000} / values.values);
    note(slice, encoded.values);
    return slice;
  }
  std::vector<npu::StreamNote> take_notes() && { return std::move(notes_); }

 private:
  void note(const WeightSlice& slice, const std::vector<npu::ValueCounts>& values) {
    for (size_t core = 0; core < values.size(); ++core)
      notes_.push_back({.offset = layout_.address_of(slice.stored) + slice.cores[core].weight_offset,
                        .bytes = slice.cores[core].weight_bytes,
                        .values = values[core]});
  }

  Layout& layout_;
  std::vector<EncodedSlice>& encoded_;
  const std::vector<size_t>& leaders_;
  std::vector<bool> apart_;  // by leader
  std::vector<WeightSlice> slices_;
  std::vector<npu::StreamNote> notes_;
};

// A step whose weights are written at run time: the slice holds its scales only.
void read_written_weights(WeightSlice& slice, const Step& step, const Schedule& schedule) {
  slice.stored = schedule[step.ifm2.tensor].storage;
  for (size_t core = 0; core < slice.cores.size(); ++core) {
    slice.cores[core].weight_offset = step.ifm2.offset + static_cast<int64_t>(core) * step.ifm2.stride_y;
    slice.cores[core].weight_bytes = step.ifm2.depth;
  }
}

}  // namespace

Result<Encoded> encode_slices(Schedule schedule, const Material& material, const Context& context,
                              ThreadPool& threads) {
  const Requests requests = requests_of(schedule, material, context);
  const std::vector<size_t> leaders = leaders_of(requests.distinct, context);
  std::vector<EncodedSlice> encoded = encode_all(requests.distinct, leaders, material, context, threads);
  for (size_t i = 0; i < encoded.size(); ++i)
    CARINA_CHECKED(check_lengths(encoded[i].cores, material[requests.distinct[i].weights], context.family.limits,
                                 node_of(schedule, requests, i)));
  Layout layout(schedule, bytes_of(encoded));
  SliceStore store(layout, encoded, leaders, context);
  for (size_t i = 0; i < schedule.stripes.size(); ++i) {
    Stripe& stripe = schedule.stripes[i];
    const Step& step = schedule[stripe.step];
    if (const size_t r = requests.of_stripe[i]; r != kNone) {
      WeightSlice slice = store[r];
      slice.weights = requests.distinct[r].weights;
      slice.first_channel = requests.distinct[r].first_channel;
      slice.channels = requests.distinct[r].traversal.ofm_depth;
      if (step.reads_written_weights()) read_written_weights(slice, step, schedule);
      schedule.slices.push_back(std::move(slice));
      stripe.slice = SliceId(schedule.slices.size() - 1);
    }
    layout.append(step.activation.table, material);
    layout.append(step.ifm.tensor, material);
    if (step.reads_second_map()) layout.append(step.ifm2.tensor, material);
  }
  std::vector<std::byte> constants = std::move(layout).take();
  return Encoded{
      .schedule = std::move(schedule), .constants = std::move(constants), .streams = std::move(store).take_notes()};
}

}  // namespace carina::plan
