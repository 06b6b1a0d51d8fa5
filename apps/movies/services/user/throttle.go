package main

import (
	"container/list"
	"sync"
	"time"
)

// The numbers of wrong passwords without a wait: for one account from one source, which is mostly its owner; from one
// source, which may be a network of many users; for one account from any source. The last is the number of sign-ups
// from one source. Source: ours.
const (
	freePair    = 10
	freeSource  = 50
	freeAccount = 100
	freeSignUps = 100
)

const (
	// firstWait is that after the first failure that is not free; each next one doubles it.
	firstWait   = time.Second
	longestWait = time.Minute
	// forgotten is a count to which nothing was added for this time.
	forgotten = 15 * time.Minute
	// mostCounts bounds the memory, 2 MB; beyond it the count that was not used for longest is forgotten.
	mostCounts = 10_000
)

// throttle slows down clients that guess passwords or sign up many users: after some attempts each further one means a
// longer wait, in which attempts are refused unchecked.
type throttle struct {
	mutex  sync.Mutex
	counts map[string]*list.Element
	// The last used is in front.
	order list.List
}

type failures struct {
	key   string
	count int
	last  time.Time
	until time.Time
}

func newThrottle() *throttle {
	return &throttle{counts: map[string]*list.Element{}}
}

// begin returns how long to wait before the password of an account is checked for a source; 0: now. An attempt counts as a failure
// of both until it succeeded, so that many at once are no more than one after the other.
func (t *throttle) begin(account, source string, now time.Time) time.Duration {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if wait := t.wait(now, pair(account, source), "source "+source, "account "+account); wait > 0 {
		return wait
	}
	t.add(pair(account, source), freePair, now)
	return 0
}

// signUp returns how long to wait before a source signs up one more user. 0 means now, and counts as a sign-up.
func (t *throttle) signUp(source string, now time.Time) time.Duration {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if wait := t.wait(now, "sign-up "+source); wait > 0 {
		return wait
	}
	t.add("sign-up "+source, freeSignUps, now)
	return 0
}

// wait is the longest wait of these counts.
func (t *throttle) wait(now time.Time, keys ...string) time.Duration {
	var longest time.Duration
	for _, key := range keys {
		if found := t.counts[key]; found != nil {
			longest = max(longest, found.Value.(*failures).until.Sub(now))
		}
	}
	return longest
}

// failed counts a wrong password.
func (t *throttle) failed(account, source string, now time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.add("source "+source, freeSource, now)
	t.add("account "+account, freeAccount, now)
}

// unchecked takes back an attempt whose password was not compared, since the database did not answer.
func (t *throttle) unchecked(account, source string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if found := t.counts[pair(account, source)]; found != nil {
		one := found.Value.(*failures)
		one.count, one.until = max(0, one.count-1), time.Time{}
	}
}

// succeeded forgets the failures of the account from the source.
func (t *throttle) succeeded(account, source string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if found := t.counts[pair(account, source)]; found != nil {
		t.remove(found)
	}
}

func pair(account, source string) string {
	return "pair " + account + " " + source
}

func (t *throttle) add(key string, free int, now time.Time) {
	found := t.counts[key]
	if found == nil {
		if t.order.Len() >= mostCounts {
			t.remove(t.order.Back())
		}
		found = t.order.PushFront(&failures{key: key})
		t.counts[key] = found
	}
	t.order.MoveToFront(found)
	one := found.Value.(*failures)
	if now.Sub(one.last) > forgotten {
		one.count = 0
	}
	one.count++
	one.last = now
	if over := one.count - free; over > 0 {
		one.until = now.Add(min(longestWait, firstWait<<min(over-1, 10)))
	}
}

func (t *throttle) remove(found *list.Element) {
	delete(t.counts, t.order.Remove(found).(*failures).key)
}
