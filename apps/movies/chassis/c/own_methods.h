#pragma once

#include "service.h"

/** Methods that every service has in addition to its own; `self` is the service. The last has no name. */
extern const struct method own_methods[];
