package main

import (
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	chassis "movies/chassis/go"
)

func TestNames(t *testing.T) {
	check := func(given string, good bool) {
		t.Helper()
		if name.MatchString(given) != good {
			t.Errorf("%q: want %v", given, good)
		}
	}
	check("user1", true)
	check("Ann.B-c_d", true)
	check("ab", true)
	check(strings.Repeat("a", 32), true)
	check(strings.Repeat("a", 33), false)
	check("a", false)
	check("", false)
	check("-ann", false)
	check("ann b", false)
	check("ann\n", false)
	check("änn", false)
	check("an\x00", false)
}

func TestPasswords(t *testing.T) {
	p, err := newPasswords(configWith(t, "hash_cost=4"))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := p.hash("password-1")
	if err != nil || !strings.HasPrefix(hash, "$2a$04$") {
		t.Fatalf("%s, %v", hash, err)
	}
	if !p.check(hash, "password-1") || p.check(hash, "password-2") || p.check("", "password-1") || p.check("no hash", "password-1") {
		t.Error("a password is taken or refused wrongly")
	}
	// The hash that is compared for an unknown name costs as much as all others.
	for line, want := range map[string]int{"hash_cost=4": 4, "hash_cost=6": 6, "": 10} {
		p, err := newPasswords(configWith(t, line))
		if err != nil {
			t.Fatal(err)
		}
		if cost, err := bcrypt.Cost(p.dummy); err != nil || cost != want || p.cost != want {
			t.Errorf("%s: %d, %d, %v", line, cost, p.cost, err)
		}
	}
	if _, err := newPasswords(configWith(t, "hash_cost=99")); err == nil || !strings.Contains(err.Error(), "`hash_cost` is `99`, and takes 4 to 31") {
		t.Error(err)
	}
}

func configWith(t *testing.T, line string) *chassis.Config {
	c, err := chassis.ParseConfig("service=user\nid=28\ninstance=0\nlisten=127.0.0.1:1\nthreads=1\nqueue=1\nspans=\nsecret=\ndata=\n"+line,
		"a.conf", "hash_cost")
	if err != nil {
		t.Fatal(err)
	}
	return c
}
