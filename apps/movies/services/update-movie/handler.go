package main

import (
	"context"
	"fmt"
	"strconv"

	chassis "movies/chassis/go"
	"movies/idl"
)

// mostStars is from the contract of the application.
const mostStars = 10

// count is one statement, so that it is one round trip and one transaction. The primary key of `rated` admits one row for film and
// user; a newer review replaces it and an older one does not. The row's own stars before, which its lock keeps, say what to subtract.
// The lock on the film's row makes others add after it.
const count = `
WITH new AS (
	INSERT INTO rated AS d (id, doc) VALUES ($1, jsonb_build_object('review', $2::bigint, 'stars', $3::bigint))
	ON CONFLICT (id) DO UPDATE SET doc = excluded.doc || jsonb_build_object('before', d.doc->'stars')
	WHERE (d.doc->>'review')::bigint < (excluded.doc->>'review')::bigint
	RETURNING (doc->>'before')::bigint AS before)
INSERT INTO ratings AS r (id, doc)
SELECT $4, jsonb_build_object('count', (before IS NULL)::int, 'sum', $3::bigint - coalesce(before, 0)) FROM new
ON CONFLICT (id) DO UPDATE SET doc = r.doc || jsonb_build_object(
	'count', coalesce((r.doc->>'count')::bigint, 0) + (excluded.doc->>'count')::bigint,
	'sum', coalesce((r.doc->>'sum')::bigint, 0) + (excluded.doc->>'sum')::bigint)`

type handler struct {
	chassis.Base
	store *chassis.Store
	cache *chassis.Cache
}

// Apply counts the stars of a user once.
func (h *handler) Apply(ctx context.Context, movie idl.MovieId, review idl.ReviewId, stars int32, user idl.UserId) error {
	if movie < 1 || review < 1 || user < 1 {
		return chassis.Refuse(idl.Code_BAD_REQUEST, "movie %d, review %d, user %d: numbers are from 1 on", movie, review, user)
	}
	if stars < 1 || stars > mostStars {
		return chassis.Refuse(idl.Code_BAD_REQUEST, "%d stars: a review has 1 to %d", stars, mostStars)
	}
	film := strconv.FormatInt(int64(movie), 10)
	// Both rows are on the shard of the film's rating, since they share a transaction.
	if _, err := h.store.Update(ctx, film, count, fmt.Sprintf("%d:%d", movie, user), int64(review), int64(stars), film); err != nil {
		return err
	}
	// Also for a review that was counted before: then this may have been left undone.
	h.cache.Delete(ctx, "rating:"+film)
	return nil
}
