#include "npu/cost/channel.h"

#include <algorithm>

#include "base/checked_math.h"
#include "carina/check.h"
#include "npu/cost/cost.h"

namespace carina::npu {
namespace {

int read_buffer_words(const U85Rams& buffers, ReadChannel channel) {
  switch (channel) {
    case ReadChannel::kFeatureMaps:
      return buffers.read_buffer_ifm_words;
    case ReadChannel::kWeights:
      return buffers.read_buffer_weights_words;
    case ReadChannel::kFastWeights:
      return buffers.read_buffer_fast_weights_words;
    case ReadChannel::kScales:
      return buffers.read_buffer_scale_words;
    case ReadChannel::kTransfers:
      return buffers.read_buffer_mem_to_mem_words;
  }
  CARINA_UNREACHABLE("channel", channel);
}

}  // namespace

double channel_bytes_per_cycle(const AcceleratorConfig& npu, const MemoryPort& port, ReadChannel channel) {
  const double whole = port_bytes_per_cycle(npu.product, port);
  if (!is_u85(npu.product)) return whole;
  return u85_channel_bytes_per_cycle(
      {.port_bytes_per_cycle = whole,
       .burst_bytes = port.burst_bytes,
       .bursts_outstanding = port.max_reads * port.ports_used * kU85OutstandingEfficiency,
       .read_latency_cycles = port.read_latency_cycles,
       .read_buffer_words = read_buffer_words(npu.u85, channel)});
}

double decoded_weights(const DecodedWeights& what) {
  if (what.kind == MacKind::kDepthwise) return static_cast<double>(what.taps * what.ofm_depth);
  const bool part_kernel = what.kind == MacKind::kPartKernel;
  const WeightOrder order = part_kernel ? WeightOrder::PART_KERNEL_FIRST : WeightOrder::DEPTH_FIRST;
  const int depth_step = u85_ifm_block_depth({.npu = what.npu,
                                              .order = order,
                                              .ifm_bits = what.ifm_bits,
                                              .ublock_depth = what.ublock_depth,
                                              .sparse_weights = what.sparse_weights});
  const int64_t taps = part_kernel
                           ? round_up<int64_t>(what.taps, u85_part_kernel_tap_group(what.ifm_bits, what.sparse_weights))
                           : what.taps;
  return static_cast<double>(taps * round_up<int64_t>(what.ifm_depth, depth_step) *
                             round_up<int64_t>(what.ofm_depth, what.ublock_depth));
}

double decode_cycles(const Decoding& what) {
  if (!is_u85(what.npu.product) || what.encoded_bytes == 0) return 0;
  // The fast format has a byte for each weight, or half a byte and less if there are at most 16 values.
  constexpr double kBytesOfFewValues = 0.75;
  constexpr size_t kFewValues = 16, kManyValues = 17;
  const bool few = what.encoded_bytes < kBytesOfFewValues * what.weights;
  const double rate = weights_per_cycle({.npu = what.npu,
                                         .zero_rate = what.zero_rate,
                                         .distinct_values = few ? kFewValues : kManyValues,
                                         .fast = what.fast});
  const auto planes = static_cast<double>(what.planes);
  const ReadChannel channel = what.fast ? ReadChannel::kFastWeights : ReadChannel::kWeights;
  const double fetch = access_cycles(what.encoded_bytes * planes, channel_bytes_per_cycle(what.npu, what.port, channel),
                                     what.port.read_latency_cycles);
  return std::max(u85_decoding_cycles(what.weights * planes / rate), fetch);
}

double transfer_cycles(const AcceleratorConfig& npu, double bytes, const MemoryPort* from, const MemoryPort* to) {
  double cycles = 0;
  if (from != nullptr)
    cycles =
        access_cycles(bytes, channel_bytes_per_cycle(npu, *from, ReadChannel::kTransfers), from->read_latency_cycles);
  if (to != nullptr)
    cycles = std::max(cycles, access_cycles(bytes, port_bytes_per_cycle(npu.product, *to), to->write_latency_cycles));
  return cycles;
}

}  // namespace carina::npu
