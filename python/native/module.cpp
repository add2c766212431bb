#include "module.h"

NB_MODULE(_native, module) {
  module.doc() =
      "Carina's library: include/carina/api.h as it is. Calls give bytes, NumPy arrays and values of the classes here; "
      "they let go of the "
      "GIL, may run at the same time, and raise the exceptions of carina.errors.";
  module.attr("__version__") = CARINA_VERSION;
  carina::python::bind_diagnostics(module);
  carina::python::bind_models(module);
  carina::python::bind_delegates(module);
  carina::python::bind_programs(module);
  carina::python::bind_requests(module);
  carina::python::bind_runs(module);
  carina::python::bind_inspection(module);
  carina::python::bind_measures(module);
  carina::python::bind_graphs(module);
}
