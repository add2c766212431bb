#include "backends/memory_map_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>

#include "plan/memory/live_ranges.h"

namespace carina::backends {

namespace {

constexpr std::array<std::string_view, plan::kSpaces> kSpaceNames{"constants", "arena", "fast scratch", "tables",
                                                                  "chaining"};

// The contents of a storage: the tensors, or the copied weights or table of a layer.
struct Contents {
  std::string names;
  std::string layer;
};

std::vector<Contents> contents_of(const plan::Schedule& schedule) {
  std::vector<Contents> contents(schedule.storages.size());
  const auto add = [&](plan::StorageId id, const std::string& name) {
    if (!id.valid()) return;
    std::string& text = contents[id.index()].names;
    text += (text.empty() ? "" : ", ") + name;
  };
  for (const plan::PlanTensor& tensor : schedule.tensors) add(tensor.storage, tensor.name);
  for (size_t i = 0; i < schedule.slices.size(); ++i) {
    add(schedule.slices[i].staged, fmt::format("weights w{}", i));
    add(schedule.slices[i].staged_scales, fmt::format("scales w{}", i));
  }
  for (const plan::Stripe& stripe : schedule.stripes) {
    if (const plan::StorageId copy = stripe.staged_table; copy.valid() && contents[copy.index()].names.empty())
      contents[copy.index()] = {.names = fmt::format("table t{}", schedule[stripe.step].activation.table.index()),
                                .layer = schedule[stripe.step].name};
    if (!stripe.slice.valid()) continue;
    for (const plan::StorageId staged : {schedule[stripe.slice].staged, schedule[stripe.slice].staged_scales})
      if (staged.valid()) contents[staged.index()].layer = schedule[stripe.step].name;
  }
  return contents;
}

}  // namespace

std::vector<results::HeldBytes> memory_map(const plan::Schedule& schedule) {
  const std::vector<plan::LiveRange> ranges = plan::live_ranges(schedule);
  const std::vector<Contents> contents = contents_of(schedule);
  std::vector<size_t> order;
  for (size_t i = 0; i < schedule.storages.size(); ++i) {
    if (ranges[i].used() && schedule.storages[i].space != plan::Space::kConstants) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](size_t i) { return std::tuple(ranges[i].first, ranges[i].last, i); });
  std::vector<results::HeldBytes> map;
  for (const size_t i : order) {
    const plan::Storage& storage = schedule.storages[i];
    map.push_back({.name = contents[i].names,
                   .layer = contents[i].layer,
                   .memory = std::string(kSpaceNames[static_cast<size_t>(storage.space)]),
                   .address_bytes = storage.address,
                   .bytes = storage.bytes,
                   .first_operation = ranges[i].first,
                   .last_operation = ranges[i].last});
  }
  return map;
}

}  // namespace carina::backends
