#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace chassis {

/** Names the service in each line from here on. */
void name_log(const std::string& service, int instance);

/** One line of JSON on standard error. Requests are not logged. */
void log_info(const std::string& message, const nlohmann::json& more = nlohmann::json::object());

/** At most 10 a second; the next one says how many were left out. */
void log_error(const std::string& message, const nlohmann::json& more = nlohmann::json::object());

}  // namespace chassis
