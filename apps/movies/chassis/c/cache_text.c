#include "cache_text.h"

#include <string.h>

#include "frame.h"

/** Largest value accepted; the default limit of a cache is 1 MiB. Units: bytes. */
#define LARGEST (16 << 20)
/** A key has 250 bytes at most, and three numbers follow. Source: memcached's doc/protocol.txt. */
#define LONGEST_LINE 320

/** The next line, without its end; NULL if incomplete. */
static const char *take_line(const char **at, const char *end, size_t *size) {
  const char *line = *at;
  const char *stop = line < end ? memmem(line, (size_t)(end - line), "\r\n", 2) : NULL;
  if (!stop) return NULL;
  *size = (size_t)(stop - line);
  *at = stop + 2;
  return line;
}

static struct slice take_word(struct slice *line) {
  const char *space = memchr(line->data, ' ', line->size);
  struct slice word = {line->data, space ? (size_t)(space - line->data) : line->size};
  size_t used = space ? word.size + 1 : word.size;
  line->data += used;
  line->size -= used;
  return word;
}

/** `VALUE KEY FLAGS SIZE [CAS]` */
static bool parse_head(struct slice line, struct slice *key, size_t *size) {
  struct slice verb = take_word(&line);
  *key = take_word(&line);
  take_word(&line);
  struct slice number = take_word(&line);
  int64_t value;
  if (verb.size != 5 || memcmp(verb.data, "VALUE", 5) != 0 || key->size == 0) return false;
  if (!parse_decimal(number.data, number.size, &value) || value > LARGEST) return false;
  *size = (size_t)value;
  return true;
}

/** One pass over the answer; `value` may be NULL. */
static enum cache_answer walk(const char *text, size_t size, cache_value *value, void *context, size_t *used) {
  const char *at = text, *end = text + size;
  for (;;) {
    struct slice line, key;
    size_t length;
    line.data = take_line(&at, end, &line.size);
    if (!line.data) return end - at > LONGEST_LINE ? CACHE_BAD : CACHE_INCOMPLETE;
    if (line.size == 3 && !memcmp(line.data, "END", 3)) {
      *used = (size_t)(at - text);
      return CACHE_WHOLE;
    }
    if (!parse_head(line, &key, &length)) return CACHE_BAD;
    if ((size_t)(end - at) < length + 2) return CACHE_INCOMPLETE;
    if (memcmp(at + length, "\r\n", 2) != 0) return CACHE_BAD;
    if (value && !value(context, key.data, key.size, at, length)) return CACHE_BAD;
    at += length + 2;
  }
}

enum cache_answer cache_parse_values(const char *text, size_t size, cache_value *value, void *context, size_t *used) {
  // Values are copied only once all are there; the first pass looks at their heads.
  enum cache_answer answer = walk(text, size, NULL, NULL, used);
  return answer == CACHE_WHOLE ? walk(text, size, value, context, used) : answer;
}

enum cache_answer cache_parse_stored(const char *text, size_t size, guint count, size_t *used) {
  const char *at = text;
  for (guint left = count; left > 0; left--) {
    size_t length;
    const char *line = take_line(&at, text + size, &length);
    if (!line) return size - (size_t)(at - text) > LONGEST_LINE ? CACHE_BAD : CACHE_INCOMPLETE;
    bool is_fine = (length == 6 && !memcmp(line, "STORED", 6)) || (length == 10 && !memcmp(line, "NOT_STORED", 10));
    if (!is_fine) return CACHE_BAD;
  }
  *used = (size_t)(at - text);
  return CACHE_WHOLE;
}
