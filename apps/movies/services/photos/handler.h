#pragma once

#include "service.h"

/** Pictures from a film. */
extern const struct program photos;
