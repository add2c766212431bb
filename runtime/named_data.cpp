#include "runtime/named_data.h"

#include <flatbuffers/flatbuffers.h>

#include <cstring>

#include "flat_tensor_generated.h"
#include "runtime/format_internal.h"

namespace carina::runtime {

namespace {

namespace ptd = carina::ptd::schema;

const ptd::FlatTensor& data_of(std::span<const std::byte> file) {
  return *ptd::GetFlatTensor(file.data());
}

// Reads the header after the identifier. `segments` becomes the part of the file that contains the segments.
Error read_header(std::span<const std::byte> file, size_t& flatbuffer_bytes, std::span<const std::byte>& segments) {
  if (file.size() < 8 + kPtdHeaderBytes || std::memcmp(file.data() + 8, kPtdHeaderMagic.data(), 4) != 0)
    return Error::kInvalidProgram;
  const auto header_bytes = load_at<uint32_t>(file, 12);
  const auto before = load_at<uint64_t>(file, 16);
  const auto flatbuffer = load_at<uint64_t>(file, 24);
  const auto base = load_at<uint64_t>(file, 32);
  const auto bytes = load_at<uint64_t>(file, 40);
  if (header_bytes < kPtdHeaderBytes || before > file.size() || flatbuffer > file.size() - before)
    return Error::kInvalidProgram;
  if (base > file.size() || bytes > file.size() - base) return Error::kInvalidProgram;
  flatbuffer_bytes = static_cast<size_t>(before + flatbuffer);
  segments = file.subspan(static_cast<size_t>(base), static_cast<size_t>(bytes));
  return Error::kOk;
}

bool is_inside(const ptd::DataSegment& segment, size_t bytes) {
  return segment.offset() <= bytes && segment.size() <= bytes - segment.offset();
}

Error check_entry(const ptd::NamedData& entry, const ptd::FlatTensor& root, size_t segment_bytes) {
  const auto* segments = root.segments();
  if (entry.key() == nullptr || segments == nullptr || entry.segment_index() >= segments->size())
    return Error::kInvalidProgram;
  if (!is_inside(*segments->Get(entry.segment_index()), segment_bytes)) return Error::kInvalidProgram;
  const ptd::TensorLayout* layout = entry.tensor_layout();
  return layout == nullptr || has_aligned_items(layout->sizes()) ? Error::kOk : Error::kInvalidProgram;
}

}  // namespace

Error NamedData::load(std::span<const std::byte> file) {
  *this = NamedData();
  if (reinterpret_cast<uintptr_t>(file.data()) % 16 != 0) return Error::kInvalidArgument;
  if (file.size() < 8 || std::memcmp(file.data() + 4, kPtdIdentifier.data(), 4) != 0) return Error::kInvalidProgram;
  size_t flatbuffer_bytes = 0;
  std::span<const std::byte> segments;
  CARINA_RT_TRY(read_header(file, flatbuffer_bytes, segments));
  if (flatbuffer_bytes >= FLATBUFFERS_MAX_BUFFER_SIZE) return Error::kInvalidProgram;
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(file.data()), flatbuffer_bytes, 16, 10'000'000);
  if (!ptd::VerifyFlatTensorBuffer(verifier)) return Error::kInvalidProgram;
  const ptd::FlatTensor& root = data_of(file);
  if (root.version() != 0) return Error::kInvalidProgram;
  if (root.named_data() != nullptr) {
    for (const ptd::NamedData* entry : *root.named_data()) CARINA_RT_TRY(check_entry(*entry, root, segments.size()));
  }
  file_ = file;
  segments_ = segments;
  return Error::kOk;
}

size_t NamedData::entries() const {
  const auto* list = file_.empty() ? nullptr : data_of(file_).named_data();
  return list == nullptr ? 0 : list->size();
}

NamedData::Entry NamedData::entry(size_t index) const {
  const ptd::FlatTensor& root = data_of(file_);
  const ptd::NamedData& source = *root.named_data()->Get(static_cast<flatbuffers::uoffset_t>(index));
  const ptd::DataSegment& segment = *root.segments()->Get(source.segment_index());
  Entry entry{.name = text_of(source.key()),
              .bytes = segments_.subspan(static_cast<size_t>(segment.offset()), static_cast<size_t>(segment.size()))};
  if (const ptd::TensorLayout* layout = source.tensor_layout()) {
    entry.is_tensor = true;
    entry.type = static_cast<PteScalarType>(layout->scalar_type());
    entry.sizes = items_of(layout->sizes());
    entry.dim_order = items_of(layout->dim_order());
  }
  return entry;
}

bool NamedData::find(std::string_view name, Entry& entry) const {
  for (size_t i = 0; i < entries(); ++i) {
    entry = this->entry(i);
    if (entry.name == name) return true;
  }
  return false;
}

}  // namespace carina::runtime
