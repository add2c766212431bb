// Takes the program of a .pt2 through the passes that rely on the reader's checks: normalization, for the NPU and for
// the CPU, and lowering to TOSA. Of a program that cannot be read as a whole, it takes the part that can be read, as
// the diagnosis of `carina explain` does. The mutator edits the JSON of the program, so that most inputs pass the
// parser.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "frontend/pt2/reader.h"
#include "fuzz/pt2_archive.h"
#include "lower/lower.h"
#include "normalize/core_aten.h"
#include "normalize/normalize.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace carina;
using Json = nlohmann::json;

void compile(const ir::Graph& graph) {
  ir::Graph npu = graph;
  if (normalize::normalize(npu, Log{})) {
    for (const bool takes_floats : {false, true}) {
      lower::Target target;
      target.takes_floats = takes_floats;
      (void)lower::to_tosa(npu, target, Log{});
    }
  }
  ir::Graph cpu = graph;
  if (normalize::normalize_for_cpu(cpu, {}, Log{})) (void)normalize::to_core_aten(cpu, Log{});
}

// All values of a document, in order.
void collect(Json& value, std::vector<Json*>& all) {
  all.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& inner : value) collect(inner, all);
}

Json a_number(std::minstd_rand& random) {
  constexpr int64_t kNumbers[] = {0, 1, -1, 2, 3, 7, 64, -2, 255, 1LL << 31, 1LL << 40, 1LL << 62, INT64_MIN};
  return kNumbers[random() % std::size(kNumbers)];
}

// Replaces a value by a number, by another value of the document, or changes the length of a list.
void edit(Json& document, std::minstd_rand& random) {
  std::vector<Json*> all;
  collect(document, all);
  Json& chosen = *all[random() % all.size()];
  const Json other = *all[random() % all.size()];
  if (chosen.is_number() && random() % 4 != 0) {
    chosen = a_number(random);
  } else if (chosen.is_array() && !chosen.empty() && random() % 2 == 0) {
    random() % 2 == 0 ? chosen.erase(chosen.size() - 1) : chosen.push_back(Json(chosen.front()));
  } else if (chosen.type() == other.type() && &chosen != &document) {
    chosen = other;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find('\0'), text.size());
  Json document = Json::parse(text.substr(0, end), nullptr, false);
  std::minstd_rand random(seed);
  if (document.is_discarded() || !document.is_object() || random() % 16 == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  for (unsigned edits = 1 + random() % 3; edits > 0; --edits) edit(document, random);
  std::string changed = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  changed += text.substr(end);
  if (changed.size() > max_size) return size;
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto archive = fuzz::archive_of({reinterpret_cast<const char*>(data), size});
  if (!archive) return 0;
  const pt2::Reading reading = pt2::read_model(Buffer::copy_of(*archive), "fuzz", {});
  compile(reading.graph ? *reading.graph : reading.readable);
  return 0;
}
