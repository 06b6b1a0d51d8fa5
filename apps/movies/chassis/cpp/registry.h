#pragma once

#include <cstdint>
#include <string_view>

namespace chassis {

/** Number of a service or a store in the registry (`app.toml`): what spans are written with. Errors: `std::invalid_argument`. */
uint16_t registry_id(std::string_view name);

/** The place of a method among those that the registry has for a service. Errors: `std::invalid_argument`. */
uint16_t registry_method(std::string_view service, std::string_view method);

/** As above; -1 for the chassis' methods, such as `ping`, and unknown names. */
int find_method(std::string_view service, std::string_view method);

/** What may be asked twice with the effect of once, and so again when a connection breaks. */
bool is_idempotent(std::string_view method);

}  // namespace chassis
