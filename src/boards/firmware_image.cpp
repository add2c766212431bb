#include "boards/firmware_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace carina::boards {

namespace {

// An ELF file's header and program header. Source: System V ABI, chapters 4 and 5.
struct ElfHeader {
  std::array<uint8_t, 16> ident;
  uint16_t type;
  uint16_t machine;
  uint32_t version;
  uint32_t entry;
  uint32_t program_headers;  // offset
  uint32_t section_headers;
  uint32_t flags;
  uint16_t header_bytes;
  uint16_t program_header_bytes;
  uint16_t program_header_count;
  uint16_t section_header_bytes;
  uint16_t section_header_count;
  uint16_t section_names;
};
static_assert(sizeof(ElfHeader) == 52);
struct ProgramHeader {
  uint32_t type;
  uint32_t offset;
  uint32_t virtual_address;
  uint32_t physical_address;
  uint32_t file_bytes;
  uint32_t memory_bytes;
  uint32_t flags;
  uint32_t alignment;
};
static_assert(sizeof(ProgramHeader) == 32);
constexpr std::array<uint8_t, 6> kElf32LittleEndian{0x7F, 'E', 'L', 'F', 1, 1};
constexpr uint16_t kMachineArm = 40;
constexpr uint32_t kLoad = 1;
constexpr uint32_t kReadable = 4;
constexpr size_t kAlignment = 64;

struct Elf {
  ElfHeader header;
  std::vector<ProgramHeader> segments;
};

std::unexpected<Diagnostics> wrong_image(const std::string& where, std::string got) {
  return fail({.where = where,
               .what = "not a firmware image of this version of Carina",
               .expected = "an .elf of `carina firmware`",
               .got = std::move(got)});
}

template <typename T>
T value_at(std::span<const std::byte> bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Result<Elf> read_elf(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() < sizeof(ElfHeader)) return wrong_image(where, "a file too short for ELF");
  Elf elf{.header = value_at<ElfHeader>(bytes, 0), .segments = {}};
  if (!std::equal(kElf32LittleEndian.begin(), kElf32LittleEndian.end(), elf.header.ident.begin()) ||
      elf.header.machine != kMachineArm)
    return wrong_image(where, "no 32-bit ELF file for Arm");
  const uint64_t end = elf.header.program_headers + uint64_t{elf.header.program_header_count} * sizeof(ProgramHeader);
  if (elf.header.program_header_bytes != sizeof(ProgramHeader) || end > bytes.size())
    return wrong_image(where, "an ELF file that is cut off");
  for (size_t i = 0; i < elf.header.program_header_count; ++i) {
    const auto segment = value_at<ProgramHeader>(bytes, elf.header.program_headers + i * sizeof(ProgramHeader));
    if (segment.type != kLoad) continue;
    if (uint64_t{segment.offset} + segment.file_bytes > bytes.size())
      return wrong_image(where, "an ELF file that is cut off");
    elf.segments.push_back(segment);
  }
  return elf;
}

std::span<const std::byte> bytes_of(const ProgramHeader& segment, std::span<const std::byte> file) {
  return file.subspan(segment.offset, segment.file_bytes);
}

const ProgramHeader* model_segment(const Elf& elf, uint32_t address) {
  const auto found = std::ranges::find(elf.segments, address, &ProgramHeader::physical_address);
  return found == elf.segments.end() ? nullptr : &*found;
}

Result<void> check_fits(const firmware::ImageSlot& slot, const Buffer& program, const firmware::ModelHeader& header,
                        const std::string& where) {
  const uint64_t model_bytes = sizeof(firmware::ModelHeader) + program.size();
  if (model_bytes > slot.model_capacity_bytes)
    return fail({.where = where,
                 .what = "the program does not fit",
                 .expected = fmt::format("at most {} bytes (MODEL region of the image)",
                                         slot.model_capacity_bytes - sizeof(firmware::ModelHeader)),
                 .got = fmt::format("{} bytes", program.size())});
  const uint64_t pool_bytes = uint64_t{header.method_pool_bytes} + header.temp_pool_bytes + header.fast_pool_bytes;
  if (pool_bytes > slot.pools_bytes)
    return fail({.where = where,
                 .what = "the pools do not fit",
                 .expected = fmt::format("at most {} bytes together", slot.pools_bytes),
                 .got = fmt::format("{} + {} + {} bytes", header.method_pool_bytes, header.temp_pool_bytes,
                                    header.fast_pool_bytes),
                 .fault = Fault::kUsage});
  return {};
}

template <typename T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto raw = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

void align(std::vector<std::byte>& bytes) {
  bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace

Result<firmware::ImageSlot> read_slot(const Buffer& image, const std::string& where) {
  CARINA_TRY(const Elf elf, read_elf(image.bytes(), where));
  const auto magic = std::as_bytes(std::span(firmware::kSlotMagic));
  for (const ProgramHeader& segment : elf.segments) {
    const auto bytes = bytes_of(segment, image.bytes());
    const auto found = std::ranges::search(bytes, magic);
    if (found.empty() || static_cast<size_t>(bytes.end() - found.begin()) < sizeof(firmware::ImageSlot)) continue;
    const auto slot = value_at<firmware::ImageSlot>(bytes, static_cast<size_t>(found.begin() - bytes.begin()));
    if (slot.version != firmware::kVersion)
      return wrong_image(where, fmt::format("an image of version {}, not {}", slot.version, firmware::kVersion));
    return slot;
  }
  return wrong_image(where, "an ELF file without a place for a model");
}

Result<std::vector<std::byte>> put_model(const Buffer& image, const std::string& where, const Buffer& program,
                                         firmware::ModelHeader model) {
  CARINA_TRY(const firmware::ImageSlot slot, read_slot(image, where));
  CARINA_TRY(const Elf elf, read_elf(image.bytes(), where));
  if (model_segment(elf, slot.model_address) != nullptr)
    return fail({.where = where, .what = "the image already contains a model", .hint = "use the original image"});
  CARINA_CHECKED(check_fits(slot, program, model, where));
  std::vector<std::byte> out(image.bytes().begin(), image.bytes().end());
  align(out);
  const auto model_bytes = static_cast<uint32_t>(sizeof(firmware::ModelHeader) + program.size());
  const ProgramHeader segment{.type = kLoad,
                              .offset = static_cast<uint32_t>(out.size()),
                              .virtual_address = slot.model_address,
                              .physical_address = slot.model_address,
                              .file_bytes = model_bytes,
                              .memory_bytes = model_bytes,
                              .flags = kReadable,
                              .alignment = kAlignment};
  model.program_bytes = static_cast<uint32_t>(program.size());
  append(out, model);
  out.insert(out.end(), program.bytes().begin(), program.bytes().end());
  align(out);
  // The program header table grows, so it moves to the end.
  ElfHeader header = elf.header;
  header.program_headers = static_cast<uint32_t>(out.size());
  const auto table = image.bytes().subspan(elf.header.program_headers,
                                           size_t{elf.header.program_header_count} * sizeof(ProgramHeader));
  out.insert(out.end(), table.begin(), table.end());
  append(out, segment);
  ++header.program_header_count;
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

Result<Buffer> model_of(const Buffer& image, const std::string& where) {
  CARINA_TRY(const firmware::ImageSlot slot, read_slot(image, where));
  CARINA_TRY(const Elf elf, read_elf(image.bytes(), where));
  const ProgramHeader* segment = model_segment(elf, slot.model_address);
  const bool has_header = segment != nullptr && segment->file_bytes >= sizeof(firmware::ModelHeader);
  if (!has_header)
    return fail({.where = where, .what = "the image has no model", .hint = "carina firmware MODEL.pte -o app.elf"});
  const auto header = value_at<firmware::ModelHeader>(image.bytes(), segment->offset);
  if (header.magic != firmware::kModelMagic || header.program_bytes > segment->file_bytes - sizeof header)
    return wrong_image(where, "an image whose model is damaged");
  return Buffer::copy_of(image.bytes().subspan(segment->offset + sizeof header, header.program_bytes));
}

}  // namespace carina::boards
