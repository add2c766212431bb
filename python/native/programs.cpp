#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "carina/api.h"
#include "driver/compile.h"
#include "enum_names.h"
#include "listeners.h"
#include "module.h"
#include "report/render.h"
#include "values.h"

namespace carina::python {

using namespace nb::literals;

namespace {

void bind_reports(nb::module_& module) {
  nb::class_<results::CompileReport>(module, "CompileReport",
                                     "The report of a compilation, as `carina compile` and `explain` print it.")
      .def(
          "to_json", [](const results::CompileReport& report) { return report::to_json(report); },
          "The report as `carina compile --json` prints it.")
      .def(
          "to_text",
          [](const results::CompileReport& report, bool nodes) {
            return report::to_text(report, nodes ? report::Detail::kNodes : report::Detail::kSummary);
          },
          nb::kw_only(), "nodes"_a = false,
          "The report as `carina compile` prints it, or with `nodes`, as `carina explain` does.")
      .def(
          "to_html",
          [](const results::CompileReport& report) { return report::to_html(report, report::CompilePage::kCompile); },
          "The report as an HTML page, as `carina compile --report` writes it.")
      .def_ro("errors", &results::CompileReport::errors, "Why the model cannot be compiled.");
}

}  // namespace

void bind_programs(nb::module_& module) {
  bind_reports(module);
  nb::class_<driver::Compiled>(module, "Compiled", "A compiled program and its report.")
      .def_prop_ro(
          "program", [](const driver::Compiled& compiled) { return bytes_of(compiled.program); },
          "The bytes of the .pte, .npz or .vgf. Each access copies them.")
      .def_ro("report", &driver::Compiled::report);
  module.def(
      "package_tosa",
      [](const nb::bytes& tosa, const api::TargetNames& target, int threads, const std::string& optimize,
         NoteListener note, ProgressListener progress) {
        api::DelegateOptions options;
        options.threads = threads;
        options.optimize = enum_of<backends::Optimize>(optimize, "optimize");
        const Buffer file = buffer_of(tosa);
        return call({std::move(note), std::move(progress)}, [&](const Log& log) -> Result<driver::Compiled> {
          CARINA_TRY(api::Program program, api::package_tosa(file.bytes(), target, options, log));
          return driver::Compiled{.program = std::move(program.pte), .report = std::move(program.report)};
        });
      },
      "tosa"_a, "target"_a, nb::kw_only(), "threads"_a = 1, "optimize"_a = "speed", CARINA_LISTENERS,
      "Returns a program that is one call of one delegate, whose inputs and outputs are those of the delegate.");
}

}  // namespace carina::python
