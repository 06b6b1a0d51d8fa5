#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "mv_movies_types.h"

#define FILL(kind, ...)                                                    \
  do {                                                                     \
    va_list arguments;                                                     \
    va_start(arguments, format);                                           \
    char what[sizeof failure->what];                                       \
    vsnprintf(what, sizeof what, format, arguments);                       \
    va_end(arguments);                                                     \
    *failure = (struct failure){.outcome = (kind), __VA_ARGS__};           \
    snprintf(failure->what, sizeof failure->what, "%s", what);             \
    return false;                                                          \
  } while (0)

bool refuse(struct failure *failure, int code, const char *format, ...) { FILL(OUTCOME_REFUSED, .code = code); }
bool fail_unavailable(struct failure *failure, const char *format, ...) { FILL(OUTCOME_FAILED, .is_lost = false); }
bool fail_lost(struct failure *failure, const char *format, ...) { FILL(OUTCOME_FAILED, .is_lost = true); }
bool fail_overloaded(struct failure *failure, const char *format, ...) { FILL(OUTCOME_FAILED, .is_overload = true); }
bool fail_deadline(struct failure *failure, const char *format, ...) { FILL(OUTCOME_DEADLINE, .is_lost = false); }

bool check_range(struct failure *failure, const char *name, long given, long least, long most) {
  if (given >= least && given <= most) return true;
  return refuse(failure, MV_CODE_BAD_REQUEST, "%s is %ld, and takes %ld to %ld", name, given, least, most);
}
