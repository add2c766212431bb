// The NPU of an image that contains the simulator. The header of the model says which NPU it is.
#include "facts/npu_accelerators.h"
#include "firmware/board/console.h"
#include "firmware/driver/npu.h"
#include "firmware/driver/payload.h"
#include "firmware/npu/core.h"

extern "C" {  // symbols of the linker script
extern const std::byte __model_start[];
extern int16_t __npu_workspace_start[];
extern std::byte __npu_workspace_bytes[];
}

namespace carina::firmware {

namespace {

npu_core::Workspace workspace;

// An NpuCore whose size is set by the linker.
struct CoreRecord {
  std::array<char, 16> magic;
  const std::byte* workspace_bytes;
};
static_assert(sizeof(void*) != sizeof(uint32_t) || sizeof(CoreRecord) == sizeof(NpuCore));
[[gnu::section(".carina_slot"), gnu::used]] const CoreRecord core_record{.magic = kNpuCoreMagic,
                                                                         .workspace_bytes = __npu_workspace_bytes};

const npu::AcceleratorConfig* accelerator() {
  const auto& header = *reinterpret_cast<const ModelHeader*>(__model_start);
  return npu::find_accelerator_of_word(header.npu_config_word);
}

}  // namespace

bool identify_npu(NpuWords& words) {
  const npu::AcceleratorConfig* found = accelerator();
  if (found == nullptr || found->product != npu_core::kProduct) {
    error().text(
        "ethosu: the simulator in this image is of another NPU family than the program's; `carina firmware --image "
        "corstone300-host` takes the host's");
    return false;
  }
  info().text("the NPU is a simulator in the image: it has no cycles and counts no events");
  words = {.config = found->config_word, .id = found->id_word};
  return true;
}

bool run_npu(const NpuJob& job, NpuFigures& figures) {
  DriverPayload payload;
  if (!read_payload(job.payload, payload)) return false;
  figures = {};  // this simulator has no cycle model
  workspace.weights = {__npu_workspace_start, reinterpret_cast<uintptr_t>(__npu_workspace_bytes) / sizeof(int16_t)};
  return npu_core::Core(*accelerator(), job.regions, workspace).run(payload.stream);
}

}  // namespace carina::firmware
