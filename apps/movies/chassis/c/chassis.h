#pragma once

#include <stdbool.h>
#include <stdint.h>

/**
 * The chassis for services in C: functions over the chassis in C++ (`../cpp`), which owns transport, spans, configuration and
 * the codec of Thrift. C sees no exceptions and owns no memory of the chassis.
 *
 * A function that fails returns false or NULL, and its first argument keeps the reason. A caller that then returns false itself
 * answers the request, or ends the program, with that reason.
 */
#ifdef __cplusplus
extern "C" {
#endif

/** The process. It owns its caches, stores and edges. */
struct service;
struct cache;
struct store;
/** One method of another service. */
struct edge;
/** One request under way, for one thread. It owns the bytes that it found until its handler returns. */
struct request;
struct bytes;

/** Key of an entry in a cache or a store. */
struct key {
  char text[64];
};

/** Those of `Code` and `PartKind` that C uses. Source: `../../idl/movies.thrift`. */
enum code { CODE_NOT_FOUND = 404 };
enum part_kind { PART_ID = 0 };

/** Maximum length of a requested list. Source: the contract of the application. */
#define MOST_LISTED 100

/** For `begin`. Each fails if it is not configured. */
struct cache *service_cache(struct service *service, const char *domain);
struct store *service_store(struct service *service, const char *domain);
struct edge *service_edge(struct service *service, const char *callee, const char *method);
int service_instance(const struct service *service);
/** Returns false. */
bool service_fail(struct service *service, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * Puts each value found in `values`, which are NULL at first, at the index of its key: from the cache, and missing ones from the
 * column `data` of a table, which then fill the cache. One query each. A cache that fails has nothing.
 */
bool find_bytes(struct request *request, struct cache *cache, const struct key *keys, struct store *store, const char *table,
                const struct key *ids, struct bytes **values, int count);

/** Calls `put` of compose-review with a part that is a number. All parts of one review go to the same instance. */
bool put_number(struct request *request, struct edge *compose_review, int64_t review_request, enum part_kind kind,
                int64_t number);

/** Refuses the request; returns false. */
bool refuse(struct request *request, enum code code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** Refuses a number outside of `least` to `most`. */
bool check_range(struct request *request, const char *name, int64_t given, int64_t least, int64_t most);

/** The services in C: the start, then the methods of the interface. Their results are written through the last argument. */
struct thumbnail_methods {
  bool (*begin)(struct service *service);
  bool (*read)(struct request *request, int64_t movie, struct bytes **picture);
};
struct photos_methods {
  bool (*begin)(struct service *service);
  /** `found`: MOST_LISTED places, NULL at first; those that stay NULL are left out. */
  bool (*read)(struct request *request, int64_t movie, int32_t n, struct bytes **found);
};
struct unique_id_methods {
  bool (*begin)(struct service *service);
  bool (*upload)(struct request *request, int64_t review_request, int64_t *review);
};

/** Serve until SIGTERM, SIGINT or `drain`; return the result of main. */
int thumbnail_run(int argc, char **argv, const struct thumbnail_methods *methods);
int photos_run(int argc, char **argv, const struct photos_methods *methods);
int unique_id_run(int argc, char **argv, const struct unique_id_methods *methods);

#ifdef __cplusplus
}
#endif
