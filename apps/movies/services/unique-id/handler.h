#pragma once

#include "service.h"

/** Makes the number of a review, and puts it where the parts of the review are gathered. */
extern const struct program unique_id;
