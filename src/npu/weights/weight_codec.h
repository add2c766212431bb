#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "npu/weights/value_counts.h"

// The two compression formats of weights: the standard decoder's (SWD) and the fast decoder's of U85 (FWD).
namespace carina::npu {

// The range of a weight in a stream: 9 bits signed, without zero point.
inline constexpr int kMinWeight = -255;
inline constexpr int kMaxWeight = 255;

// Compresses weights (kMinWeight..kMaxWeight) for the standard weight decoder of all products. The result ends with the
// end-of-stream mark and is padded with 0xFF to a multiple of 16 bytes. Equal weights give equal bytes. The format is
// described in docs/npu-encoding.md.
std::vector<std::byte> encode_swd(std::span<const int16_t> weights);

// Encoded weights with the distribution of their values, which the encoder computes anyway.
struct EncodedWeights {
  std::vector<std::byte> bytes = {};
  ValueCounts values = {};
};
EncodedWeights encode_swd_counted(std::span<const int16_t> weights);

// Decompresses a stream up to the end-of-stream mark. Errors, with the bit offset: a truncated stream; an impossible
// header; more than `max_weights` weights.
Result<std::vector<int16_t>> decode_swd(std::span<const std::byte> stream, size_t max_weights,
                                        const std::string& where);

// Decompresses a stream part by part, in order.
class SwdReader {
 public:
  SwdReader(std::span<const std::byte> stream, size_t max_weights, std::string where);
  ~SwdReader();

  // The next weights, valid until the next call: at most 32,768 and the zeros between them. Empty at the end.
  Result<std::span<const int16_t>> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decompresses a stream part by part and passes each part to a function, in order: at most 32,768 weights and the zeros
// between them. Returns the number of weights.
Result<size_t> scan_swd(std::span<const std::byte> stream, size_t max_weights, const std::string& where,
                        const std::function<void(std::span<const int16_t>)>& part);

// Compresses weights (-128..255) for the fast weight decoder of U85: a header of 32 bytes, then indices of 2 or 4 bits
// into a small table, or raw bytes. `sparse` weights must stay raw (a rule of the hardware). The result is padded with
// zeros to a multiple of 32 bytes.
enum class FwdPacking : uint8_t { kAny, kRawOnly };
// Returns an empty list if the weights do not fit the format: more than 16 distinct values that do not fit one range of
// 256.
std::vector<std::byte> encode_fwd(std::span<const int16_t> weights, FwdPacking packing);

// Decompresses `count` weights. Errors: a truncated stream; an invalid header.
Result<std::vector<int16_t>> decode_fwd(std::span<const std::byte> stream, size_t count, const std::string& where);

}  // namespace carina::npu
