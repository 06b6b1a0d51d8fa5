-- Films. A row is found by its key and in no other way; documents are those that the services keep in memory, too.

-- M: {"movie", "title", "year", "minutes", "certificate", "genre", "director", "cast": [P..], "photos", "clip", "seconds",
-- "cents", "renditions": [{"height", "kbps"}..]}
CREATE TABLE movies (id text PRIMARY KEY, doc jsonb NOT NULL);
-- M: {"plot"}
CREATE TABLE plots (id text PRIMARY KEY, doc jsonb NOT NULL);
-- P: {"person", "name"}
CREATE TABLE persons (id text PRIMARY KEY, doc jsonb NOT NULL);
-- M: {"count", "sum"} of stars. Half of a page is left for changed rows, so that a change needs no new entry in the index.
CREATE TABLE ratings (id text PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 50);
-- "M:U": {"review", "stars"}, what counts of this user: the newest review; "before": the stars of the one before, where there was one.
CREATE TABLE rated (id text PRIMARY KEY, doc jsonb NOT NULL);
-- A title in lower case: {"movie"}
CREATE TABLE titles (id text PRIMARY KEY, doc jsonb NOT NULL);
-- "t:M", the thumbnail, and "p:M:k", photo k from 0 on. JPEGs are compressed.
CREATE TABLE pictures (id text PRIMARY KEY, data bytea NOT NULL);
ALTER TABLE pictures ALTER COLUMN data SET STORAGE EXTERNAL;
