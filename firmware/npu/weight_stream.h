#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace carina::firmware::npu_core {

// Reads the standard weight stream weight by weight. Weights and zero runs are stored in chunks, of which only a few
// are held in memory. Format: docs/npu-encoding.md.
class WeightStream {
 public:
  explicit WeightStream(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Reads the next weight. Returns false at the end of the stream, or if it is damaged.
  bool next(int32_t& weight);

 private:
  static constexpr size_t kHeld = 64;  // more than the maximum distance of weights and zero runs, plus two chunks

  // The symbols of one kind in a slice. The remainder of a symbol is read one chunk after its quotient.
  struct Symbols {
    std::array<uint32_t, kHeld> values{};
    int32_t length = 0;
    int32_t position = 0;  // number of symbols with a quotient
    int32_t finished = 0;  // number of symbols with a remainder
    int32_t taken = 0;
    uint32_t quotient = 0;  // partial quotient of the current symbol

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
  size_t position_ = 0;  // position in bits
  // The state of the current slice.
  int zero_divisor_ = 0;
  int weight_divisor_ = 0;
  bool truncated_ = false;
  bool has_runs_ = false;
  Symbols weights_;
  Symbols zeros_;
  uint32_t zeros_left_ = 0;
  bool run_is_next_ = false;
  // The current palette.
  int32_t palette_size_ = -1;
  int palette_bits_ = 0;
  int32_t direct_offset_ = 0;
  std::array<uint16_t, 32> palette_{};
};

}  // namespace carina::firmware::npu_core
