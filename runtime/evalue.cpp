#include "runtime/evalue.h"

namespace carina::runtime {

size_t element_bytes(PteScalarType type) {
  switch (type) {
    case PteScalarType::kByte:
    case PteScalarType::kChar:
    case PteScalarType::kBool:
      return 1;
    case PteScalarType::kShort:
    case PteScalarType::kHalf:
    case PteScalarType::kBFloat16:
    case PteScalarType::kUInt16:
      return 2;
    case PteScalarType::kInt:
    case PteScalarType::kFloat:
    case PteScalarType::kUInt32:
      return 4;
    case PteScalarType::kLong:
    case PteScalarType::kDouble:
      return 8;
  }
  return 0;
}

}  // namespace carina::runtime
