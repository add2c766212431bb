# Writes the bytes of the file INPUT as C++ to OUTPUT, with a FUNCTION that returns them.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"report/page_parts_internal.h\"
namespace carina::report {
static constexpr unsigned char kBytes[] = {${bytes}};
std::string_view ${FUNCTION}() {
  return {reinterpret_cast<const char*>(kBytes), sizeof kBytes};
}
}  // namespace carina::report
")
