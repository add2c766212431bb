#include "pte/etdump.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <iterator>

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

constexpr size_t kBufferAlignment = 64;  // of tensors, as in ExecuTorch's own files

// Appends the elements of a tensor to `bytes`.
Offset<fb::Tensor> write_tensor(FlatBufferBuilder& builder, const RecordedTensor& tensor,
                                std::vector<std::byte>& bytes) {
  bytes.resize((bytes.size() + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment);
  const auto offset = static_cast<int64_t>(bytes.size());
  bytes.insert(bytes.end(), tensor.elements.begin(), tensor.elements.end());
  std::vector<int64_t> strides(tensor.sizes.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * tensor.sizes[i];
  return fb::CreateTensorDirect(builder, static_cast<int8_t>(tensor.type), &tensor.sizes, &strides, offset);
}

Offset<fb::Event> write_value(FlatBufferBuilder& builder, const RecordedValue& value, std::vector<std::byte>& bytes) {
  std::vector<Offset<fb::Tensor>> tensors;
  for (const RecordedTensor& tensor : value.tensors) tensors.push_back(write_tensor(builder, tensor, bytes));
  const bool is_list = value.kind == RecordedValue::Kind::kTensorList;
  const Offset<fb::TensorList> list = is_list ? fb::CreateTensorListDirect(builder, &tensors) : 0;
  const Offset<fb::Tensor> tensor = is_list ? Offset<fb::Tensor>() : tensors.front();
  const Offset<fb::Bool> output = value.instruction < 0 ? fb::CreateBool(builder, true) : Offset<fb::Bool>();
  const auto type = is_list ? fb::ValueType::TensorList : fb::ValueType::Tensor;
  const auto entry = fb::CreateValue(builder, type, tensor, list, 0, 0, 0, 0, output);
  return fb::CreateEvent(builder, 0, 0, fb::CreateDebugEvent(builder, 0, value.instruction, entry));
}

Offset<fb::RunData> write_run(FlatBufferBuilder& builder, const RunRecord& run, std::vector<std::byte>& bytes) {
  const std::vector<Offset<fb::Allocator>> allocators;
  std::vector<Offset<fb::Event>> events;
  for (const ProfileEvent& event : run.events) events.push_back(write_event(builder, event));
  for (const RecordedValue& value : run.values) events.push_back(write_value(builder, value, bytes));
  return fb::CreateRunDataDirect(builder, run.name.c_str(), run.test_case, &allocators, &events);
}

}  // namespace

bool is_recordable(PteScalarType type) {
  constexpr PteScalarType kTypes[] = {
      PteScalarType::kByte, PteScalarType::kChar, PteScalarType::kBool,  PteScalarType::kUInt16, PteScalarType::kShort,
      PteScalarType::kHalf, PteScalarType::kInt,  PteScalarType::kFloat, PteScalarType::kDouble, PteScalarType::kLong};
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}

EtDump write_etdump(std::span<const RunRecord> runs) {
  EtDump dump;
  FlatBufferBuilder builder;
  builder.ForceDefaults(true);  // the Inspector requires every number to be present
  std::vector<Offset<fb::RunData>> tables;
  for (const RunRecord& run : runs) tables.push_back(write_run(builder, run, dump.debug_buffer));
  builder.FinishSizePrefixed(fb::CreateETDumpDirect(builder, kEtDumpVersion, &tables), kEtDumpIdentifier.data());
  const std::span<const std::byte> file = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  dump.record.assign(file.begin(), file.end());
  return dump;
}

}  // namespace carina::pte
