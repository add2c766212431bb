#include "c_api_calls.h"

#include <math.h>
#include <string.h>

#include "carina/carina.h"

#define EXPECT(condition)                \
  do {                                   \
    if (!(condition)) return #condition; \
  } while (0)

static const float kSamples[3][2] = {{1.0F, -1.0F}, {-1.0F, 0.5F}, {0.25F, 1.0F}};

static carina_fault compile_small(const void* pt2, size_t size, carina_program** program, carina_error** error) {
  carina_compile_options options;
  carina_bytes file = {pt2, size};
  carina_bytes samples[3];
  for (int i = 0; i < 3; ++i) {
    samples[i].data = kSamples[i];
    samples[i].size = sizeof kSamples[i];
  }
  carina_compile_options_init(&options);
  options.target = "ethos-u55-128";
  return carina_compile(file, samples, 3, &options, program, error);
}

static const char* run_twice(carina_session* session) {
  float x[2] = {0.25F, 1.0F};
  float y[2] = {0.0F, 0.0F};
  carina_bytes input = {x, sizeof x};
  carina_memory output = {y, sizeof y};
  for (int i = 0; i < 2; ++i) {
    EXPECT(carina_session_run(session, &input, 1, &output, 1, NULL) == CARINA_OK);
    EXPECT(fabsf(y[0] - 2.25F) < 0.1F && fabsf(y[1] - 4.75F) < 0.1F);
    EXPECT(carina_session_reset(session, NULL) == CARINA_OK);
  }
  return NULL;
}

const char* c_api_round_trip(const void* pt2, size_t size) {
  carina_program* program = NULL;
  carina_session* session = NULL;
  carina_session* clone = NULL;
  carina_tensor_info info = CARINA_TENSOR_INFO_INIT;
  const char* wrong;
  EXPECT(strcmp(carina_version(), "0.1.0") == 0);
  EXPECT(carina_target_count() > 10 && carina_target_name(carina_target_count()) == NULL);
  EXPECT(strncmp(carina_target_name(0), "ethos-u", 7) == 0);
  EXPECT(compile_small(pt2, size, &program, NULL) == CARINA_OK);
  EXPECT(carina_program_delegates(program) == 1 && carina_program_cycles(program) > 0);
  EXPECT(carina_session_load(carina_program_pte(program), NULL, &session, NULL) == CARINA_OK);
  EXPECT(carina_session_inputs(session) == 1 && carina_session_outputs(session) == 1);
  EXPECT(carina_session_input(session, 0, &info) == CARINA_OK);
  EXPECT(info.rank == 2 && info.shape[0] == 1 && info.shape[1] == 2 && info.bytes == 8);
  EXPECT(strcmp(info.dtype, "fp32") == 0 && strcmp(info.name, "input_0") == 0);
  EXPECT(carina_session_output(session, 0, &info) == CARINA_OK && info.bytes == 8);
  EXPECT(carina_session_clone(session, &clone, NULL) == CARINA_OK);
  wrong = run_twice(session);
  if (wrong == NULL) wrong = run_twice(clone);
  carina_session_free(clone);
  carina_session_free(session);
  carina_program_free(program);
  return wrong;
}

static const char* session_mistakes(carina_session* session) {
  carina_error* error = NULL;
  carina_tensor_info info = CARINA_TENSOR_INFO_INIT;
  float x[2] = {0.0F, 0.0F};
  carina_bytes input = {x, sizeof x};
  carina_bytes null_input = {NULL, sizeof x};
  carina_memory output = {x, 4};
  EXPECT(carina_session_input(session, 1, &info) == CARINA_FAULT_USAGE);
  EXPECT(carina_session_input(session, 0, NULL) == CARINA_FAULT_USAGE);
  info.struct_size -= sizeof info.bytes; /* of an older header */
  EXPECT(carina_session_input(session, 0, &info) == CARINA_FAULT_USAGE && info.name == NULL);
  EXPECT(carina_session_run(session, NULL, 1, NULL, 1, NULL) == CARINA_FAULT_USAGE);
  EXPECT(carina_session_run(session, &input, 1, NULL, 0, NULL) == CARINA_FAULT_USAGE);
  EXPECT(carina_session_run(session, &input, (size_t)-1, &output, (size_t)-1, NULL) == CARINA_FAULT_USAGE);
  EXPECT(carina_session_run(session, &null_input, 1, &output, 1, NULL) == CARINA_FAULT_USAGE);
  EXPECT(carina_session_run(session, &input, 1, &output, 1, &error) == CARINA_FAULT_INPUT);
  EXPECT(strstr(carina_error_text(error), "expected 8 bytes, got 4 bytes") != NULL);
  carina_error_free(error);
  return NULL;
}

/* Options by their names on the command line. */
static const char* named_options(carina_bytes file) {
  carina_program* program = NULL;
  carina_error* error = NULL;
  carina_compile_options options;
  carina_bytes samples[3];
  carina_option keep = {"no-delegate", ""};
  carina_option all[4] = {{"optimize", "size"}, {"--arena-budget", "2M"}, {"loop-rounds", "3"}, {"check", "full"}};
  carina_option wrong[5] = {
      {"optimise_for", "size"}, {"optimize", "fast"}, {"arena-budget", "-1"}, {"loop-rounds", "1025"}, {NULL, NULL}};
  for (int i = 0; i < 3; ++i) {
    samples[i].data = kSamples[i];
    samples[i].size = sizeof kSamples[i];
  }
  carina_compile_options_init(&options);
  options.target = "ethos-u55-128";
  options.options = &keep;
  options.option_count = 1;
  EXPECT(carina_compile(file, samples, 3, &options, &program, NULL) == CARINA_OK);
  EXPECT(carina_program_delegates(program) == 0);
  carina_program_free(program);
  options.options = all;
  options.option_count = 4;
  EXPECT(carina_compile(file, samples, 3, &options, &program, NULL) == CARINA_OK);
  EXPECT(carina_program_delegates(program) == 1);
  carina_program_free(program);
  program = NULL;
  options.option_count = 1;
  for (int i = 0; i < 5; ++i) {
    options.options = &wrong[i];
    EXPECT(carina_compile(file, samples, 3, &options, &program, &error) == CARINA_FAULT_USAGE);
    if (i == 1) EXPECT(strstr(carina_error_text(error), "speed, search, size") != NULL);
    carina_error_free(error);
  }
  options.options = NULL;
  EXPECT(carina_compile(file, samples, 3, &options, &program, NULL) == CARINA_FAULT_USAGE && program == NULL);
  return NULL;
}

/* Structures of another version of the header, and one that was not initialized. */
static const char* wrong_sizes(carina_bytes file) {
  carina_program* program = NULL;
  carina_error* error = NULL;
  carina_compile_options options;
  memset(&options, 0, sizeof options);
  EXPECT(carina_compile(file, NULL, 0, &options, &program, &error) == CARINA_FAULT_USAGE);
  EXPECT(strstr(carina_error_text(error), "carina_compile_options_init()") != NULL);
  EXPECT(strstr(carina_error_text(error), "struct_size") != NULL);
  carina_error_free(error);
  options.threads = 77;
  carina_compile_options_init_sized(&options, sizeof options - sizeof options.option_count);
  EXPECT(options.threads == 77); /* nothing but the size was written */
  options.target = "ethos-u55-128";
  EXPECT(carina_compile_tosa(file, &options, &program, NULL) == CARINA_FAULT_USAGE);
  carina_compile_options_init(&options);
  EXPECT(options.threads == 1 && options.struct_size == sizeof options);
  EXPECT(program == NULL);
  return NULL;
}

const char* c_api_mistakes(const void* pt2, size_t size) {
  carina_program* program = NULL;
  carina_session* session = NULL;
  carina_error* error = NULL;
  carina_compile_options options;
  carina_bytes file = {pt2, size};
  carina_bytes none = {NULL, 0};
  const char* wrong;
  carina_compile_options_init(&options);
  EXPECT(carina_compile(file, NULL, 0, NULL, &program, NULL) == CARINA_FAULT_USAGE);
  EXPECT(carina_compile(file, NULL, 0, &options, NULL, NULL) == CARINA_FAULT_USAGE);
  options.target = "ethos-u1";
  EXPECT(carina_compile(file, NULL, 0, &options, &program, &error) == CARINA_FAULT_USAGE);
  EXPECT(strstr(carina_error_text(error), "ethos-u55-128") != NULL);
  carina_error_free(error);
  options.target = "ethos-u55-128";
  EXPECT(carina_compile(file, NULL, 3, &options, &program, NULL) == CARINA_FAULT_USAGE);
  EXPECT(carina_compile(file, NULL, (size_t)-1, &options, &program, NULL) == CARINA_FAULT_USAGE);
  options.threads = 0;
  EXPECT(carina_compile(file, NULL, 0, &options, &program, NULL) == CARINA_FAULT_USAGE);
  options.threads = 1;
  options.scheme = "int7";
  EXPECT(carina_compile(file, NULL, 0, &options, &program, NULL) == CARINA_FAULT_USAGE);
  EXPECT(carina_compile(none, NULL, 0, &options, &program, NULL) == CARINA_FAULT_INPUT);
  EXPECT(carina_compile_tosa(file, &options, &program, NULL) == CARINA_FAULT_INPUT);
  EXPECT(carina_session_load(file, NULL, &session, NULL) == CARINA_FAULT_INPUT);
  EXPECT(carina_session_load_file("/nowhere/at/all.pte", NULL, &session, NULL) != CARINA_OK);
  EXPECT(program == NULL && session == NULL);
  EXPECT(carina_session_clone(NULL, &session, NULL) == CARINA_FAULT_USAGE);
  EXPECT(carina_session_reset(NULL, NULL) == CARINA_FAULT_USAGE);
  EXPECT(carina_session_inputs(NULL) == 0 && carina_program_cycles(NULL) == -1);
  EXPECT(carina_error_text(NULL)[0] == '\0');
  carina_session_free(NULL);
  carina_program_free(NULL);
  carina_error_free(NULL);
  wrong = wrong_sizes(file);
  if (wrong == NULL) wrong = named_options(file);
  if (wrong != NULL) return wrong;
  EXPECT(compile_small(pt2, size, &program, NULL) == CARINA_OK);
  EXPECT(carina_session_load(carina_program_pte(program), "forward", &session, NULL) == CARINA_OK);
  wrong = session_mistakes(session);
  carina_session_free(session);
  carina_program_free(program);
  return wrong;
}
