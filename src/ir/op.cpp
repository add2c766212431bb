#include "ir/op.h"

#include "carina/check.h"

namespace carina::ir {

AtenOp Op::aten() const {
  CARINA_CHECK(is_aten(), "{} is not an ATen op", name());
  return static_cast<AtenOp>(index_);
}

TosaOp Op::tosa() const {
  CARINA_CHECK(is_tosa(), "{} is not a TOSA op", name());
  return static_cast<TosaOp>(index_);
}

std::string_view Op::name() const {
  switch (stage_) {
    case Stage::kAten:
      return name_of(static_cast<AtenOp>(index_));
    case Stage::kTosa:
      return name_of(static_cast<TosaOp>(index_));
  }
  CARINA_UNREACHABLE("stage", stage_);
}

std::optional<Op> op_of_name(std::string_view name) {
  if (const auto op = aten_op_of_name(name)) return Op(*op);
  if (const auto op = tosa_op_of_name(name)) return Op(*op);
  return std::nullopt;
}

}  // namespace carina::ir
