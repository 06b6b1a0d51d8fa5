#pragma once

#include <thrift/TProcessor.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "cache.h"
#include "config.h"
#include "edge.h"
#include "idl/Chassis.h"
#include "records.h"
#include "store.h"

namespace chassis {

/** The context of a handler: configuration, upstreams and stores. */
class Service {
 public:
  explicit Service(Config config);
  ~Service();

  /** Errors of these: `std::invalid_argument` if it is not configured. */
  Edge& edge(const std::string& callee, const std::string& method);
  Cache& cache(const std::string& domain);
  Store& store(const std::string& domain);

  /** Not ready before this time after the start, even if all upstreams are. */
  void settle(int64_t ns) { settle_ns_ = ns; }
  int64_t settle_ns() const { return settle_ns_; }

  /** Ends the service as SIGTERM does. */
  void drain();
  /** Is readable after `drain`. */
  int drained() const { return drained_; }

  std::map<std::string, int64_t> counters() const;

  const Config config;
  Records records;

 private:
  std::map<std::string, std::unique_ptr<Upstream>> upstreams_;
  std::deque<Edge> edges_;
  std::map<std::string, std::unique_ptr<Cache>> caches_;
  std::map<std::string, std::unique_ptr<Store>> stores_;
  int64_t settle_ns_ = 0;
  int drained_;
};

/** Methods that every service has in addition to its own; handlers derive from it. */
class Base : virtual public movies::ChassisIf {
 public:
  explicit Base(Service& service) : service_(service) {}

  int64_t ping() override;
  void counters(std::map<std::string, int64_t>& all) override;
  void drain() override;

 protected:
  Service& service_;
};

using Processor = apache::thrift::TProcessor;

/** A whole program: reads the configuration, serves until a signal or `drain` ends it. Returns the exit status. */
int run(int argc, char** argv, const std::string& name, const std::function<std::shared_ptr<Processor>(Service&)>& make);

template <class ProcessorOf, class Handler>
int run(int argc, char** argv, const std::string& name) {
  return run(argc, argv, name,
             [](Service& service) { return std::make_shared<ProcessorOf>(std::make_shared<Handler>(service)); });
}

}  // namespace chassis
