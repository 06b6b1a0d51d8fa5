#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "failure.h"

enum span_kind { SPAN_SERVER = 0, SPAN_CLIENT = 1, SPAN_STORE = 2 };
/** Method of a span of a store. */
enum store_method { STORE_GET = 0, STORE_GET_MANY = 1, STORE_INSERT = 2, STORE_UPDATE = 3, STORE_DELETE = 4 };

#define SPAN_RETRIED 1

/** One piece of a request's time, as it lies in the file: 128 bytes, little endian. */
struct span {
  uint32_t magic;
  uint16_t service, instance;
  /** Number of the callee or store; 0 of a server's. */
  uint16_t peer;
  uint16_t method;
  uint8_t kind, outcome;
  uint16_t flags;
  uint8_t trace[16];
  uint64_t span, parent;
  /** a to f. CLOCK_MONOTONIC. Units: ns. */
  int64_t stamps[6];
  /** Of a server's. */
  int64_t cpu_ns;
  uint32_t bytes_in, bytes_out;
  uint8_t rest[16];
};

/** First record of a file. */
struct span_file_head {
  uint32_t magic;
  uint16_t version, service, instance;
  uint8_t rest0[6];
  char boot_id[36];
  uint8_t rest1[4];
  /** CLOCK_REALTIME - CLOCK_MONOTONIC. */
  int64_t wall_offset_ns;
  uint64_t pid;
  uint8_t rest2[56];
};

_Static_assert(sizeof(struct span) == 128 && sizeof(struct span_file_head) == 128, "records have 128 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "spans are written as they lie in memory");

/** Spans that a thread holds before it writes them: 8 KiB. */
#define SPANS_BUFFERED 64

struct span_buffer {
  pthread_mutex_t mutex;
  struct span spans[SPANS_BUFFERED];
  int count;
  struct span_buffer *next;
};

/** Spans of all threads: each has a buffer, which is appended to the file when it is full, and every 100 ms. */
struct spans {
  uint16_t service, instance;
  /** -1: none are written. */
  int file;
  _Atomic int64_t count;
  pthread_mutex_t mutex;
  pthread_cond_t stop;
  bool is_stopping;
  struct span_buffer *buffers;
  pthread_t flusher;
};

/** Makes no stamp earlier than the one before: stages not reached take no time. */
void fill_stamps(int64_t stamps[6]);

bool spans_open(struct spans *spans, const struct config *config, struct failure *failure);
void spans_add(struct spans *spans, struct span *span);
void spans_flush(struct spans *spans);
/** The threads that added spans have ended. */
void spans_close(struct spans *spans);
