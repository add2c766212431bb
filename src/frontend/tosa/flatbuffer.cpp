#include "frontend/tosa/flatbuffer.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/tosa/reader_internal.h"

namespace carina::tosa {

namespace {

struct Version : private flatbuffers::Table {
  [[nodiscard]] int32_t part(int slot) const {
    return GetField<int32_t>(static_cast<flatbuffers::voffset_t>(4 + 2 * slot), -1);
  }
  [[nodiscard]] std::string text() const {
    const bool draft = GetField<uint8_t>(10, 1) != 0;
    return fmt::format("{}.{}.{}{}", part(0), part(1), part(2), draft ? "-draft" : "");
  }
  bool Verify(flatbuffers::Verifier& verifier) const {
    return VerifyTableStart(verifier) && VerifyField<int32_t>(verifier, 4, 4) && VerifyField<int32_t>(verifier, 6, 4) &&
           VerifyField<int32_t>(verifier, 8, 4) && VerifyField<uint8_t>(verifier, 10, 1) && verifier.EndTable();
  }
};

// The part of the root table that is the same in all versions of the format. It contains the version, which decides how
// the rest is read.
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

// Finds the version table in a file whose first tables are sound. `file` is aligned for a FlatBuffer.
Result<const Version*> find_version(const Buffer& file, const std::string& where) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  // Data may follow the FlatBuffer, which itself must be smaller than 2 GB.
  const size_t size = std::min<size_t>(file.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  if (size < 16) return damaged(where);
  flatbuffers::Verifier verifier(bytes, size);
  if (!verifier.VerifyBuffer<AnyGraph>("TOSA")) return damaged(where);
  return flatbuffers::GetRoot<AnyGraph>(bytes)->version();
}

Buffer aligned(const Buffer& file) {
  return reinterpret_cast<uintptr_t>(file.data()) % alignof(uint64_t) == 0 ? file : Buffer::copy_of(file.bytes());
}

}  // namespace

Result<ir::Module> read_tosa(const Buffer& file, const std::string& where) {
  const Buffer bytes = aligned(file);
  CARINA_TRY(const Version* version, find_version(bytes, where));
  const int32_t major = version->part(0);
  const int32_t minor = version->part(1);
  if (major == 1 && (minor == 0 || minor == 1)) return read_regions(bytes, where, FileForm::k1_x);
  if (major == 0 && minor == 80) return read_regions(bytes, where, FileForm::k0_80);
  return fail({.where = where,
               .what = "a version of TOSA that Carina does not read",
               .expected = "1.0, 1.1-draft or 0.80",
               .got = version->text()});
}

Result<std::string> version_of(const Buffer& file, const std::string& where) {
  const Buffer bytes = aligned(file);
  CARINA_TRY(const Version* version, find_version(bytes, where));
  return version->text();
}

}  // namespace carina::tosa
