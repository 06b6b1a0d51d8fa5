package main

import (
	"fmt"
	"testing"
	"time"
)

func TestThrottle(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	fresh := newThrottle()
	attempt := func(account, source string, want time.Duration) {
		t.Helper()
		if got := fresh.begin(account, source, now); got != want {
			t.Errorf("%s from %s: %v, want %v", account, source, got, want)
		}
	}
	for range freePair + 1 {
		attempt("ann", "a", 0)
		fresh.failed("ann", "a", now)
	}
	attempt("ann", "a", firstWait)
	attempt("ann", "b", 0)
	attempt("ben", "a", 0)
	now = now.Add(firstWait)
	attempt("ann", "a", 0)
	attempt("ann", "a", 2*firstWait)
	// A refused attempt does not count.
	now = now.Add(2 * firstWait)
	attempt("ann", "a", 0)
	now = now.Add(4 * firstWait)
	fresh.succeeded("ann", "a")
	for range freePair + 1 {
		attempt("ann", "a", 0)
	}
	attempt("ann", "a", firstWait)
	// The wait has a bound, and a long silence ends it.
	for range 20 {
		now = now.Add(longestWait)
		attempt("ann", "a", 0)
	}
	attempt("ann", "a", longestWait)
	now = now.Add(forgotten + time.Second)
	attempt("ann", "a", 0)
	attempt("ann", "a", 0)
}

func TestThrottleOfSourcesAndAccounts(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	one := newThrottle()
	for n := range freeSource + 1 {
		one.failed(fmt.Sprint("user", n), "a", now)
	}
	if one.begin("other", "a", now) != firstWait || one.begin("other", "b", now) != 0 {
		t.Error("a source that guesses many accounts is not slowed down alone")
	}
	for n := range freeAccount + 1 {
		one.failed("ann", fmt.Sprint("source", n), now)
	}
	if one.begin("ann", "new", now) != firstWait || one.begin("ben", "new", now) != 0 {
		t.Error("an account that many sources guess is not slowed down alone")
	}
}

func TestThrottleOfSignUps(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	one := newThrottle()
	for n := range freeSignUps + 1 {
		if wait := one.signUp("a", now); wait != 0 {
			t.Fatalf("sign-up %d: a wait of %v", n, wait)
		}
	}
	if one.signUp("a", now) != firstWait || one.signUp("b", now) != 0 || one.begin("ann", "a", now) != 0 {
		t.Error("a source that signs up many is not slowed down alone")
	}
	// A refused sign-up does not count.
	now = now.Add(firstWait)
	if one.signUp("a", now) != 0 || one.signUp("a", now) != 2*firstWait {
		t.Error("the wait does not double")
	}
	now = now.Add(forgotten + time.Second)
	if one.signUp("a", now) != 0 || one.signUp("a", now) != 0 {
		t.Error("a long silence does not end it")
	}
}

func TestAttemptsThatWereNotCheckedDoNotCount(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	one := newThrottle()
	for range freePair {
		one.begin("ann", "a", now)
	}
	for range 3 {
		if wait := one.begin("ann", "a", now); wait != 0 {
			t.Fatalf("a wait of %v", wait)
		}
		one.unchecked("ann", "a")
	}
	// Others still count.
	if one.begin("ann", "a", now) != 0 || one.begin("ann", "a", now) != firstWait {
		t.Error("failures are forgotten")
	}
	one.unchecked("ben", "a")
}

func TestThrottleIsBounded(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	one := newThrottle()
	for n := range 2 * mostCounts {
		one.begin(fmt.Sprint(n), "a", now)
	}
	if len(one.counts) != mostCounts || one.order.Len() != mostCounts {
		t.Errorf("%d and %d counts", len(one.counts), one.order.Len())
	}
	if _, there := one.counts[pair("0", "a")]; there {
		t.Error("the oldest is kept")
	}
}
