#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace carina::firmware::npu_core {

// Reads the standard weight stream one weight after the other: weights and zero runs stand in chunks, of which no more
// than a few are held. Format: docs/npu-encoding.md.
class WeightStream {
 public:
  explicit WeightStream(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // The next weight. False: the stream has ended, or is damaged.
  bool next(int32_t& weight);

 private:
  static constexpr size_t kHeld = 64;  // more than weights and zero runs can be apart, and two chunks

  // One kind of symbol in a slice: first its quotient is known, a chunk later its remainder.
  struct Symbols {
    std::array<uint32_t, kHeld> values{};
    int32_t length = 0;
    int32_t position = 0;  // with a quotient
    int32_t finished = 0;  // with a remainder as well
    int32_t taken = 0;
    uint32_t quotient = 0;  // of the symbol under way

    void start(int32_t symbols);
    void end_symbol();
    [[nodiscard]] uint32_t take() { return values[static_cast<size_t>(taken++) % kHeld]; }
  };

  uint32_t take_bits(int count);
  [[nodiscard]] bool overrun() const { return position_ > bytes_.size() * 8; }
  bool start_slice();
  void read_palette();
  bool read_chunk();
  void read_weight_quotients(uint32_t first, bool take);
  void read_zero_quotients(int positions);
  void read_remainders(Symbols& symbols, int32_t end, int bits);
  bool have(Symbols& symbols);
  [[nodiscard]] bool weight_of(uint32_t value, int32_t& weight) const;

  std::span<const std::byte> bytes_;
  size_t position_ = 0;  // in bits
  // The slice under way.
  int zero_divisor_ = 0;
  int weight_divisor_ = 0;
  bool truncated_ = false;
  bool has_runs_ = false;
  Symbols weights_;
  Symbols zeros_;
  uint32_t zeros_left_ = 0;
  bool run_is_next_ = false;
  // The palette under way.
  int32_t palette_size_ = -1;
  int palette_bits_ = 0;
  int32_t direct_offset_ = 0;
  std::array<uint16_t, 32> palette_{};
};

}  // namespace carina::firmware::npu_core
