#include "chassis.h"

#include <cstdarg>
#include <cstdio>

#include "calls.h"
#include "checks.h"
#include "failure.h"
#include "handles.h"
#include "idl/ComposeReview.h"
#include "jump.h"

static_assert(int{CODE_NOT_FOUND} == int{movies::Code::NOT_FOUND});
static_assert(int{PART_ID} == int{movies::PartKind::ID});
static_assert(MOST_LISTED == chassis::kMostListed);

namespace {

/** Objects of C++ pass through C by pointers to incomplete types. */
template <class Core, class Handle>
Core& of(Handle* handle) {
  return *reinterpret_cast<Core*>(handle);
}

template <class Handle, class Make>
Handle* handle_from(Reason* reason, Make make) {
  Handle* made = nullptr;
  reason->guarded([&] { made = reinterpret_cast<Handle*>(&make()); });
  return made;
}

/** Longer texts are cut. */
std::string text_of(const char* format, va_list arguments) {
  char text[256];
  vsnprintf(text, sizeof text, format, arguments);
  return text;
}

/**
 * Looks for the keys without a value; returns the indexes of those found. One question for one key, or one for many: spans tell
 * them apart.
 */
template <class Get, class GetMany>
std::vector<int> fill(request* request, const key* keys, bytes** values, int count, Get get, GetMany get_many) {
  std::vector<std::string> wanted;
  for (int at = 0; at < count; at++) {
    if (!values[at]) wanted.emplace_back(keys[at].text);
  }
  std::map<std::string, std::string> found;
  if (wanted.size() == 1) {
    if (auto value = get(wanted[0])) found[wanted[0]] = std::move(*value);
  } else if (!wanted.empty()) {
    found = get_many(wanted);
  }
  std::vector<int> filled;
  for (int at = 0; at < count; at++) {
    auto value = found.find(keys[at].text);
    if (values[at] || value == found.end()) continue;
    values[at] = request->keep(std::move(value->second));
    filled.push_back(at);
  }
  return filled;
}

}  // namespace

cache* service_cache(service* service, const char* domain) {
  return handle_from<cache>(service, [&]() -> auto& { return service->core.cache(domain); });
}

store* service_store(service* service, const char* domain) {
  return handle_from<store>(service, [&]() -> auto& { return service->core.store(domain); });
}

edge* service_edge(service* service, const char* callee, const char* method) {
  return handle_from<edge>(service, [&]() -> auto& { return service->core.edge(callee, method); });
}

int service_instance(const service* service) { return service->core.config.instance; }

bool service_fail(service* service, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = text_of(format, arguments);
  va_end(arguments);
  return service->guarded([&] { throw std::invalid_argument(text); });
}

bool find_bytes(request* request, cache* cache, const key* keys, store* store, const char* table, const key* ids, bytes** values,
                int count) {
  auto& cached = of<chassis::Cache>(cache);
  auto& stored = of<chassis::Store>(store);
  const chassis::Column column(table, "data", true);
  return request->guarded([&] {
    fill(
        request, keys, values, count, [&](auto& key) { return cached.get(key); },
        [&](auto& all) { return cached.get_many(all); });
    chassis::Values fresh;
    for (int at : fill(
             request, ids, values, count, [&](auto& id) { return stored.get(column, id); },
             [&](auto& all) { return stored.get_many(column, all); })) {
      fresh[keys[at].text] = values[at]->text;
    }
    cached.set_many(fresh);
  });
}

bool put_number(request* request, edge* compose_review, int64_t review_request, part_kind kind, int64_t number) {
  movies::Part part;
  part.kind = static_cast<movies::PartKind::type>(kind);
  part.number = number;
  return request->guarded([&] {
    const chassis::To<movies::ComposeReviewClient> to(of<chassis::Edge>(compose_review));
    chassis::call(
        request->core.records, to, [&](auto& client) { client.send_put(review_request, part); },
        [](auto& client) { client.recv_put(); }, chassis::hash_of(review_request));
  });
}

bool refuse(request* request, code code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = text_of(format, arguments);
  va_end(arguments);
  return request->guarded([&] { chassis::refuse(static_cast<movies::Code::type>(code), text); });
}

bool check_range(request* request, const char* name, int64_t given, int64_t least, int64_t most) {
  return request->guarded([&] { chassis::check_range(name, given, least, most); });
}
