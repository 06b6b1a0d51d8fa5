package chassis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// Upstream is a service that is called. Generated clients send their calls through it; a client remembers its last
// answer, so each call needs a client of its own.
type Upstream struct {
	service *Service
	name    string
	row     row
	// 0 for the time left of the request.
	limit    time.Duration
	replicas []*pool
	turn     atomic.Uint64
	// nil for a service that is needed.
	breaker *breaker
	edges   map[string]*edge
}

// edge counts the calls of one method.
type edge struct {
	method            string
	calls, errors, ns atomic.Int64
	// Of all calls: time seen here, and the callee's times from its answers.
	wall, queue, application, cpu histogram
}

// Upstream is the service of this name in the configuration.
func (s *Service) Upstream(name string) (*Upstream, error) {
	addresses, err := s.Config.addresses("upstream." + name)
	if err != nil {
		return nil, err
	}
	limit, err := s.Config.limitOf(name)
	if err != nil {
		return nil, err
	}
	r, err := rowOf(name)
	if err != nil {
		return nil, err
	}
	u := &Upstream{service: s, name: name, row: r, limit: time.Duration(limit) * time.Millisecond, edges: map[string]*edge{}}
	if s.Config.Optional[name] {
		u.breaker = &breaker{}
	}
	for _, address := range addresses {
		u.replicas = append(u.replicas, newPool(address))
	}
	for _, method := range r.methods {
		u.edges[method] = &edge{method: method}
	}
	s.upstreams = append(s.upstreams, u)
	return u, nil
}

func (u *Upstream) appendTo(all map[string]int64) {
	u.breaker.appendTo(all, "breaker."+u.name)
	for method, e := range u.edges {
		name := "edge." + u.name + "." + method
		all[name+".calls"], all[name+".errors"], all[name+".ns"] = e.calls.Load(), e.errors.Load(), e.ns.Load()
		e.wall.appendTo(all, name+".wall")
		e.queue.appendTo(all, name+".queue")
		e.application.appendTo(all, name+".application")
		e.cpu.appendTo(all, name+".cpu")
	}
}

// Call sends a request and waits for the answer; generated clients use it.
//
// Errors: DeadlineSpent, Unavailable, Overloaded. The method's own refusals are in the result.
func (u *Upstream) Call(ctx context.Context, method string, args, result thrift.TStruct) (thrift.ResponseMeta, error) {
	e, known := u.edges[method]
	if !known {
		return thrift.ResponseMeta{}, fmt.Errorf("`%s` is not a method of %s", method, u.name)
	}
	c := &call{upstream: u, edge: e, request: requestOf(ctx), args: args, result: result}
	c.span.kind, c.span.peer, c.span.method = clientSpan, u.row.id, uint16(slices.Index(u.row.methods, method))
	c.span.stamps[0] = Now()
	if c.request.sampled() {
		c.span.span = newSpanID()
	}
	if u.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, u.limit)
		defer cancel()
	}
	err := c.run(ctx)
	c.end(err)
	return thrift.ResponseMeta{}, err
}

func (u *Upstream) pick(ctx context.Context) *pool {
	if key, has := ctx.Value(replicaKey{}).(string); has {
		return u.replicas[shardOf(key, len(u.replicas))]
	}
	return u.replicas[u.turn.Add(1)%uint64(len(u.replicas))]
}

// call is one of them, with its span.
type call struct {
	upstream     *Upstream
	edge         *edge
	request      *Request
	args, result thrift.TStruct
	span         span
	// Queue, application and processor time of the callee, from the answer; valid if hasTimes.
	times    [3]int64
	hasTimes bool
}

func (c *call) run(ctx context.Context) error {
	name, breaker := c.upstream.name, c.upstream.breaker
	admitted, isTry := breaker.admits(time.Now())
	if !admitted {
		return Unavailable(name + ": it timed out repeatedly, and is not asked for a while")
	}
	err := c.attempt(ctx)
	isSpent, isSent := errors.As(err, new(DeadlineSpent)), c.span.stamps[3] > 0
	// What happens before the question is sent, such as a wait for a free connection, is not the callee's, but that it refuses one is.
	if isSent || !isSpent && errors.As(err, new(connectionLost)) {
		breaker.ended(isSpent, isTry, time.Now())
	}
	if err == nil || isSpent || errors.As(err, new(Unavailable)) || errors.As(err, new(Overloaded)) {
		return err
	}
	return Unavailable(name + ": " + err.Error())
}

func (c *call) attempt(ctx context.Context) error {
	name := c.upstream.name
	if left(ctx) <= 0 {
		return DeadlineSpent("nothing is left to call " + name)
	}
	from := c.upstream.pick(ctx)
	conn, err := from.take(ctx)
	if err != nil {
		return err
	}
	c.span.stamps[1] = Now()
	body, err := c.exchange(ctx, conn)
	if err != nil {
		from.lose(conn, errors.As(err, new(connectionLost)))
		return err
	}
	err, sound := c.decode(conn, body)
	if sound {
		from.keep(conn)
	} else {
		c.upstream.service.counters.badFrames.Add(1)
		from.lose(conn, false)
	}
	return err
}

// exchange sends the question and reads the frame that comes.
func (c *call) exchange(ctx context.Context, conn *connection) ([]byte, error) {
	remains := left(ctx)
	conn.SetDeadline(time.Now().Add(remains))
	conn.sequence++
	out := newProtocol(nil)
	if err := errors.Join(
		out.WriteMessageBegin(ctx, c.edge.method, thrift.CALL, int32(conn.sequence)),
		c.args.Write(ctx, out),
		out.WriteMessageEnd(ctx),
	); err != nil {
		return nil, err
	}
	// At least 1: less than a millisecond is more than nothing.
	pairs := []pair{{"d", strconv.FormatInt(max(1, remains.Milliseconds()), 10)}}
	if c.request.HasTrace {
		trace := c.request.Trace
		if trace.Sampled {
			trace.Span = c.span.span
		}
		pairs = append(pairs, pair{"traceparent", trace.String()})
	}
	message := out.bytes.Bytes()
	before := headerBefore(conn.sequence, len(message), pairs...)
	c.span.bytesOut = uint32(len(before) + len(message))
	c.span.stamps[2] = Now()
	parts := net.Buffers{before, message}
	if _, err := parts.WriteTo(conn.Conn); err != nil {
		return nil, asLost(c.upstream.name, err)
	}
	c.span.stamps[3] = Now()
	// Waits until an answer can be read.
	if _, err := conn.reader.Peek(1); err != nil {
		return nil, asLost(c.upstream.name, err)
	}
	c.span.stamps[4] = Now()
	body, err := readFrame(conn.reader)
	if err != nil && err != errBadFrame {
		return nil, asLost(c.upstream.name, err)
	}
	c.span.bytesIn = uint32(4 + len(body))
	return body, nil
}

// decode also says whether the connection can be used again.
func (c *call) decode(conn *connection, body []byte) (err error, sound bool) {
	none := Unavailable(c.upstream.name + ": an answer that is none to this request")
	f, err := parseFrame(body)
	if err != nil || !f.hasHeader || f.sequence != conn.sequence || conn.reader.Buffered() > 0 {
		return none, false
	}
	h, err := parseHead(f.message)
	if err != nil || h.name != c.edge.method || h.sequence != int32(conn.sequence) {
		return none, false
	}
	c.times, c.hasTimes = parseTimes(f.times)
	ctx, in := context.Background(), newProtocol(h.body)
	switch h.kind {
	case thrift.REPLY:
		if err := c.result.Read(ctx, in); err != nil {
			return Unavailable(c.upstream.name + ": " + err.Error()), false
		}
		return nil, true
	case thrift.EXCEPTION:
		said := thrift.NewTApplicationException(thrift.UNKNOWN_APPLICATION_EXCEPTION, "")
		if err := said.Read(ctx, in); err != nil {
			return Unavailable(c.upstream.name + ": " + err.Error()), false
		}
		return answeredBy(c.upstream.name, said.Error()), true
	}
	return none, false
}

func (c *call) end(err error) {
	c.span.stamps[5] = Now()
	c.edge.calls.Add(1)
	c.edge.ns.Add(c.span.stamps[5] - c.span.stamps[0])
	c.edge.wall.add(c.span.stamps[5] - c.span.stamps[0])
	if c.hasTimes {
		c.edge.queue.add(c.times[0])
		c.edge.application.add(c.times[1])
		c.edge.cpu.add(c.times[2])
	}
	c.span.outcome = outcomeOf(err)
	if answer, is := c.result.(interface{ IsSetRefused() bool }); err == nil && is && answer.IsSetRefused() {
		c.span.outcome = refused
	}
	if err != nil {
		c.edge.errors.Add(1)
		c.upstream.service.Log.Error("a call failed", "callee", c.upstream.name, "method", c.edge.method, "error", err.Error())
	}
	if c.request.sampled() {
		c.span.trace, c.span.parent = c.request.Trace.ID, c.request.Trace.Span
		c.upstream.service.spans.add(&c.span)
	}
}
