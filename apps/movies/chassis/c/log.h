#pragma once

/** Who writes the lines. */
void log_name(const char *service, int instance);

/**
 * One JSON line on standard error; then come pairs of texts, key and value, and NULL at the end. Of errors there are
 * at most 10 in a second; the next line says how many were left out.
 */
void log_info(const char *message, ...) __attribute__((sentinel));
void log_error(const char *message, ...) __attribute__((sentinel));
