// The NPU of an image whose simulator runs on the host. `carina qemu` shares the memory of the image and answers
// requests.
#include "firmware/board/console.h"
#include "firmware/corstone300/semihosting.h"
#include "firmware/driver/npu.h"

namespace carina::firmware {

namespace {

// The request pipe and the response pipe, which are opened at the first request.
struct Channel {
  int32_t request = -1;
  int32_t reply = -1;
  bool open() {
    if (reply >= 0) return true;
    request = semihosting::open(kNpuRequestFile, semihosting::Mode::kWrite);
    reply = request < 0 ? -1 : semihosting::open(kNpuReplyFile, semihosting::Mode::kRead);
    return reply >= 0;
  }
};
Channel channel;
NpuReply reply;

bool ask(const NpuRequest& request) {
  if (!channel.open() || !semihosting::write(channel.request, std::as_bytes(std::span(&request, 1))) ||
      !semihosting::read(channel.reply, std::as_writable_bytes(std::span(&reply, 1))) || reply.magic != kNpuMagic) {
    error().text("ethosu: no NPU: this image takes the host's simulator, which `carina qemu` runs beside it");
    return false;
  }
  if (reply.status == 0) return true;
  reply.message.back() = '\0';
  error().text("ethosu: ").text(reply.message.data());
  return false;
}

}  // namespace

bool identify_npu(NpuWords& words) {
  if (!ask({})) return false;
  words = {.config = reply.config_word, .id = reply.id_word};
  return true;
}

bool run_npu(const NpuJob& job, NpuFigures& figures) {
  NpuRequest request{.payload_address = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(job.payload.data())),
                     .payload_bytes = static_cast<uint32_t>(job.payload.size()),
                     .region_address = {},
                     .region_bytes = {},
                     .events = job.events};
  for (size_t i = 0; i < kNpuRegions; ++i) {
    request.region_address[i] = reinterpret_cast<uintptr_t>(job.regions[i].data());
    request.region_bytes[i] = job.regions[i].size();
  }
  if (!ask(request)) return false;
  figures = {.cycles = reply.cycles, .counts = reply.counts};
  return true;
}

}  // namespace carina::firmware
