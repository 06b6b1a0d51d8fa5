#pragma once

#include <stdbool.h>
#include <stddef.h>

/** What was read of a connection, and not yet used up. All zeros: empty. */
struct inbox {
  char *data;
  size_t begin, end, size;
};

enum inbox_got { INBOX_BYTES, INBOX_NOTHING, INBOX_CLOSED };
enum inbox_next { INBOX_FRAME, INBOX_INCOMPLETE, INBOX_BAD };

/** Reads what is there, without a wait. */
enum inbox_got inbox_read(struct inbox *inbox, int descriptor);
/** The first frame, without its length. It stays until it is consumed, and where it is until the next read. */
enum inbox_next inbox_peek(const struct inbox *inbox, const char **body, size_t *size);
void inbox_consume(struct inbox *inbox, size_t size);
void inbox_free(struct inbox *inbox);
