#pragma once

#include <stdlib.h>

#include "cases.h"

/** A frame for the tests of all chassis: the description in its file, and its bytes. */
struct golden {
  char *name;
  bool is_accepted, is_sound_frame;
  GByteArray *bytes;
};

static inline void golden_free(gpointer given) {
  struct golden *golden = given;
  g_free(golden->name);
  g_byte_array_unref(golden->bytes);
  g_free(golden);
}

static inline struct golden *golden_read(const char *folder, const char *name) {
  char *path = g_build_filename(folder, name, NULL), *text;
  assert_true(g_file_get_contents(path, &text, NULL, NULL));
  struct golden *golden = g_new0(struct golden, 1);
  golden->name = g_strdup(name);
  golden->bytes = g_byte_array_new();
  char **lines = g_strsplit(text, "\n", -1);
  for (char **line = lines; *line; line++) {
    if (**line == '#') {
      if (!strcmp(*line, "# accept: yes")) golden->is_accepted = golden->is_sound_frame = true;
      if (!strcmp(*line, "# level: message")) golden->is_sound_frame = true;
      continue;
    }
    char **numbers = g_strsplit_set(*line, " ", -1);
    for (char **number = numbers; *number; number++) {
      guint8 byte = (guint8)strtol(*number, NULL, 16);
      if (**number) g_byte_array_append(golden->bytes, &byte, 1);
    }
    g_strfreev(numbers);
  }
  g_strfreev(lines);
  g_free(text);
  g_free(path);
  return golden;
}

/** All of them. */
static inline GPtrArray *golden_all(void) {
  GPtrArray *all = g_ptr_array_new_with_free_func(golden_free);
  const char *folder = CONTRACT "/golden", *name;
  GDir *names = g_dir_open(folder, 0, NULL);
  assert_non_null(names);
  while ((name = g_dir_read_name(names))) {
    if (g_str_has_suffix(name, ".hex")) g_ptr_array_add(all, golden_read(folder, name));
  }
  g_dir_close(names);
  assert_true(all->len >= 30);
  return all;
}
