/* Declares the C API of Carina: compile a model, run the program, read errors. It is small on purpose; carina/api.h and
 * carina/session.h have the whole API in C++.
 *
 * Every function may be called from any thread. Calls on the same session run one after another; for runs at the same
 * time, give each thread a session of its own (carina_session_clone). No function throws an exception or ends the
 * process. A function that can fail returns CARINA_OK or a fault. It sets *error to the reason if `error` is not NULL;
 * free it with carina_error_free(). Outputs through pointers are only set on CARINA_OK. Pointers that must not be NULL
 * and are give CARINA_FAULT_USAGE. Functions that free something accept NULL.
 *
 * A structure that may get more members begins with its size, `struct_size`. An initializer sets it to the size that the
 * caller's header declares, and the library compares it with its own. A caller that skips the initializer, or whose
 * header is of another version than the library, gets CARINA_FAULT_USAGE, and no memory beyond its structure is
 * touched. carina_bytes and carina_memory never change. */
#ifndef CARINA_CARINA_H
#define CARINA_CARINA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum carina_fault {
  CARINA_OK = 0,
  CARINA_FAULT_INPUT = 1,       /* the model, the program or the data */
  CARINA_FAULT_USAGE = 2,       /* an argument or an option */
  CARINA_FAULT_ENVIRONMENT = 3, /* the disk or memory */
  CARINA_FAULT_INTERNAL = 4     /* a mistake of Carina: please report it */
} carina_fault;

/* Why a call failed. */
typedef struct carina_error carina_error;
/* All diagnostics as text in UTF-8, one after another; valid until the error is freed. "" for NULL. */
const char* carina_error_text(const carina_error* error);
void carina_error_free(carina_error* error);

/* The version of the library: "0.1.0". */
const char* carina_version(void);

/* The number of supported targets, and the name of one. NULL for an index beyond the last. */
size_t carina_target_count(void);
const char* carina_target_name(size_t index);

/* Bytes of the caller; data may be NULL if size is 0. */
typedef struct carina_bytes {
  const void* data;
  size_t size;
} carina_bytes;
/* Memory of the caller to write to. */
typedef struct carina_memory {
  void* data;
  size_t size;
} carina_memory;

/* An option by its long name on the command line, with its value as text: {"optimize", "size"}, {"cpu-node", "conv_1"},
 * {"delegate-all", ""}. docs/guide/options.md lists the names. Options of the command line that name files to write,
 * boards or calibration data are not among them. */
typedef struct carina_option {
  const char* name;
  const char* value;
} carina_option;

/* Options of a compilation. carina_compile_options_init() sets the defaults and struct_size; call it first. */
typedef struct carina_compile_options {
  size_t struct_size;
  const char* target;           /* a name of carina_target_name(); required */
  const char* system_config;    /* NULL: the default of the target's family */
  const char* memory_mode;      /* likewise */
  const char* scheme;           /* "int8", "int16x8" ...; NULL: the model's own quantization, or int8 with samples */
  int32_t threads;              /* 1 to 1024; the program is the same for every number */
  int64_t arena_budget_bytes;   /* the maximum size of a delegate's arena; 0: no limit */
  const carina_option* options; /* all others, `option_count` of them; later ones take precedence, lists get longer */
  size_t option_count;
} carina_compile_options;
/* `struct_size`: sizeof(carina_compile_options) in the caller. If the library has another size, it writes struct_size
 * alone, and the compilation reports it. */
void carina_compile_options_init_sized(carina_compile_options* options, size_t struct_size);
#define carina_compile_options_init(options) \
  carina_compile_options_init_sized((options), sizeof(carina_compile_options))

/* A compiled program. */
typedef struct carina_program carina_program;

/* Imports a file that torch.export.save() wrote, quantizes the model and compiles it. `samples` has `sample_count` times
 * the number of inputs of the model entries: the elements of each input of the first sample, then of the second, each of
 * the input's type and shape in row-major order. Without samples a float model stays float and runs on the CPU. */
carina_fault carina_compile(carina_bytes pt2, const carina_bytes* samples, size_t sample_count,
                            const carina_compile_options* options, carina_program** program, carina_error** error);
/* Compiles a TOSA graph, all of which must run on the target, to a program of one delegate. */
carina_fault carina_compile_tosa(carina_bytes tosa, const carina_compile_options* options, carina_program** program,
                                 carina_error** error);
/* The ExecuTorch program (.pte), valid until the program is freed. */
carina_bytes carina_program_pte(const carina_program* program);
/* Subgraphs that the NPU runs, and the estimated cycles of one inference on the NPU; -1: not known. */
size_t carina_program_delegates(const carina_program* program);
int64_t carina_program_cycles(const carina_program* program);
void carina_program_free(carina_program* program);

#define CARINA_MAX_RANK 16

/* An input or an output of a session. Begin with `carina_tensor_info info = CARINA_TENSOR_INFO_INIT;`. */
typedef struct carina_tensor_info {
  size_t struct_size;
  const char* name;  /* valid until the session is freed */
  const char* dtype; /* "fp32", "i8" ... */
  size_t rank;
  int64_t shape[CARINA_MAX_RANK];
  size_t bytes; /* of all elements */
} carina_tensor_info;
#define CARINA_TENSOR_INFO_INIT {sizeof(carina_tensor_info), NULL, NULL, 0, {0}, 0}

/* A program in memory, ready to run. */
typedef struct carina_session carina_session;

/* Loads a program. `pte` must stay as it is until the session and its clones are freed. `method`: a method's name; NULL:
 * "forward", else the first. */
carina_fault carina_session_load(carina_bytes pte, const char* method, carina_session** session, carina_error** error);
/* The same for a file, which is mapped. */
carina_fault carina_session_load_file(const char* path, const char* method, carina_session** session,
                                      carina_error** error);
/* Another session of the same program in its first state. */
carina_fault carina_session_clone(const carina_session* session, carina_session** clone, carina_error** error);
void carina_session_free(carina_session* session);

size_t carina_session_inputs(const carina_session* session);
size_t carina_session_outputs(const carina_session* session);
/* Describes an input or an output. CARINA_FAULT_USAGE: there is no such input, or info->struct_size is not set. */
carina_fault carina_session_input(const carina_session* session, size_t index, carina_tensor_info* info);
carina_fault carina_session_output(const carina_session* session, size_t index, carina_tensor_info* info);

/* Runs once: reads the elements of each input from `inputs` and writes those of each output to `outputs`. */
carina_fault carina_session_run(carina_session* session, const carina_bytes* inputs, size_t input_count,
                                const carina_memory* outputs, size_t output_count, carina_error** error);
/* Returns to the state after load. */
carina_fault carina_session_reset(carina_session* session, carina_error** error);

#ifdef __cplusplus
}
#endif

#endif /* CARINA_CARINA_H */
