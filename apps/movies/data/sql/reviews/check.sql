-- One line a table: rows, and a sum that is the same for the same rows in any order.
SELECT 'reviews', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM reviews
UNION ALL
SELECT 'movie_reviews', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM movie_reviews
UNION ALL
SELECT 'listed', count(*), coalesce(sum(hashtextextended(id, 0)::numeric), 0) FROM listed
ORDER BY 1;
