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
 * Reads the head, and walks over the rest: true where it is one whole structure and nothing more. Generated code reads only
 * messages that passed: it allocates what a length says, and follows structures as deep as they go.
 *
 * Cost: one pass, a stack of 64 levels.
 */
bool message_check(const char *message, size_t size, struct message_head *head);

/** What an application exception says, of a message that passed. Empty where it says nothing. */
struct slice message_exception_text(const char *message, size_t size);
