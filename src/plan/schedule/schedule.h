#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facts/npu_enums.h"
#include "plan/network/network.h"
#include "plan/schedule/shared_list.h"

// The schedule of a network: every decision about where, in which stripes and in which order it is computed, as data that
// can be printed, parsed, verified, costed and dropped. docs/plan.md says what it means; plan/verify/verify.h numbers
// its rules; plan/optimize/transformations.h is the list of what changes it.
namespace carina::plan {

using StripeId = Id<struct StripeTag>;
using SliceId = Id<struct SliceTag>;

// Memories as a schedule knows them; which of them a target has is its family's (Spaces).
enum class Space : uint8_t {
  kConstants,    // read-only, filled when the model is loaded
  kArena,        // working memory of the network
  kFastScratch,  // fast memory beside an arena that lies in slow memory
  kTables,       // lookup tables inside the NPU
  kChaining,     // results that never leave the NPU
};
inline constexpr size_t kSpaces = 5;

// Bytes of one space that tensors or weights stand in. Several tensors may share one.
struct Storage {
  Space space = Space::kArena;
  int64_t bytes = 0;
  int64_t rolling_rows = 0;  // that exist at a time, of a tensor that is made and read in stripes; 0: all
  int64_t address = -1;      // bytes from the space's start, once placed
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

// The blocks in which an operation is computed. Sizes of 0: not decided, or a transfer.
struct BlockConfig {
  int64_t height = 0;
  int64_t width = 0;
  int64_t depth = 0;
  npu::WeightOrder order = npu::WeightOrder::DEPTH_FIRST;
  npu::Microblock ublock = npu::Microblock::U1X1;  // where the NPU has several
  bool operator==(const BlockConfig&) const = default;
};

// One NPU operation.
struct Stripe {
  StepId step = {};
  OfmBox ofm = {};
  BlockConfig block = {};
  SliceId slice = {};  // its weights, if it has any
  bool operator==(const Stripe&) const = default;
};

// What one core reads of a slice.
struct CoreStream {
  int64_t scale_offset = 0;  // bytes from the start of the scales' storage
  int64_t scale_bytes = 0;
  int64_t weight_offset = 0;  // of the weights'
  int64_t weight_bytes = 0;
  bool operator==(const CoreStream&) const = default;
};

// Encoded weights and scales of some output channels. Equal bytes stand in one storage: slices may share their weights
// and have scales of their own.
struct WeightSlice {
  WeightsId weights = {};
  int64_t first_channel = 0;
  int64_t channels = 0;
  std::vector<CoreStream> cores = {};
  StorageId stored = {};         // the weights, among the constants
  StorageId scales = {};         // the same storage, unless other slices read these weights with other scales
  StorageId staged = {};         // where the bytes of `stored` are copied to before they are read, if they are
  StorageId staged_scales = {};  // the same for `scales`, where they have a storage of their own
  bool operator==(const WeightSlice&) const = default;
};

// Steps that are computed stripe by stripe, each handing its rows to the next.
struct Cascade {
  StepId first = {};
  StepId last = {};
  int64_t stripe_rows = 1;  // of each step's OFM at most; two of those in front of the last where it is 1
  bool operator==(const Cascade&) const = default;
};

// What the command stream does next: a stripe, or a transfer that prepares one.
struct Command {
  enum class Kind : uint8_t { kStripe, kLoadTable, kLoadWeights, kLoadScales } kind = Kind::kStripe;
  StripeId stripe = {};    // that is done or prepared
  int slot = -1;           // of the lookup table: kLoadTable, and stripes that use one; -1: not decided, or none
  int64_t first_byte = 0;  // kLoadWeights, kLoadScales: which part of the storage is copied
  int64_t bytes = 0;
  bool operator==(const Command&) const = default;
};

struct Schedule {
  std::vector<PlanTensor> tensors = {};
  std::vector<TensorId> inputs = {};  // in the graph's order
  std::vector<TensorId> outputs = {};
  SharedList<Step> steps = {};  // no transformation changes them
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
  // The slice of a command's stripe; nullptr when it has none.
  [[nodiscard]] const WeightSlice* slice_of(const Command& command) const;
  [[nodiscard]] int64_t address_of(TensorId id) const { return (*this)[(*this)[id].storage].address; }
  [[nodiscard]] Space space_of(TensorId id) const { return (*this)[(*this)[id].storage].space; }
  StorageId add(Storage storage) {
    storages.push_back(storage);
    return StorageId(storages.size() - 1);
  }
  bool operator==(const Schedule&) const = default;
};

// The schedule that decides nothing yet: one stripe per step, in the order of the steps; every tensor that is read or
// written has a storage of its own in the arena. Takes the network's tensors and steps.
Schedule first_schedule(Network& network);

// The step of a stripe as if it were all there is to do: its feature maps, padding and channels are the stripe's part.
// Without the step's name.
Step subop_of(const Schedule& schedule, const Stripe& stripe);

// What the outputs [start, start + size) of a window read along one axis, and how much of that lies in the padding.
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

// Where a core reads a slice's scales and weights: the copies, if there are any.
struct StreamRange {
  Space space = Space::kConstants;
  int64_t address = 0;
  int64_t bytes = 0;
};
StreamRange scales_of(const Schedule& schedule, const WeightSlice& slice, size_t core);
StreamRange weights_of(const Schedule& schedule, const WeightSlice& slice, size_t core);

// What a load of weights or scales copies, and where to.
struct Copy {
  StorageId from = {};
  StorageId to = {};  // invalid: the slice is not staged
};
Copy copy_of(const Schedule& schedule, const Command& command);

// Bytes of a space that the placed storages reach.
int64_t space_bytes(const Schedule& schedule, Space space);

}  // namespace carina::plan
