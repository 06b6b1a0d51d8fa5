#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace chassis {

struct Address {
  std::string host;
  uint16_t port = 0;

  std::string text() const { return host + ":" + std::to_string(port); }
};

/** Configuration of a service: the only argument of its program is a file of `key=value` lines. */
struct Config {
  std::string service;
  uint16_t id = 0;
  uint16_t instance = 0;
  Address listen;
  /** Requests that are worked on at once. */
  int threads = 0;
  /** Requests that wait for a thread at most. */
  int queue = 0;
  /** File for spans; empty: no spans are written. */
  std::string spans;
  std::string secret;
  /** Folder of data files; empty if not needed. */
  std::string data;
  std::map<std::string, std::vector<Address>> upstreams;
  std::map<std::string, std::vector<Address>> caches;
  std::map<std::string, std::vector<std::string>> stores;
  std::map<std::string, int> deadlines_ms;
  std::set<std::string> optional;

  /** Errors: `std::invalid_argument`, which names the file and the key. */
  static Config read(const std::string& path);
  static Config parse(std::istream& lines, const std::string& name);
};

}  // namespace chassis
