#include "simulate/machine_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "simulate/checker_internal.h"
#include "simulate/decode/decode.h"
#include "simulate/kernels/fast.h"
#include "simulate/kernels/lut.h"
#include "simulate/kernels/rows.h"
#include "simulate/occupancy_internal.h"
#include "simulate/pmu_internal.h"
#include "simulate/registers_used_internal.h"
#include "simulate/shadow_memory_internal.h"
#include "simulate/timing/cycle_model.h"
#include "simulate/timing/timeline.h"

// Runs a command stream word by word. A register command only sets a register. An operation goes through four stages,
// each of which may find a fault, which names the command:
//
//   decode (registers -> Operation) -> prepare (maps checked against memory, weights and scales decoded, tables found)
//   -> execute (the output bits) -> report (cycles, traffic)
//
// Operations run one after another, in the order of the stream: overlap of kernels and transfers is a matter of the
// timeline only, and the checker reports a stream whose result would depend on it. Within an operation the OFM is
// divided into patches, which the threads compute in any order. Example: an OFM of 56 x 56 on 4 threads has patches of
// at most 56 * 56 / (2 * 4) = 392 positions: 7 rows, or fewer if a cache holds fewer. The bits do not depend on the
// division, except where an operation writes memory that it also reads at other elements, or adds to accumulators that
// are kept. Such an operation runs alone: on one thread, with the scalar kernels, in one pass. An elementwise operation
// that replaces its operand element by element does not need this.
namespace carina::simulate {

using npu::Op;

// The observers of a run, each of which may be absent.
struct Machine::Observers {
  std::optional<CycleModel> cycles;
  std::optional<Timeline> timeline;
  std::optional<Checker> checker;
  std::optional<Occupancy> occupancy;
};

namespace {

constexpr uint64_t kMaxElementsPerRow = uint64_t{1} << 24;  // bounds what one row's accumulators allocate
constexpr uint64_t kMaxWindowElements = uint64_t{1} << 26;  // bounds what one row's window allocates

// Less takes longer to share out than to do. Scalar kernels, which are for tests, are divided always.
constexpr uint64_t kWorthDividing = uint64_t{1} << 17;

size_t internal_bytes(const npu::AcceleratorConfig& accelerator) {
  if (accelerator.product == npu::Product::kU85) return npu::kLutBytes;
  return static_cast<size_t>(accelerator.shram.banks) * npu::kShramBankBytes;
}

// Where a table slot lies in internal memory. Source: docs/facts/ethosu.md 4.8.
uint64_t lut_address(const npu::AcceleratorConfig& accelerator, int slot) {
  const int start = accelerator.product == npu::Product::kU85
                        ? 0
                        : (accelerator.shram.banks - npu::kShramLutBanks) * npu::kShramBankBytes;
  return static_cast<uint64_t>(start) + static_cast<uint64_t>(slot) * npu::kLutSlotBytes;
}

uint64_t elements(const Extent& e) {
  return uint64_t(e.height) * uint64_t(e.width) * uint64_t(e.depth);
}

Diagnostics located(Diagnostics diagnostics, const std::string& where) {
  for (Diagnostic& d : diagnostics) {
    d.where = d.where.empty() ? where : where + ": " + d.where;
  }
  return diagnostics;
}

CoreShape core_shape(const npu::AcceleratorConfig& accelerator) {
  return {
      .cores = accelerator.cores, .weight_decoders = accelerator.weight_decoders, .macs = accelerator.macs_per_cycle};
}

// Multiply-accumulates (windowed operations) of an operation.
uint64_t mac_count(const Operation& op) {
  const auto taps = static_cast<uint64_t>(op.kernel.taps());
  switch (op.kind) {
    case OperationKind::kConvolution:
      return elements(op.ofm_extent) * taps * static_cast<uint64_t>(op.ifm_depth);
    case OperationKind::kDepthwise:
      return elements(op.ofm_extent) * taps;
    case OperationKind::kPool:
      if (op.pool == PoolMode::kNone) return 0;
      return elements(op.ofm_extent) * taps *
             (op.pool == PoolMode::kReduceSum ? static_cast<uint64_t>(op.ifm_depth) : 1);
    default:
      return 0;
  }
}

// A bound of the work that cannot overflow: every factor is at most 2^16, 2^16, 2^16, 2^32 and 2^16.
uint64_t work_of(const Operation& op) {
  const double macs =
      static_cast<double>(elements(op.ofm_extent)) * static_cast<double>(op.kernel.taps()) * op.ifm_depth;
  return macs > 1e18 ? ~uint64_t{0} : elements(op.ofm_extent) + mac_count(op) + elements(ifm_box(op));
}

bool may_overflow(const Work& work) {
  const Operation& op = *work.op;
  if (op.ifm.type.bytes > 2) return op.is_convolution_like() || op.kind == OperationKind::kPool;
  const int64_t inputs = work.weights != nullptr
                             ? work.weights->max_sum_abs
                             : op.kernel.taps() * (op.pool == PoolMode::kReduceSum ? op.ifm_depth : 1);
  return Wide{inputs} * largest_magnitude(op.ifm) >= Wide{1} << (op.acc_bits - 1);
}

Result<void> check_size(const Operation& op) {
  const Extent box = ifm_box(op);
  const uint64_t row = uint64_t(op.ofm_extent.width) * uint64_t(op.ofm_extent.depth);
  const uint64_t window =
      uint64_t(box.width) * uint64_t(box.depth) * uint64_t(std::min(op.kernel.height, std::max(1, box.height)));
  if (row <= kMaxElementsPerRow && window <= kMaxWindowElements && uint64_t(op.kernel.height) <= 65536) return {};
  return fail(Diagnostic{.where = {},
                         .what = "the operation is larger than the simulator takes",
                         .expected = fmt::format("at most {} output elements a row and {} input elements a window",
                                                 kMaxElementsPerRow, kMaxWindowElements),
                         .got = fmt::format("{} and {}", row, window)});
}

}  // namespace

Machine::Machine(Persistent& persistent, const npu::AcceleratorConfig& accelerator, const npu::Payload& payload,
                 const Memory& memory)
    : persistent_(persistent),
      accelerator_(accelerator),
      payload_(payload),
      given_(memory),
      memory_(memory, internal_bytes(accelerator)),
      registers_(accelerator.product),
      observers_(std::make_unique<Observers>()) {
  report_.config_word = accelerator.config_word;
  report_.npu = std::string(accelerator.name);
}

Machine::~Machine() = default;

Result<void> Machine::start_observers() {
  if (persistent_.options.timing == Timing::kOn) {
    CARINA_TRY(observers_->cycles, CycleModel::make(accelerator_, persistent_.options));
    const npu::ProductLimits& limits = npu::limits_of(accelerator_.product);
    observers_->timeline.emplace(limits.max_outstanding_kernels, limits.max_outstanding_dmas);
    if (persistent_.options.occupied == Occupied::kOn) observers_->occupancy.emplace(given_);
  }
  if (persistent_.options.checking == Checking::kOn)
    observers_->checker.emplace(accelerator_, given_, memory_.internal());
  if (persistent_.options.poison == Poison::kOn) poison();
  return {};
}

Result<Report> Machine::run() {
  CARINA_CHECKED(start_observers());
  npu::StreamReader reader(accelerator_.product, payload_.stream, "command stream");
  npu::Command command;
  while (reader.word_index() < persistent_.options.end_word) {
    CARINA_TRY(const bool more, reader.next(command));
    if (!more) break;
    if (++report_.commands > persistent_.options.max_commands) {
      return fail(Diagnostic{.where = "command stream",
                             .what = "the stream does not end within the limit of commands",
                             .expected = fmt::format("at most {} commands", persistent_.options.max_commands),
                             .got = "more"});
    }
    CARINA_TRY(const bool running, step(command, reader));
    ++command_index_;
    if (!running) break;
  }
  finish_report();
  return std::move(report_);
}

Result<bool> Machine::step(const npu::Command& command, npu::StreamReader& reader) {
  if (command.kind == npu::Command::Kind::kRegister) {
    registers_.write(command);
    return true;
  }
  switch (command.op) {
    case Op::STOP:
      report_.irq_history |= command.param;
      return false;
    case Op::IRQ:
      report_.irq_history |= command.param;
      return true;
    case Op::DMA_WAIT: {
      const int outstanding = command.param & (npu::is_u85(accelerator_.product) ? 3 : 15);
      if (observers_->timeline) time_wait(TimelineStep::Kind::kWaitDmas, outstanding);
      if (observers_->checker) observers_->checker->wait_dmas(outstanding);
      return true;
    }
    case Op::KERNEL_WAIT: {
      const int outstanding = command.param & (npu::is_u85(accelerator_.product) ? 1 : 3);
      if (observers_->timeline) time_wait(TimelineStep::Kind::kWaitKernels, outstanding);
      if (observers_->checker) observers_->checker->wait_kernels(outstanding);
      return true;
    }
    case Op::PMU_MASK:
      return true;
    case Op::BRANCH:
      if ((command.param & 1) == 0 || result_flag_) CARINA_CHECKED(reader.seek(command.payload));
      return true;
    default:
      break;
  }
  if (persistent_.options.between_operations) persistent_.options.between_operations();
  auto done = operate(command);
  if (!done) {
    return fail(located(std::move(done).error(), fmt::format("command {} at word 0x{:x} ({})", command_index_,
                                                             command.word_index, command.row().name)));
  }
  if (persistent_.options.after_operation) persistent_.options.after_operation(command.word_index);
  return true;
}

Result<void> Machine::operate(const npu::Command& command) {
  CARINA_TRY(Operation op, decode(command.op, command.data(), registers_, core_shape(accelerator_)));
  if (persistent_.options.unset_register == UnsetRegister::kFault) CARINA_CHECKED(check_registers_set(op, registers_));
  op.command_index = command_index_;
  op.word_offset = command.word_index;
  return op.kind == OperationKind::kDma ? run_dma(op) : run_kernel(std::move(op));
}

Result<void> Machine::spend(uint64_t work) {
  if (!computes()) return {};
  const uint64_t left = persistent_.options.max_work - work_done_;
  if (work > left) {
    return fail(Diagnostic{.where = {},
                           .what = "the run exceeds the limit of work",
                           .expected = fmt::format("at most {} in total", persistent_.options.max_work),
                           .got = "more"});
  }
  work_done_ += work;
  return {};
}

void Machine::note_read(const HostRange& range) const {
  if (persistent_.options.has_read && !range.empty())
    persistent_.options.has_read({range.begin, static_cast<size_t>(range.end - range.begin)});
}

Result<void> Machine::run_dma(const Operation& op) {
  CARINA_CHECKED(spend(dma_work(op.dma)));
  CARINA_TRY(const DmaEffect effect, execute_dma(op.dma, memory_));
  note_read(effect.source);
  if (observers_->checker) observers_->checker->dma(op, effect, memory_);
  if (observers_->occupancy) observers_->occupancy->dma(effect);
  OperationReport& entry = report_operation(op);
  entry.dma_bytes = effect.bytes;
  if (observers_->cycles) time_dma(op, entry);
  return {};
}

Result<void> Machine::run_kernel(Operation op) {
  if (computes()) CARINA_CHECKED(check_size(op));
  CARINA_CHECKED(spend(work_of(op)));
  CARINA_TRY(Prepared prepared, prepare(std::move(op)));
  prepared.work.op = &prepared.op;
  std::atomic<bool> overflow = false;
  if (observers_->checker) {
    observers_->checker->kernel(prepared, memory_);
    prepared.work.overflow = &overflow;
  }
  if (observers_->occupancy) observers_->occupancy->kernel(prepared);
  if (computes()) {
    execute(prepared);
    note_result_flag(prepared);
  }
  if (overflow) observers_->checker->overflow(prepared.op);
  OperationReport& entry = report_operation(prepared.op);
  entry.macs = mac_count(prepared.op);
  if (observers_->cycles) time_kernel(prepared, entry);
  return {};
}

Result<CheckedMap> Machine::check_map(const FeatureMap& map, const Extent& box, std::string_view role) {
  if (map.storage == Storage::kNone)
    return fail(Diagnostic{.where = {}, .what = fmt::format("{} has no storage, but the operation reads it", role)});
  if (map.storage != Storage::kChained) return CheckedMap::create(map, box, memory_.region(map.region), role);
  ChainSlot& slot = chain_[map.region];
  FeatureMap chained = map;
  chained.type = slot.type;
  chained.format = Format::kNhwc;
  chained.storage = Storage::kTile2x2;
  chained.base = {};
  chained.stride_x = int64_t{slot.extent.depth} * slot.type.bytes;
  chained.stride_y = chained.stride_x * slot.extent.width;
  chained.width0 = chained.height0 = chained.height1 = 1 << 16;
  return CheckedMap::create(chained, box, slot.bytes, fmt::format("{} in chaining buffer", role));
}

Result<CheckedMap> Machine::check_output(Operation& op) {
  if (op.ofm.storage != Storage::kChained) {
    CARINA_CHECKED(memory_.check_writable(op.ofm.region, "OFM"));
  } else {
    ChainSlot& slot = chain_[op.ofm.region];
    slot.extent = stored_extent(op);
    slot.type = op.ofm.type;
    slot.bytes.assign(elements(slot.extent) * op.ofm.type.bytes, std::byte{});
  }
  return check_map(op.ofm, stored_extent(op), "OFM");
}

Result<Prepared> Machine::prepare(Operation op) {
  Prepared prepared{.op = std::move(op), .work = {}, .weights = {}, .output = {}, .lut_range = {}};
  Operation& o = prepared.op;
  Work& work = prepared.work;
  work.ifm_extent = window_extent(o);
  const Extent box = ifm_box(o);
  if (elements(box) != 0) {
    CARINA_TRY(work.ifm, check_map(o.ifm, box, "IFM"));
  }
  if (o.reads_ifm2()) {
    CARINA_TRY(work.ifm2, check_map(o.ifm2, ifm2_box(o), "IFM2"));
  }
  CARINA_CHECKED(resolve_weights(prepared));
  CARINA_CHECKED(resolve_output(prepared));
  if (computes() && (o.acc_output == AccOutput::kKeep || o.acc_input == AccInput::kKeep)) {
    kept_.resize(elements(o.ofm_extent));
    work.kept = &kept_;
  }
  if (o.acc_output == AccOutput::kWrite) {
    CARINA_TRY(work.ofm, check_output(o));
  }
  return prepared;
}

Result<void> Machine::resolve_weights(Prepared& prepared) {
  const Operation& op = prepared.op;
  if (op.weight_source == WeightSource::kIfm2) {
    if (!computes()) return {};
    CARINA_TRY(DecodedWeights weights, weights_from_ifm2(op, prepared.work.ifm2));
    prepared.weights = std::make_shared<const DecodedWeights>(std::move(weights));
  } else if (op.has_weights()) {
    WeightStreams streams;
    for (size_t s = 0; s < static_cast<size_t>(op.weight_streams); ++s) {
      CARINA_TRY(streams[s], memory_.range(op.weight_region, op.weights[s].base, op.weights[s].bytes,
                                           fmt::format("weight stream {}", s)));
      prepared.weight_ranges[s] = {.begin = streams[s].data(), .end = streams[s].data() + streams[s].size()};
    }
    CARINA_CHECKED(read_weights(prepared, streams));
    for (const HostRange& range : prepared.weight_ranges) note_read(range);
  }
  prepared.work.weights = prepared.weights.get();
  return {};
}

Result<void> Machine::read_weights(Prepared& prepared, const WeightStreams& streams) {
  const Operation& op = prepared.op;
  if (!computes()) {
    CARINA_TRY(prepared.statistics, persistent_.statistics.get(op, accelerator_, streams));
    return {};
  }
  const uint64_t left = persistent_.options.max_work - work_done_;
  CARINA_TRY(prepared.weights,
             persistent_.weights.get(op, accelerator_, streams, std::min<uint64_t>(left, uint64_t{1} << 30),
                                     persistent_.options.timing == Timing::kOn ? Counting::kCount : Counting::kSkip));
  prepared.statistics = prepared.weights->statistics;
  return {};
}

Result<void> Machine::resolve_output(Prepared& prepared) {
  const Operation& op = prepared.op;
  ScaleTable table;
  if (uses_scale_table(op)) {
    std::array<std::span<const std::byte>, 2> tables;
    for (size_t core = 0; core < static_cast<size_t>(op.cores); ++core) {
      CARINA_TRY(tables[core],
                 memory_.range(op.scale_region, op.scales[core].base, op.scales[core].bytes, "scale table"));
      prepared.scale_ranges[core] = {.begin = tables[core].data(), .end = tables[core].data() + tables[core].size()};
    }
    CARINA_TRY(table,
               read_scale_table(std::span(tables).first(static_cast<size_t>(op.cores)), op.ofm_extent.depth, op));
  }
  std::span<const std::byte> lut;
  if (op.activation.lut == Lut::kTable) {
    const size_t bytes = lut_bytes(op.activation.lut_input, op.activation.lut_output);
    CARINA_TRY(lut, memory_.internal_range(lut_address(accelerator_, op.activation.slot), bytes, "lookup table"));
    prepared.lut_range = {.begin = lut.data(), .end = lut.data() + lut.size()};
  }
  prepared.output = std::make_unique<OutputStage>(op, std::move(table), lut);
  prepared.work.output = prepared.output.get();
  return {};
}

void Machine::execute(const Prepared& prepared) {
  const Work& work = prepared.work;
  const Operation& op = prepared.op;
  const bool writes = op.acc_output == AccOutput::kWrite;
  const bool in_place = op.kind == OperationKind::kElementwise && same_elements(op.ifm, op.ofm);
  const bool alone = work.kept != nullptr || (writes && !in_place && overlap(work.ifm, work.ofm)) ||
                     (writes && overlap(work.ifm2, work.ofm) && !same_elements(op.ifm2, op.ofm));
  // Only the scalar kernels see accumulators that do not fit.
  const bool scalar =
      persistent_.options.kernels == Kernels::kScalar || alone || (work.overflow != nullptr && may_overflow(work));
  const std::unique_ptr<FastOperation> fast = scalar ? nullptr : FastOperation::make(work);
  const bool is_small = work_of(op) < kWorthDividing && persistent_.options.kernels != Kernels::kScalar;
  const int threads = alone || is_small ? 1 : persistent_.pool.threads();
  const Extent& ofm = op.ofm_extent;
  PatchSize size = fast ? fast->patch_size() : PatchSize{.rows = ofm.height, .columns = ofm.width};
  // With several threads, patches small enough that all have work; never so small that results would depend on them.
  if (threads > 1) {
    const PatchSize share = patch_of(ofm, int64_t{ofm.height} * ofm.width / (2 * threads));
    size = {.rows = std::min(size.rows, share.rows),
            .columns = fast ? std::min(size.columns, share.columns) : size.columns};
  }
  const int64_t across = (int64_t{ofm.width} + size.columns - 1) / size.columns;
  const int64_t down = (int64_t{ofm.height} + size.rows - 1) / size.rows;
  const auto body = [&](size_t i) {
    const auto y = static_cast<int32_t>(static_cast<int64_t>(i) / across) * size.rows;
    const auto x = static_cast<int32_t>(static_cast<int64_t>(i) % across) * size.columns;
    const Rows rows{.begin = y, .end = std::min(ofm.height, y + size.rows)};
    fast ? fast->execute({.rows = rows, .columns = {.begin = x, .end = std::min(ofm.width, x + size.columns)}})
         : execute_scalar(work, rows);
  };
  const auto patches = static_cast<size_t>(across * down);
  if (threads > 1) return persistent_.pool.parallel_for(patches, body);
  for (size_t i = 0; i < patches; ++i) body(i);
}

void Machine::note_result_flag(const Prepared& prepared) {
  if (elements(prepared.op.ofm_extent) != 1 || prepared.op.acc_output != AccOutput::kWrite) return;
  if (const std::byte* value = element_at(prepared.work.ofm, 0, 0, 0))
    result_flag_ = (std::to_integer<int>(*value) & 1) != 0;
}

OperationReport& Machine::report_operation(const Operation& op) {
  OperationReport& entry = report_.operations.emplace_back();
  entry.command_index = op.command_index;
  entry.word_offset = op.word_offset;
  entry.kind = op.kind;
  entry.name = op.name;
  if (op.kind == OperationKind::kDma) return entry;
  entry.ifm_bits = static_cast<uint8_t>(8 * op.ifm.type.bytes);
  entry.ofm_bits = static_cast<uint8_t>(8 * op.ofm.type.bytes);
  entry.ifm = ifm_box(op);
  entry.ofm = op.ofm_extent;
  entry.kernel = {.height = op.kernel.height, .width = op.kernel.width, .depth = 0};
  entry.block = op.block;
  return entry;
}

void Machine::time_kernel(const Prepared& prepared, OperationReport& entry) {
  WeightFacts facts{.statistics = prepared.statistics};
  for (const HostRange& range : prepared.weight_ranges)
    facts.encoded_bytes += static_cast<uint64_t>(range.end - range.begin);
  for (const HostRange& range : prepared.scale_ranges)
    facts.scale_bytes += static_cast<uint64_t>(range.end - range.begin);
  const PortShares shares = observers_->cycles->estimate_kernel(prepared.op, facts, entry);
  const bool overlaps = prepared.op.blockdep > 0;
  const double hidden = overlaps ? persistent_.options.kernel_overlap * static_cast<double>(entry.cycles.issue) : 0;
  entry.cycles.total -= std::min(entry.cycles.total, static_cast<uint64_t>(hidden));
  observers_->timeline->kernel(entry.cycles.total, shares);
  report_.timeline.push_back({.kind = TimelineStep::Kind::kKernel,
                              .operation = report_.operations.size() - 1,
                              .cycles = entry.cycles.total,
                              .shares = shares});
}

void Machine::time_dma(const Operation& op, OperationReport& entry) {
  const PortShares shares = observers_->cycles->estimate_dma(op.dma, entry.dma_bytes, entry);
  observers_->timeline->dma(entry.cycles.dma, shares);
  report_.timeline.push_back({.kind = TimelineStep::Kind::kDma,
                              .operation = report_.operations.size() - 1,
                              .cycles = entry.cycles.dma,
                              .shares = shares});
}

void Machine::time_wait(TimelineStep::Kind kind, int outstanding) {
  if (kind == TimelineStep::Kind::kWaitDmas)
    observers_->timeline->wait_dmas(outstanding);
  else
    observers_->timeline->wait_kernels(outstanding);
  report_.timeline.push_back({.kind = kind, .outstanding = outstanding});
}

// What the time line makes of the operations: when each ran, and what a kernel waited for transfers, for a wait command
// or for its share of a port.
void Machine::place_in_time() {
  observers_->timeline->wait_kernels(0);
  observers_->timeline->wait_dmas(0);
  auto kernel = observers_->timeline->kernels().begin();
  auto dma = observers_->timeline->dmas().begin();
  uint64_t before = 0;  // the end of the last kernel
  for (OperationReport& op : report_.operations) {
    if (op.kind == OperationKind::kDma) {
      op.start_cycle = dma->start;
      op.cycles.dma = dma->end - dma->start;
      ++dma;
      continue;
    }
    op.start_cycle = kernel->start;
    const uint64_t took = kernel->end - before;
    op.cycles.exposed_dma = took - std::min(took, op.cycles.total);
    op.cycles.total = took;
    before = kernel->end;
    ++kernel;
  }
}

// Bytes that nothing has defined must not matter: make them garbage, the same in every run.
void Machine::poison() {
  std::vector<std::pair<std::span<std::byte>, std::vector<std::byte>>> defined;
  for (const MemoryRange& range : given_.defined) {
    const std::span<std::byte> bytes = bytes_of(given_, range);
    defined.emplace_back(bytes, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  uint64_t state = 0;
  const auto fill = [&](std::span<std::byte> bytes) {
    for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const uint64_t garbage = state ^ state >> 29;
      std::memcpy(&bytes[i], &garbage, std::min(sizeof(garbage), bytes.size() - i));
    }
  };
  for (size_t r = 0; r < given_.regions.size(); ++r) {
    if (!is_wholly_defined(given_, r)) fill(given_.regions[r]);
  }
  fill(memory_.internal());
  for (const auto& [bytes, kept] : defined) std::copy_n(kept.data(), kept.size(), bytes.data());
}

// A region's bytes are its memory's.
void Machine::note_held_bytes() {
  const auto held = std::move(*observers_->occupancy).take();
  for (size_t region = 0; region < held.size(); ++region) {
    const auto memory = static_cast<size_t>(observers_->cycles->port_of_region(static_cast<int>(region)).memory);
    for (size_t i = 0; i < report_.operations.size(); ++i) report_.operations[i].held_bytes[memory] += held[region][i];
  }
}

void Machine::finish_report() {
  if (observers_->occupancy) note_held_bytes();
  if (observers_->checker) report_.findings = observers_->checker->take();
  if (observers_->timeline) place_in_time();
  for (const OperationReport& op : report_.operations) {
    report_.macs += op.macs;
    report_.cycles += op.cycles;
    for (size_t m = 0; m < report_.traffic.size(); ++m) report_.traffic[m] += op.traffic[m];
  }
  if (!observers_->cycles) return;
  // Transfers after the last kernel are waited for by STOP.
  const uint64_t end = observers_->timeline->now();
  report_.cycles.exposed_dma += end - std::min(end, report_.cycles.total);
  report_.cycles.total = std::max(end, report_.cycles.total);
  const auto commands_from = static_cast<size_t>(observers_->cycles->port_of_region(0).memory);
  report_.traffic[commands_from].command_read_bytes += payload_.stream.size() * sizeof(uint32_t);
  report_.pmu = count_events(report_, accelerator_);
}

}  // namespace carina::simulate
