#include "inbox.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

#include "cursor.h"
#include "frame.h"

/** Most requests and their answers fit. */
#define LEAST ((size_t)16 << 10)
/** A buffer that one large message made is not kept by a connection that is idle. */
#define KEPT ((size_t)1 << 20)

static void make_room(struct inbox *inbox) {
  if (inbox->size - inbox->end >= LEAST) return;
  if (inbox->begin > 0) memmove(inbox->data, inbox->data + inbox->begin, inbox->end - inbox->begin);
  inbox->end -= inbox->begin;
  inbox->begin = 0;
  if (inbox->size - inbox->end >= LEAST) return;
  // Doubled, so that each byte of a large frame is moved once on average.
  inbox->size = MAX(2 * inbox->size, inbox->end + LEAST);
  inbox->data = g_realloc(inbox->data, inbox->size);
}

enum inbox_got inbox_read(struct inbox *inbox, int descriptor) {
  make_room(inbox);
  for (;;) {
    ssize_t n = recv(descriptor, inbox->data + inbox->end, inbox->size - inbox->end, MSG_DONTWAIT);
    if (n > 0) {
      inbox->end += (size_t)n;
      return INBOX_BYTES;
    }
    if (n == 0) return INBOX_CLOSED;
    if (errno != EINTR) return errno == EAGAIN || errno == EWOULDBLOCK ? INBOX_NOTHING : INBOX_CLOSED;
  }
}

enum inbox_next inbox_peek(const struct inbox *inbox, const char **body, size_t *size) {
  size_t left = inbox->end - inbox->begin;
  if (left < 4) return INBOX_INCOMPLETE;
  struct cursor cursor = cursor_on(inbox->data + inbox->begin, 4);
  size_t length = (size_t)cursor_number(&cursor, 4);
  if (length == 0 || length > FRAME_LIMIT) return INBOX_BAD;
  if (left - 4 < length) return INBOX_INCOMPLETE;
  *body = inbox->data + inbox->begin + 4;
  *size = length;
  return INBOX_FRAME;
}

void inbox_consume(struct inbox *inbox, size_t size) {
  inbox->begin += size;
  if (inbox->begin < inbox->end) return;
  inbox->begin = inbox->end = 0;
  if (inbox->size > KEPT) inbox_free(inbox);
}

void inbox_free(struct inbox *inbox) {
  g_free(inbox->data);
  *inbox = (struct inbox){0};
}
