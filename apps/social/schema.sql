-- The tables of the social network. Times are milliseconds since 1970 in UTC.
--
-- There are no foreign keys: a row that refers to a user would lock that user's row in an order that the site does not
-- choose, and two who write to each other would wait for each other (docs/reference/social.md). No user is ever removed.

SET NAMES utf8mb4;

-- Who there is. A request that must come before or after others locks the row of a user.
CREATE TABLE users (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT,
    name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    display VARCHAR(64) NOT NULL,
    -- bcrypt, always of 60 characters.
    hash CHAR(60) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    -- How often its picture was changed; 0: it has none.
    avatar INT UNSIGNED NOT NULL DEFAULT 0,
    created BIGINT UNSIGNED NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS UNSIGNED)),
    PRIMARY KEY (id),
    UNIQUE KEY name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- What a is to b. Each friendship and each request has a row in both directions.
CREATE TABLE friendship (
    a INT UNSIGNED NOT NULL,
    b INT UNSIGNED NOT NULL,
    -- requested: a has asked b; asked: b has asked a.
    state ENUM('requested', 'asked', 'friends') CHARACTER SET ascii NOT NULL,
    since BIGINT UNSIGNED NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS UNSIGNED)),
    PRIMARY KEY (a, b),
    KEY state (a, state)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- What was written, by whom and on whose wall, which for most is the author's own.
CREATE TABLE posts (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    author INT UNSIGNED NOT NULL,
    wall INT UNSIGNED NOT NULL,
    body VARCHAR(2000) NOT NULL,
    at BIGINT UNSIGNED NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS UNSIGNED)),
    PRIMARY KEY (id),
    KEY author (author, id),
    KEY wall (wall, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- The conversation of two users; a < b.
CREATE TABLE chats (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT,
    a INT UNSIGNED NOT NULL,
    b INT UNSIGNED NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY both_users (a, b),
    KEY b (b)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE messages (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    chat INT UNSIGNED NOT NULL,
    author INT UNSIGNED NOT NULL,
    body VARCHAR(2000) NOT NULL,
    at BIGINT UNSIGNED NOT NULL DEFAULT (CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS UNSIGNED)),
    PRIMARY KEY (id),
    KEY chat (chat, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Sessions, where no cache holds them. The id is the SHA-256 of what the browser has, so that the table opens no session.
CREATE TABLE sessions (
    id BINARY(32) NOT NULL,
    -- 0: not logged in.
    user INT UNSIGNED NOT NULL,
    expires BIGINT UNSIGNED NOT NULL,
    data VARBINARY(255) NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    KEY expires (expires)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Pictures as the site encoded them, apart from the users, whose rows stay short.
CREATE TABLE avatars (
    user INT UNSIGNED NOT NULL,
    image MEDIUMBLOB NOT NULL,
    PRIMARY KEY (user)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- What is made once for this installation: the secret behind the tokens of forms, which all PHP servers share.
CREATE TABLE installation (
    name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    value VARBINARY(255) NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
