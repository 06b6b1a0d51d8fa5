package chassis

import (
	"sync"
	"time"
)

const (
	// breakerTimeOuts in a row open the breaker. Source: ours.
	breakerTimeOuts = 5
	// breakerFirst is how long an open breaker waits before a call tries the service; each try that times out doubles it.
	breakerFirst   = time.Second
	breakerLongest = 30 * time.Second
)

// breaker keeps from asking an optional service that times out again and again, so that requests do not wait for it in vain. Open, it
// lets one call through after each back-off (half-open); an answer of any kind closes it. Without it (nil) all calls are made.
type breaker struct {
	mutex    sync.Mutex
	timeOuts int
	// 0: closed.
	wait  time.Duration
	until time.Time
	// Since the start.
	opened, refused int64
}

// admits says whether a call may begin, and whether it is the try of an open breaker.
func (b *breaker) admits(now time.Time) (admitted, isTry bool) {
	if b == nil {
		return true, false
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.wait == 0 {
		return true, false
	}
	if now.Before(b.until) {
		b.refused++
		return false, false
	}
	// Others wait for the outcome of this one.
	b.until = now.Add(b.wait)
	return true, true
}

// ended takes the outcome of a call that was admitted. Calls that began before it opened may time out later, and are no tries.
func (b *breaker) ended(isTimeOut, isTry bool, now time.Time) {
	if b == nil {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch {
	case !isTimeOut:
		b.timeOuts, b.wait = 0, 0
		return
	case b.wait == 0:
		if b.timeOuts++; b.timeOuts < breakerTimeOuts {
			return
		}
		b.wait = breakerFirst
		b.opened++
	case isTry:
		b.wait = min(2*b.wait, breakerLongest)
	default:
		return
	}
	b.until = now.Add(b.wait)
}

func (b *breaker) appendTo(all map[string]int64, name string) {
	if b == nil {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	all[name+".open"] = 0
	if b.wait > 0 {
		all[name+".open"] = 1
	}
	all[name+".opened"], all[name+".refused"] = b.opened, b.refused
}
