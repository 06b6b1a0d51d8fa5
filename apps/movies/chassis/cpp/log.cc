#include "log.h"

#include <unistd.h>

#include <mutex>

#include "clock.h"

namespace chassis {
namespace {

/** Source: the contract of the application. */
constexpr int kErrorsPerSecond = 10;

std::mutex mutex;
std::string service_name;
int service_instance = 0;
int64_t second = 0;
int in_second = 0;
int64_t left_out = 0;

void write_line(const char* level, const std::string& message, const nlohmann::json& more) {
  nlohmann::ordered_json line = {
      {"ts", wall_ms()}, {"level", level}, {"service", service_name}, {"instance", service_instance}, {"msg", message}};
  for (const auto& [key, value] : more.items()) line[key] = value;
  // Invalid UTF-8 may come from outside, and must not end the program.
  std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  // A failed write cannot be reported anywhere else.
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void name_log(const std::string& service, int instance) {
  std::lock_guard lock(mutex);
  service_name = service;
  service_instance = instance;
}

void log_info(const std::string& message, const nlohmann::json& more) {
  std::lock_guard lock(mutex);
  write_line("info", message, more);
}

void log_error(const std::string& message, const nlohmann::json& more) {
  std::lock_guard lock(mutex);
  int64_t now = now_ns() / 1'000'000'000;
  if (now != second) {
    second = now;
    in_second = 0;
  }
  if (++in_second > kErrorsPerSecond) {
    left_out++;
    return;
  }
  nlohmann::json all = more;
  if (left_out > 0) all["left_out"] = left_out;
  left_out = 0;
  write_line("error", message, all);
}

}  // namespace chassis
