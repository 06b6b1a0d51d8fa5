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

/** The keys without a value. */
std::vector<std::string> missing(const key* keys, bytes* const* values, int count) {
  std::vector<std::string> texts;
  for (int at = 0; at < count; at++) {
    if (!values[at]) texts.emplace_back(keys[at].text);
  }
  return texts;
}

/** One question for one key, or one for many: spans tell them apart. */
template <class Get, class GetMany>
void fill(request* request, const key* keys, bytes** values, int count, Get get, GetMany get_many) {
  const std::vector<std::string> wanted = missing(keys, values, count);
  std::map<std::string, std::string> found;
  if (wanted.size() == 1) {
    if (auto value = get(wanted[0])) found[wanted[0]] = std::move(*value);
  } else if (!wanted.empty()) {
    found = get_many(wanted);
  }
  for (int at = 0; at < count; at++) {
    auto value = found.find(keys[at].text);
    if (!values[at] && value != found.end()) values[at] = request->keep(std::move(value->second));
  }
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

void cache_get(request* request, cache* cache, const key* keys, bytes** values, int count) {
  auto& core = of<chassis::Cache>(cache);
  fill(
      request, keys, values, count, [&](auto& key) { return core.get(key); }, [&](auto& all) { return core.get_many(all); });
}

void cache_set(cache* cache, const key* keys, bytes* const* values, int count) {
  chassis::Values all;
  for (int at = 0; at < count; at++) {
    if (values[at]) all[keys[at].text] = values[at]->text;
  }
  of<chassis::Cache>(cache).set_many(all);
}

bool store_get(request* request, store* store, const char* table, const key* ids, bytes** values, int count) {
  auto& core = of<chassis::Store>(store);
  const chassis::Column column(table, "data", true);
  return request->guarded([&] {
    fill(
        request, ids, values, count, [&](auto& id) { return core.get(column, id); },
        [&](auto& all) { return core.get_many(column, all); });
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
