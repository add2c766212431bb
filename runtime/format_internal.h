#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include <flatbuffers/flatbuffers.h>

#include "program_generated.h"
#include "runtime/program.h"

// Access to the FlatBuffer of a program, after Program::load() has verified it.
namespace carina::runtime {

namespace fb = carina::pte::schema;

// The root table of a file that Program::load() has verified, and one of the file's methods.
const fb::Program& root_of(std::span<const std::byte> file);

inline const fb::ExecutionPlan& plan_of(std::span<const std::byte> file, size_t method) {
  return *root_of(file).execution_plan()->Get(static_cast<flatbuffers::uoffset_t>(method));
}

// Reads a number at a byte offset, which the caller has checked.
template <typename T>
T load_at(std::span<const std::byte> bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// A vector of the file as a span. The verifier checks that the vector is inside of the file, but not the alignment of
// its elements.
template <typename T>
std::span<const T> items_of(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? std::span<const T>()
                         : std::span<const T>(reinterpret_cast<const T*>(list->Data()), list->size());
}

template <typename T>
bool has_aligned_items(const flatbuffers::Vector<T>* list) {
  return list == nullptr || list->size() == 0 || reinterpret_cast<uintptr_t>(list->Data()) % sizeof(T) == 0;
}

inline std::string_view text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

}  // namespace carina::runtime
