#include "plan/compile.h"
