#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

enum message_type { MESSAGE_CALL = 1, MESSAGE_REPLY = 2, MESSAGE_EXCEPTION = 3 };

/** Name and sequence of a message of the strict binary protocol. */
struct message_head {
  enum message_type type;
  const char *name;
  size_t name_size;
  int32_t sequence;
};

/**
 * Reads the head, and checks the rest: true if it is exactly one complete structure. Generated code reads only messages that
 * passed, since it allocates as much as a length field claims, and follows structures to any depth.
 *
 * Cost: one pass, a stack of 64 levels.
 */
bool message_check(const char *message, size_t size, struct message_head *head);

/** The text of an application exception, of a checked message. Empty if absent. */
struct slice message_exception_text(const char *message, size_t size);
