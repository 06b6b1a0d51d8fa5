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

// count is one statement, so that it is one round trip and one transaction: the primary key of `rated` decides whether
// this review is new, and only a new one is added. The lock on the film's row makes others add after it.
const count = `
WITH new AS (INSERT INTO rated (id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id)
INSERT INTO ratings AS r (id, doc)
SELECT $2, jsonb_build_object('count', 1, 'sum', $3::bigint) FROM new
ON CONFLICT (id) DO UPDATE SET doc = r.doc || jsonb_build_object(
	'count', coalesce((r.doc->>'count')::bigint, 0) + 1,
	'sum', coalesce((r.doc->>'sum')::bigint, 0) + $3::bigint)`

type handler struct {
	chassis.Base
	store *chassis.Store
	cache *chassis.Cache
}

// Apply counts a review once.
func (h *handler) Apply(ctx context.Context, movie idl.MovieId, review idl.ReviewId, stars int32) error {
	if movie < 1 || review < 1 {
		return chassis.Refuse(idl.Code_BAD_REQUEST, "movie %d, review %d: numbers are from 1 on", movie, review)
	}
	if stars < 1 || stars > mostStars {
		return chassis.Refuse(idl.Code_BAD_REQUEST, "%d stars: a review has 1 to %d", stars, mostStars)
	}
	film := strconv.FormatInt(int64(movie), 10)
	// Both rows are on the shard of the film's rating, since they share a transaction.
	if _, err := h.store.Update(ctx, film, count, fmt.Sprintf("%d:%d", movie, review), film, int64(stars)); err != nil {
		return err
	}
	// Also for a review that was counted before: then this may have been left undone.
	h.cache.Delete(ctx, "rating:"+film)
	return nil
}
