#include "vela/vela_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "base/io/child_program.h"
#include "base/io/file.h"
#include "base/io/temporary_folder.h"
#include "base/text/number.h"
#include "files/file_kind.h"
#include "npu/payload.h"
#include "npu/vela_raw.h"

namespace carina::vela {

namespace {

constexpr std::string_view kNetwork = "network";
constexpr const char* kMessages = "messages.txt";

std::vector<std::string> command_of(const VelaRun& run, const TemporaryFolder& folder) {
  std::vector<std::string> words{
      run.program,
      folder.file(fmt::format("{}.tosa", kNetwork)),
      "--accelerator-config=" + run.target.accelerator,
      "--system-config=" + run.target.system_config,
      "--memory-mode=" + run.target.memory_mode,
      "--output-format=raw",
      "--enable-debug-db",
      "--output-dir=" + folder.path(),
      run.optimize == backends::Optimize::kSize ? "--optimise=Size" : "--optimise=Performance"};
  if (run.target.config_files.empty()) words.emplace_back("--config=Arm/vela.ini");
  for (const std::string& file : run.target.config_files) words.push_back("--config=" + file);
  if (run.target.arena_cache_bytes)
    words.push_back(fmt::format("--arena-cache-size={}", *run.target.arena_cache_bytes));
  return words;
}

// ---- The debug database ----

// Returns the lines of the table with this name, without its titles.
std::vector<std::string_view> lines_of(std::string_view xml, std::string_view table) {
  constexpr std::string_view kBegin = "<![CDATA[";
  const size_t at = xml.find(fmt::format("<table name=\"{}\">", table));
  const size_t begin = at == std::string_view::npos ? at : xml.find(kBegin, at);
  const size_t end = begin == std::string_view::npos ? begin : xml.find("]]>", begin);
  if (end == std::string_view::npos) return {};
  std::string_view text = xml.substr(begin + kBegin.size(), end - begin - kBegin.size());
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty()) lines.push_back(line);
  }
  if (!lines.empty()) lines.erase(lines.begin());
  return lines;
}

// Returns the fields of a line. Text fields are quoted.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

// Name of the tensor that a scheduled operation writes, by its id.
std::map<size_t, std::string> names_of_operations(std::string_view xml) {
  constexpr size_t kId = 0, kName = 4;  // columns of "perf"
  std::map<size_t, std::string> names;
  for (const std::string_view line : lines_of(xml, "perf")) {
    const std::vector<std::string> fields = fields_of(line);
    const auto id = number_in<size_t>(fields[kId]);
    if (id && fields.size() > kName) names.emplace(*id, fields[kName]);
  }
  return names;
}

}  // namespace

// The commands of an operation in the schedule end at the offset of its entry and begin after those of the previous
// one.
std::vector<npu::LayerNote> notes_of_debug_db(std::string_view xml, size_t stream_words) {
  constexpr size_t kOffset = 0, kScheduled = 3;  // columns of "queue"
  const std::map<size_t, std::string> names = names_of_operations(xml);
  std::vector<npu::LayerNote> notes;
  size_t begin = 0;
  for (const std::string_view line : lines_of(xml, "queue")) {
    const std::vector<std::string> fields = fields_of(line);
    const auto offset = number_in<size_t>(fields[kOffset]);
    const auto id = fields.size() > kScheduled ? number_in<size_t>(fields[kScheduled]) : std::nullopt;
    const auto name = id ? names.find(*id) : names.end();
    const size_t end = offset ? *offset / sizeof(uint32_t) + 1 : 0;
    if (name == names.end() || end <= begin || end > stream_words) continue;
    notes.push_back({.name = name->second, .tosa_ops = {name->second}, .first_word = begin, .end_word = end});
    begin = end;
  }
  return notes;
}

Result<npu::CompiledNetwork> run_vela(std::span<const std::byte> tosa, const VelaRun& run) {
  CARINA_TRY(const auto folder, TemporaryFolder::make("carina-vela"));
  CARINA_CHECKED(write_file(folder->file(fmt::format("{}.tosa", kNetwork)), tosa));
  const std::optional<int> status = run_command(command_of(run, *folder), folder->file(kMessages));
  if (!status)
    return fail({.where = run.program,
                 .what = "is not installed, or not in the PATH",
                 .hint = "pip install ethos-u-vela, or --vela PATH",
                 .fault = Fault::kEnvironment});
  const std::string raw = folder->file(fmt::format("{}_vela.npz", kNetwork));
  if (*status != 0 || !file_id(raw))
    return fail({.where = run.program,
                 .what = fmt::format("failed with exit code {}", *status),
                 .hint = end_of(text_of(folder->file(kMessages)))});
  CARINA_TRY(const Buffer file, files::open_file(raw, {files::FileKind::kVelaRaw}));
  CARINA_TRY(npu::CompiledNetwork network, npu::read_vela_raw(file, raw));
  CARINA_TRY(const npu::Payload payload, npu::parse_payload(network.command_payload, raw));
  network.layers =
      notes_of_debug_db(text_of(folder->file(fmt::format("{}_debug.xml", kNetwork))), payload.stream.size());
  return network;
}

}  // namespace carina::vela
