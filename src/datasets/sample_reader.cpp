#include "datasets/sample_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "base/io/file.h"
#include "base/memory/mapped_pages.h"
#include "datasets/image_folder_internal.h"
#include "datasets/image_input_internal.h"
#include "datasets/samples_internal.h"
#include "files/file_kind.h"
#include "tensor/array_stream.h"
#include "tensor/elements.h"

namespace carina::datasets {

namespace {

using Streams = std::map<std::string, ArrayStream>;

// One file with samples, or one file per input.
struct Shard {
  std::vector<std::string> files;
  size_t first = 0;  // index of the first sample
  size_t samples = 0;
  std::optional<int64_t> labels = {};
};

Result<ArrayStream> open_npy(const std::string& path) {
  CARINA_TRY(Buffer file, map_large_file(path));
  CARINA_CHECKED(files::check_kind(file, path, {files::FileKind::kNpy}));
  return ArrayStream::open(ByteStream::of(std::move(file), path));
}

Result<Streams> open_arrays(const std::string& path) {
  CARINA_TRY(const Buffer file, map_large_file(path));
  CARINA_CHECKED(
      files::check_kind(file, path, {files::FileKind::kNpz, files::FileKind::kNpy, files::FileKind::kVelaRaw}));
  if (files::kind_of(file) == files::FileKind::kNpy) {
    Streams streams;
    CARINA_TRY(ArrayStream array, ArrayStream::open(ByteStream::of(file, path)));
    streams.emplace("x", std::move(array));
    return streams;
  }
  CARINA_TRY(Streams streams, open_npz(file, path));
  if (!streams.empty()) return streams;
  CARINA_CHECKED(load_arrays(path));  // reports what the file contains instead
  return streams;
}

Result<Streams> open_streams(const Shard& shard) {
  if (shard.files.size() == 1) return open_arrays(shard.files.front());
  Streams streams;
  for (const std::string& file : shard.files) {
    CARINA_TRY(ArrayStream array, open_npy(file));
    streams.emplace(std::filesystem::path(file).stem().string(), std::move(array));
  }
  return streams;
}

// Returns the arrays' types and shapes without data.
Arrays described(const Streams& streams) {
  Arrays arrays;
  for (const auto& [name, stream] : streams)
    arrays.emplace(name, Tensor{.dtype = stream.dtype(), .shape = stream.shape(), .data = {}});
  return arrays;
}

// A shard that is being read.
class OpenShard {
 public:
  static Result<OpenShard> open(const Shard& shard, std::span<const InputType> inputs, const std::string& where) {
    OpenShard result;
    CARINA_TRY(result.streams_, open_streams(shard));
    const Arrays arrays = described(result.streams_);
    CARINA_TRY(const std::vector<const Tensor*> found, arrays_of_inputs(arrays, inputs, where));
    for (const Tensor* array : found) {
      const auto named = std::ranges::find_if(arrays, [&](const auto& entry) { return &entry.second == array; });
      result.names_.push_back(named->first);
    }
    const auto* label = std::ranges::find_if(kLabels, [&](const std::string& name) {
      return arrays.contains(name) && std::ranges::find(result.names_, name) == result.names_.end();
    });
    if (label != kLabels.end()) result.label_ = *label;
    if (!found.empty()) result.samples_ = static_cast<size_t>(*samples_in(found.front()->shape, inputs.front().shape));
    return result;
  }
  [[nodiscard]] size_t samples() const { return samples_; }
  [[nodiscard]] std::optional<int64_t> labels() const {
    if (label_.empty()) return std::nullopt;
    const Shape& shape = streams_.at(label_).shape();
    const auto samples = static_cast<int64_t>(samples_);
    return shape.rank() > 1 && shape[0] == samples ? samples : shape.elements();
  }
  // Returns the arrays that are neither inputs nor labels.
  [[nodiscard]] std::vector<std::string> unread() const {
    std::vector<std::string> names;
    for (const auto& [name, stream] : streams_) {
      if (name != label_ && std::ranges::find(names_, name) == names_.end()) names.push_back(name);
    }
    return names;
  }
  Result<Sample> sample(size_t n, std::span<const InputType> inputs) {
    Sample sample;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int64_t first = static_cast<int64_t>(n) * inputs[i].shape.elements();
      CARINA_TRY(Tensor tensor, streams_.at(names_[i]).read(first, inputs[i].shape));
      sample.push_back(std::move(tensor));
    }
    return sample;
  }
  // The shape of a sample's label.
  [[nodiscard]] Shape label_shape() const {
    const Shape& shape = streams_.at(label_).shape();
    if (shape.rank() < 2 || shape[0] != static_cast<int64_t>(samples_)) return Shape{};
    return Shape(shape.dims().subspan(1));
  }
  Result<Tensor> labels(size_t n) {
    const Shape shape = label_shape();
    return streams_.at(label_).read(static_cast<int64_t>(n) * shape.elements(), shape);
  }
  Result<double> label(size_t n, const std::string& where) {
    CARINA_TRY(const Tensor label, labels(n));
    const auto numbers = numbers_of(label);
    if (!numbers)
      return fail(
          {.where = where + ":" + label_, .what = "expected numbers", .got = type_text(label.dtype, label.shape)});
    if (const auto found = class_of(*numbers)) return *found;
    return fail({.where = where + ":" + label_,
                 .what = "the samples have many labels each",
                 .expected = "one class per sample, as a number or one-hot",
                 .got = to_string(label.shape),
                 .hint = "--metric pixel, iou, psnr or rmse takes them"});
  }

 private:
  Streams streams_;
  std::vector<std::string> names_;  // names of the inputs' arrays
  std::string label_;               // the array of the labels; empty if there is none
  size_t samples_ = 0;
};

std::vector<std::string> array_files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".npz" || extension == ".npy") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

// Returns whether there is one .npy per input, by name.
bool belong_together(std::span<const std::string> files, std::span<const InputType> inputs) {
  return files.size() == inputs.size() && std::ranges::all_of(files, [&](const std::string& file) {
           const std::filesystem::path path(file);
           return path.extension() == ".npy" &&
                  std::ranges::find(inputs, path.stem().string(), &InputType::name) != inputs.end();
         });
}

std::vector<Shard> shards_in(const std::string& folder, std::span<const InputType> inputs) {
  const std::vector<std::string> files = array_files_in(folder);
  if (!files.empty() && belong_together(files, inputs)) return {{.files = files}};
  std::vector<Shard> shards;
  for (const std::string& file : files) shards.push_back({.files = {file}});
  return shards;
}

}  // namespace

struct SampleReader::State {
  std::string path;
  std::vector<InputType> inputs;
  std::vector<Shard> shards;
  ImageFolder images = {};  // instead of shards
  ImageOptions image_options = {};
  size_t samples = 0;
  size_t reading = 0;  // index of the open shard
  std::set<std::string> unread = {};
  std::optional<OpenShard> open = {};

  // Returns the shard's name in messages.
  [[nodiscard]] const std::string& name_of(const Shard& shard) const {
    return shard.files.size() == 1 ? shard.files.front() : path;
  }
  Result<void> open_shard(size_t number) {
    if (open && reading == number) return {};
    open.reset();
    CARINA_TRY(open, OpenShard::open(shards[number], inputs, name_of(shards[number])));
    reading = number;
    return {};
  }
  Result<void> look_at_all() {
    for (size_t s = 0; s < shards.size(); ++s) {
      CARINA_CHECKED(open_shard(s));
      shards[s].first = samples;
      shards[s].samples = open->samples();
      shards[s].labels = open->labels();
      for (const std::string& name : open->unread()) unread.insert(name);
      samples += shards[s].samples;
    }
    return {};
  }
  // Opens the shard that contains sample `n`. Returns the sample's index in the shard.
  Result<size_t> find(size_t n) {
    const auto after = std::ranges::upper_bound(shards, n, {}, &Shard::first);
    const auto number = static_cast<size_t>(after - shards.begin()) - 1;
    CARINA_CHECKED(open_shard(number));
    if (open->samples() == shards[number].samples) return n - shards[number].first;
    return fail({.where = name_of(shards[number]),
                 .what = "the file changed while it was read",
                 .hint = "try again when the program that writes the file has finished",
                 .fault = Fault::kEnvironment});
  }
};

Result<SampleReader> SampleReader::open(const std::string& path, std::span<const InputType> inputs,
                                        const ImageOptions& images) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->inputs.assign(inputs.begin(), inputs.end());
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  if (is_folder && array_files_in(path).empty()) {
    CARINA_TRY(state->images, images_in(path, inputs));
    state->image_options = images;
    state->samples = state->images.files.size();
    return SampleReader(std::move(state));
  }
  state->shards = is_folder ? shards_in(path, inputs) : std::vector<Shard>{{.files = {path}}};
  CARINA_CHECKED(state->look_at_all());
  return SampleReader(std::move(state));
}

size_t SampleReader::size() const {
  return state_->samples;
}

void SampleReader::note_unread(const Log& log) const {
  if (!state_->images.labels.empty())
    log.note({.where = state_->path,
              .what = fmt::format("the labels of the folders: {}", labels_text(state_->images)),
              .severity = Severity::kNote});
  if (state_->unread.empty()) return;
  std::vector<std::string> inputs;
  for (const InputType& input : state_->inputs) inputs.push_back(input.name);
  log.note({.where = state_->path,
            .what = fmt::format("{}: not an input of the model, and not read", fmt::join(state_->unread, ", ")),
            .hint = fmt::format("the inputs are {}; labels are read from y, label, labels or target",
                                fmt::join(inputs, ", ")),
            .severity = Severity::kNote});
}

std::vector<size_t> SampleReader::sequences() const {
  std::vector<size_t> firsts;
  for (const Shard& shard : state_->shards) firsts.push_back(shard.first);
  return firsts;
}

bool SampleReader::begins_sequence(size_t n) const {
  return std::ranges::binary_search(state_->shards, n, {}, &Shard::first);
}

Result<Sample> SampleReader::sample(size_t n) {
  if (!state_->images.files.empty()) {
    const std::string& path = state_->images.files[n].path;
    CARINA_TRY(const Buffer file, map_file(path));
    CARINA_TRY(Tensor tensor, image_tensor(file, state_->inputs.front(), state_->image_options, path));
    return Sample{std::move(tensor)};
  }
  CARINA_TRY(const size_t in_shard, state_->find(n));
  return state_->open->sample(in_shard, state_->inputs);
}

std::optional<double> class_of(std::span<const double> label) {
  if (label.size() == 1) return label.front();
  const auto place = std::ranges::find(label, 1.0);
  const bool is_one_hot = place != label.end() && std::ranges::count(label, 0.0) + 1 == std::ssize(label);
  return is_one_hot ? std::optional(static_cast<double>(place - label.begin())) : std::nullopt;
}

Result<bool> SampleReader::has_labels() const {
  if (!state_->images.files.empty()) return !state_->images.labels.empty();
  const bool has_some =
      std::ranges::any_of(state_->shards, [](const Shard& shard) { return shard.labels.has_value(); });
  if (!has_some) return false;
  for (const Shard& shard : state_->shards) {
    if (shard.labels && *shard.labels == static_cast<int64_t>(shard.samples)) continue;
    return fail({.where = state_->name_of(shard),
                 .what = "the number of labels differs from the number of samples",
                 .expected = std::to_string(shard.samples),
                 .got = std::to_string(shard.labels.value_or(0))});
  }
  return true;
}

Result<double> SampleReader::label(size_t n) {
  if (!state_->images.files.empty()) return static_cast<double>(state_->images.files[n].label);
  CARINA_TRY(const size_t in_shard, state_->find(n));
  return state_->open->label(in_shard, state_->name_of(state_->shards[state_->reading]));
}

Result<Tensor> SampleReader::labels(size_t n) {
  if (!state_->images.files.empty())
    return integer_tensor(DType::kInt64, Shape{}, std::array{state_->images.files[n].label});
  CARINA_TRY(const size_t in_shard, state_->find(n));
  return state_->open->labels(in_shard);
}

SampleReader::SampleReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
SampleReader::SampleReader(SampleReader&&) noexcept = default;
SampleReader& SampleReader::operator=(SampleReader&&) noexcept = default;
SampleReader::~SampleReader() = default;

Result<datasets::DataSet> open_data_set(const std::string& path, std::span<const InputType> inputs, const Log& log,
                                        const ImageOptions& images) {
  CARINA_TRY(SampleReader opened, SampleReader::open(path, inputs, images));
  opened.note_unread(log);
  const auto reader = std::make_shared<SampleReader>(std::move(opened));
  return datasets::DataSet(reader->size(), [reader](size_t n) { return reader->sample(n); })
      .in_sequences(reader->sequences());
}

Result<std::vector<Sample>> first_samples(const datasets::DataSet& data, size_t max) {
  std::vector<Sample> samples;
  for (size_t n = 0; n < std::min(max, data.size()); ++n) {
    CARINA_TRY(Sample sample, data.sample(n));
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace carina::datasets
