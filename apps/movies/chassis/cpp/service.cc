#include "service.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <stdexcept>

#include "clock.h"

namespace chassis {
namespace {

template <class Map>
const typename Map::mapped_type& configured(const Map& map, const std::string& family, const std::string& name) {
  auto found = map.find(name);
  if (found == map.end()) throw std::invalid_argument("`" + family + "." + name + "` is missing");
  return found->second;
}

}  // namespace

Service::Service(Config given) : config(std::move(given)), records(config), drained_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Service::~Service() { close(drained_); }

Edge& Service::edge(const std::string& callee, const std::string& method) {
  auto& upstream = upstreams_[callee];
  if (!upstream) {
    auto limit = config.deadlines_ms.find(callee);
    upstream = std::make_unique<Upstream>(callee, configured(config.upstreams, "upstream", callee),
                                          limit == config.deadlines_ms.end() ? std::nullopt : std::optional(limit->second),
                                          config.optional.count(callee) > 0);
  }
  return edges_.emplace_back(*upstream, method);
}

Cache& Service::cache(const std::string& domain) {
  auto& cache = caches_[domain];
  if (!cache) cache = std::make_unique<Cache>(records, domain, configured(config.caches, "cache", domain));
  return *cache;
}

Store& Service::store(const std::string& domain) {
  auto& store = stores_[domain];
  if (!store) store = std::make_unique<Store>(records, domain, configured(config.stores, "store", domain));
  return *store;
}

void Service::drain() {
  uint64_t one = 1;
  // It fails only if the counter is full, and then the descriptor is readable as well.
  [[maybe_unused]] ssize_t written = write(drained_, &one, sizeof one);
}

std::map<std::string, int64_t> Service::counters() const {
  std::map<std::string, int64_t> all;
  records.counters.append_to(all);
  all["spans"] = records.spans.count();
  for (const Edge& edge : edges_) edge.append_to(all);
  for (const auto& [name, upstream] : upstreams_) {
    if (upstream->breaker) upstream->breaker->append_to(all, "breaker." + name);
  }
  return all;
}

int64_t Base::ping() { return now_ns(); }
void Base::counters(std::map<std::string, int64_t>& all) { all = service_.counters(); }
void Base::drain() { service_.drain(); }

}  // namespace chassis
