#include "pte/etdump.h"

#include <flatbuffers/flatbuffers.h>

#include "etdump_generated.h"
#include "facts/executorch.h"

namespace carina::pte {

namespace {

namespace fb = carina::etdump::schema;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<fb::Event> write_event(FlatBufferBuilder& builder, const ProfileEvent& event) {
  const auto name = builder.CreateString(event.name);
  Offset<flatbuffers::String> delegate_id;
  Offset<flatbuffers::Vector<uint8_t>> metadata;
  if (!event.delegate_id.empty()) delegate_id = builder.CreateString(event.delegate_id);
  if (!event.metadata.empty())
    metadata = builder.CreateVector(reinterpret_cast<const uint8_t*>(event.metadata.data()), event.metadata.size());
  const auto profile = fb::CreateProfileEvent(builder, name, 0, event.instruction, -1, delegate_id, metadata,
                                              event.start_ns, event.end_ns);
  return fb::CreateEvent(builder, profile);
}

Offset<fb::RunData> write_run(FlatBufferBuilder& builder, const RunRecord& run) {
  const std::vector<Offset<fb::Allocator>> allocators;
  std::vector<Offset<fb::Event>> events;
  for (const ProfileEvent& event : run.events) events.push_back(write_event(builder, event));
  return fb::CreateRunDataDirect(builder, run.name.c_str(), run.test_case, &allocators, &events);
}

}  // namespace

std::vector<std::byte> write_etdump(std::span<const RunRecord> runs) {
  FlatBufferBuilder builder;
  builder.ForceDefaults(true);  // the Inspector wants every number to be there
  std::vector<Offset<fb::RunData>> tables;
  for (const RunRecord& run : runs) tables.push_back(write_run(builder, run));
  builder.FinishSizePrefixed(fb::CreateETDumpDirect(builder, kEtDumpVersion, &tables), kEtDumpIdentifier.data());
  const std::span<const std::byte> file = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {file.begin(), file.end()};
}

}  // namespace carina::pte
