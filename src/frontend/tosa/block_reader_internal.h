#pragma once

#include <cstdint>
#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "frontend/tosa/reader_internal.h"
#include "ir/graph.h"
#include "tosa_generated.h"

// Reads one block of a TOSA file.
namespace carina::tosa {

inline std::string text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string() : text->str();
}

template <typename T>
uint32_t count_of(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? 0 : list->size();
}

// Reads one block of a file that passed is_sound() as a graph with this name. Errors: those of read_tosa().
Result<ir::Graph> read_block(const Buffer& file, const std::string& where, const fb::TosaBasicBlock& block,
                             FileForm form, std::string name);

}  // namespace carina::tosa
