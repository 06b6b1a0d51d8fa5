-- Users, what they paid for, and which reviews they wrote.

-- U: {"user", "name", "hash", "balance_cents"}. Half of a page is left for changed balances.
CREATE TABLE users (id text PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 50);
-- No change takes more than there is, whatever makes it.
ALTER TABLE users ADD CONSTRAINT balance CHECK ((doc ->> 'balance_cents')::bigint >= 0);
-- A name in lower case: {"user"}
CREATE TABLE names (id text PRIMARY KEY, doc jsonb NOT NULL);
-- "U:key": {"cents", "balance_cents"}, the balance after it; "U:+key" for what was added, whose cents are below 0.
CREATE TABLE charges (id text PRIMARY KEY, doc jsonb NOT NULL);
-- "U#M": {"movie", "clip", "cents", "expires_s", "balance_cents", "key", "number"}, the last rental of the film: the balance after it,
-- the key that asked for it, and how many of this film there were up to it.
CREATE TABLE rentals (id text PRIMARY KEY, doc jsonb NOT NULL);
-- "U#EXPIRY#NONCE": {"expires_s"}, a token of the user that was ended before its time.
CREATE TABLE ended (id text PRIMARY KEY, doc jsonb NOT NULL);
-- "U#M": the user has rented or reviewed the film.
CREATE TABLE seen (id text PRIMARY KEY);
-- U: {"n"}, how many; "U#k": {"reviews": [R..]}, bucket k from 0 on of 20, the oldest first.
CREATE TABLE user_reviews (id text PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 70);
-- "U:R": this review is in its bucket.
CREATE TABLE listed (id text PRIMARY KEY);
-- Numbers of users who sign up: they follow those of the data set.
-- make.py puts the number in.
CREATE SEQUENCE user_ids START WITH :first_user;
