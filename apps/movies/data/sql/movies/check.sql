-- One line a table: rows, and a sum that is the same for the same rows in any order.
SELECT 'movies', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM movies
UNION ALL
SELECT 'plots', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM plots
UNION ALL
SELECT 'persons', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM persons
UNION ALL
SELECT 'ratings', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM ratings
UNION ALL
SELECT 'rated', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM rated
UNION ALL
SELECT 'titles', count(*), coalesce(sum(jsonb_hash_extended(doc, hashtextextended(id, 0))::numeric), 0) FROM titles
UNION ALL
SELECT 'pictures', count(*), coalesce(sum(hashtextextended(id || md5(data), 0)::numeric), 0) FROM pictures
ORDER BY 1;
