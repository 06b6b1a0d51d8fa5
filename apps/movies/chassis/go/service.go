package chassis

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"
)

// Service is the context of a handler: the configuration, upstreams and stores.
type Service struct {
	Config *Config
	Log    *Log

	counters  counters
	spans     *spans
	upstreams []*Upstream
	drained   chan struct{}
}

func newService(c *Config, log *Log) (*Service, error) {
	spans, err := openSpans(c, log)
	if err != nil {
		return nil, err
	}
	// Thrift's check of connections costs a goroutine for each request, and does not work for messages in memory.
	thrift.ServerConnectivityCheckInterval = 0
	return &Service{Config: c, Log: log, spans: spans, drained: make(chan struct{}, 1)}, nil
}

// Base has the methods that every service answers; handlers embed it.
type Base struct{ Service *Service }

// Ping is the clock of the service.
func (b Base) Ping(context.Context) (int64, error) { return Now(), nil }

// Counters are named as in the contract of the application.
func (b Base) Counters(context.Context) (map[string]int64, error) {
	all := map[string]int64{"spans": b.Service.spans.count.Load()}
	b.Service.counters.appendTo(all)
	for _, u := range b.Service.upstreams {
		u.appendTo(all)
	}
	return all, nil
}

// Drain ends the service as SIGTERM does.
func (b Base) Drain(context.Context) error {
	select {
	case b.Service.drained <- struct{}{}:
	default: // It ends already.
	}
	return nil
}
