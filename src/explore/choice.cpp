#include <optional>

#include "base/guarded.h"
#include "driver/compile_options.h"
#include "explore/choice_internal.h"

namespace carina::explore {

Result<driver::CompileRequest> plain_request(const driver::CompileRequest& given) {
  CARINA_TRY(driver::CompileRequest request, driver::with_flags(given, {}));
  request.layers = false;
  request.dump_folder.clear();
  request.shown.clear();
  request.output = driver::CompileRequest::Output::kProgram;
  request.threads = 1;
  return request;
}

Result<results::CompileReport> compile_choice(const Choice& choice, const driver::PreparedModel& model) {
  return guarded([&]() -> Result<results::CompileReport> {
    CARINA_TRY(const backends::Backend backend, backends::find_backend(choice.request.target));
    std::optional<driver::PreparedModel> own;
    if (choice.quantizes_anew) {
      CARINA_TRY(own, driver::prepare(choice.request, backend, {}));
    }
    driver::CompileRequest request = choice.request;
    request.check = options::Check::kOff;  // the program is thrown away
    driver::Compilation compilation = driver::compile_prepared(own ? *own : model, request, backend, {});
    if (!compilation.errors.empty()) return fail(std::move(compilation.errors));
    return driver::compile_report(compilation, backend, driver::delegate_options_of(request));
  });
}

}  // namespace carina::explore
