#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "mv_movies_types.h"

#define FILL(kind, number, lost)                                                         \
  do {                                                                                   \
    va_list arguments;                                                                   \
    va_start(arguments, format);                                                         \
    char what[sizeof failure->what];                                                     \
    vsnprintf(what, sizeof what, format, arguments);                                     \
    va_end(arguments);                                                                   \
    *failure = (struct failure){.outcome = (kind), .code = (number), .is_lost = (lost)}; \
    snprintf(failure->what, sizeof failure->what, "%s", what);                           \
    return false;                                                                        \
  } while (0)

bool refuse(struct failure *failure, int code, const char *format, ...) { FILL(OUTCOME_REFUSED, code, false); }
bool fail_unavailable(struct failure *failure, const char *format, ...) { FILL(OUTCOME_FAILED, 0, false); }
bool fail_lost(struct failure *failure, const char *format, ...) { FILL(OUTCOME_FAILED, 0, true); }
bool fail_deadline(struct failure *failure, const char *format, ...) { FILL(OUTCOME_DEADLINE, 0, false); }

bool check_range(struct failure *failure, const char *name, long given, long least, long most) {
  if (given >= least && given <= most) return true;
  return refuse(failure, MV_CODE_BAD_REQUEST, "%s is %ld, and takes %ld to %ld", name, given, least, most);
}
