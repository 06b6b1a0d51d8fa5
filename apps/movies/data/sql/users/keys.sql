-- After the rows: a key that is built at once is smaller, and made sooner, than one that grows.
ALTER TABLE users ADD PRIMARY KEY (id);
ALTER TABLE names ADD PRIMARY KEY (id);
ALTER TABLE charges ADD PRIMARY KEY (id);
ALTER TABLE rentals ADD PRIMARY KEY (id);
ALTER TABLE user_reviews ADD PRIMARY KEY (id);
ALTER TABLE listed ADD PRIMARY KEY (id);
SELECT setval('user_ids', max(id::bigint)) FROM users \g /dev/null
ANALYZE;
