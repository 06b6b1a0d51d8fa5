#include "config.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace chassis {
namespace {

std::string trim(std::string_view text) {
  const char* blank = " \t\r";
  size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(blank) - begin + 1));
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string part = trim(std::string_view(text).substr(begin, end - begin));
    if (!part.empty()) parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

/** One value, with the place that an error names. */
struct Value {
  std::string place;
  std::string key;
  std::string text;

  [[noreturn]] void refuse(const std::string& takes) const {
    throw std::invalid_argument(place + ": `" + key + "` is `" + text + "`, and takes " + takes);
  }

  int number(int least, int most) const {
    bool digits =
        !text.empty() && text.size() <= 9 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    int n = digits ? std::stoi(text) : -1;
    if (n < least || n > most) refuse(std::to_string(least) + " to " + std::to_string(most));
    return n;
  }

  Address address() const {
    size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) refuse("HOST:PORT");
    Value port{place, key, text.substr(colon + 1)};
    return Address{text.substr(0, colon), static_cast<uint16_t>(port.number(1, 65535))};
  }

  std::vector<Address> addresses() const {
    std::vector<Address> found;
    for (const std::string& part : texts()) found.push_back(Value{place, key, part}.address());
    return found;
  }

  std::vector<std::string> texts() const {
    std::vector<std::string> found = split(text);
    if (found.empty()) refuse("at least one address");
    return found;
  }

  std::string secret() const {
    bool hex = text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
    // The value itself does not go into a log.
    if (!hex && !text.empty()) throw std::invalid_argument(place + ": `secret` takes 64 hex digits or nothing");
    return text;
  }
};

/** NAME of a key such as `upstream.NAME`; empty if the key is of another family. */
std::string name_in(const std::string& key, const std::string& family, const std::string& end = "") {
  if (key.size() <= family.size() + end.size() || key.compare(0, family.size(), family) != 0) return "";
  if (key.compare(key.size() - end.size(), end.size(), end) != 0) return "";
  std::string name = key.substr(family.size(), key.size() - family.size() - end.size());
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos ? name : "";
}

/** Whether the key's family names a service or a domain. */
bool is_named(const std::string& key) {
  return !name_in(key, "upstream.").empty() || !name_in(key, "cache.").empty() || !name_in(key, "store.").empty() ||
         !name_in(key, "call.", ".deadline_ms").empty();
}

void set(Config& config, const Value& value) {
  const std::string& key = value.key;
  std::string name;
  // As if it were not there.
  if (value.text.empty() && is_named(key)) return;
  if (key == "service") {
    config.service = value.text;
  } else if (key == "id") {
    config.id = static_cast<uint16_t>(value.number(0, 0xffff));
  } else if (key == "instance") {
    config.instance = static_cast<uint16_t>(value.number(0, 0xffff));
  } else if (key == "listen") {
    config.listen = value.address();
  } else if (key == "threads") {
    config.threads = value.number(1, 1024);
  } else if (key == "queue") {
    config.queue = value.number(1, 65535);
  } else if (key == "spans") {
    config.spans = value.text;
  } else if (key == "secret") {
    config.secret = value.secret();
  } else if (key == "data") {
    config.data = value.text;
  } else if (key == "optional") {
    for (const std::string& one : split(value.text)) config.optional.insert(one);
  } else if (!(name = name_in(key, "upstream.")).empty()) {
    config.upstreams[name] = value.addresses();
  } else if (!(name = name_in(key, "cache.")).empty()) {
    config.caches[name] = value.text == "none" ? std::vector<Address>() : value.addresses();
  } else if (!(name = name_in(key, "store.")).empty()) {
    config.stores[name] = value.texts();
  } else if (!(name = name_in(key, "call.", ".deadline_ms")).empty()) {
    config.deadlines_ms[name] = value.number(1, 600'000);
  } else {
    throw std::invalid_argument(value.place + ": `" + key + "` is not a key");
  }
}

}  // namespace

Config Config::parse(std::istream& lines, const std::string& name) {
  Config config;
  std::set<std::string> seen;
  std::string line;
  for (int at = 1; std::getline(lines, line); at++) {
    line = trim(line);
    if (line.empty() || line[0] == '#') continue;
    std::string place = name + ":" + std::to_string(at);
    size_t equals = line.find('=');
    if (equals == std::string::npos) throw std::invalid_argument(place + ": `" + line + "` is not key=value");
    Value value{place, trim(line.substr(0, equals)), trim(line.substr(equals + 1))};
    if (!seen.insert(value.key).second) {
      throw std::invalid_argument(place + ": `" + value.key + "` is there twice");
    }
    set(config, value);
  }
  for (const char* key : {"service", "id", "instance", "listen", "threads", "queue", "spans", "secret", "data"}) {
    if (!seen.count(key)) throw std::invalid_argument(name + ": `" + key + "` is missing");
  }
  return config;
}

Config Config::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument(path + ": cannot be read");
  return parse(file, path);
}

}  // namespace chassis
