#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "config.h"
#include "failure.h"

/** Waits until the upstreams that are needed answer `ping`, or `is_stopping`. The failure names the one that does not. */
bool await_upstreams(const struct config *config, const _Atomic bool *is_stopping, struct failure *failure);
