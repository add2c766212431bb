#include "driver/backend.h"

#include "driver/ethosu_backend.h"

namespace carina::driver {

Result<Backend> find_backend(const TargetRequest& request) {
  CARINA_TRY(const plan::Target target, find_target(request));
  return ethosu_backend(target);
}

}  // namespace carina::driver
