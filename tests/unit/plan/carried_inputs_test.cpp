#include "plan/network/carried_inputs.h"

#include <gtest/gtest.h>

#include "networks.h"
#include "plan/family/family.h"
#include "plan/verify/verify.h"

// Tests inputs that stand where an output needs their elements.
namespace carina::plan {
namespace {

// A ring of 49 rows and the row that comes: the copies are those of CONCAT.
class Ring {
 public:
  explicit Ring(int64_t rows_kept = 48) {
    ring = tensor("ring", TensorKind::kInput, 49);
    frame = tensor("frame", TensorKind::kInput, 1);
    next = tensor("next", TensorKind::kOutput, 49);
    network.inputs = {ring, frame};
    network.outputs = {next};
    copy(ring, (49 - rows_kept) * kRow, 0, rows_kept);
    copy(frame, 0, 48 * kRow, 1);
  }
  // A step that reads the tensor, so that not all steps are copies.
  void read(TensorId id) {
    network.steps.push_back({.kind = StepKind::kConv,
                             .ofm = {.tensor = tensor("y", TensorKind::kIntermediate, 1), .depth = kRow},
                             .ifm = {.tensor = id, .depth = kRow},
                             .name = "read"});
  }
  [[nodiscard]] int64_t place(TensorId id) const { return network[id].place_bytes; }

  static constexpr int64_t kRow = 10;
  Network network;
  TensorId ring, frame, next;

 private:
  TensorId tensor(const char* name, TensorKind kind, int64_t rows) {
    return network.add(
        {.name = name, .kind = kind, .shape = {1, rows, kRow}, .extent = {.width = rows, .depth = kRow}});
  }
  void copy(TensorId from, int64_t from_offset, int64_t to_offset, int64_t rows) {
    const std::vector<Axis> axes{{.size = rows, .stride = kRow}, {.size = kRow, .stride = 1}};
    network.copies.push_back({.from = {.tensor = from, .offset = from_offset, .axes = axes},
                              .to = {.tensor = next, .offset = to_offset, .axes = axes},
                              .first = network.steps.size(),
                              .end = network.steps.size() + 1});
    network.steps.push_back(
        {.kind = StepKind::kPool,
         .ofm = {.tensor = next, .offset = to_offset, .width = rows, .depth = kRow, .type = kSigned8},
         .ifm = {.tensor = from, .offset = from_offset, .width = rows, .depth = kRow, .type = kSigned8},
         .activation = {.min = -128, .max = 127},
         .name = "copy"});
  }
};

TEST(CarriedInputs, ring_and_frame_stand_at_the_next_ring) {
  Ring r;
  r.read(r.next);
  carry_inputs(r.network);
  ASSERT_EQ(r.network.steps.size(), 1U);
  EXPECT_EQ(r.network.steps.front().name, "read");
  EXPECT_EQ(r.network[r.ring].beside, r.next);
  EXPECT_EQ(r.network[r.frame].beside, r.next);
  EXPECT_EQ(r.place(r.next) - r.place(r.ring), Ring::kRow);
  EXPECT_EQ(r.place(r.frame) - r.place(r.next), 48 * Ring::kRow);
  EXPECT_EQ(r.place(r.next) % 16, 0);  // operations may address it as if it began there
}

TEST(CarriedInputs, input_with_another_reader_is_copied) {
  Ring r;
  r.read(r.ring);
  carry_inputs(r.network);
  EXPECT_EQ(r.network.steps.size(), 3U);
  EXPECT_FALSE(r.network[r.ring].beside.valid());
}

TEST(CarriedInputs, scaled_copy_stays) {
  Ring r;
  r.read(r.next);
  r.network.steps.front().scaling.multiplier = 3;
  carry_inputs(r.network);
  EXPECT_EQ(r.network.steps.size(), 3U);  // the frame alone is too little of the output
}

TEST(CarriedInputs, output_of_which_inputs_are_the_smaller_part_is_copied) {
  Ring r(/*rows_kept=*/20);
  r.read(r.next);
  carry_inputs(r.network);
  EXPECT_EQ(r.network.steps.size(), 3U);
}

TEST(CarriedInputs, network_of_copies_alone_stays) {
  Ring r;
  carry_inputs(r.network);
  EXPECT_EQ(r.network.steps.size(), 2U);
}

TEST(CarriedInputs, schedule_of_ring_is_legal_and_prints) {
  const Target target = *find_target("ethos-u55-128", "", "");
  const Schedule schedule = schedule_of(ring_of_rows(), target);
  EXPECT_EQ(schedule.stripes.size(), 1U);
  EXPECT_TRUE(verify(schedule, **find_family(target), target).empty());
}

}  // namespace
}  // namespace carina::plan
