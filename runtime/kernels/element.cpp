#include "runtime/kernels/element_internal.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <type_traits>

namespace carina::runtime {

namespace {

// The bits of a 16-bit float.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
struct Flag {
  uint8_t bits;
};

double widen(Half value) {
  const int exponent = value.bits >> 10 & 31;
  const int mantissa = value.bits & 1023;
  double magnitude = std::ldexp(mantissa + (exponent == 0 ? 0 : 1024), (exponent == 0 ? 1 : exponent) - 25);
  if (exponent == 31)
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return (value.bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double widen(BFloat value) {
  return std::bit_cast<float>(uint32_t{value.bits} << 16);
}
double widen(Flag value) {
  return value.bits != 0 ? 1.0 : 0.0;
}

template <typename T>
  requires std::is_arithmetic_v<T>
double widen(T value) {
  return static_cast<double>(value);
}

void narrow(double value, Half& out) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) {
    out.bits = 0x7e00;
  } else if (magnitude >= 65520.0) {  // halfway between the largest finite number and the next power of two
    out.bits = static_cast<uint16_t>(sign | 0x7c00);
  } else {
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    const int step = (exponent < -13 || magnitude == 0 ? -13 : exponent) - 11;  // exponent of the last bit
    const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -step)));
    // A subnormal has the exponent field 0. If rounding carries into the exponent field, the result is the next power
    // of two, which is correct.
    out.bits = static_cast<uint16_t>(sign + (static_cast<uint32_t>(step + 24) << 10) + units);
  }
}

void narrow(double value, BFloat& out) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  out.bits = std::isnan(value) ? uint16_t{0x7fc0} : static_cast<uint16_t>(rounded);
}

void narrow(double value, Flag& out) {
  out.bits = value != 0 ? 1 : 0;
}

template <typename T>
  requires std::is_floating_point_v<T>
void narrow(double value, T& out) {
  out = static_cast<T>(value);
}

template <typename T>
  requires std::is_integral_v<T>
void narrow(double value, T& out) {
  const int64_t whole = to_int64(value);
  if constexpr (sizeof(T) < 8) {
    const auto low = static_cast<int64_t>(std::numeric_limits<T>::min());
    const auto high = static_cast<int64_t>(std::numeric_limits<T>::max());
    out = static_cast<T>(whole < low ? low : whole > high ? high : whole);
  } else {
    out = whole;
  }
}

template <typename T>
double load_number(const void* data, size_t index) {
  return widen(static_cast<const T*>(data)[index]);
}

template <typename T>
int64_t load_integer(const void* data, size_t index) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(static_cast<const T*>(data)[index]);
  } else {
    return to_int64(widen(static_cast<const T*>(data)[index]));
  }
}

template <typename T>
void store_number(void* data, size_t index, double value) {
  narrow(value, static_cast<T*>(data)[index]);
}

template <typename T>
void store_integer(void* data, size_t index, int64_t value) {
  if constexpr (std::is_integral_v<T>) {
    static_cast<T*>(data)[index] = static_cast<T>(value);
  } else {
    narrow(static_cast<double>(value), static_cast<T*>(data)[index]);
  }
}

struct Row {
  PteScalarType type;
  bool floating;
  NumberLoader load_number;
  IntegerLoader load_integer;
  NumberStorer store_number;
  IntegerStorer store_integer;
};

template <typename T>
constexpr Row row_of(PteScalarType type) {
  const bool floating = std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;
  return {type, floating, load_number<T>, load_integer<T>, store_number<T>, store_integer<T>};
}

constexpr Row kRows[] = {
    row_of<uint8_t>(PteScalarType::kByte),    row_of<int8_t>(PteScalarType::kChar),
    row_of<int16_t>(PteScalarType::kShort),   row_of<int32_t>(PteScalarType::kInt),
    row_of<int64_t>(PteScalarType::kLong),    row_of<Half>(PteScalarType::kHalf),
    row_of<float>(PteScalarType::kFloat),     row_of<double>(PteScalarType::kDouble),
    row_of<Flag>(PteScalarType::kBool),       row_of<BFloat>(PteScalarType::kBFloat16),
    row_of<uint16_t>(PteScalarType::kUInt16), row_of<uint32_t>(PteScalarType::kUInt32),
};

const Row& find(PteScalarType type) {
  for (const Row& row : kRows) {
    if (row.type == type) return row;
  }
  return kRows[0];
}

}  // namespace

bool is_floating(PteScalarType type) {
  return find(type).floating;
}
bool is_integer(PteScalarType type) {
  constexpr PteScalarType kTypes[] = {PteScalarType::kByte, PteScalarType::kChar, PteScalarType::kShort,
                                      PteScalarType::kInt, PteScalarType::kLong};
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}
NumberLoader number_loader(PteScalarType type) {
  return find(type).load_number;
}
IntegerLoader integer_loader(PteScalarType type) {
  return find(type).load_integer;
}
NumberStorer number_storer(PteScalarType type) {
  return find(type).store_number;
}
IntegerStorer integer_storer(PteScalarType type) {
  return find(type).store_integer;
}

double rounded_to(PteScalarType type, double value) {
  if (type == PteScalarType::kDouble) return value;
  double element = 0;  // storage for an element of any type
  number_storer(type)(&element, 0, value);
  return number_loader(type)(&element, 0);
}
int64_t wrapped_to(PteScalarType type, int64_t value) {
  int64_t element = 0;
  integer_storer(type)(&element, 0, value);
  return integer_loader(type)(&element, 0);
}

}  // namespace carina::runtime
