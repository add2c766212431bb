#include "npu/weights/weight_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "../sampled.h"
#include "npu/payload.h"
#include "npu/registers.h"
#include "npu/vela_raw.h"
#include "npu/weights/weight_codec.h"
#include "peer_streams.h"

namespace carina::npu {
namespace {

// ---- Properties on random parameters ----

WeightTraversal random_traversal(std::mt19937& random) {
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  WeightTraversal t;
  t.accelerator = &kAccelerators[static_cast<size_t>(pick(0, static_cast<int>(kAccelerators.size()) - 1))];
  const bool u85 = is_u85(t.accelerator->product);
  t.kind = pick(0, 3) == 0 ? WeightKind::kDepthwise : WeightKind::kConv;
  t.order = t.kind == WeightKind::kConv && pick(0, 1) == 1 ? WeightOrder::PART_KERNEL_FIRST : WeightOrder::DEPTH_FIRST;
  t.ofm_depth = pick(1, 80);
  t.ifm_depth = t.kind == WeightKind::kDepthwise ? 1 : pick(1, 150);
  t.kernel_height = pick(1, 11);
  t.kernel_width = pick(1, 11);
  t.dilation_y = pick(1, 2);
  t.dilation_x = pick(1, 2);
  t.ofm_block_depth = 16 * pick(1, 4);
  t.ifm_bits = pick(0, 1) == 0 ? 8 : 16;
  t.cores = t.accelerator->cores;
  t.stride_y = pick(1, 3);
  t.stride_x = pick(1, 3);
  if (u85) {
    t.microblock = t.accelerator->ofm_ublocks[static_cast<size_t>(pick(0, t.accelerator->ofm_ublock_count - 1))].code;
    t.ofm_block_depth = std::max(t.ofm_block_depth, ofm_ublock_depth(t));
    t.sparsity = t.kind == WeightKind::kConv && pick(0, 3) == 0 ? WeightSparsity::SPARSE_2_4 : WeightSparsity::NONE;
  }
  return t;
}

std::vector<int16_t> numbered_weights(const WeightTraversal& t) {
  std::vector<int16_t> weights(static_cast<size_t>(t.ofm_depth) *
                               static_cast<size_t>(t.kernel_height * t.kernel_width * t.ifm_depth));
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<int16_t>(i % 32749 + 1);  // never zero; the modulus is prime, so that rows differ
  return weights;
}

TEST(WeightOrder, restore_inverts_reorder_on_all_streams) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const WeightTraversal t = random_traversal(random);
    const std::vector<int16_t> weights = numbered_weights(t);
    std::vector<int16_t> back(weights.size());
    size_t nonzero = 0;
    for (int stream = 0; stream < stream_count(t); ++stream) {
      const std::vector<int16_t> sequence = reorder(t, stream, std::span<const int16_t>(weights));
      ASSERT_EQ(static_cast<int64_t>(sequence.size()), sequence_length(t, stream));
      for (const int16_t w : sequence) nonzero += w != 0 ? 1 : 0;
      ASSERT_TRUE(restore(t, stream, sequence, back));
    }
    ASSERT_EQ(back, weights) << t.accelerator->name << " " << t.ofm_depth << "x" << t.kernel_height << "x"
                             << t.kernel_width << "x" << t.ifm_depth;
    ASSERT_EQ(nonzero, weights.size()) << "a weight stands in the streams more or less than once";
  }
}

// Weight (o, tap, i) is in pair i / 2 of its tap, at channel o's index within its group.
std::vector<int16_t> in_pairs(const WeightTraversal& t, std::span<const int16_t> weights) {
  std::vector<int16_t> pairs(static_cast<size_t>(paired_size(t)));
  const int64_t taps = int64_t{t.kernel_height} * t.kernel_width, depth_pairs = (t.ifm_depth + 1) / 2;
  for (int64_t o = 0; o < t.ofm_depth; ++o) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t i = 0; i < t.ifm_depth; ++i) {
        const int64_t pair = (o / kPairedChannels * taps + tap) * depth_pairs + i / 2;
        pairs[static_cast<size_t>((pair * kPairedChannels + o % kPairedChannels) * 2 + i % 2)] =
            weights[static_cast<size_t>((o * taps + tap) * t.ifm_depth + i)];
      }
    }
  }
  return pairs;
}

TEST(WeightOrder, pairs_hold_weights_of_all_streams) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    WeightTraversal t = random_traversal(random);
    if (t.kind != WeightKind::kConv) continue;
    if (i % 5 == 0) t.kernel_height = t.kernel_width = t.ifm_depth = 1;  // one weight per channel
    const std::vector<int16_t> weights = numbered_weights(t);
    std::vector<int16_t> pairs(static_cast<size_t>(paired_size(t)));
    std::vector<int64_t> magnitudes(static_cast<size_t>(t.ofm_depth)), wanted(magnitudes);
    for (size_t w = 0; w < weights.size(); ++w)
      wanted[w / (weights.size() / wanted.size())] += std::abs(int{weights[w]});
    for (int stream = 0; stream < stream_count(t); ++stream)
      ASSERT_TRUE(restore_pairs(t, stream, reorder(t, stream, std::span<const int16_t>(weights)), pairs, magnitudes));
    ASSERT_EQ(pairs, in_pairs(t, weights));
    ASSERT_EQ(magnitudes, wanted);
  }
}

// Weight (o, tap, i) is in quad i / 4 of its tap, at channel o's index within its group.
std::vector<int8_t> in_quads(const WeightTraversal& t, std::span<const int16_t> weights) {
  std::vector<int8_t> quads(static_cast<size_t>(quad_size(t)));
  const int64_t taps = int64_t{t.kernel_height} * t.kernel_width;
  for (size_t at = 0; at < weights.size(); ++at) {
    const auto index = static_cast<int64_t>(at);
    const int64_t i = index % t.ifm_depth, tap = index / t.ifm_depth % taps, o = index / t.ifm_depth / taps;
    const int64_t quad = (o / kPairedChannels * taps + tap) * ((t.ifm_depth + 3) / 4) + i / 4;
    quads[static_cast<size_t>((quad * kPairedChannels + o % kPairedChannels) * 4 + i % 4)] =
        static_cast<int8_t>(weights[at]);
  }
  return quads;
}

// Splits a sequence into random parts of up to `max` weights.
WeightSource in_parts(std::span<const int16_t> sequence, size_t max, std::mt19937& random) {
  return [sequence, max, &random]() mutable -> Result<std::span<const int16_t>> {
    const auto part = sequence.first(std::min(sequence.size(), 1 + random() % max));
    sequence = sequence.subspan(part.size());
    return part;
  };
}

TEST(WeightOrder, quads_hold_weights_of_all_streams) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    WeightTraversal t = random_traversal(random);
    if (t.kind != WeightKind::kConv) continue;
    if (i % 5 == 0) t.kernel_height = t.kernel_width = t.ifm_depth = 1;
    std::vector<int16_t> weights = numbered_weights(t);
    for (int16_t& w : weights) w = static_cast<int16_t>(w % 256 - 128);
    std::vector<int8_t> quads(static_cast<size_t>(quad_size(t)));
    for (int stream = 0; stream < stream_count(t); ++stream) {
      const std::vector<int16_t> sequence = reorder(t, stream, std::span<const int16_t>(weights));
      const auto restored = restore_quads(t, stream, in_parts(sequence, i % 2 == 0 ? 7 : 5000, random), quads);
      ASSERT_TRUE(restored);
      ASSERT_EQ(*restored, Restored::kAll);
    }
    ASSERT_EQ(quads, in_quads(t, weights)) << t.accelerator->name;
  }
}

TEST(WeightOrder, quads_report_too_large_sizes) {
  std::mt19937 random(6);
  const WeightTraversal t{.accelerator = &kAccelerators[0], .ofm_depth = 5, .ifm_depth = 9, .ofm_block_depth = 16};
  std::vector<int8_t> quads(static_cast<size_t>(quad_size(t)));
  const auto restored = [&](std::span<const int16_t> sequence) {
    const auto result = restore_quads(t, 0, in_parts(sequence, 3, random), quads);
    return result ? *result : Restored::kAll;
  };
  std::vector<int16_t> weights(5 * 9, 1);
  const auto sequence = [&] { return reorder(t, 0, std::span<const int16_t>(weights)); };
  EXPECT_EQ(restored(sequence()), Restored::kAll);
  std::vector<int16_t> cut = sequence();
  cut.pop_back();
  EXPECT_EQ(restored(cut), Restored::kTooFew);
  for (const auto wide : std::to_array<int16_t>({-255, -129, 128, 255})) {
    weights[17] = wide;
    EXPECT_EQ(restored(sequence()), Restored::kTooWide) << wide;
  }
  const WeightSource broken = [] {
    return Result<std::span<const int16_t>>(fail(Diagnostic{.where = "a", .what = "b"}));
  };
  EXPECT_FALSE(restore_quads(t, 0, broken, quads));
}

TEST(WeightOrder, int8_and_int16_inputs_give_same_sequence) {
  std::mt19937 random(2);
  for (int i = 0; i < 20; ++i) {
    const WeightTraversal t = random_traversal(random);
    std::vector<int8_t> narrow(numbered_weights(t).size());
    for (int8_t& w : narrow) w = static_cast<int8_t>(random());
    const std::vector<int16_t> wide(narrow.begin(), narrow.end());
    EXPECT_EQ(reorder(t, 0, std::span<const int8_t>(narrow)), reorder(t, 0, std::span<const int16_t>(wide)));
  }
}

TEST(WeightOrder, fast_decoder_stream_splits_into_its_sources) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const WeightTraversal t = random_traversal(random);
    if (!is_u85(t.accelerator->product)) continue;
    const std::vector<int16_t> weights = numbered_weights(t);
    std::vector<std::vector<int16_t>> sequences;
    for (int stream = 0; stream < stream_count(t); ++stream)
      sequences.push_back(reorder(t, stream, std::span<const int16_t>(weights)));
    const std::vector<int16_t> whole = interleave_for_fast_decoder(t, sequences);
    EXPECT_EQ(split_from_fast_decoder(t, whole), sequences);
    EXPECT_TRUE(split_from_fast_decoder(t, std::span(whole).first(whole.size() - 1)).empty());
  }
}

TEST(WeightOrder, too_short_sequence_is_an_error_and_writes_nothing) {
  std::mt19937 random(4);
  const WeightTraversal t = random_traversal(random);
  std::vector<int16_t> sequence = reorder(t, 0, std::span<const int16_t>(numbered_weights(t)));
  sequence.pop_back();
  std::vector<int16_t> weights(numbered_weights(t).size(), 7);
  EXPECT_FALSE(restore(t, 0, sequence, weights));
  EXPECT_EQ(weights, std::vector<int16_t>(weights.size(), 7));
}

TEST(WeightOrder, sizes_out_of_range_are_errors) {
  const WeightTraversal fine{.accelerator = &kAccelerators[0]};
  const std::vector<int8_t> one(1);
  EXPECT_NO_THROW(reorder(fine, 0, std::span<const int8_t>(one)));
  EXPECT_THROW(reorder(fine, 1, std::span<const int8_t>(one)), InternalError);
  for (int WeightTraversal::* const size :
       {&WeightTraversal::ofm_depth, &WeightTraversal::ifm_depth, &WeightTraversal::kernel_height,
        &WeightTraversal::kernel_width, &WeightTraversal::ofm_block_depth, &WeightTraversal::stride_x,
        &WeightTraversal::stride_y, &WeightTraversal::dilation_x, &WeightTraversal::dilation_y}) {
    WeightTraversal broken = fine;
    broken.*size = 0;
    EXPECT_THROW(reorder(broken, 0, std::span<const int8_t>(one)), InternalError);
  }
  for (int WeightTraversal::* const dilation : {&WeightTraversal::dilation_x, &WeightTraversal::dilation_y}) {
    WeightTraversal broken = fine;
    broken.*dilation = kMaxDilation + 1;
    EXPECT_THROW(reorder(broken, 0, std::span<const int8_t>(one)), InternalError);
  }
}

TEST(WeightOrder, impossible_sizes_saturate) {
  for (const AcceleratorConfig& accelerator : kAccelerators) {
    const WeightTraversal t{.accelerator = &accelerator,
                            .ofm_depth = 65536,
                            .ifm_depth = 65536,
                            .kernel_height = 65536,
                            .kernel_width = 65536,
                            .cores = accelerator.cores,
                            .microblock = accelerator.ofm_ublocks[0].code};
    EXPECT_EQ(sequence_length(t, 0), std::numeric_limits<int64_t>::max());
    std::vector<int16_t> none;
    EXPECT_FALSE(restore(t, 0, none, none));
  }
}

// ---- Streams that Vela made ----

// Reads the register writes and the 1D DMAs from constants in a stream, to find the weights of each operation.
class WeightFinder {
 public:
  WeightFinder(const AcceleratorConfig& accelerator, const CompiledNetwork& network)
      : accelerator_(accelerator), registers_(accelerator.product) {
    memory_[0] = network.weights;
    for (size_t region = 1; region < memory_.size(); ++region) memory_[region].resize(size_t{1} << 23);
  }

  void run(const std::vector<Command>& commands,
           const std::function<void(const WeightTraversal&, const std::vector<std::vector<std::byte>>&)>& visit) {
    for (const Command& command : commands) {
      if (command.kind == Command::Kind::kRegister) {
        registers_.write(command);
      } else if (command.op == Op::DMA_START) {
        copy();
      } else if (command.op == Op::DEPTHWISE || (command.op == Op::CONV && command.param == 0)) {
        visit(traversal(command.op), streams());
      }
    }
  }

  [[nodiscard]] bool fast_decoder() const {
    return is_u85(accelerator_.product) && (registers_.param(Reg::WEIGHT_FORMAT) & 1) != 0;
  }

 private:
  void copy() {
    if ((registers_.param(Reg::DMA0_SRC_REGION) & 0xF00) != 0 || (registers_.param(Reg::DMA0_DST_REGION) & 0xF00) != 0)
      return;
    const auto& from = memory_[registers_.param(Reg::DMA0_SRC_REGION) & 7];
    auto& to = memory_[registers_.param(Reg::DMA0_DST_REGION) & 7];
    const auto source = static_cast<size_t>(registers_.address(Reg::DMA0_SRC));
    const auto destination = static_cast<size_t>(registers_.address(Reg::DMA0_DST));
    const auto length = static_cast<size_t>(registers_.address(Reg::DMA0_LEN));
    ASSERT_LE(source + length, from.size());
    ASSERT_LE(destination + length, to.size());
    std::memcpy(to.data() + destination, from.data() + source, length);
  }

  [[nodiscard]] WeightTraversal traversal(Op op) const {
    const Product product = accelerator_.product;
    const uint64_t kernel = registers_.data(Reg::KERNEL_STRIDE);
    const auto bit = [&](int at) { return static_cast<int>(kernel >> at & 1); };
    WeightTraversal t;
    t.accelerator = &accelerator_;
    t.kind = op == Op::DEPTHWISE ? WeightKind::kDepthwise : WeightKind::kConv;
    t.order = static_cast<WeightOrder>(bit(2));
    t.dilation_x = bit(3) + 1;
    t.dilation_y = bit(4) + 1;
    t.stride_x = bit(0) + 2 * bit(6) + 1;
    t.stride_y = bit(1) + 2 * bit(9) + 1;
    t.ofm_depth = registers_.param(Reg::OFM_DEPTH_M1) + 1;
    t.ifm_depth = t.kind == WeightKind::kDepthwise ? 1 : registers_.param(Reg::IFM_DEPTH_M1) + 1;
    t.kernel_height = registers_.param(Reg::KERNEL_HEIGHT_M1) / t.dilation_y + 1;
    t.kernel_width = registers_.param(Reg::KERNEL_WIDTH_M1) / t.dilation_x + 1;
    t.ofm_block_depth = registers_.param(Reg::OFM_BLK_DEPTH_M1) + 1;
    t.ifm_bits = 8 << (registers_.param(Reg::IFM_PRECISION) >> 2 & 3);
    t.cores = product == Product::kU65 ? registers_.param(Reg::PARALLEL_MODE) + 1 : 1;
    if (is_u85(product)) {
      t.microblock = static_cast<Microblock>(registers_.param(Reg::ACC_FORMAT) >> 8 & 7);
      t.sparsity = static_cast<WeightSparsity>(registers_.param(Reg::WEIGHT_FORMAT) >> 4 & 1);
    }
    return t;
  }

  [[nodiscard]] std::vector<std::vector<std::byte>> streams() const {
    constexpr Reg kBases[] = {Reg::WEIGHT_BASE, Reg::WEIGHT1_BASE, Reg::WEIGHT2_BASE, Reg::WEIGHT3_BASE};
    constexpr Reg kLengths[] = {Reg::WEIGHT_LENGTH, Reg::WEIGHT1_LENGTH, Reg::WEIGHT2_LENGTH, Reg::WEIGHT3_LENGTH};
    std::vector<std::vector<std::byte>> streams;
    const auto& from = memory_[registers_.param(Reg::WEIGHT_REGION) & 7];
    for (size_t i = 0; i < std::size(kBases); ++i) {
      const size_t length = registers_.payload(kLengths[i]);
      if (length == 0) break;
      const auto base = static_cast<size_t>(registers_.address(kBases[i]));
      EXPECT_LE(base + length, from.size());
      streams.emplace_back(from.begin() + static_cast<ptrdiff_t>(base),
                           from.begin() + static_cast<ptrdiff_t>(base + length));
    }
    return streams;
  }

  const AcceleratorConfig& accelerator_;
  RegisterFile registers_;
  std::array<std::vector<std::byte>, kMaxRegions> memory_;
};

// The dense weights of all operations in order. Repeated weights (of stripes) occur once.
std::vector<int16_t> all_weights(const PeerStream& peer) {
  const std::string path = peer.folder + "/out_vela.npz";
  const auto network = read_vela_raw(*map_file(path), path);
  EXPECT_TRUE(network) << to_string(network.error());
  const auto payload = parse_payload(network->command_payload, path);
  EXPECT_TRUE(payload) << to_string(payload.error());
  const auto commands = read_stream(peer.accelerator->product, payload->stream, path);
  EXPECT_TRUE(commands) << to_string(commands.error());
  WeightFinder finder(*peer.accelerator, *network);
  std::vector<int16_t> all;
  std::vector<std::vector<std::byte>> previous;
  finder.run(*commands, [&](const WeightTraversal& t, const std::vector<std::vector<std::byte>>& streams) {
    if (streams == previous) return;
    previous = streams;
    std::vector<int16_t> dense(static_cast<size_t>(t.ofm_depth) *
                               static_cast<size_t>(t.kernel_height * t.kernel_width * t.ifm_depth));
    std::vector<std::vector<int16_t>> sequences;
    if (finder.fast_decoder()) {
      size_t total = 0;
      for (int i = 0; i < stream_count(t); ++i) total += static_cast<size_t>(sequence_length(t, i));
      const auto decoded = decode_fwd(streams[0], total, path);
      ASSERT_TRUE(decoded) << to_string(decoded.error());
      sequences = split_from_fast_decoder(t, *decoded);
    } else {
      for (int i = 0; i < stream_count(t); ++i) {
        const auto length = static_cast<size_t>(sequence_length(t, i));
        if (length == 0) {
          sequences.emplace_back();
          continue;
        }
        ASSERT_LT(static_cast<size_t>(i), streams.size());
        const auto decoded = decode_swd(streams[static_cast<size_t>(i)], length, path);
        ASSERT_TRUE(decoded) << to_string(decoded.error());
        ASSERT_EQ(decoded->size(), length) << path;
        sequences.push_back(*decoded);
      }
    }
    for (int i = 0; i < stream_count(t); ++i) {
      const auto& sequence = sequences[static_cast<size_t>(i)];
      ASSERT_TRUE(restore(t, i, sequence, dense));
      // reorder() puts zeros exactly where the stream has padding.
      ASSERT_EQ(reorder(t, i, std::span<const int16_t>(dense)), sequence) << path;
    }
    all.insert(all.end(), dense.begin(), dense.end());
  });
  return all;
}

// True if the weights are equal, or equal except for one contiguous range that only one of them has. Vela inserts a
// small convolution on some targets.
bool same_weights(const std::vector<int16_t>& a, const std::vector<int16_t>& b) {
  const size_t shorter = std::min(a.size(), b.size());
  const auto prefix = static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(shorter), b.begin()).first - a.begin());
  const auto suffix = static_cast<size_t>(
      std::mismatch(a.rbegin(), a.rbegin() + static_cast<ptrdiff_t>(shorter), b.rbegin()).first - a.rbegin());
  constexpr size_t kExtra = 16;
  return prefix + suffix >= shorter && std::max(a.size(), b.size()) - shorter <= kExtra;
}

TEST(WeightOrder, vela_streams_hold_same_weights_for_all_targets) {
  const auto streams = peer_streams();
  if (streams.empty()) GTEST_SKIP() << tests::kNoCases;
  std::map<std::string, std::vector<int16_t>> expected;  // the first weights found for each model
  for (size_t s = 0; s < streams.size(); s += tests::kOneOf) {
    const PeerStream& peer = streams[s];
    const std::vector<int16_t> weights = all_weights(peer);
    const auto found = expected.emplace(peer.model, weights).first;
    EXPECT_TRUE(same_weights(found->second, weights))
        << peer.folder << ": " << weights.size() << " weights, " << found->second.size() << " expected";
  }
}

}  // namespace
}  // namespace carina::npu
