#pragma once

#include "service.h"

/** The picture that stands for a film. */
extern const struct program thumbnail;
