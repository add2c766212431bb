#include "npu/weights/weight_order.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "carina/check.h"
#include "npu/cost/cost.h"
#include "npu/weights/weight_walk_internal.h"

// Puts weights into the order in which the NPU reads them, and back. weight_walk_internal.h has the order as loops;
// reorder() and the restore functions are visitors of the same walk, so they are inverse to each other by construction.
//
//   Example: a 1x1 convolution with 10 input and 8 output channels on ethos-u55-128, depth first, in microblocks of 8
//   output channels. The walk visits input channels 0-7 of output channel 0, then of 1, ..., then of 7. Then it visits
//   channels 8-9 of each, as two weights and six zeros, and zeros up to the depth of the IFM block. A visit is a run of
//   up to eight weights, so the inner loops copy runs instead of single weights.
//
// The simulator multiplies pairs of 16-bit or quads of 8-bit weights, so restore_pairs() and restore_quads() write
// these layouts at once instead of a dense tensor first. Neighboring runs are at neighboring places: their positions
// follow from the last one, without a division. Time: linear in the weights with padding. The order is confirmed by
// streams that Vela wrote (docs/npu-encoding.md).
namespace carina::npu {

namespace {

template <typename Visit>
void walk(const WeightTraversal& t, int stream, Visit&& visit) {
  if (product_of(t) == Product::kU85) {
    walk_u85(t, stream, visit);
  } else {
    walk_u55(t, stream, visit);
  }
}

int64_t dense_size(const WeightTraversal& t) {
  return static_cast<int64_t>(t.ofm_depth) * t.kernel_height * t.kernel_width * t.ifm_depth;
}

void check(const WeightTraversal& t, int stream) {
  CARINA_CHECK(t.accelerator != nullptr && stream >= 0 && stream < stream_count(t), "weight stream {}", stream);
  CARINA_CHECK(t.ofm_depth > 0 && t.ifm_depth > 0 && t.kernel_height > 0 && t.kernel_width > 0 &&
                   t.ofm_block_depth > 0 && t.stride_x > 0 && t.stride_y > 0 && t.dilation_x > 0 &&
                   t.dilation_x <= kMaxDilation && t.dilation_y > 0 && t.dilation_y <= kMaxDilation,
               "weight traversal with a size out of range");
  CARINA_CHECK(!is_depthwise(t) || t.ifm_depth == 1, "depthwise weights with {} input channels", t.ifm_depth);
  CARINA_CHECK(ofm_ublock_depth(t) > 0, "{} has no such microblock", t.accelerator->name);
}

template <typename T>
std::vector<int16_t> reorder_values(const WeightTraversal& t, int stream, std::span<const T> weights) {
  check(t, stream);
  CARINA_CHECK(static_cast<int64_t>(weights.size()) == dense_size(t), "{} weights for a traversal of {}",
               weights.size(), dense_size(t));
  std::vector<int16_t> sequence(static_cast<size_t>(sequence_length(t, stream)));
  int16_t* to = sequence.data();
  walk(t, stream, [&](int64_t offset, int step, int count, int zeros) {
    const T* from = weights.data() + offset;
    if (count == kIfmUblockDepth && step == 1) {  // nearly all runs; the fixed trip count lets the loop be vectorized
      for (int i = 0; i < kIfmUblockDepth; ++i) to[i] = from[i];
    } else {
      for (int i = 0; i < count; ++i) to[i] = from[static_cast<int64_t>(i) * step];
    }
    to += count + zeros;  // the output is zero-initialized
  });
  CARINA_CHECK(to == sequence.data() + sequence.size(), "{} weights walked, {} expected", to - sequence.data(),
               sequence.size());
  return sequence;
}

}  // namespace

int ofm_ublock_depth(const WeightTraversal& t) {
  for (int i = 0; i < t.accelerator->ofm_ublock_count; ++i) {
    const OfmUblock& ublock = t.accelerator->ofm_ublocks[static_cast<size_t>(i)];
    if (product_of(t) != Product::kU85 || ublock.code == t.microblock) return ublock.block.depth;
  }
  return 0;
}

int ifm_block_depth(const WeightTraversal& t) {
  if (product_of(t) != Product::kU85)
    return ifm_block_depth_limit(t.ifm_bits, is_depthwise(t) ? WeightOrder::DEPTH_FIRST : t.order);
  return u85_ifm_block_depth({.npu = *t.accelerator,
                              .order = t.order,
                              .ifm_bits = t.ifm_bits,
                              .ublock_depth = ofm_ublock_depth(t),
                              .sparse_weights = is_sparse(t)});
}

int stream_count(const WeightTraversal& t) {
  return product_of(t) == Product::kU85 ? t.accelerator->weight_decoders : t.cores;
}

int64_t sequence_length(const WeightTraversal& t, int stream) {
  check(t, stream);
  return product_of(t) == Product::kU85 ? u85_length(t, stream) : u55_length(t, stream);
}

std::vector<int16_t> reorder(const WeightTraversal& t, int stream, std::span<const int8_t> weights) {
  return reorder_values(t, stream, weights);
}
std::vector<int16_t> reorder(const WeightTraversal& t, int stream, std::span<const int16_t> weights) {
  return reorder_values(t, stream, weights);
}

bool restore(const WeightTraversal& t, int stream, std::span<const int16_t> sequence, std::span<int16_t> weights) {
  check(t, stream);
  if (static_cast<int64_t>(sequence.size()) < sequence_length(t, stream)) return false;
  CARINA_CHECK(static_cast<int64_t>(weights.size()) == dense_size(t), "{} weights for a traversal of {}",
               weights.size(), dense_size(t));
  const int16_t* from = sequence.data();
  walk(t, stream, [&](int64_t offset, int step, int count, int zeros) {
    int16_t* to = weights.data() + offset;
    for (int i = 0; i < count; ++i) to[static_cast<int64_t>(i) * step] = from[i];
    from += count + zeros;
  });
  return true;
}

namespace {

// The positions of a run's weights in the order of pairs. Runs of neighboring output channels are adjacent, so most
// positions are found without a division.
class PairOffsets {
 public:
  explicit PairOffsets(const WeightTraversal& t)
      : depth_(t.ifm_depth),
        channel_elems_(static_cast<int64_t>(t.kernel_height) * t.kernel_width * t.ifm_depth),
        channel_step_(product_of(t) == Product::kU85 ? 1 : t.cores) {}

  // Moves to a run. `offset` is the dense offset of its first weight, whose input channel is even.
  void go(int64_t offset) {
    if (offset == last_ + channel_elems_ * channel_step_) {
      channel_ += channel_step_;
    } else {
      channel_ = offset / channel_elems_;
      const int64_t rest = offset % channel_elems_;
      in_group_ = (rest / depth_ * ((depth_ + 1) / 2) + rest % depth_ / 2) * kPairElems;
    }
    last_ = offset;
  }
  [[nodiscard]] int64_t channel() const { return channel_; }
  [[nodiscard]] int64_t offset_of() const {
    const int64_t group_elems = channel_elems_ / depth_ * ((depth_ + 1) / 2) * kPairElems;
    return channel_ / kPairedChannels * group_elems + in_group_ + channel_ % kPairedChannels * 2;
  }
  static constexpr int64_t kPairElems = 2 * kPairedChannels;  // distance of two pairs of one channel

 private:
  int64_t depth_, channel_elems_, channel_step_;
  int64_t last_ = std::numeric_limits<int64_t>::min() / 2;  // no run yet: far from any offset
  int64_t channel_ = 0, in_group_ = 0;
};

// Writes the pairs of a run. Returns the sum of the magnitudes.
[[gnu::always_inline]] inline int32_t put_pairs(const int16_t* from, int count, int16_t* to) {
  int32_t magnitude = 0;
  for (int i = 0; i < count; ++i) magnitude += from[i] < 0 ? -from[i] : from[i];
  for (int i = 0; i + 2 <= count; i += 2) std::memcpy(to + i / 2 * PairOffsets::kPairElems, from + i, 2 * sizeof *from);
  if (count % 2 != 0) to[count / 2 * PairOffsets::kPairElems] = from[count - 1];
  return magnitude;
}
}  // namespace

int64_t paired_size(const WeightTraversal& t) {
  return round_up(int64_t{t.ofm_depth}, kPairedChannels) * t.kernel_height * t.kernel_width *
         ((int64_t{t.ifm_depth} + 1) / 2 * 2);
}

bool restore_pairs(const WeightTraversal& t, int stream, std::span<const int16_t> sequence, std::span<int16_t> pairs,
                   std::span<int64_t> magnitudes) {
  check(t, stream);
  if (static_cast<int64_t>(sequence.size()) < sequence_length(t, stream)) return false;
  CARINA_CHECK(!is_depthwise(t) && static_cast<int64_t>(pairs.size()) == paired_size(t) &&
                   static_cast<int64_t>(magnitudes.size()) == t.ofm_depth,
               "{} weights in pairs for a traversal of {}", pairs.size(), dense_size(t));
  const int16_t* from = sequence.data();
  PairOffsets offsets(t);
  walk(t, stream, [&](int64_t offset, int, int count, int zeros) {
    if (count > 0) {
      offsets.go(offset);
      int16_t* to = pairs.data() + offsets.offset_of();
      // Nearly all runs have eight weights. The fixed trip count lets the loop be unrolled.
      magnitudes[static_cast<size_t>(offsets.channel())] +=
          count == kIfmUblockDepth ? put_pairs(from, kIfmUblockDepth, to) : put_pairs(from, count, to);
    }
    from += count + zeros;
  });
  return true;
}

namespace {

constexpr int64_t kQuad = 4;

// The positions of a run's weights in the order of quads. Most runs are adjacent to the last run, or continue after the
// first of such adjacent runs. Their positions are found without a division.
class QuadOffsets {
 public:
  explicit QuadOffsets(const WeightTraversal& t)
      : depth_(t.ifm_depth),
        depth_quads_((depth_ + kQuad - 1) / kQuad),
        channel_elems_(int64_t{t.kernel_height} * t.kernel_width * depth_),
        group_elems_(channel_elems_ / depth_ * depth_quads_ * kQuadElems),
        channel_step_(product_of(t) == Product::kU85 ? 1 : t.cores) {}

  // `offset` is the dense offset of a run's first weight, whose input channel is a multiple of four.
  int64_t offset_of(int64_t offset) {
    if (offset == last_ + channel_elems_ * channel_step_) {
      channel_ += channel_step_;
    } else {
      go(offset);
    }
    last_ = offset;
    return channel_ / kPairedChannels * group_elems_ + in_group_ + channel_ % kPairedChannels * kQuad;
  }
  static constexpr int64_t kQuadElems = kQuad * kPairedChannels;  // distance of two quads of one channel

 private:
  void go(int64_t offset) {
    const int64_t on = offset - first_;
    if (on > 0 && first_input_ + on < depth_) {
      channel_ = first_channel_;
      first_input_ += on;
    } else {
      channel_ = first_channel_ = offset / channel_elems_;
      const int64_t rest = offset % channel_elems_;
      tap_ = rest / depth_;
      first_input_ = rest % depth_;
    }
    first_ = offset;
    in_group_ = (tap_ * depth_quads_ + first_input_ / kQuad) * kQuadElems;
  }

  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max() / 2;  // far above any offset
  int64_t depth_, depth_quads_, channel_elems_, group_elems_, channel_step_;
  int64_t last_ = -kNone, first_ = kNone;  // offsets of the last run, and of the first of the adjacent runs
  int64_t first_channel_ = 0, first_input_ = 0, tap_ = 0;
  int64_t channel_ = 0, in_group_ = 0;
};

// The parts of a source as one sequence, followed by zeros.
class Joined {
 public:
  explicit Joined(const WeightSource& source) : source_(source) {}

  // Returns the next `count` weights.
  const int16_t* take(size_t count) {
    if (count > part_.size()) return take_across(count);
    const int16_t* from = part_.data();
    part_ = part_.subspan(count);
    return from;
  }
  // Checks that the source had as many weights as were read.
  Result<bool> finish() {
    while (!ended_) next();
    if (error_) return std::unexpected(*std::move(error_));
    return enough_;
  }

 private:
  const int16_t* take_across(size_t count) {
    across_.assign(part_.begin(), part_.end());
    part_ = {};
    while (across_.size() < count && !ended_) {
      next();
      const size_t more = std::min(count - across_.size(), part_.size());
      across_.insert(across_.end(), part_.begin(), part_.begin() + static_cast<ptrdiff_t>(more));
      part_ = part_.subspan(more);
    }
    enough_ = enough_ && across_.size() == count;
    across_.resize(count);
    return across_.data();
  }
  void next() {
    auto part = source_();
    if (!part) error_ = std::move(part.error());
    part_ = part ? *part : std::span<const int16_t>();
    ended_ = part_.empty();
  }

  const WeightSource& source_;
  std::span<const int16_t> part_;
  std::vector<int16_t> across_;
  std::optional<Diagnostics> error_;
  bool ended_ = false, enough_ = true;
};

// Eight weights of 16 bits, and eight of 8 bits.
typedef uint16_t Eight __attribute__((vector_size(16)));
typedef uint8_t EightBytes __attribute__((vector_size(8)));

// This bit differs from the bit below it if a weight of nine bits does not fit eight bits.
constexpr uint16_t kWideMark = 0x0100;

// Writes two quads. Sets kWideMark in `marks` if a weight is wider than 8 bits.
[[gnu::always_inline]] inline void put_quads(const int16_t* from, int8_t* to, Eight& marks) {
  Eight eight;
  std::memcpy(&eight, from, sizeof eight);
  marks |= eight ^ (eight << 1);
  const EightBytes bytes = __builtin_convertvector(eight, EightBytes);
  uint64_t both = 0;
  std::memcpy(&both, &bytes, sizeof both);
  const auto first = static_cast<uint32_t>(both), second = static_cast<uint32_t>(both >> 32);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + QuadOffsets::kQuadElems, &second, sizeof second);
}

}  // namespace

int64_t quad_size(const WeightTraversal& t) {
  return round_up(int64_t{t.ofm_depth}, kPairedChannels) * t.kernel_height * t.kernel_width *
         round_up(int64_t{t.ifm_depth}, kQuad);
}

Result<Restored> restore_quads(const WeightTraversal& t, int stream, const WeightSource& source,
                               std::span<int8_t> quads) {
  check(t, stream);
  CARINA_CHECK(!is_depthwise(t) && static_cast<int64_t>(quads.size()) == quad_size(t),
               "{} weights in quads for a traversal of {}", quads.size(), dense_size(t));
  Joined joined(source);
  QuadOffsets offsets(t);
  Eight marks{};
  walk(t, stream, [&](int64_t offset, int, int count, int zeros) {
    const int16_t* from = joined.take(static_cast<size_t>(count + zeros));
    if (count == 0) return;
    int8_t* to = quads.data() + offsets.offset_of(offset);
    static_assert(kIfmUblockDepth == 2 * kQuad);
    if (count == kIfmUblockDepth) return put_quads(from, to, marks);  // nearly all calls
    for (int i = 0; i < count; ++i) {
      marks[0] |= static_cast<uint16_t>(from[i] ^ from[i] << 1);
      to[i / kQuad * QuadOffsets::kQuadElems + i % kQuad] = static_cast<int8_t>(from[i]);
    }
  });
  CARINA_TRY(const bool enough, joined.finish());
  if (!enough) return Restored::kTooFew;
  uint16_t all = 0;
  for (size_t i = 0; i < sizeof marks / sizeof all; ++i) all |= marks[i];
  return (all & kWideMark) != 0 ? Restored::kTooWide : Restored::kAll;
}

namespace {
// The number of weights that the fast decoder reads from one stream before it changes to the next stream.
size_t fast_decoder_turn(const WeightTraversal& t) {
  const U85Shape s = u85_shape(t, 0);
  return static_cast<size_t>(s.ofm_ublock_depth) * static_cast<size_t>(s.ifm_chunk) *
         static_cast<size_t>(s.tap_multiple) / static_cast<size_t>(s.streams);
}
}  // namespace

std::vector<int16_t> interleave_for_fast_decoder(const WeightTraversal& t,
                                                 std::span<const std::vector<int16_t>> sequences) {
  const size_t turn = fast_decoder_turn(t);
  size_t total = 0;
  size_t longest = 0;
  for (const auto& sequence : sequences) {
    total += sequence.size();
    longest = std::max(longest, sequence.size());
  }
  std::vector<int16_t> out(total);
  auto next = out.begin();
  for (size_t at = 0; at < longest; at += turn) {
    for (const auto& sequence : sequences) {
      const size_t first = std::min(at, sequence.size());
      next =
          std::copy_n(sequence.begin() + static_cast<ptrdiff_t>(first), std::min(turn, sequence.size() - first), next);
    }
  }
  return out;
}

std::vector<std::vector<int16_t>> split_from_fast_decoder(const WeightTraversal& t, std::span<const int16_t> sequence) {
  const size_t turn = fast_decoder_turn(t);
  const auto streams = static_cast<size_t>(stream_count(t));
  std::vector<size_t> lengths;
  size_t total = 0;
  for (size_t i = 0; i < streams; ++i) {
    lengths.push_back(static_cast<size_t>(sequence_length(t, static_cast<int>(i))));
    total += lengths.back();
  }
  if (sequence.size() < total) return {};
  std::vector<std::vector<int16_t>> out(streams);
  for (size_t i = 0; i < streams; ++i) out[i].reserve(lengths[i]);
  for (size_t from = 0; from < total;) {
    for (size_t i = 0; i < streams; ++i) {
      const size_t count = std::min(turn, lengths[i] - out[i].size());
      const auto part = sequence.subspan(from, count);
      out[i].insert(out[i].end(), part.begin(), part.end());
      from += count;
    }
  }
  return out;
}

}  // namespace carina::npu
