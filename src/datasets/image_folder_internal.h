#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "carina/result.h"
#include "datasets/samples.h"

namespace carina::datasets {

struct ImageFile {
  std::string path;
  int64_t label = 0;
};

// The images of a folder. `labels`: the names of its subfolders with their labels; empty: the images have no labels.
//   digits/0/a.png, digits/7/b.png: a.png with label 0, b.png with label 7
//   pets/cat/a.png, pets/dog/b.png: a.png with label 0, b.png with label 1
struct ImageFolder {
  std::vector<ImageFile> files;  // in the order of the labels, then of the names
  std::vector<std::pair<std::string, int64_t>> labels;
};

// Errors: no image; images beside subfolders with images; a network with several inputs.
Result<ImageFolder> images_in(const std::string& folder, std::span<const InputType> inputs);

// "cat 0, dog 1"
std::string labels_text(const ImageFolder& folder);

}  // namespace carina::datasets
