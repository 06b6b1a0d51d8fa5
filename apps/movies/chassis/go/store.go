package chassis

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Store is the database of a domain, in shards: documents by key.
//
// Every operation must be safe to repeat, since a lost connection is replaced once and the operation repeated.
type Store struct {
	service *Service
	name    string
	row     row
	shards  []*pgxpool.Pool
}

// Store returns the domain's store, as configured. It connects when first used.
func (s *Service) Store(domain string) (*Store, error) {
	addresses, err := s.Config.texts("store." + domain)
	if err != nil {
		return nil, err
	}
	name := domain + "-db"
	r, err := rowOf(name)
	if err != nil {
		return nil, err
	}
	store := &Store{service: s, name: name, row: r}
	for _, address := range addresses {
		config, err := pgxpool.ParseConfig(address)
		if err != nil {
			return nil, err
		}
		config.MaxConns = int32(s.Config.Threads)
		// Who waits gives up when the request's time is spent; PostgreSQL then ends the statement by the first of these, and
		// by the second in any case. Setting the time for each statement would cost a round trip.
		config.ConnConfig.RuntimeParams["client_connection_check_interval"] = "100"
		config.ConnConfig.RuntimeParams["statement_timeout"] = "10000"
		// One that does not come about frees its place; the pool's own limit is 2 min.
		config.ConnConfig.ConnectTimeout = usualDeadline
		// A connection that is lost is replaced anyhow, and a ping would cost a round trip after each pause.
		config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
		dial := config.ConnConfig.DialFunc
		config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &timedConn{Conn: conn}, nil
		}
		shard, err := pgxpool.NewWithConfig(context.Background(), config)
		if err != nil {
			return nil, err
		}
		store.shards = append(store.shards, shard)
	}
	return store, nil
}

// Get reads a document into `doc`; false if there is none.
func (s *Store) Get(ctx context.Context, table, id string, doc any) (found bool, err error) {
	query := "SELECT doc FROM " + table + " WHERE id = $1"
	err = s.ask(ctx, methodGet, id, func(conn *pgxpool.Conn) error {
		err := conn.QueryRow(ctx, query, id).Scan(doc)
		if found = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return found, err
}

// Insert returns false if the key exists.
func (s *Store) Insert(ctx context.Context, table, id string, doc any) (bool, error) {
	rows, err := s.exec(ctx, methodInsert, id, "INSERT INTO "+table+" (id, doc) VALUES ($1, $2) ON CONFLICT DO NOTHING", id, doc)
	return rows > 0, err
}

// Delete removes a document; a missing one is not an error.
func (s *Store) Delete(ctx context.Context, table, id string) error {
	_, err := s.exec(ctx, methodDelete, id, "DELETE FROM "+table+" WHERE id = $1", id)
	return err
}

// Update runs one statement, as a transaction, on the shard of the key. The statement must have no further effect when
// repeated.
func (s *Store) Update(ctx context.Context, key, statement string, values ...any) (rows int64, err error) {
	return s.exec(ctx, methodUpdate, key, statement, values...)
}

// Next is a number that was never given out before. Sequences are in the first shard.
func (s *Store) Next(ctx context.Context, sequence string) (n int64, err error) {
	err = s.askShard(ctx, methodUpdate, s.shards[0], func(conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, "SELECT nextval($1::text::regclass)", sequence).Scan(&n)
	})
	return n, err
}

func (s *Store) exec(ctx context.Context, method int, key, statement string, values ...any) (rows int64, err error) {
	err = s.ask(ctx, method, key, func(conn *pgxpool.Conn) error {
		done, err := conn.Exec(ctx, statement, values...)
		rows = done.RowsAffected()
		return err
	})
	return rows, err
}

func (s *Store) ask(ctx context.Context, method int, key string, work func(*pgxpool.Conn) error) error {
	// `OWNER#…` is on its owner's shard.
	owner, _, _ := strings.Cut(key, "#")
	return s.askShard(ctx, method, s.shards[shardOf(owner, len(s.shards))], work)
}

func (s *Store) askShard(ctx context.Context, method int, shard *pgxpool.Pool, work func(*pgxpool.Conn) error) error {
	span := startStore(ctx, s.row.id, method)
	err := askOnce(ctx, shard, span, work)
	if isLost(err) && left(ctx) > 0 {
		// The database was restarted since; the other connections are dead too.
		shard.Reset()
		span.span.flags |= wasRetried
		err = askOnce(ctx, shard, span, work)
	}
	err = s.failure(err)
	span.end(s.service, err)
	return err
}

func askOnce(ctx context.Context, shard *pgxpool.Pool, span *storeTimes, work func(*pgxpool.Conn) error) error {
	conn, err := shard.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	timed, is := conn.Conn().PgConn().Conn().(*timedConn)
	if !is {
		// Over TLS, whose records hide when a statement was sent.
		return work(conn)
	}
	in, out := timed.in.Load(), timed.out.Load()
	err = work(conn)
	span.span.stamps[3], span.span.stamps[4] = timed.wrote.Load(), timed.read.Load()
	span.span.bytesOut += uint32(timed.out.Load() - out)
	span.span.bytesIn += uint32(timed.in.Load() - in)
	return err
}

// isLost says whether the same question may get an answer on another connection.
func isLost(err error) bool {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		// Class 57P: the server is shut down, or just started. Source: PostgreSQL 15, appendix A.
		return strings.HasPrefix(said.Code, "57P")
	}
	return err != nil && !isTimeout(err) && !errors.Is(err, context.Canceled)
}

// failure maps an error to one that a service answers with.
func (s *Store) failure(err error) error {
	if err == nil {
		return nil
	}
	var said *pgconn.PgError
	if isTimeout(err) || errors.As(err, &said) && said.Code == "57014" {
		return DeadlineSpent(s.name + " did not answer in time")
	}
	s.service.Log.Error("a store failed", "store", s.name, "error", err.Error())
	return Unavailable(s.name + ": " + firstLine(err.Error()))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// timedConn counts bytes and stamps the last write and read, which the driver hides. The driver may read in the
// background. Units of the times: ns of CLOCK_MONOTONIC.
type timedConn struct {
	net.Conn
	wrote, read, in, out atomic.Int64
}

func (c *timedConn) Write(bytes []byte) (int, error) {
	n, err := c.Conn.Write(bytes)
	c.wrote.Store(Now())
	c.out.Add(int64(n))
	return n, err
}

// Read notes the first bytes that come after a question.
func (c *timedConn) Read(bytes []byte) (int, error) {
	n, err := c.Conn.Read(bytes)
	if c.read.Load() < c.wrote.Load() {
		c.read.Store(Now())
	}
	c.in.Add(int64(n))
	return n, err
}
