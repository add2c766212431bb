#include "npu/channel.h"

#include <algorithm>

#include "carina/check.h"
#include "npu/cost.h"

namespace carina::npu {
namespace {

int read_buffer_words(const U85Rams& buffers, ReadChannel channel) {
  switch (channel) {
    case ReadChannel::kFeatureMaps:
      return buffers.read_buffer_ifm_words;
    case ReadChannel::kWeights:
      return buffers.read_buffer_weights_words;
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

int64_t scale_fetches(const AcceleratorConfig& npu, int64_t blocks_in_plane) {
  return is_u85(npu.product) ? blocks_in_plane : 1;
}

double decode_cycles(const Decoding& what) {
  if (!is_u85(what.npu.product) || what.encoded_bytes == 0) return 0;
  const double rate = weights_per_cycle({.npu = what.npu, .zero_rate = what.zero_rate});
  const double fetch =
      access_cycles(what.encoded_bytes, channel_bytes_per_cycle(what.npu, what.port, ReadChannel::kWeights),
                    what.port.read_latency_cycles);
  return std::max(what.weights / rate, fetch);
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
