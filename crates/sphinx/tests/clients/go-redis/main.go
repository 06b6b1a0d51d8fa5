// What go-redis asks of a cache; prints one line for each step. Usage: go run . HOST PORT
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: os.Args[1] + ":" + os.Args[2], ClientName: "test"})
	defer client.Close()
	say := func(what string, values ...any) { fmt.Println(what+":", fmt.Sprint(values...)) }
	say("set", client.Set(ctx, "k", "v1", 0).Val(), client.Get(ctx, "k").Val())
	say("missing", client.Get(ctx, "none").Err() == redis.Nil)
	client.MSet(ctx, "a", "1", "b", "2")
	say("multi", client.MGet(ctx, "a", "b", "none").Val())
	say("add", client.SetNX(ctx, "k", "x", time.Minute).Val(), client.SetXX(ctx, "k", "v3", 0).Val())
	client.Set(ctx, "n", 10, 0)
	say("incr", client.IncrBy(ctx, "n", 5).Val(), " ", client.Decr(ctx, "n").Val())
	expires, left := client.Expire(ctx, "n", 100*time.Second).Val(), client.TTL(ctx, "n").Val()
	// A second may end in between.
	say("expiry", expires, " ", left == 99*time.Second || left == 100*time.Second)
	say("delete", client.Del(ctx, "k", "a", "none").Val(), " ", client.Exists(ctx, "k", "b").Val())
	replies, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for number := 0; number < 200; number++ {
			pipe.Set(ctx, fmt.Sprintf("p%d", number), number, 0)
		}
		return nil
	})
	say("pipeline", len(replies), err)
	found := 0
	for scan := client.Scan(ctx, 0, "p*", 20).Iterator(); scan.Next(ctx); {
		found++
	}
	say("scan", found)
	client.Set(ctx, "large", strings.Repeat("v", 500_000), 0)
	say("large", len(client.Get(ctx, "large").Val()))
	say("name", client.ClientGetName(ctx).Val(), client.Ping(ctx).Val())
	say("error", client.Incr(ctx, "large").Err())
	say("flush", client.FlushDB(ctx).Val(), client.Exists(ctx, "large").Val())
}
