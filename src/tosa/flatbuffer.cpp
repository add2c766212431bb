#include "tosa/flatbuffer.h"

#include <fmt/format.h>

#include <algorithm>

#include "tosa/reader_internal.h"

namespace carina::tosa {

namespace {

struct Version : private flatbuffers::Table {
  [[nodiscard]] int32_t part(int slot) const {
    return GetField<int32_t>(static_cast<flatbuffers::voffset_t>(4 + 2 * slot), -1);
  }
  bool Verify(flatbuffers::Verifier& verifier) const {
    return VerifyTableStart(verifier) && VerifyField<int32_t>(verifier, 4, 4) && VerifyField<int32_t>(verifier, 6, 4) &&
           VerifyField<int32_t>(verifier, 8, 4) && verifier.EndTable();
  }
};

// The root table as far as all versions of the format agree: which version it is decides how to read the rest.
struct AnyGraph : private flatbuffers::Table {
  [[nodiscard]] const Version* version() const { return GetPointer<const Version*>(4); }
  bool Verify(flatbuffers::Verifier& verifier) const {
    return VerifyTableStart(verifier) && VerifyOffsetRequired(verifier, 4) && verifier.VerifyTable(version()) &&
           verifier.EndTable();
  }
};

std::unexpected<Diagnostics> damaged(const std::string& where) {
  return fail({.where = where, .what = "not a TOSA file, or damaged", .expected = "a FlatBuffer with identifier TOSA"});
}

}  // namespace

Result<ir::Module> read_tosa(const Buffer& file, const std::string& where) {
  const Buffer aligned =
      reinterpret_cast<uintptr_t>(file.data()) % alignof(uint64_t) == 0 ? file : Buffer::copy_of(file.bytes());
  const auto* bytes = reinterpret_cast<const uint8_t*>(aligned.data());
  // Data may stand behind the FlatBuffer itself, which must end below 2 GB.
  const size_t size = std::min<size_t>(aligned.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  if (size < 16) return damaged(where);
  flatbuffers::Verifier verifier(bytes, size);
  if (!verifier.VerifyBuffer<AnyGraph>("TOSA")) return damaged(where);
  const Version& version = *flatbuffers::GetRoot<AnyGraph>(bytes)->version();
  const int32_t major = version.part(0);
  const int32_t minor = version.part(1);
  if (major == 1 && (minor == 0 || minor == 1)) return read_1_x(aligned, where);
  return fail({.where = where,
               .what = "a version of TOSA that Carina does not read",
               .expected = "1.0 or 1.1-draft",
               .got = fmt::format("{}.{}.{}", major, minor, version.part(2))});
}

}  // namespace carina::tosa
