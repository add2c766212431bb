#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "carina/check.h"
#include "carina/result.h"
#include "module.h"

namespace carina::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

Fault fault_of(const std::string& word) {
  for (const Fault fault : {Fault::kInput, Fault::kUsage, Fault::kEnvironment, Fault::kInternal}) {
    if (word == name_of(fault)) return fault;
  }
  throw nb::value_error("fault: expected input, usage, environment or internal");
}

Severity severity_of(const std::string& word) {
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    if (word == carina::name_of(severity)) return severity;
  }
  throw nb::value_error("severity: expected error, warning or note");
}

}  // namespace

void bind_diagnostics(nb::module_& module) {
  nb::class_<Diagnostic>(module, "Diagnostic",
                         "A message: what is wrong, where, what was expected, what was found, and what to do. Parts "
                         "without content are empty.")
      .def(
          "__init__",
          [](Diagnostic* self, std::string where, std::string what, std::string expected, std::string got,
             std::string hint, const std::string& fault, const std::string& severity) {
            new (self) Diagnostic{.where = std::move(where),
                                  .what = std::move(what),
                                  .expected = std::move(expected),
                                  .got = std::move(got),
                                  .hint = std::move(hint),
                                  .fault = fault_of(fault),
                                  .severity = severity_of(severity)};
          },
          "where"_a, "what"_a, nb::kw_only(), "expected"_a = "", "got"_a = "", "hint"_a = "", "fault"_a = "input",
          "severity"_a = "error")
      .def_ro("where", &Diagnostic::where, "File, node, line of the model: \"model.pt2: conv_7 (model.py:41)\".")
      .def_ro("what", &Diagnostic::what)
      .def_ro("expected", &Diagnostic::expected)
      .def_ro("got", &Diagnostic::got)
      .def_ro("hint", &Diagnostic::hint)
      .def_ro("node", &Diagnostic::node, "Index of the node that the message is about, in the caller's graph.")
      .def_prop_ro(
          "fault", [](const Diagnostic& d) { return name_of(d.fault); },
          "The cause: \"input\", \"usage\", \"environment\" or \"internal\" (a mistake of Carina).")
      .def_prop_ro(
          "severity", [](const Diagnostic& d) { return name_of(d.severity); }, "\"error\", \"warning\" or \"note\".")
      .def("__str__", [](const Diagnostic& d) { return to_string(d); })
      .def("__repr__",
           [](const Diagnostic& d) { return "<" + std::string(name_of(d.severity)) + ": " + to_string(d) + ">"; });
}

}  // namespace carina::python
