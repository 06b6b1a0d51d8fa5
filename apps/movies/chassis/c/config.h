#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct address {
  char *host;
  uint16_t port;
  /** HOST:PORT, as it was given. */
  char *text;
};

/** Configuration of a service: the only argument of its program is a file of `key=value` lines. */
struct config {
  char *service;
  uint16_t id, instance;
  struct address *listen;
  /** Requests that are worked on at once. */
  int threads;
  /** Requests that wait for a thread at most. */
  int queue;
  /** File for spans; empty: no spans are written. */
  char *spans;
  char *secret;
  /** Folder of data files; empty if not needed. */
  char *data;
  /** Name to GPtrArray of struct address. */
  GHashTable *upstreams, *caches;
  /** Name to GPtrArray of texts. */
  GHashTable *stores;
  /** Name to milliseconds. */
  GHashTable *deadlines_ms;
  /** Names. */
  GHashTable *optional;
};

/** On failure NULL and an `error` to free, which names the file and the key. */
struct config *config_read(const char *path, char **error);
struct config *config_parse(const char *text, const char *name, char **error);
void config_free(struct config *config);
