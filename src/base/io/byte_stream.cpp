#include "base/io/byte_stream.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/memory/mapped_pages.h"
#include "carina/check.h"

namespace carina {

namespace {

constexpr size_t kBehind = size_t{1} << 18;  // maximum number of bytes before the position that stay in memory

// Inflates an entry piecewise.
class Inflater {
 public:
  explicit Inflater(std::span<const std::byte> packed) : rest_(packed) {
    const int status = inflateInit2(&stream_, -MAX_WBITS);
    CARINA_CHECK(status == Z_OK, "inflateInit2 gives {}", status);
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  [[nodiscard]] size_t position() const { return position_; }
  [[nodiscard]] uint32_t crc() const { return crc_; }
  [[nodiscard]] size_t packed_left() const { return rest_.size() + stream_.avail_in; }

  // Fills `to`. Returns false if the stream has fewer bytes.
  bool read(std::span<std::byte> to) {
    for (std::span<std::byte> left = to; !left.empty();) {
      feed();
      const size_t part = std::min(left.size(), kMaxPartBytes);
      stream_.next_out = reinterpret_cast<Bytef*>(left.data());
      stream_.avail_out = static_cast<uInt>(part);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      const size_t made = part - stream_.avail_out;
      left = left.subspan(made);
      has_ended_ = status == Z_STREAM_END;
      if (has_ended_ && !left.empty()) return false;
      if (status != Z_OK && status != Z_STREAM_END) return false;
      if (made == 0 && stream_.avail_in == 0 && rest_.empty()) return false;
    }
    crc_ = libdeflate_crc32(crc_, to.data(), to.size());
    position_ += to.size();
    return true;
  }

  // Returns whether the stream ends at the current position.
  bool is_at_end() {
    for (Bytef more = 0; !has_ended_;) {
      feed();
      stream_.next_out = &more;
      stream_.avail_out = 1;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      has_ended_ = status == Z_STREAM_END;
      if (stream_.avail_out == 0 || (!has_ended_ && (status != Z_OK || rest_.empty()))) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kMaxPartBytes = size_t{1} << 30;  // zlib's counters have 32 bits

  void feed() {
    if (stream_.avail_in > 0) return;
    const size_t part = std::min(rest_.size(), kMaxPartBytes);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(part);
    rest_ = rest_.subspan(part);
  }

  std::span<const std::byte> rest_;
  z_stream stream_{};
  size_t position_ = 0;
  uint32_t crc_ = 0;
  bool has_ended_ = false;
};

}  // namespace

struct ByteStream::State {
  Buffer bytes;  // stored or deflated
  std::string where;
  size_t size = 0;
  bool is_deflated = false;
  uint32_t crc = 0;
  size_t left = 0;  // pages before this offset have been released
  std::optional<Inflater> inflater = {};

  void release_read(size_t position) {
    if (position < left) left = 0;
    if (position - left < kBehind) return;
    // The release starts before `left`, because the system maps pages in groups and so maps some released pages again.
    release_pages(bytes, left - std::min(left, kBehind), position);
    left = position;
  }

  Result<void> inflate_to(std::span<std::byte> to) {
    const bool read = inflater->read(to);
    if (!read || (inflater->position() == size && !inflater->is_at_end()))
      return fail({.where = where, .what = "the deflated data is damaged"});
    release_read(bytes.size() - inflater->packed_left());
    if (inflater->position() < size || inflater->crc() == crc) return {};
    return fail(wrong_checksum(where));
  }

  Result<void> skip_to(size_t offset) {
    if (!inflater || inflater->position() > offset) inflater.emplace(bytes.bytes());
    std::array<std::byte, size_t{1} << 14> unwanted;
    while (inflater->position() < offset)
      CARINA_CHECKED(inflate_to(std::span(unwanted).first(std::min(unwanted.size(), offset - inflater->position()))));
    return {};
  }
};

Diagnostic wrong_checksum(std::string where) {
  return {.where = std::move(where),
          .what = "the entry's checksum does not match: the file is damaged",
          .hint = "save or copy the file again"};
}

ByteStream ByteStream::of(Buffer stored, std::string where) {
  const size_t size = stored.size();
  return ByteStream(
      std::unique_ptr<State>(new State{.bytes = std::move(stored), .where = std::move(where), .size = size}));
}

ByteStream ByteStream::inflating(Buffer packed, size_t bytes, uint32_t crc, std::string where) {
  return ByteStream(std::unique_ptr<State>(new State{
      .bytes = std::move(packed), .where = std::move(where), .size = bytes, .is_deflated = true, .crc = crc}));
}

size_t ByteStream::size() const {
  return state_->size;
}
const std::string& ByteStream::where() const {
  return state_->where;
}

Result<void> ByteStream::read(size_t offset, std::span<std::byte> to) {
  State& state = *state_;
  CARINA_CHECK(offset <= state.size && to.size() <= state.size - offset, "{} bytes from {} of {}", to.size(), offset,
               state.size);
  if (state.is_deflated) {
    CARINA_CHECKED(state.skip_to(offset));
    return state.inflate_to(to);
  }
  if (!to.empty()) std::memcpy(to.data(), state.bytes.data() + offset, to.size());
  state.release_read(offset + to.size());
  return {};
}

ByteStream::ByteStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;
ByteStream::~ByteStream() = default;

}  // namespace carina
