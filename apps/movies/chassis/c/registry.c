#include "registry.h"

#include <stddef.h>
#include <string.h>

/** Source: the registry of the application. */
static const struct row {
  const char *name;
  uint16_t id;
  const char *methods[2];
} rows[] = {
    {"thumbnail", 7, {"read"}},      {"photos", 11, {"read"}},  {"unique-id", 19, {"upload"}},
    {"compose-review", 23, {"put"}}, {"movies-cache", 32, {0}}, {"movies-db", 33, {0}},
};

static const struct row *row(const char *name) {
  for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
    if (!strcmp(rows[at].name, name)) return &rows[at];
  }
  return NULL;
}

uint16_t registry_id(const char *name) {
  const struct row *found = row(name);
  return found ? found->id : 0;
}

int registry_method(const char *service, const char *method) {
  const struct row *found = row(service);
  for (int at = 0; found && at < 2 && found->methods[at]; at++) {
    if (!strcmp(found->methods[at], method)) return at;
  }
  return -1;
}
