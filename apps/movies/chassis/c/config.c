#include "config.h"

#include <string.h>

/** One value, with the place that an error names. */
struct value {
  const char *place, *key, *text;
  char **error;
};

static bool refuse_value(const struct value *value, const char *takes) {
  *value->error = g_strdup_printf("%s: `%s` is `%s`, and takes %s", value->place, value->key, value->text, takes);
  return false;
}

static bool parse_number(const struct value *value, long least, long most, long *number) {
  const char *text = value->text;
  bool is_number = *text && strlen(text) <= 9 && strspn(text, "0123456789") == strlen(text);
  *number = is_number ? strtol(text, NULL, 10) : -1;
  if (*number >= least && *number <= most) return true;
  char takes[64];
  g_snprintf(takes, sizeof takes, "%ld to %ld", least, most);
  return refuse_value(value, takes);
}

static void address_free(gpointer given) {
  struct address *address = given;
  if (!address) return;
  g_free(address->host);
  g_free(address->text);
  g_free(address);
}

static bool parse_address(const struct value *value, struct address **address) {
  const char *colon = strrchr(value->text, ':');
  if (!colon || colon == value->text) return refuse_value(value, "HOST:PORT");
  struct value port = *value;
  port.text = colon + 1;
  long number;
  if (!parse_number(&port, 1, 65535, &number)) return false;
  const char *begin = value->text, *end = colon;
  // An address of IPv6 is written in brackets.
  if (*begin == '[' && end[-1] == ']') begin++, end--;
  *address = g_new0(struct address, 1);
  (*address)->host = g_strndup(begin, (gsize)(end - begin));
  (*address)->port = (uint16_t)number;
  (*address)->text = g_strdup(value->text);
  return true;
}

/** The parts between commas; at least one. */
static bool parse_texts(const struct value *value, GPtrArray **texts) {
  *texts = g_ptr_array_new_with_free_func(g_free);
  char **parts = g_strsplit(value->text, ",", -1);
  for (char **part = parts; *part; part++) {
    char *text = g_strstrip(g_strdup(*part));
    if (*text) {
      g_ptr_array_add(*texts, text);
    } else {
      g_free(text);
    }
  }
  g_strfreev(parts);
  if ((*texts)->len > 0) return true;
  g_ptr_array_unref(*texts);
  return refuse_value(value, "at least one address");
}

static bool parse_addresses(const struct value *value, GPtrArray **addresses) {
  GPtrArray *texts;
  if (!parse_texts(value, &texts)) return false;
  *addresses = g_ptr_array_new_with_free_func(address_free);
  bool ok = true;
  for (guint at = 0; ok && at < texts->len; at++) {
    struct value part = *value;
    part.text = texts->pdata[at];
    struct address *address = NULL;
    if ((ok = parse_address(&part, &address))) g_ptr_array_add(*addresses, address);
  }
  g_ptr_array_unref(texts);
  if (!ok) g_ptr_array_unref(*addresses);
  return ok;
}

static bool parse_secret(const struct value *value, char **secret) {
  size_t size = strlen(value->text);
  if (size != 0 && (size != 64 || strspn(value->text, "0123456789abcdef") != size)) {
    // The value itself does not go into a log.
    *value->error = g_strdup_printf("%s: `secret` takes 64 hex digits or nothing", value->place);
    return false;
  }
  *secret = g_strdup(value->text);
  return true;
}

/** NAME of a key such as `upstream.NAME`, to free; NULL if the key is of another family. */
static char *name_in(const char *key, const char *family, const char *end) {
  if (!g_str_has_prefix(key, family) || !g_str_has_suffix(key, end)) return NULL;
  size_t begin = strlen(family), size = strlen(key);
  if (size <= begin + strlen(end)) return NULL;
  char *name = g_strndup(key + begin, size - begin - strlen(end));
  if (strspn(name, "abcdefghijklmnopqrstuvwxyz-") == strlen(name)) return name;
  g_free(name);
  return NULL;
}

/** Whether the key's family names a service or a domain. */
static bool is_named(const char *key) {
  const char *families[][2] = {{"upstream.", ""}, {"cache.", ""}, {"store.", ""}, {"call.", ".deadline_ms"}};
  for (size_t at = 0; at < G_N_ELEMENTS(families); at++) {
    char *name = name_in(key, families[at][0], families[at][1]);
    g_free(name);
    if (name) return true;
  }
  return false;
}

static bool set_named(struct config *config, const struct value *value) {
  // As if it were not there.
  if (!*value->text && is_named(value->key)) return true;
  char *name;
  long number;
  GPtrArray *list;
  bool ok = false;
  if ((name = name_in(value->key, "upstream.", ""))) {
    if ((ok = parse_addresses(value, &list))) g_hash_table_insert(config->upstreams, g_strdup(name), list);
  } else if ((name = name_in(value->key, "cache.", ""))) {
    if ((ok = parse_addresses(value, &list))) g_hash_table_insert(config->caches, g_strdup(name), list);
  } else if ((name = name_in(value->key, "store.", ""))) {
    if ((ok = parse_texts(value, &list))) g_hash_table_insert(config->stores, g_strdup(name), list);
  } else if ((name = name_in(value->key, "call.", ".deadline_ms"))) {
    if ((ok = parse_number(value, 1, 600000, &number))) {
      g_hash_table_insert(config->deadlines_ms, g_strdup(name), GINT_TO_POINTER((int)number));
    }
  } else {
    *value->error = g_strdup_printf("%s: `%s` is not a key", value->place, value->key);
  }
  g_free(name);
  return ok;
}

static bool set(struct config *config, const struct value *value) {
  const char *key = value->key;
  long number = 0;
  bool ok = true;
  if (!strcmp(key, "service")) {
    config->service = g_strdup(value->text);
  } else if (!strcmp(key, "id")) {
    ok = parse_number(value, 0, 0xffff, &number);
    config->id = (uint16_t)number;
  } else if (!strcmp(key, "instance")) {
    ok = parse_number(value, 0, 0xffff, &number);
    config->instance = (uint16_t)number;
  } else if (!strcmp(key, "listen")) {
    ok = parse_address(value, &config->listen);
  } else if (!strcmp(key, "threads")) {
    ok = parse_number(value, 1, 1024, &number);
    config->threads = (int)number;
  } else if (!strcmp(key, "queue")) {
    ok = parse_number(value, 1, 65535, &number);
    config->queue = (int)number;
  } else if (!strcmp(key, "spans")) {
    config->spans = g_strdup(value->text);
  } else if (!strcmp(key, "secret")) {
    ok = parse_secret(value, &config->secret);
  } else if (!strcmp(key, "data")) {
    config->data = g_strdup(value->text);
  } else if (!strcmp(key, "optional")) {
    char **names = g_strsplit(value->text, ",", -1);
    for (char **name = names; *name; name++) {
      if (*g_strstrip(*name)) g_hash_table_add(config->optional, g_strdup(*name));
    }
    g_strfreev(names);
  } else {
    ok = set_named(config, value);
  }
  return ok;
}

/** One line, which is changed. */
static bool take_line(struct config *config, GHashTable *seen, char *line, const char *place, char **error) {
  g_strstrip(line);
  if (!*line || *line == '#') return true;
  char *equals = strchr(line, '=');
  if (!equals) {
    *error = g_strdup_printf("%s: `%s` is not key=value", place, line);
    return false;
  }
  *equals = '\0';
  struct value value = {place, g_strchomp(line), g_strchug(equals + 1), error};
  if (!g_hash_table_add(seen, g_strdup(value.key))) {
    *error = g_strdup_printf("%s: `%s` is there twice", place, value.key);
    return false;
  }
  return set(config, &value);
}

static GHashTable *names_to(GDestroyNotify free_value) {
  return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_value);
}

static void unref_array(gpointer array) { g_ptr_array_unref(array); }

struct config *config_parse(const char *text, const char *name, char **error) {
  struct config *config = g_new0(struct config, 1);
  config->upstreams = names_to(unref_array);
  config->caches = names_to(unref_array);
  config->stores = names_to(unref_array);
  config->deadlines_ms = names_to(NULL);
  config->optional = names_to(NULL);
  GHashTable *seen = names_to(NULL);
  char **lines = g_strsplit(text, "\n", -1);
  bool ok = true;
  for (int at = 0; ok && lines[at]; at++) {
    char *place = g_strdup_printf("%s:%d", name, at + 1);
    ok = take_line(config, seen, lines[at], place, error);
    g_free(place);
  }
  const char *needed[] = {"service", "id", "instance", "listen", "threads", "queue", "spans", "secret", "data"};
  for (size_t at = 0; ok && at < G_N_ELEMENTS(needed); at++) {
    if (g_hash_table_contains(seen, needed[at])) continue;
    *error = g_strdup_printf("%s: `%s` is missing", name, needed[at]);
    ok = false;
  }
  g_strfreev(lines);
  g_hash_table_unref(seen);
  if (ok) return config;
  config_free(config);
  return NULL;
}

struct config *config_read(const char *path, char **error) {
  char *text;
  if (!g_file_get_contents(path, &text, NULL, NULL)) {
    *error = g_strdup_printf("%s: cannot be read", path);
    return NULL;
  }
  struct config *config = config_parse(text, path, error);
  g_free(text);
  return config;
}

void config_free(struct config *config) {
  g_free(config->service);
  address_free(config->listen);
  g_free(config->spans);
  g_free(config->secret);
  g_free(config->data);
  g_hash_table_unref(config->upstreams);
  g_hash_table_unref(config->caches);
  g_hash_table_unref(config->stores);
  g_hash_table_unref(config->deadlines_ms);
  g_hash_table_unref(config->optional);
  g_free(config);
}
