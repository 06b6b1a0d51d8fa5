#include "spans.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

#define SPAN_MAGIC 0x314e5053
#define FILE_MAGIC 0x31485053
#define FLUSH_EACH_NS (100 * NS_PER_MS)

void fill_stamps(int64_t stamps[6]) {
  for (int at = 1; at < 6; at++) stamps[at] = MAX(stamps[at], stamps[at - 1]);
}

static bool write_all(int file, const void *bytes, size_t size) {
  const char *at = bytes;
  while (size > 0) {
    ssize_t n = write(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= (size_t)n;
  }
  return true;
}

static struct span_file_head head_of(const struct config *config) {
  struct span_file_head head = {
      .magic = FILE_MAGIC, .version = 1, .service = config->id, .instance = config->instance, .pid = (uint64_t)getpid()};
  FILE *boot_id = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (boot_id) {
    size_t n = fread(head.boot_id, 1, sizeof head.boot_id, boot_id);
    if (n < sizeof head.boot_id) memset(head.boot_id, 0, sizeof head.boot_id);
    fclose(boot_id);
  }
  head.wall_offset_ns = read_clock(CLOCK_REALTIME) - now_ns();
  return head;
}

static void *flush_each(void *given) {
  struct spans *spans = given;
  pthread_mutex_lock(&spans->mutex);
  while (!spans->is_stopping) {
    int64_t end = now_ns() + FLUSH_EACH_NS;
    struct timespec end_time = {.tv_sec = end / (1000 * NS_PER_MS), .tv_nsec = end % (1000 * NS_PER_MS)};
    pthread_cond_timedwait(&spans->stop, &spans->mutex, &end_time);
    pthread_mutex_unlock(&spans->mutex);
    spans_flush(spans);
    pthread_mutex_lock(&spans->mutex);
  }
  pthread_mutex_unlock(&spans->mutex);
  return NULL;
}

bool spans_open(struct spans *spans, const struct config *config, struct failure *failure) {
  *spans = (struct spans){.service = config->id, .instance = config->instance, .file = -1};
  if (!*config->spans) return true;
  spans->file = open(config->spans, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  struct span_file_head head = head_of(config);
  if (spans->file < 0 || !write_all(spans->file, &head, sizeof head)) {
    fail_unavailable(failure, "spans: %s: %s", config->spans, strerror(errno));
    if (spans->file >= 0) close(spans->file);
    return false;
  }
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&spans->mutex, NULL);
  pthread_cond_init(&spans->stop, &clock);
  pthread_condattr_destroy(&clock);
  if (pthread_create(&spans->flusher, NULL, flush_each, spans) == 0) return true;
  close(spans->file);
  return fail_unavailable(failure, "spans: no thread can be begun");
}

/** The buffer of this thread, which lasts as long as the spans. */
static struct span_buffer *own_buffer(struct spans *spans) {
  static _Thread_local struct span_buffer *own;
  static _Thread_local struct spans *owner;
  if (owner == spans) return own;
  owner = spans;
  own = g_new0(struct span_buffer, 1);
  pthread_mutex_init(&own->mutex, NULL);
  pthread_mutex_lock(&spans->mutex);
  own->next = spans->buffers;
  spans->buffers = own;
  pthread_mutex_unlock(&spans->mutex);
  return own;
}

static void write_buffer(struct spans *spans, struct span_buffer *buffer) {
  // One write each: the file is open in append mode, so writes of several threads do not mix.
  if (buffer->count > 0 && !write_all(spans->file, buffer->spans, (size_t)buffer->count * sizeof(struct span))) {
    log_error("spans are lost: they cannot be written", "error", strerror(errno), NULL);
  }
  buffer->count = 0;
}

void spans_add(struct spans *spans, struct span *span) {
  if (spans->file < 0) return;
  span->magic = SPAN_MAGIC;
  span->service = spans->service;
  span->instance = spans->instance;
  fill_stamps(span->stamps);
  struct span_buffer *buffer = own_buffer(spans);
  pthread_mutex_lock(&buffer->mutex);
  buffer->spans[buffer->count++] = *span;
  spans->count++;
  if (buffer->count == SPANS_BUFFERED) write_buffer(spans, buffer);
  pthread_mutex_unlock(&buffer->mutex);
}

void spans_flush(struct spans *spans) {
  if (spans->file < 0) return;
  pthread_mutex_lock(&spans->mutex);
  struct span_buffer *first = spans->buffers;
  pthread_mutex_unlock(&spans->mutex);
  for (struct span_buffer *buffer = first; buffer; buffer = buffer->next) {
    pthread_mutex_lock(&buffer->mutex);
    write_buffer(spans, buffer);
    pthread_mutex_unlock(&buffer->mutex);
  }
}

void spans_close(struct spans *spans) {
  if (spans->file < 0) return;
  pthread_mutex_lock(&spans->mutex);
  spans->is_stopping = true;
  pthread_cond_broadcast(&spans->stop);
  pthread_mutex_unlock(&spans->mutex);
  pthread_join(spans->flusher, NULL);
  spans_flush(spans);
  close(spans->file);
  spans->file = -1;
  while (spans->buffers) {
    struct span_buffer *buffer = spans->buffers;
    spans->buffers = buffer->next;
    pthread_mutex_destroy(&buffer->mutex);
    g_free(buffer);
  }
  pthread_cond_destroy(&spans->stop);
  pthread_mutex_destroy(&spans->mutex);
}
