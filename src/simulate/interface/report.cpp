#include "simulate/interface/report.h"

namespace carina::simulate {

std::string_view name_of(MemoryKind memory) {
  constexpr std::array<std::string_view, kMemoryKinds> kNames{"Sram", "Dram", "OnChipFlash", "OffChipFlash",
                                                              "Internal"};
  return kNames[static_cast<size_t>(memory)];
}

Traffic& Traffic::operator+=(const Traffic& other) {
  feature_map_read_bytes += other.feature_map_read_bytes;
  feature_map_write_bytes += other.feature_map_write_bytes;
  weight_read_bytes += other.weight_read_bytes;
  weight_write_bytes += other.weight_write_bytes;
  command_read_bytes += other.command_read_bytes;
  return *this;
}

Cycles& Cycles::operator+=(const Cycles& other) {
  mac += other.mac;
  weight_decode += other.weight_decode;
  output += other.output;
  npu += other.npu;
  issue += other.issue;
  dma += other.dma;
  exposed_dma += other.exposed_dma;
  for (size_t m = 0; m < access.size(); ++m) access[m] += other.access[m];
  total += other.total;
  return *this;
}

}  // namespace carina::simulate
