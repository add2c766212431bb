#include <executorch/runtime/platform/log.h>

#include "interop/executorch/glue_internal.h"
#include "interop/executorch/journal_internal.h"

namespace carina::interop {

Log to_official_log() {
  Log log;
  log.note = [](const Diagnostic& note) { ET_LOG(Info, "carina: %s", to_string(note).c_str()); };
  return log;
}

namespace {

runtime::EValue converted(const official::EValue& value) {
  switch (value.tag) {
    case official::Tag::Int:
      return runtime::EValue(value.toInt());
    case official::Tag::Double:
      return runtime::EValue(value.toDouble());
    case official::Tag::Bool:
      return runtime::EValue(value.toBool());
    case official::Tag::ListInt: {
      const auto list = value.toIntList();
      return runtime::EValue(std::span<const int64_t>(list.data(), list.size()));
    }
    case official::Tag::Tensor: {
      const auto& tensor = value.toTensor();
      const auto sizes = tensor.sizes();
      const auto order = tensor.dim_order();
      return runtime::EValue(runtime::Tensor(static_cast<PteScalarType>(tensor.scalar_type()),
                                             {sizes.data(), sizes.size()}, {order.data(), order.size()},
                                             tensor.mutable_data_ptr()));
    }
    default:
      return {};
  }
}

}  // namespace

Converted converted(official::Span<official::EValue*> arguments) {
  Converted ours;
  ours.values.reserve(arguments.size());
  for (official::EValue* argument : arguments) {
    ours.values.push_back(converted(*argument));
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
