#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facts/npu_enums.h"
#include "plan/network/network.h"
#include "plan/schedule/shared_list.h"

// The schedule of a network: all decisions about memory, stripes and order, as data that can be printed, parsed,
// verified, costed and dropped. docs/plan.md explains the terms. plan/verify/verify.h numbers the rules.
// plan/optimize/transformations.h lists the transformations that change a schedule.
namespace carina::plan {

using StripeId = Id<struct StripeTag>;
using SliceId = Id<struct SliceTag>;

// The memory spaces of a schedule. The family decides which of them a target has (Spaces).
enum class Space : uint8_t {
  kConstants,    // read-only, filled when the model is loaded
  kArena,        // working memory of the network
  kFastScratch,  // fast memory in addition to an arena in slow memory
  kTables,       // lookup tables inside the NPU
  kChaining,     // results that never leave the NPU
};
inline constexpr size_t kSpaces = 5;

// The addresses of kChaining: a buffer holds a whole result for the schedule, of which the NPU keeps a block at a time.
// Region 0 is the constants', so a stream that uses buffer 0 would look as if it wrote them.
inline constexpr int64_t kChainingSlotBytes = int64_t{1} << 32;
inline constexpr int64_t kFirstChainingSlot = 1;

// Bytes of one space that hold tensors or weights. Several tensors may share one storage.
struct Storage {
  Space space = Space::kArena;
  int64_t bytes = 0;
  int64_t rolling_rows = 0;  // rows kept at a time, for a tensor that is computed in stripes; 0: all rows
  int64_t address = -1;      // bytes from the start of the space; -1: not allocated
  bool operator==(const Storage&) const = default;
};

// The part of a step's OFM that one NPU operation computes.
struct OfmBox {
  int64_t y = 0;
  int64_t x = 0;
  int64_t c = 0;
  int64_t height = 1;
  int64_t width = 1;
  int64_t depth = 1;
  bool operator==(const OfmBox&) const = default;
};

// The block size of an operation. Sizes of 0 mean: not decided, or a transfer.
struct BlockConfig {
  int64_t height = 0;
  int64_t width = 0;
  int64_t depth = 0;
  npu::WeightOrder order = npu::WeightOrder::DEPTH_FIRST;
  npu::Microblock ublock = npu::Microblock::U1X1;  // for NPUs that have several
  npu::WeightSparsity sparsity = npu::WeightSparsity::NONE;
  npu::WeightFormat format = npu::WeightFormat::SWD;
  bool operator==(const BlockConfig&) const = default;
};

// One NPU operation.
struct Stripe {
  StepId step = {};
  OfmBox ofm = {};
  BlockConfig block = {};
  SliceId slice = {};           // its weights, if it has any
  StorageId staged_table = {};  // the copy of its table that a load for this stripe reads, if there is one
  bool operator==(const Stripe&) const = default;
};

// The bytes of a slice that one core reads.
struct CoreStream {
  int64_t scale_offset = 0;  // bytes from the start of the storage of the scales
  int64_t scale_bytes = 0;
  int64_t weight_offset = 0;  // bytes from the start of the storage of the weights
  int64_t weight_bytes = 0;
  bool operator==(const CoreStream&) const = default;
};

// The encoded weights and scales of some output channels. Equal bytes share one storage, so several slices may share
// their weights and have different scales.
struct WeightSlice {
  WeightsId weights = {};
  int64_t first_channel = 0;
  int64_t channels = 0;
  std::vector<CoreStream> cores = {};
  int64_t zeros_per_million = 0;  // of its weights, padding included: zeros are decoded faster
  StorageId stored = {};          // the weights, among the constants
  StorageId scales = {};          // the same storage, unless other slices use these weights with other scales
  StorageId staged = {};          // the copy of `stored` that the stripes read, if there is one
  StorageId staged_scales = {};   // the copy of `scales`, if they have their own storage
  bool operator==(const WeightSlice&) const = default;
};

// Steps that are computed stripe by stripe; each step passes its rows to the next.
struct Cascade {
  StepId first = {};
  StepId last = {};
  int64_t stripe_rows = 1;  // the most rows of each step's OFM; if it is 1, steps before the last may have two
  bool operator==(const Cascade&) const = default;
};

// One command of the stream: a stripe, or a transfer that prepares one. kLoadTable copies a table to a slot inside the
// NPU; the other loads copy parts of constants to fast memory.
struct Command {
  enum class Kind : uint8_t { kStripe, kLoadTable, kLoadWeights, kLoadScales, kStageTable } kind = Kind::kStripe;
  StripeId stripe = {};    // the stripe that is computed or prepared
  int slot = -1;           // of the lookup table: kLoadTable, and stripes that use one; -1: not decided, or none
  int64_t first_byte = 0;  // kLoadWeights, kLoadScales, kStageTable: the part of the storage that is copied
  int64_t bytes = 0;
  bool operator==(const Command&) const = default;
};

struct Schedule {
  std::vector<PlanTensor> tensors = {};
  std::vector<TensorId> inputs = {};  // in the graph's order
  std::vector<TensorId> outputs = {};
  SharedList<Step> steps = {};  // never changed by a transformation
  std::vector<Stripe> stripes = {};
  std::vector<WeightSlice> slices = {};
  std::vector<Storage> storages = {};
  std::vector<Cascade> cascades = {};
  std::vector<Command> order = {};

  [[nodiscard]] const PlanTensor& operator[](TensorId id) const { return tensors[id.index()]; }
  [[nodiscard]] const Step& operator[](StepId id) const { return steps[id.index()]; }
  [[nodiscard]] const Stripe& operator[](StripeId id) const { return stripes[id.index()]; }
  [[nodiscard]] const WeightSlice& operator[](SliceId id) const { return slices[id.index()]; }
  [[nodiscard]] const Storage& operator[](StorageId id) const { return storages[id.index()]; }
  [[nodiscard]] const Step& step_of(const Command& command) const { return (*this)[(*this)[command.stripe].step]; }
  // The slice of a command's stripe; nullptr if it has none.
  [[nodiscard]] const WeightSlice* slice_of(const Command& command) const;
  [[nodiscard]] int64_t address_of(TensorId id) const {
    return (*this)[(*this)[id].storage].address + (*this)[id].place_bytes;
  }
  [[nodiscard]] Space space_of(TensorId id) const { return (*this)[(*this)[id].storage].space; }
  StorageId add(Storage storage) {
    storages.push_back(storage);
    return StorageId(storages.size() - 1);
  }
  bool operator==(const Schedule&) const = default;
};

// The initial schedule, in which nothing is decided: one stripe per step, in the order of the steps. Every tensor that
// is read or written has its own storage in the arena. The schedule takes over the network's tensors and steps.
Schedule first_schedule(Network& network);

// Gives each storage of tensors the bytes that they take there.
void fit_storages(Schedule& schedule);

// The step of a stripe, reduced to that stripe: its feature maps, padding and channels. The result has no name.
Step subop_of(const Schedule& schedule, const Stripe& stripe);

// The same without a copy of a step that has one stripe: the step itself, which has its name. Otherwise in `part`.
const Step& subop_in(const Schedule& schedule, const Stripe& stripe, std::optional<Step>& part);

// The input range that outputs [start, start + size) read along one axis of a window, and how much of it is padding.
struct WindowAxis {
  int64_t stride = 1;
  int64_t extent = 1;
  int64_t before = 0;  // padding of the whole step
  int64_t inputs = 1;
};
struct WindowReach {
  int64_t first = 0;
  int64_t size = 1;
  int64_t before = 0;
  int64_t after = 0;
};
WindowReach reach_of(int64_t start, int64_t size, const WindowAxis& axis);

// Where a core reads a slice's scales and weights: in the copies, if there are any.
struct StreamRange {
  Space space = Space::kConstants;
  int64_t address = 0;
  int64_t bytes = 0;
};
StreamRange scales_of(const Schedule& schedule, const WeightSlice& slice, size_t core);
StreamRange weights_of(const Schedule& schedule, const WeightSlice& slice, size_t core);

// The source and the destination of a copy of weights, scales or a table to fast memory.
struct Copy {
  StorageId from = {};
  StorageId to = {};  // invalid: it is not staged
};
Copy copy_of(const Schedule& schedule, const Command& command);

// Where a load of a stripe's table reads it: the copy, if there is one.
StorageId table_source(const Schedule& schedule, const Stripe& stripe);

// The bytes of a space up to the end of its last allocated storage.
int64_t space_bytes(const Schedule& schedule, Space space);

}  // namespace carina::plan
