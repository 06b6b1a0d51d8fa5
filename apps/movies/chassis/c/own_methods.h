#pragma once

#include "service.h"

/** What every service answers besides its own methods; `self` is the service. The last has no name. */
extern const struct method own_methods[];
