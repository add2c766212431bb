#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "carina/api.h"
#include "enum_names.h"
#include "keyword_options.h"
#include "listeners.h"
#include "module.h"
#include "values.h"

// Targets and delegate blobs for Python: what carina_arm and the ExecuTorch backend call.
namespace carina::python {

using namespace nb::literals;

namespace {

api::TargetNames target_of(const std::string& accelerator, const std::string& system_config,
                           const std::string& memory_mode, const std::vector<std::string>& config_files,
                           std::optional<int64_t> arena_cache_bytes) {
  return call({}, [&](const Log&) {
    return targets::read_names({.accelerator = accelerator,
                                .system_config = system_config,
                                .memory_mode = memory_mode,
                                .config_files = config_files,
                                .arena_cache_bytes = arena_cache_bytes});
  });
}

void bind_target(nb::module_& module) {
  nb::class_<api::TargetNames>(module, "Target", "A target by its names; \"\" is the family's default.")
      .def(
          "__init__",
          [](api::TargetNames* self, const std::string& accelerator, const std::string& system_config,
             const std::string& memory_mode, const std::vector<std::string>& config_files,
             std::optional<int64_t> arena_cache_bytes) {
            new (self)
                api::TargetNames(target_of(accelerator, system_config, memory_mode, config_files, arena_cache_bytes));
          },
          "accelerator"_a, "system_config"_a = "", "memory_mode"_a = "", "config_files"_a = std::vector<std::string>(),
          "arena_cache_bytes"_a.none() = nb::none(),
          "Names are checked when the target is used. `config_files`: paths of vela.ini files, which are read "
          "immediately.")
      .def_ro("accelerator", &api::TargetNames::accelerator)
      .def_ro("system_config", &api::TargetNames::system_config)
      .def_ro("memory_mode", &api::TargetNames::memory_mode)
      .def_ro("arena_cache_bytes", &api::TargetNames::arena_cache_bytes);
  nb::class_<api::Flags>(module, "Flags",
                         "The target and the options that Vela's flags select. read_flags() returns one.")
      .def_ro("target", &api::Flags::target)
      .def_prop_ro("optimize", [](const api::Flags& flags) { return name_of_enum(flags.delegate.optimize); });
}

void bind_blob(nb::module_& module) {
  nb::class_<api::DelegateBlob>(module, "DelegateBlob",
                                "A compiled delegate, in the form in which a program contains it.")
      .def_ro("backend_id", &api::DelegateBlob::backend_id, "\"EthosUBackend\"")
      .def_prop_ro(
          "blob", [](const api::DelegateBlob& blob) { return bytes_of(blob.blob); },
          "The bytes that the runtime on the device parses.")
      .def_prop_ro(
          "compile_specs",
          [](const api::DelegateBlob& blob) {
            std::vector<std::pair<std::string, nb::bytes>> specs;
            for (const auto& [key, value] : blob.compile_specs)
              specs.emplace_back(key, nb::bytes(value.data(), value.size()));
            return specs;
          },
          "Key and value of each.")
      .def_prop_ro(
          "artifacts",
          [](const api::DelegateBlob& blob) {
            std::vector<std::pair<std::string, nb::bytes>> files;
            for (const api::Artifact& file : blob.artifacts) files.emplace_back(file.suffix, bytes_of(file.bytes));
            return files;
          },
          "Suffix of the name (\"vela.npz\") and bytes of each file that describes the delegate, if `artifacts` was "
          "set.")
      .def_prop_ro("command_stream_bytes", [](const api::DelegateBlob& b) { return b.report.command_stream_bytes; })
      .def_prop_ro("weight_bytes", [](const api::DelegateBlob& b) { return b.report.weight_bytes; })
      .def_prop_ro(
          "scratch_bytes", [](const api::DelegateBlob& b) { return b.report.scratch_bytes; },
          "Bytes of the arena that the delegate needs while it runs.")
      .def_prop_ro(
          "fast_scratch_bytes", [](const api::DelegateBlob& b) { return b.report.fast_scratch_bytes; },
          "Bytes of fast memory that it needs besides an arena in slow memory.")
      .def_prop_ro("tosa_operators", [](const api::DelegateBlob& b) { return b.report.tosa_operators; })
      .def_prop_ro(
          "macs",
          [](const api::DelegateBlob& b) {
            return b.report.estimate ? std::optional(b.report.estimate->macs) : std::nullopt;
          },
          "Multiply-accumulates per inference, or None if there is no estimate.")
      .def_prop_ro(
          "npu_operations",
          [](const api::DelegateBlob& b) {
            return b.report.estimate ? std::optional(b.report.estimate->operations) : std::nullopt;
          },
          "None if there is no estimate.")
      .def_prop_ro(
          "cycles",
          [](const api::DelegateBlob& b) {
            return b.report.estimate ? std::optional(b.report.estimate->cycles) : std::nullopt;
          },
          "Estimated NPU cycles per inference, or None.")
      .def_prop_ro(
          "memories",
          [](const api::DelegateBlob& b) {
            return b.report.layers ? b.report.layers->memories : std::vector<results::MemoryUse>();
          },
          "The use of each memory in one inference, if `layers` was requested.");
  nb::class_<results::MemoryUse>(module, "MemoryUse", "The use of one memory in one inference, in bytes.")
      .def_ro("memory", &results::MemoryUse::memory, "\"Sram\", \"OffChipFlash\" ...")
      .def_ro("bytes_per_second", &results::MemoryUse::bytes_per_second,
              "The bandwidth of the NPU's port to this memory.")
      .def_ro("feature_map_read_bytes", &results::MemoryUse::feature_map_read_bytes)
      .def_ro("feature_map_write_bytes", &results::MemoryUse::feature_map_write_bytes)
      .def_ro("weight_read_bytes", &results::MemoryUse::weight_read_bytes)
      .def_ro("weight_write_bytes", &results::MemoryUse::weight_write_bytes);
}

}  // namespace

void bind_delegates(nb::module_& module) {
  bind_target(module);
  bind_blob(module);
  module.def("targets", &api::targets, "Returns the names of all targets, in Vela's spelling.");
  module.def(
      "read_flags",
      [](const std::string& flags, NoteListener note) {
        return call({std::move(note), {}}, [&](const Log& log) { return api::read_flags(flags, log); });
      },
      "flags"_a, nb::kw_only(), "note"_a.none() = nb::none(),
      "Reads the compile spec \"compile_flags\" of ExecuTorch's Arm backend: flags of Vela, separated by blanks.");
  module.def(
      "compile_delegate",
      [](const nb::bytes& tosa, const api::TargetNames& target, int threads, bool artifacts, bool layers,
         NoteListener note, ProgressListener progress, const nb::kwargs& named) {
        api::DelegateOptions options;
        set_options<options::ScheduleOptions>(options, named);
        options.threads = threads;
        options.artifacts = artifacts;
        options.layers = layers;
        const Buffer file = buffer_of(tosa);
        return call({std::move(note), std::move(progress)},
                    [&](const Log& log) { return api::compile_delegate(file.bytes(), target, options, log); });
      },
      "tosa"_a, "target"_a, nb::kw_only(), "threads"_a = 1, "artifacts"_a = false, "layers"_a = false, CARINA_LISTENERS,
      "options"_a,
      nb::sig(signature_with_options<options::ScheduleOptions>(
                  "def compile_delegate(tosa: bytes, target: Target, *, threads: int = 1, artifacts: bool = False, "
                  "layers: bool = False, ",
                  "DelegateBlob")
                  .c_str()),
      help_with_options<options::ScheduleOptions>(
          "Compiles a TOSA graph (FlatBuffer 1.0 or 0.80, one region) as one delegate. All of it must run on the "
          "target.")
          .c_str());
}

}  // namespace carina::python
