#include <executorch/runtime/platform/log.h>

#include "interop/executorch/glue_internal.h"
#include "interop/executorch/journal_internal.h"

namespace carina::interop {

Log to_official_log() {
  Log log;
  log.note = [](const Diagnostic& note) { ET_LOG(Info, "carina: %s", to_string(note).c_str()); };
  return log;
}

Converted converted(official::Span<official::EValue*> arguments) {
  Converted ours;
  ours.values.reserve(arguments.size());
  for (official::EValue* argument : arguments) {
    runtime::EValue value;
    if (argument->isTensor()) {
      auto& tensor = argument->toTensor();
      const auto sizes = tensor.sizes();
      const auto order = tensor.dim_order();
      value = runtime::EValue(runtime::Tensor(static_cast<PteScalarType>(tensor.scalar_type()),
                                              {sizes.data(), sizes.size()}, {order.data(), order.size()},
                                              tensor.mutable_data_ptr()));
    }
    ours.values.push_back(value);
  }
  for (runtime::EValue& value : ours.values) ours.pointers.push_back(&value);
  return ours;
}

official::Error failed(const Diagnostics& why, official::Error as) {
  const std::string text = to_string(why);
  ET_LOG(Error, "carina: %s", text.c_str());
  Journal::get().fail(text);
  return as;
}

bool registered(const char* name, official::BackendInterface& delegate) {
  const official::Error error = official::register_backend({name, &delegate});
  if (error != official::Error::Ok) ET_LOG(Error, "carina: %s is registered already", name);
  return error == official::Error::Ok;
}

}  // namespace carina::interop
