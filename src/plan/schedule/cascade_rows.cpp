#include "plan/schedule/cascade_rows.h"

#include <algorithm>

// A walk that computes on demand. To write a stripe of the last step, produce() first writes the rows that the stripe
// reads, which needs rows of the steps before, and so on. Each step remembers how many of its rows are done, so no row
// is computed twice.
//
//   Example: two 3x3 convolutions with stride 1 and padding 1, 8 rows, stripes of 2 rows.
//     second 0-1 reads rows 0 to 2 of the first:  first 0-1, first 2,     second 0-1
//     second 2-3 reads rows 1 to 4:               first 3-4,              second 2-3
//     second 4-5 reads rows 3 to 6:               first 5-6,              second 4-5
//     second 6-7 reads rows 5 to 7:               first 7,                second 6-7
//   When row 4 of the first is written, the next row of the second still reads row 1. So rows 1 to 4 are kept: a buffer
//   of 4 rows instead of 8.
//
// Branches and residual additions need nothing special: a tensor keeps the rows from the lowest one that any reader
// still needs. Time: stripes x operands. Halide's sliding windows and Vela's cascades keep rows in the same way; here
// all inner tensors share one walk.
namespace carina::plan {

TensorUsers users_of(const Schedule& schedule) {
  TensorUsers users{.writers = std::vector<std::vector<StepId>>(schedule.tensors.size()),
                    .readers = std::vector<std::vector<StepId>>(schedule.tensors.size())};
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    users.writers[step.ofm.tensor.index()].emplace_back(i);
    users.readers[step.ifm.tensor.index()].emplace_back(i);
    if (step.reads_second_map()) users.readers[step.ifm2.tensor.index()].emplace_back(i);
  }
  return users;
}

bool lives_inside(const Schedule& schedule, const TensorUsers& users, TensorId tensor, StepId first, StepId last) {
  if (schedule[tensor].kind != TensorKind::kIntermediate) return false;
  const auto inside = [&](const std::vector<StepId>& steps) {
    return !steps.empty() && steps.front() >= first && steps.back() <= last;
  };
  return inside(users.writers[tensor.index()]) && inside(users.readers[tensor.index()]);
}

namespace {

// An operand of a step in the cascade that other steps of the cascade write.
struct Edge {
  size_t reader = 0;  // index in the cascade, like all indices below
  bool second = false;
  int64_t row = 0;  // of the tensor at which the operand begins
  size_t tensor = 0;
};
struct Writer {
  size_t step = 0;
  int64_t row = 0;  // of the tensor at which its OFM begins
};
struct Shared {
  TensorId id = {};
  bool inside = false;
  std::vector<Writer> writers = {};
  std::vector<Edge> edges = {};
  int64_t written = 0;  // rows of the tensor, from its first
  int64_t kept = 0;
};

class Walk {
 public:
  Walk(const Schedule& schedule, const TensorUsers& users, const Cascade& cascade)
      : schedule_(schedule),
        users_(users),
        cascade_(cascade),
        steps_(cascade.last.index() - cascade.first.index() + 1),
        done_(steps_, 0),
        output_(steps_, 0),
        inputs_(steps_) {}

  bool prepare() {
    for (size_t i = 0; i < steps_; ++i) {
      if (!is_computed_by_rows(step(i))) return false;
    }
    for (size_t i = 0; i < steps_; ++i) {
      if (!add_writer(i)) return false;
    }
    for (size_t i = 0; i < steps_; ++i) {
      if (!add_operand(i, false) || (step(i).reads_second_map() && !add_operand(i, true))) return false;
    }
    return step(steps_ - 1).ofm.height > cascade_.stripe_rows;
  }

  // `rows`: stripe rows of the last step.
  CascadePlan run(int64_t rows) {
    const int64_t height = step(steps_ - 1).ofm.height;
    produce(steps_ - 1, std::min(rows, height));
    for (size_t i = 0; i < steps_ && rows >= height; ++i)
      produce(i, step(i).ofm.height);  // results that only later steps read
    for (const Shared& tensor : shared_) {
      if (tensor.inside && tensor.kept < schedule_[tensor.id].extent.height)
        plan_.rolling.push_back({.tensor = tensor.id, .rows = tensor.kept});
    }
    std::ranges::sort(plan_.rolling, {}, &RollingTensor::tensor);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Step& step(size_t i) const { return schedule_.steps[cascade_.first.index() + i]; }
  [[nodiscard]] bool is_here(StepId id) const { return id >= cascade_.first && id <= cascade_.last; }

  Shared* find(TensorId id) {
    const auto found = std::ranges::find(shared_, id, &Shared::id);
    return found == shared_.end() ? nullptr : &*found;
  }

  bool add_writer(size_t i) {
    const TensorId id = step(i).ofm.tensor;
    Shared* tensor = find(id);
    if (tensor == nullptr) {
      shared_.push_back({.id = id, .inside = lives_inside(schedule_, users_, id, cascade_.first, cascade_.last)});
      tensor = &shared_.back();
    }
    output_[i] = static_cast<size_t>(tensor - shared_.data());
    const auto rows = tensor_rows(step(i).ofm, schedule_[id]);
    // A tensor without readers in the cascade may be written in any way.
    if (!rows && std::ranges::any_of(users_.readers[id.index()], [&](StepId s) { return is_here(s); })) return false;
    tensor->writers.push_back({.step = i, .row = rows ? rows->begin : 0});
    return true;
  }

  bool add_operand(size_t i, bool second) {
    const FeatureMap& map = second ? step(i).ifm2 : step(i).ifm;
    Shared* tensor = find(map.tensor);
    if (tensor == nullptr) return true;  // comes whole from outside
    const auto rows = tensor_rows(map, schedule_[map.tensor]);
    // A later step overwrites it after its reader, so the order of steps must not change.
    if (!rows || tensor->writers.back().step >= i) return false;
    const Edge edge{
        .reader = i, .second = second, .row = rows->begin, .tensor = static_cast<size_t>(tensor - shared_.data())};
    tensor->edges.push_back(edge);
    inputs_[i].push_back(edge);
    return true;
  }

  [[nodiscard]] Rows read_by(const Edge& edge, const Rows& ofm) const {
    const Step& reader = step(edge.reader);
    const Rows rows = edge.second ? rows_of_second(reader, ofm) : rows_of_first(reader, ofm);
    return {.begin = rows.begin + edge.row, .end = rows.end + edge.row};
  }

  // Stripes of single rows save memory only at the end of a cascade. Before it, they would waste half of ublocks with
  // two rows.
  [[nodiscard]] int64_t stripe_rows(size_t i) const {
    return i + 1 == steps_ ? cascade_.stripe_rows : std::max<int64_t>(cascade_.stripe_rows, 2);
  }

  // Computes step i up to row `end`, stripe by stripe. Before each stripe, it computes the rows that the stripe reads,
  // and no more.
  void produce(size_t i, int64_t end) {
    while (done_[i] < end) {
      const Rows rows{.begin = done_[i], .end = std::min(end, done_[i] + stripe_rows(i))};
      for (const Edge& edge : inputs_[i]) {
        const int64_t read = read_by(edge, rows).end;
        for (const Writer& writer : shared_[edge.tensor].writers)
          produce(writer.step, std::clamp<int64_t>(read - writer.row, 0, step(writer.step).ofm.height));
      }
      keep_rows(i, rows.end);
      plan_.moves.push_back({.step = StepId(cascade_.first.index() + i), .rows = rows});
      done_[i] = rows.end;
    }
  }

  // The rows that must exist when step i has written its rows up to `end`.
  void keep_rows(size_t i, int64_t end) {
    Shared& tensor = shared_[output_[i]];
    if (!tensor.inside) return;
    int64_t first = schedule_[tensor.id].extent.height;
    for (const Writer& writer : tensor.writers) {
      first = std::min(first, writer.row + done_[writer.step]);
      if (writer.step == i) tensor.written = std::max(tensor.written, writer.row + end);
    }
    for (const Edge& edge : tensor.edges) {
      const int64_t next = done_[edge.reader];
      if (next < step(edge.reader).ofm.height)
        first = std::min(first, read_by(edge, {.begin = next, .end = next + 1}).begin);
    }
    tensor.kept = std::max(tensor.kept, tensor.written - first);
  }

  const Schedule& schedule_;
  const TensorUsers& users_;
  const Cascade& cascade_;
  size_t steps_;
  std::vector<int64_t> done_;   // rows of each step's OFM
  std::vector<size_t> output_;  // of each step: in shared_
  std::vector<std::vector<Edge>> inputs_;
  std::vector<Shared> shared_;
  CascadePlan plan_;
};

}  // namespace

std::optional<CascadePlan> plan_cascade(const Schedule& schedule, const TensorUsers& users, const Cascade& cascade) {
  Walk walk(schedule, users, cascade);
  if (!walk.prepare()) return std::nullopt;
  return walk.run(schedule[cascade.last].ofm.height);
}

std::optional<CascadePlan> begin_cascade(const Schedule& schedule, const TensorUsers& users, const Cascade& cascade,
                                         int64_t stripes) {
  Walk walk(schedule, users, cascade);
  if (!walk.prepare()) return std::nullopt;
  return walk.run(stripes * cascade.stripe_rows);
}

}  // namespace carina::plan
