#pragma once

#include <cstdint>
#include <string_view>

namespace chassis {

/** Number of a service or a store in the registry (`app.toml`): spans hold it. Errors: `std::invalid_argument`. */
uint16_t registry_id(std::string_view name);

/** The index of a method in the registry's list for a service. Errors: `std::invalid_argument`. */
uint16_t registry_method(std::string_view service, std::string_view method);

/** As above; -1 for the chassis' methods, such as `ping`, and unknown names. */
int find_method(std::string_view service, std::string_view method);

/** Methods that are safe to repeat, and so are repeated when a connection breaks. */
bool is_idempotent(std::string_view method);

}  // namespace chassis
