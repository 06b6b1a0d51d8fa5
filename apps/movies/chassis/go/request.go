package chassis

import (
	"context"
	"strconv"
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
	part, digits := 0, 0
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case c >= '0' && c <= '9' && digits < 18:
			times[part] = times[part]*10 + int64(c-'0')
			digits++
		case c == ',' && digits > 0 && part < 2:
			part, digits = part+1, 0
		default:
			return times, false
		}
	}
	return times, part == 2 && digits > 0
}

// parseDecimal takes 1 to 9 digits, so that no sum of them overflows.
func parseDecimal(text string) (int64, bool) {
	if len(text) == 0 || len(text) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 32)
	return int64(n), err == nil
}
