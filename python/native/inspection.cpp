#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "inspect/inspect.h"
#include "listeners.h"
#include "module.h"
#include "report/listing.h"

namespace carina::python {

using namespace nb::literals;

void bind_inspection(nb::module_& module) {
  module.def(
      "inspect",
      [](const std::string& path, NoteListener note) {
        return call({std::move(note), {}}, [&](const Log& log) {
          const Result<results::Listing> listing = inspect::inspect(path, log);
          if (!listing) return Result<std::string>(std::unexpected(listing.error()));
          return Result<std::string>(report::to_json(*listing));
        });
      },
      "path"_a, nb::kw_only(), "note"_a.none() = nb::none(), "`carina inspect --json`: what a file holds.");
}

}  // namespace carina::python
