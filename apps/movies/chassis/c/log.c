#include "log.h"

#include <glib.h>
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

#include "clock.h"

/** Source: the contract of the application. */
#define ERRORS_PER_SECOND 10

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char service_name[64];
static int service_instance;
static int64_t second;
static int in_second;
static int64_t left_out;

/** Replaces invalid UTF-8, which may come from outside. */
static void append_quoted(GString *line, const char *text) {
  char *valid = g_utf8_make_valid(text, -1);
  g_string_append_c(line, '"');
  for (const char *at = valid; *at; at++) {
    unsigned char c = (unsigned char)*at;
    if (c == '"' || c == '\\') {
      g_string_append_c(line, '\\');
      g_string_append_c(line, *at);
    } else if (c < 0x20) {
      g_string_append_printf(line, "\\u%04x", c);
    } else {
      g_string_append_c(line, *at);
    }
  }
  g_string_append_c(line, '"');
  g_free(valid);
}

static void write_line(const char *level, const char *message, va_list pairs) {
  GString *line = g_string_new(NULL);
  g_string_printf(line, "{\"ts\":%" G_GINT64_FORMAT ",\"level\":\"%s\",\"service\":", wall_ms(), level);
  append_quoted(line, service_name);
  g_string_append_printf(line, ",\"instance\":%d,\"msg\":", service_instance);
  append_quoted(line, message);
  for (const char *key; (key = va_arg(pairs, const char *));) {
    g_string_append_c(line, ',');
    append_quoted(line, key);
    g_string_append_c(line, ':');
    append_quoted(line, va_arg(pairs, const char *));
  }
  if (left_out > 0) g_string_append_printf(line, ",\"left_out\":%" G_GINT64_FORMAT, left_out);
  left_out = 0;
  g_string_append(line, "}\n");
  // A failed write cannot be reported anywhere else.
  ssize_t written = write(STDERR_FILENO, line->str, line->len);
  (void)written;
  g_string_free(line, TRUE);
}

void log_name(const char *service, int instance) {
  pthread_mutex_lock(&mutex);
  g_strlcpy(service_name, service, sizeof service_name);
  service_instance = instance;
  pthread_mutex_unlock(&mutex);
}

void log_info(const char *message, ...) {
  va_list pairs;
  va_start(pairs, message);
  pthread_mutex_lock(&mutex);
  write_line("info", message, pairs);
  pthread_mutex_unlock(&mutex);
  va_end(pairs);
}

void log_error(const char *message, ...) {
  va_list pairs;
  va_start(pairs, message);
  pthread_mutex_lock(&mutex);
  int64_t now = now_ns() / (1000 * NS_PER_MS);
  if (now != second) {
    second = now;
    in_second = 0;
  }
  if (++in_second > ERRORS_PER_SECOND) {
    left_out++;
  } else {
    write_line("error", message, pairs);
  }
  pthread_mutex_unlock(&mutex);
  va_end(pairs);
}
