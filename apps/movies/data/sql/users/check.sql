-- One line a table: rows, and a sum that is the same for the same rows in any order.
SELECT 'users', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM users
UNION ALL
SELECT 'names', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM names
UNION ALL
SELECT 'charges', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM charges
UNION ALL
SELECT 'rentals', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM rentals
UNION ALL
SELECT 'user_reviews', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM user_reviews
UNION ALL
SELECT 'listed', count(*), coalesce(sum(hashtextextended(id, 0)::numeric), 0) FROM listed
UNION ALL
SELECT 'seen', count(*), coalesce(sum(hashtextextended(id, 0)::numeric), 0) FROM seen
ORDER BY 1;
