#include "context.h"

#include <sys/random.h>

#include <random>

namespace chassis {
namespace {

thread_local const Context* current_context = nullptr;

/** Traces are written in lower case only. Source: W3C Trace Context, 3.2.2. */
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/** Two hexadecimal digits for each byte; false if malformed. */
bool parse_hex(std::string_view text, uint8_t* bytes) {
  for (size_t at = 0; at < text.size(); at += 2) {
    int high = hex_value(text[at]), low = hex_value(text[at + 1]);
    if (high < 0 || low < 0) return false;
    bytes[at / 2] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

void append_hex(std::string& out, const uint8_t* bytes, size_t size) {
  for (size_t at = 0; at < size; at++) {
    out.push_back("0123456789abcdef"[bytes[at] >> 4]);
    out.push_back("0123456789abcdef"[bytes[at] & 15]);
  }
}

uint64_t seed() {
  uint64_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) value = static_cast<uint64_t>(now_ns());
  return value;
}

}  // namespace

std::optional<Trace> Trace::parse(std::string_view text) {
  if (text.size() != 55 || text.substr(0, 3) != "00-" || text[35] != '-' || text[52] != '-') return std::nullopt;
  Trace trace;
  uint8_t span[8], flags;
  if (!parse_hex(text.substr(3, 32), trace.id.data()) || !parse_hex(text.substr(36, 16), span) ||
      !parse_hex(text.substr(53, 2), &flags)) {
    return std::nullopt;
  }
  for (uint8_t byte : span) trace.span = trace.span << 8 | byte;
  trace.is_sampled = flags & 1;
  // Zeros are not valid. Source: W3C Trace Context, 3.2.2.3 and 3.2.2.4.
  if (trace.span == 0 || trace.id == std::array<uint8_t, 16>{}) return std::nullopt;
  return trace;
}

std::string Trace::text() const {
  std::string out = "00-";
  out.reserve(55);
  append_hex(out, id.data(), id.size());
  out.push_back('-');
  uint8_t bytes[8];
  for (int at = 0; at < 8; at++) bytes[at] = static_cast<uint8_t>(span >> (56 - 8 * at));
  append_hex(out, bytes, 8);
  return out += is_sampled ? "-01" : "-00";
}

Context Context::current() { return current_context ? *current_context : Context{now_ns() + kDefaultDeadlineNs, std::nullopt}; }

void Context::set_current(const Context* context) { current_context = context; }

uint64_t new_span_id() {
  thread_local std::mt19937_64 random(seed());
  uint64_t id = random();
  return id ? id : 1;
}

std::optional<int64_t> parse_decimal(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  int64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace chassis
