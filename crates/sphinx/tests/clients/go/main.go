// What gomemcache asks of a server, which is always gets; prints one line for each step. Usage: go run . HOST PORT, or a path and 0
package main

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

func say(what string, value any) { fmt.Printf("%s: %v\n", what, value) }

func stored(err error) string {
	switch err {
	case nil:
		return "stored"
	case memcache.ErrNotStored, memcache.ErrCASConflict:
		return "refused"
	}
	return err.Error()
}

func text(item *memcache.Item, err error) string {
	switch err {
	case nil:
		return string(item.Value)
	case memcache.ErrCacheMiss:
		return "none"
	}
	return err.Error()
}

func main() {
	place := os.Args[1]
	if !strings.HasPrefix(place, "/") {
		place += ":" + os.Args[2]
	}
	client := memcache.New(place)
	client.Timeout = 30 * time.Second
	set := func(key, value string, seconds int32) error {
		return client.Set(&memcache.Item{Key: key, Value: []byte(value), Expiration: seconds})
	}
	say("set", stored(set("k", "v1", 0)))
	say("get", text(client.Get("k")))
	say("missing", text(client.Get("none")))
	set("a", "1", 0)
	set("b", "2", 0)
	found, _ := client.GetMulti([]string{"a", "b", "none"})
	var pairs []string
	for key, item := range found {
		pairs = append(pairs, key+"="+string(item.Value))
	}
	sort.Strings(pairs)
	say("multi", strings.Join(pairs, " "))
	say("add", stored(client.Add(&memcache.Item{Key: "k", Value: []byte("x")})))
	say("replace", stored(client.Replace(&memcache.Item{Key: "k", Value: []byte("v2")})))
	item, _ := client.Get("k")
	stale := *item
	item.Value = []byte("v3")
	say("cas", stored(client.CompareAndSwap(item)))
	stale.Value = []byte("v4")
	say("stale cas", stored(client.CompareAndSwap(&stale)))
	set("n", "10", 0)
	up, _ := client.Increment("n", 5)
	say("incr", up)
	down, _ := client.Decrement("n", 3)
	say("decr", down)
	client.Append(&memcache.Item{Key: "k", Value: []byte(">")})
	client.Prepend(&memcache.Item{Key: "k", Value: []byte("<")})
	say("append", text(client.Get("k")))
	deleted := client.Delete("k")
	if _, err := client.Get("k"); deleted == nil && err == memcache.ErrCacheMiss {
		say("delete", "gone")
	} else {
		say("delete", "there")
	}
	set("t", "x", 3600)
	if client.Touch("t", 1) == nil {
		say("touch", "kept")
	} else {
		say("touch", "lost")
	}
	set("e", "x", 1)
	until := time.Now().Add(30 * time.Second)
	left := func() int {
		found, _ := client.GetMulti([]string{"e", "t"})
		return len(found)
	}
	for left() > 0 && time.Now().Before(until) {
		time.Sleep(50 * time.Millisecond)
	}
	say("expiry", fmt.Sprint(left())+" left")
	set("large", strings.Repeat("v", 500000), 0)
	large, _ := client.Get("large")
	say("large", len(large.Value))
	var binary []byte
	for i := 0; i < 256; i++ {
		binary = append(binary, byte(i))
	}
	binary = append(binary, "\r\nEND\r\n"...)
	client.Set(&memcache.Item{Key: "binary", Value: binary})
	if got, err := client.Get("binary"); err == nil && bytes.Equal(got.Value, binary) {
		say("binary", "same")
	} else {
		say("binary", "other")
	}
	if client.Ping() != nil {
		os.Exit(1)
	}
	fmt.Println("done")
}
