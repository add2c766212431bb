#include "runtime/program.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstring>

#include "facts/executorch.h"
#include "program_generated.h"
#include "runtime/format_internal.h"

namespace carina::runtime {

const fb::Program& root_of(std::span<const std::byte> file) {
  return *fb::GetProgram(file.data());
}

Error Program::load(std::span<const std::byte> file, Verification verification) {
  file_ = file;
  if (reinterpret_cast<uintptr_t>(file.data()) % 16 != 0) return Error::kInvalidArgument;
  if (file.size() < 8 || std::memcmp(file.data() + 4, kPteIdentifier.data(), 4) != 0) return Error::kInvalidProgram;
  program_bytes_ = file.size();
  segment_base_ = 0;
  segment_bytes_ = 0;
  const bool has_header = file.size() >= 8 + kPteExtendedHeaderBytes &&
                          std::memcmp(file.data() + 8, kPteExtendedHeaderMagic.data(), 4) == 0;
  if (has_header) {
    const auto header_bytes = load_at<uint32_t>(file, 12);
    const auto program_bytes = load_at<uint64_t>(file, 16);
    const auto base = load_at<uint64_t>(file, 24);
    if (header_bytes < 24 || program_bytes > file.size() || base > file.size()) return Error::kInvalidProgram;
    const uint64_t rest = file.size() - base;
    const uint64_t bytes = header_bytes >= kPteExtendedHeaderBytes ? load_at<uint64_t>(file, 32) : rest;
    if (bytes > rest) return Error::kInvalidProgram;
    program_bytes_ = static_cast<size_t>(program_bytes);
    segment_base_ = static_cast<size_t>(base);
    segment_bytes_ = static_cast<size_t>(bytes);
  }
  if (program_bytes_ >= FLATBUFFERS_MAX_BUFFER_SIZE) return Error::kInvalidProgram;
  if (verification == Verification::kInternalConsistency) {
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(file.data()), program_bytes_, 16, 10'000'000);
    if (!fb::VerifyProgramBuffer(verifier)) return Error::kInvalidProgram;
  }
  const fb::Program& root = root_of(file);
  if (root.version() != 0 || root.execution_plan() == nullptr) return Error::kInvalidProgram;
  if (root.constant_segment() != nullptr && !has_aligned_items(root.constant_segment()->offsets()))
    return Error::kInvalidProgram;
  if (root.mutable_data_segments() != nullptr) {
    for (const fb::SubsegmentOffsets* table : *root.mutable_data_segments()) {
      if (!has_aligned_items(table->offsets())) return Error::kInvalidProgram;
    }
  }
  for (const fb::ExecutionPlan* plan : *root.execution_plan()) {
    if (!has_aligned_items(plan->non_const_buffer_sizes())) return Error::kInvalidProgram;
  }
  // Segments without a header have no position.
  if (segment_base_ == 0 && root.segments() != nullptr) {
    for (const fb::DataSegment* entry : *root.segments()) {
      if (entry->size() > 0) return Error::kInvalidProgram;
    }
  }
  return Error::kOk;
}

size_t Program::methods() const {
  return root_of(file_).execution_plan()->size();
}

std::string_view Program::method_name(size_t method) const {
  return text_of(plan_of(file_, method).name());
}

size_t Program::planned_buffers(size_t method) const {
  const auto* sizes = plan_of(file_, method).non_const_buffer_sizes();
  return sizes == nullptr || sizes->size() == 0 ? 0 : sizes->size() - 1;  // entry 0 is not used
}

size_t Program::planned_buffer_bytes(size_t method, size_t buffer) const {
  const auto* sizes = plan_of(file_, method).non_const_buffer_sizes();
  const int64_t bytes = sizes->Get(static_cast<flatbuffers::uoffset_t>(buffer + 1));
  if (bytes < 0) return 0;
  return static_cast<size_t>(std::min<uint64_t>(static_cast<uint64_t>(bytes), SIZE_MAX));  // no memory has that much
}

bool Program::segment(uint32_t index, std::span<const std::byte>& bytes) const {
  const auto* segments = root_of(file_).segments();
  if (segments == nullptr || index >= segments->size()) return false;
  const uint64_t offset = segments->Get(index)->offset();
  const uint64_t size = segments->Get(index)->size();
  if (offset > segment_bytes_ || size > segment_bytes_ - offset) return false;
  bytes = file_.subspan(segment_base_ + static_cast<size_t>(offset), static_cast<size_t>(size));
  return true;
}

bool Program::blob(const fb::BackendDelegate& delegate, std::span<const std::byte>& bytes) const {
  const fb::BackendDelegateDataReference* reference = delegate.processed();
  if (reference == nullptr) return false;
  if (reference->location() == kPteSegmentLocation) return segment(reference->index(), bytes);
  const auto* all = root_of(file_).backend_delegate_data();
  if (all == nullptr || reference->index() >= all->size()) return false;
  bytes = std::as_bytes(items_of(all->Get(reference->index())->data()));
  return true;
}

bool Program::entry(const fb::SubsegmentOffsets* table, uint32_t index, size_t bytes, const std::byte*& data) const {
  std::span<const std::byte> all;
  if (table == nullptr || table->offsets() == nullptr || index >= table->offsets()->size() ||
      !segment(table->segment_index(), all))
    return false;
  const uint64_t offset = table->offsets()->Get(index);
  if (offset > all.size() || bytes > all.size() - offset) return false;
  data = all.data() + offset;
  return true;
}

bool Program::constant(uint32_t index, size_t bytes, const std::byte*& data) const {
  return entry(root_of(file_).constant_segment(), index, bytes, data);
}

bool Program::initial_value(uint64_t table, uint32_t index, size_t bytes, const std::byte*& data) const {
  const auto* tables = root_of(file_).mutable_data_segments();
  return tables != nullptr && table < tables->size() &&
         entry(tables->Get(static_cast<flatbuffers::uoffset_t>(table)), index, bytes, data);
}

}  // namespace carina::runtime
