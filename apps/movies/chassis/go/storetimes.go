package chassis

import "context"

// Store operations, as spans name them. Source: the contract of the application.
const (
	methodGet = iota
	methodGetMany
	methodInsert
	methodUpdate
	methodDelete
)

// storeTimes is the span of a question to a store or a cache.
type storeTimes struct {
	request *Request
	span    span
}

func startStore(ctx context.Context, store uint16, method int) *storeTimes {
	t := &storeTimes{request: requestOf(ctx)}
	t.span.kind, t.span.peer, t.span.method = storeSpan, store, uint16(method)
	t.span.stamps[0] = Now()
	return t
}

func (t *storeTimes) sent(bytes int) {
	t.span.stamps[3] = Now()
	t.span.bytesOut += uint32(bytes)
}

func (t *storeTimes) answered(bytes int) {
	t.span.stamps[4] = Now()
	t.span.bytesIn += uint32(bytes)
}

func (t *storeTimes) end(s *Service, err error) {
	if !t.request.sampled() {
		return
	}
	t.span.stamps[5] = Now()
	t.span.outcome = outcomeOf(err)
	t.span.trace, t.span.parent, t.span.span = t.request.Trace.ID, t.request.Trace.Span, newSpanID()
	s.spans.add(&t.span)
}
