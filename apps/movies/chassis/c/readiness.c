#include "readiness.h"

#include <poll.h>
#include <unistd.h>

#include "clock.h"
#include "codec.h"
#include "inbox.h"
#include "mv_movies_types.h"
#include "socket.h"

/** Source of these: the contract of the application. */
#define PING_EACH_NS (50 * NS_PER_MS)
#define GIVE_UP_NS (20000 * NS_PER_MS)
/** A ping is answered by a thread that waits for nothing, so within microseconds. */
#define PING_NS (1000 * NS_PER_MS)

static bool exchange_ping(int descriptor, struct inbox *inbox, int64_t until_ns, struct failure *failure) {
  struct codec *codec = codec_new();
  ThriftStruct *arguments = g_object_new(MV_TYPE_CHASSIS_PING_ARGS, NULL);
  codec_write(codec, "ping", T_CALL, 1, arguments);
  frame_length(codec->head, codec->written->len);
  bool ok = socket_send(descriptor, codec->head->data, codec->head->len, codec->written->data, codec->written->len, until_ns,
                        failure);
  g_object_unref(arguments);
  codec_free(codec);
  const char *body;
  size_t size;
  while (ok && inbox_peek(inbox, &body, &size) != INBOX_FRAME) {
    if (!wait_for(descriptor, POLLIN, until_ns)) return fail_deadline(failure, "no answer to a ping");
    if (inbox_read(inbox, descriptor) == INBOX_CLOSED) return fail_lost(failure, "the end instead of an answer to a ping");
  }
  struct frame frame;
  struct message_head head;
  if (!ok) return false;
  if (frame_parse(body, size, &frame) && message_check(frame.message.data, frame.message.size, &head) &&
      head.type == MESSAGE_REPLY) {
    return true;
  }
  return fail_unavailable(failure, "an answer that is none to a ping");
}

static bool ping(const struct address *address, struct failure *failure) {
  const int64_t until = now_ns() + PING_NS;
  int descriptor = socket_connect(address, until, failure);
  if (descriptor < 0) return false;
  struct inbox inbox = {0};
  bool ok = exchange_ping(descriptor, &inbox, until, failure);
  inbox_free(&inbox);
  close(descriptor);
  return ok;
}

bool await_upstreams(const struct config *config, const _Atomic bool *is_stopping, struct failure *failure) {
  const int64_t until = now_ns() + GIVE_UP_NS;
  GHashTableIter at;
  gpointer name, addresses;
  g_hash_table_iter_init(&at, config->upstreams);
  while (g_hash_table_iter_next(&at, &name, &addresses)) {
    if (g_hash_table_contains(config->optional, name)) continue;
    const GPtrArray *all = addresses;
    for (guint one = 0; one < all->len; one++) {
      const struct address *address = all->pdata[one];
      struct failure why;
      while (!*is_stopping && !ping(address, &why)) {
        if (now_ns() >= until) {
          return fail_unavailable(failure, "upstream %s at %s did not answer a ping within 20 s: %.100s", (const char *)name,
                                  address->text, why.what);
        }
        usleep((useconds_t)(PING_EACH_NS / 1000));
      }
    }
  }
  return true;
}
