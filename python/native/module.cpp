#include "module.h"

#include <cstdint>
#include <ctime>

// A module for another processor is compiled with the headers of this machine's Python. What they use of its pyconfig.h
// are sizes, such as these, and facts about the system.
static_assert(sizeof(int) == SIZEOF_INT && sizeof(long) == SIZEOF_LONG && sizeof(long long) == SIZEOF_LONG_LONG &&
              sizeof(size_t) == SIZEOF_SIZE_T && sizeof(void*) == SIZEOF_VOID_P &&
              sizeof(uintptr_t) == SIZEOF_UINTPTR_T && sizeof(wchar_t) == SIZEOF_WCHAR_T &&
              sizeof(bool) == SIZEOF__BOOL && sizeof(time_t) == SIZEOF_TIME_T);

NB_MODULE(_native, module) {
  module.doc() =
      "The functions of include/carina/api.h. They return bytes, NumPy arrays and objects of the classes below. They "
      "release the GIL, may run at the same time, and raise the exceptions of carina.errors.";
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
