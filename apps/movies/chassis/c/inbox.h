#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Bytes of a connection that were read and not yet consumed. All zeros: empty. */
struct inbox {
  char *data;
  size_t begin, end, size;
};

enum inbox_got { INBOX_BYTES, INBOX_NOTHING, INBOX_CLOSED };
enum inbox_next { INBOX_FRAME, INBOX_INCOMPLETE, INBOX_BAD };

/** Reads available bytes, without waiting. */
enum inbox_got inbox_read(struct inbox *inbox, int descriptor);
/** The first frame, without its length. It stays until consumed; the next read may move it. */
enum inbox_next inbox_peek(const struct inbox *inbox, const char **body, size_t *size);
void inbox_consume(struct inbox *inbox, size_t size);
void inbox_free(struct inbox *inbox);
