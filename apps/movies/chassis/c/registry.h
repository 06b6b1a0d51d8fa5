#pragma once

#include <stdint.h>

/** Number of a service or store that is written in C or called from C; 0 if the name is unknown. */
uint16_t registry_id(const char *name);
/** Index of a method of a called service; -1 if unknown. */
int registry_method(const char *service, const char *method);
