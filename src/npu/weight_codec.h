#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "npu/value_counts.h"

namespace carina::npu {

// The range of a weight in a stream: 9 bits signed, without zero point.
inline constexpr int kMinWeight = -255;
inline constexpr int kMaxWeight = 255;

// Compresses weights (kMinWeight..kMaxWeight) for the standard weight decoder of all products; the result ends with the
// end-of-stream mark and is padded with 0xFF to a multiple of 16 bytes. Same weights, same bytes. Format:
// docs/npu-encoding.md.
std::vector<std::byte> encode_swd(std::span<const int16_t> weights);

// The same, with the spread of the weights, which encoding finds on its way.
struct EncodedWeights {
  std::vector<std::byte> bytes = {};
  ValueCounts values = {};
};
EncodedWeights encode_swd_counted(std::span<const int16_t> weights);

// Decompresses up to the end-of-stream mark. Errors, with the bit offset: cut off, impossible header, more than
// `max_weights` weights.
Result<std::vector<int16_t>> decode_swd(std::span<const std::byte> stream, size_t max_weights,
                                        const std::string& where);

// The same a part of the stream at a time, in order.
class SwdReader {
 public:
  SwdReader(std::span<const std::byte> stream, size_t max_weights, std::string where);
  ~SwdReader();

  // The next weights (32,768 and the zeros between them at most), valid until the next call; empty at the end.
  Result<std::span<const int16_t>> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same a part of the stream at a time (32,768 weights and the zeros between them at most), in order. Returns their
// number.
Result<size_t> scan_swd(std::span<const std::byte> stream, size_t max_weights, const std::string& where,
                        const std::function<void(std::span<const int16_t>)>& part);

// Compresses weights (-128..255) for the fast weight decoder of U85: one header of 32 bytes, then 2-bit or 4-bit
// indices of a small table, or raw bytes. `sparse` weights must stay raw (a rule of the hardware). The result is padded
// with zeros to 32 bytes.
enum class FwdPacking : uint8_t { kAny, kRawOnly };
// Empty when the weights do not fit the format: more than 16 distinct values that do not fit one range of 256.
std::vector<std::byte> encode_fwd(std::span<const int16_t> weights, FwdPacking packing);

// Decompresses `count` weights. Errors: cut off, bad header.
Result<std::vector<int16_t>> decode_fwd(std::span<const std::byte> stream, size_t count, const std::string& where);

}  // namespace carina::npu
