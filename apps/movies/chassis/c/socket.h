#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "failure.h"

/** Waits until a descriptor has one of `events`; false if none has come by `until_ns`. */
bool wait_for(int descriptor, short events, int64_t until_ns);

/** -1 and a failure if it cannot connect. */
int socket_connect(const struct address *address, int64_t until_ns, struct failure *failure);
int socket_listen(const struct address *address, struct failure *failure);
void socket_no_delay(int descriptor);

/** Writes both, one after the other. */
bool socket_send(int descriptor, const void *head, size_t head_size, const void *rest, size_t rest_size, int64_t until_ns,
                 struct failure *failure);
/** Whether there is something to read, or the end. */
bool socket_is_readable(int descriptor);
