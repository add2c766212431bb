#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <utility>

#include "inspect/c_source.h"
#include "inspect/inspect.h"
#include "inspect/program_signature.h"
#include "listeners.h"
#include "module.h"
#include "report/render.h"
#include "report/stage_text.h"
#include "values.h"

namespace carina::python {

using namespace nb::literals;

namespace {

// The name, scale and zero point of an input or output.
using PortText = std::tuple<std::string, std::optional<double>, int64_t>;

std::vector<results::PortReport> ports_of(const std::vector<PortText>& texts) {
  std::vector<results::PortReport> ports;
  for (const auto& [name, scale, zero_point] : texts)
    ports.push_back({.name = name, .dtype = {}, .shape = {}, .scale = scale, .zero_point = zero_point});
  return ports;
}

}  // namespace

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
      "path"_a, nb::kw_only(), "note"_a.none() = nb::none(),
      "Returns the content of a file, as `carina inspect --json` prints it.");
  nb::class_<inspect::ProgramSignature>(module, "Signature",
                                        "The inputs and outputs of a program, and its accelerator.")
      .def_ro("inputs", &inspect::ProgramSignature::inputs)
      .def_ro("outputs", &inspect::ProgramSignature::outputs)
      .def_ro("methods", &inspect::ProgramSignature::methods, "The names of the program's methods.")
      .def_ro("method", &inspect::ProgramSignature::method, "The method with these inputs and outputs.")
      .def_ro("target", &inspect::ProgramSignature::target, "The name of an NPU, \"vgf\", \"tosa\" or \"\".");
  module.def(
      "signature",
      [](const nb::bytes& pte, const std::string& name, const std::string& method) {
        const Buffer file = buffer_of(pte);
        return call({}, [&](const Log&) { return inspect::signature_of(file, name, method); });
      },
      "pte"_a, "name"_a = "program", "method"_a = "",
      "Returns the inputs, outputs and accelerator of a .pte or .bpte. `name` appears in messages. `method`: \"\" is "
      "forward, or the first one.");
  module.def(
      "c_source",
      [](const nb::bytes& pte, const std::string& name, const std::vector<PortText>& inputs,
         const std::vector<PortText>& outputs, bool with_source) {
        const Buffer file = buffer_of(pte);
        const auto files = with_source ? inspect::CFiles::kHeaderAndSource : inspect::CFiles::kHeaderOnly;
        const inspect::CSource made = call({}, [&](const Log&) {
          return inspect::c_source(file, inspect::c_identifier(name), ports_of(inputs), ports_of(outputs), files);
        });
        return std::pair(made.header, made.source);
      },
      "pte"_a, "name"_a, "inputs"_a, "outputs"_a, nb::kw_only(), "with_source"_a = false,
      "`carina compile -o model.h`: header and source of the program as a C array. Ports: name, scale or None, zero "
      "point.");
  module.def("stage_text", report::stage_text, "step"_a, "done"_a, "total"_a,
             "Returns the text of a step of progress: \"calibrating 12/200\".");
}

}  // namespace carina::python
