#pragma once

#include <stdint.h>

/** Number of a service or store that services in C are or ask; 0 where there is none of this name. */
uint16_t registry_id(const char *name);
/** Place of a method in the list of a service that is called; -1 where it has none of this name. */
int registry_method(const char *service, const char *method);
