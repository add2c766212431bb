#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls the C API from C: compiles the model of small_programs.h, runs it and passes wrong arguments. Returns NULL, or
 * a message that says what went wrong. */
const char* c_api_round_trip(const void* pt2, size_t size);
const char* c_api_mistakes(const void* pt2, size_t size);

#ifdef __cplusplus
}
#endif
