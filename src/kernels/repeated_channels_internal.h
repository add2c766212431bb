#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/convolution.h"
#include "kernels/operator.h"

// A depthwise convolution with several outputs per input is one with a single output each, on an input whose channels
// are repeated. The weights [KD,KH,KW,IC,M] are already in this order.
//   Example: two outputs per input: the channels (a, b) become (a, a, b, b).
namespace carina::kernels {

// `elements` elements of `element_bytes` (1 or 4) bytes, each written `times` times.
struct RepeatedChannels {
  int64_t elements;
  int64_t times;
  size_t element_bytes;

  [[nodiscard]] size_t bytes() const { return static_cast<size_t>(elements * times) * element_bytes; }
  void run(Workers& workers, const std::byte* in, std::byte* out) const;
};

// An operator that computes `conv`, of an input of T and multiplier > 1, with the operator that `make` returns for the
// repeated channels.
template <typename T, typename Conv>
std::optional<Operator> on_repeated_channels(Conv conv, std::optional<Operator> (*make)(const Conv&)) {
  ConvGeometry& g = conv.geometry;
  const RepeatedChannels repeated{.elements = g.batch * g.in[0] * g.in[1] * g.in[2] * g.ic,
                                  .times = std::exchange(g.multiplier, 1),
                                  .element_bytes = sizeof(T)};
  g.ic = g.oc;
  auto inner = make(conv);
  if (!inner) return std::nullopt;
  const size_t at = round_up(inner->scratch_bytes, kScratchAlignment), packed_bytes = inner->packed_bytes;
  return Operator{.run =
                      [repeated, at, inner = std::move(inner->run)](const Execution& call) {
                        repeated.run(call.workers, call.in[0], call.scratch + at);
                        const std::byte* const in[] = {call.scratch + at};
                        inner({.in = in,
                               .out = call.out,
                               .scratch = call.scratch,
                               .workers = call.workers,
                               .extremes = call.extremes});
                      },
                  .scratch_bytes = at + repeated.bytes(),
                  .packed_bytes = packed_bytes};
}

}  // namespace carina::kernels
