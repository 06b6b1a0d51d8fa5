#pragma once

#include "service.h"

/** Makes the number of a review, and sends it to compose-review. */
extern const struct program unique_id;
