#pragma once

#include <cstddef>
#include <span>

#include <flatbuffers/flatbuffers.h>

#include "program_generated.h"

namespace carina::runtime {

namespace fb = carina::pte::schema;

// The root table of a file that Program::load() has verified.
const fb::Program& root_of(std::span<const std::byte> file);

// A vector of the file as a span. The verifier checks that it is in the file, not that its elements are aligned.
template <typename T>
std::span<const T> items_of(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? std::span<const T>()
                         : std::span<const T>(reinterpret_cast<const T*>(list->Data()), list->size());
}

template <typename T>
bool has_aligned_items(const flatbuffers::Vector<T>* list) {
  return list == nullptr || reinterpret_cast<uintptr_t>(list->Data()) % sizeof(T) == 0;
}

}  // namespace carina::runtime
