#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "npu/compiled_network.h"

namespace carina::driver {

// A delegate's layer notes travel in its compile specs under this key, so that a run of the .pte can name what it
// measures. ExecuTorch's runtime takes no notice of it.
inline constexpr std::string_view kLayerNamesSpec = "carina_layers";

// One line per note: "first_word end_word name".
std::vector<uint8_t> layer_names_text(const std::vector<npu::LayerNote>& layers);

// The notes of such a text; lines that are not of this form are passed over.
std::vector<npu::LayerNote> layer_notes_of(std::string_view text);

}  // namespace carina::driver
