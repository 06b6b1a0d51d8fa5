package chassis

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// usualDeadline applies to a request that names none. Source: the contract of the application.
const usualDeadline = 2000 * time.Millisecond

// Request is the context of a request for its calls and stores.
type Request struct {
	// Trace has this server's span; valid if HasTrace.
	Trace    Trace
	HasTrace bool
}

type requestKey struct{}

func withRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestOf returns the context's request, or an untraced one if there is none, as at the start.
func requestOf(ctx context.Context) *Request {
	if r, is := ctx.Value(requestKey{}).(*Request); is {
		return r
	}
	return &Request{}
}

func (r *Request) sampled() bool { return r.HasTrace && r.Trace.Sampled }

type replicaKey struct{}

// WithReplica makes calls go to the replica that the jump hash of this key chooses, in place of the next one.
func WithReplica(ctx context.Context, key int64) context.Context {
	return context.WithValue(ctx, replicaKey{}, strconv.FormatInt(key, 10))
}

// left is the time until the deadline; the usual deadline if the context has none.
func left(ctx context.Context) time.Duration {
	deadline, has := ctx.Deadline()
	if !has {
		return usualDeadline
	}
	return time.Until(deadline)
}

// parseTimes takes `queue,application,cpu` of an answer: three numbers of up to 18 digits. Units: ns.
func parseTimes(text string) (times [3]int64, ok bool) {
	parts := strings.Split(text, ",")
	for at, part := range parts {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil || len(part) > 18 || at > 2 {
			return times, false
		}
		times[at] = int64(n)
	}
	return times, len(parts) == 3
}

// parseDecimal takes 1 to 9 digits, so that no sum of them overflows.
func parseDecimal(text string) (int64, bool) {
	if len(text) == 0 || len(text) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 32)
	return int64(n), err == nil
}
