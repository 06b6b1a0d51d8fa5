-- Reviews, and which of them a film has.

-- R: {"review", "movie", "user", "text", "stars", "time_ms"}
CREATE TABLE reviews (id text PRIMARY KEY, doc jsonb NOT NULL);
-- M: {"n"}, how many; "M#k": {"reviews": [R..]}, bucket k from 0 on of 20, the oldest first.
CREATE TABLE movie_reviews (id text PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 70);
-- "M:R": this review is in its bucket.
CREATE TABLE listed (id text PRIMARY KEY);
