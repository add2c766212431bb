#pragma once

#include <nanobind/nanobind.h>

namespace carina::python {

// Each function adds a part of carina._native.
void bind_diagnostics(nanobind::module_& module);
void bind_models(nanobind::module_& module);
void bind_delegates(nanobind::module_& module);
void bind_programs(nanobind::module_& module);
void bind_inspection(nanobind::module_& module);
void bind_requests(nanobind::module_& module);
void bind_runs(nanobind::module_& module);
void bind_measures(nanobind::module_& module);
void bind_graphs(nanobind::module_& module);

}  // namespace carina::python
