#include "datasets/sample_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "base/io/file.h"
#include "base/io/temporary_folder.h"
#include "tensor/npy.h"

namespace carina::datasets {
namespace {

using ::testing::HasSubstr;

const std::vector<InputType> kInputs{{.name = "image", .dtype = DType::kFp32, .shape = {1, 2}}};

Tensor images(std::vector<float> values) {
  return Tensor::of<float>(DType::kFp32, Shape{static_cast<int64_t>(values.size()) / 2, 2}, values);
}
Tensor labels(std::vector<int64_t> values) {
  return Tensor::of<int64_t>(DType::kInt64, Shape{static_cast<int64_t>(values.size())}, values);
}

class SampleFiles : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *TemporaryFolder::make("carina_samples"); }
  void write(const std::string& name, const std::map<std::string, Tensor>& arrays) {
    ASSERT_TRUE(write_file(path(name), *npz_bytes(arrays)));
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_->file(name); }

  std::unique_ptr<TemporaryFolder> folder_;
};

float first_of(SampleReader& reader, size_t n) {
  return (*reader.sample(n)).front().values<float>()[0];
}

TEST_F(SampleFiles, shards_are_read_in_order) {
  write("a.npz", {{"image", images({0, 1, 2, 3})}, {"y", labels({7, 8})}});
  write("b.npz", {{"image", images({4, 5, 6, 7, 8, 9})}, {"y", labels({1, 2, 3})}});
  auto reader = SampleReader::open(folder_->path(), kInputs);
  ASSERT_TRUE(reader) << to_string(reader.error());
  EXPECT_EQ(reader->size(), 5U);
  EXPECT_TRUE(*reader->has_labels());
  for (const size_t n : {0U, 1U, 2U, 4U, 1U}) {
    EXPECT_EQ(first_of(*reader, n), static_cast<float>(2 * n));
    EXPECT_EQ(*reader->label(n), (std::array{7.0, 8.0, 1.0, 2.0, 3.0}[n]));
  }
}

TEST_F(SampleFiles, partial_labels_are_an_error) {
  write("a.npz", {{"image", images({0, 1})}, {"y", labels({7})}});
  write("b.npz", {{"image", images({4, 5})}});
  auto reader = SampleReader::open(folder_->path(), kInputs);
  ASSERT_TRUE(reader);
  const auto has_labels = reader->has_labels();
  ASSERT_FALSE(has_labels);
  EXPECT_THAT(to_string(has_labels.error()), HasSubstr("b.npz: the number of labels differs"));
}

TEST_F(SampleFiles, mismatched_shard_is_named) {
  write("a.npz", {{"image", images({0, 1})}});
  write("b.npz", {{"image", labels({1, 2})}});
  const auto reader = SampleReader::open(folder_->path(), kInputs);
  ASSERT_FALSE(reader);
  EXPECT_THAT(to_string(reader.error()), HasSubstr("b.npz: the array for the input image does not fit"));
}

TEST_F(SampleFiles, one_file_per_input_is_read) {
  const std::vector<InputType> inputs{kInputs.front(), {.name = "size", .dtype = DType::kInt64, .shape = {1}}};
  ASSERT_TRUE(write_file(path("image.npy"), npy_bytes(images({0, 1, 2, 3}))));
  ASSERT_TRUE(write_file(path("size.npy"), npy_bytes(labels({5, 6}))));
  auto reader = SampleReader::open(folder_->path(), inputs);
  ASSERT_TRUE(reader) << to_string(reader.error());
  EXPECT_EQ(reader->size(), 2U);
  EXPECT_FALSE(*reader->has_labels());
  EXPECT_EQ((*reader->sample(1)).back().values<int64_t>()[0], 6);
}

}  // namespace
}  // namespace carina::datasets
