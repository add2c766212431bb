/* A program in C. The C++ compiler links it. */
#include <carina/carina.h>
#include <stdio.h>

int main(void) {
  carina_session* session = NULL;
  carina_error* error = NULL;
  carina_bytes junk = {"not a program", 13};
  if (carina_session_load(junk, NULL, &session, &error) != CARINA_FAULT_INPUT) return 1;
  puts(carina_error_text(error));
  carina_error_free(error);
  return 0;
}
