package chassis

import "sync/atomic"

// counters count since the start.
type counters struct {
	requests, errors, refused, deadline, overloaded, degraded, retries, badFrames, connections atomic.Int64
	queueNS, applicationNS, cpuNS, cacheErrors                                                 atomic.Int64
}

func (c *counters) appendTo(all map[string]int64) {
	for name, count := range map[string]*atomic.Int64{
		"requests": &c.requests, "errors": &c.errors, "refused": &c.refused, "deadline": &c.deadline,
		"overloaded": &c.overloaded, "degraded": &c.degraded, "retries": &c.retries, "bad_frames": &c.badFrames,
		"connections": &c.connections, "queue_ns": &c.queueNS, "application_ns": &c.applicationNS, "cpu_ns": &c.cpuNS,
		"cache.errors": &c.cacheErrors,
	} {
		all[name] = count.Load()
	}
}

func (c *counters) outcome(o outcome) {
	switch o {
	case refused:
		c.refused.Add(1)
	case failed:
		c.errors.Add(1)
	case deadline:
		c.deadline.Add(1)
	}
}
