package chassis

import (
	"context"
	"fmt"
	"time"
)

// longestCache is far more than a cache takes that works, 1 ms, and little of a request's time.
const longestCache = 50 * time.Millisecond

// Cache is the memcached of a domain, in shards. That it fails is counted and never an error.
//
// It has its own client, of the one command that services in Go need, since clients of libraries know neither a
// request's deadline nor the moments of its span.
type Cache struct {
	service *Service
	row     row
	shards  []*pool
}

// Cache returns the domain's cache, as configured.
func (s *Service) Cache(domain string) (*Cache, error) {
	addresses, err := s.Config.addresses("cache." + domain)
	if err != nil {
		return nil, err
	}
	r, err := rowOf(domain + "-cache")
	if err != nil {
		return nil, err
	}
	c := &Cache{service: s, row: r}
	for _, address := range addresses {
		c.shards = append(c.shards, newPool(address))
	}
	return c, nil
}

// Delete makes the next read of a key a miss.
func (c *Cache) Delete(ctx context.Context, key string) {
	if len(c.shards) == 0 {
		return
	}
	span := startStore(ctx, c.row.id, methodDelete)
	ctx, cancel := context.WithTimeout(ctx, longestCache)
	defer cancel()
	shard := c.shards[shardOf(key, len(c.shards))]
	err := c.delete(ctx, shard, key, span)
	if err != nil {
		c.service.counters.cacheErrors.Add(1)
		c.service.Log.Error("a cache failed", "address", shard.address, "error", err.Error())
	}
	span.end(c.service, err)
}

func (c *Cache) delete(ctx context.Context, shard *pool, key string, span *storeTimes) (err error) {
	conn, err := shard.take(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			shard.lose(conn, true)
		} else {
			shard.keep(conn)
		}
	}()
	conn.SetDeadline(time.Now().Add(left(ctx)))
	question := "delete " + key + "\r\n"
	if _, err := conn.Write([]byte(question)); err != nil {
		return err
	}
	span.sent(len(question))
	// A line that is longer than the reader's buffer is an error.
	line, err := conn.reader.ReadSlice('\n')
	if err != nil {
		return err
	}
	span.answered(len(line))
	// Source: memcached's doc/protocol.txt.
	if text := string(line); text != "DELETED\r\n" && text != "NOT_FOUND\r\n" {
		return fmt.Errorf("%q to a delete", text)
	}
	return nil
}
