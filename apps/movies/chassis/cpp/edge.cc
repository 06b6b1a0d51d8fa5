#include "edge.h"

#include <algorithm>

#include "clock.h"
#include "jump.h"
#include "registry.h"

namespace chassis {

Upstream::Upstream(std::string name, const std::vector<Address>& addresses, std::optional<int> limit_ms,
                   bool is_optional)
    : name(std::move(name)), id(registry_id(this->name)), limit_ms_(limit_ms) {
  if (is_optional) breaker.emplace();
  for (const Address& address : addresses) pools_.emplace_back(address);
}

Pool& Upstream::pick(std::optional<uint64_t> hash, uint32_t turn) {
  if (pools_.size() == 1) return pools_.front();
  if (hash) return pools_[static_cast<size_t>(jump_hash(*hash, static_cast<int32_t>(pools_.size())))];
  return pools_[turn % pools_.size()];
}

int64_t Upstream::limited(int64_t until_ns) const {
  return limit_ms_ ? std::min(until_ns, now_ns() + *limit_ms_ * kNsPerMs) : until_ns;
}

Edge::Edge(Upstream& upstream, const std::string& method)
    : upstream(upstream), method(method), place(registry_method(upstream.name, method)), idempotent(is_idempotent(method)) {}

void Edge::append_to(std::map<std::string, int64_t>& out) const {
  std::string name = "edge." + upstream.name + "." + method;
  out[name + ".calls"] = calls;
  out[name + ".errors"] = errors;
  out[name + ".ns"] = ns;
  wall.append_to(out, name + ".wall");
  queue.append_to(out, name + ".queue");
  application.append_to(out, name + ".application");
  cpu.append_to(out, name + ".cpu");
}

}  // namespace chassis
