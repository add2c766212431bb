#include "driver/target.h"

namespace carina::driver {

Result<plan::Target> find_target(const TargetRequest& request) {
  return plan::find_target(request.accelerator, request.system_config, request.memory_mode);
}

}  // namespace carina::driver
