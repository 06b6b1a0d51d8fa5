#pragma once

#include <stdbool.h>

/** How a request ended, as its span says. */
enum outcome { OUTCOME_OK = 0, OUTCOME_REFUSED = 1, OUTCOME_FAILED = 2, OUTCOME_DEADLINE = 3 };

/** Reason of a failure. A function that fails returns false and fills one. */
struct failure {
  enum outcome outcome;
  /** mvCode of OUTCOME_REFUSED. */
  int code;
  /** A connection that is of no more use; the same question may be asked on another. */
  bool is_lost;
  /** A service that is called, or one behind it, takes no more. */
  bool is_overload;
  char what[256];
};

/** Fill `failure` and return false, so that a function can end with them. Longer texts are cut. */
bool refuse(struct failure *failure, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** `what` begins with `unavailable: ` in the answer. */
bool fail_unavailable(struct failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fail_lost(struct failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** `what` begins with `overloaded: ` in the answer. */
bool fail_overloaded(struct failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** `what` begins with `deadline: ` in the answer. */
bool fail_deadline(struct failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Maximum length of a requested list. Source: the contract of the application. */
#define MOST_LISTED 100

bool check_range(struct failure *failure, const char *name, long given, long least, long most);
