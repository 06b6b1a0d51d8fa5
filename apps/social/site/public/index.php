<?php

declare(strict_types=1);

// Entry point of every request for a page or data. SOCIAL_CONFIG names the installation's configuration file.

namespace Social;

require dirname(__DIR__) . '/src/load.php';

// Method, path, operation, and for whom: a user who is logged in, any visitor, or a machine, which has no session.
const ROUTES = [
    ['GET', '/', [Pages::class, 'home'], 'user'],
    ['GET', '/login', [Pages::class, 'loginForm'], 'visitor'],
    ['POST', '/login', [Pages::class, 'loginSent'], 'visitor'],
    ['POST', '/logout', [Pages::class, 'logout'], 'visitor'],
    ['GET', '/register', [Pages::class, 'registerForm'], 'visitor'],
    ['POST', '/register', [Pages::class, 'registerSent'], 'visitor'],
    ['GET', '/feed', [Pages::class, 'feed'], 'user'],
    ['GET', '/u/{name}', [Pages::class, 'wall'], 'user'],
    ['POST', '/wall', [Pages::class, 'wallSent'], 'user'],
    ['GET', '/friends', [Pages::class, 'friends'], 'user'],
    ['POST', '/friend', [Pages::class, 'friendSent'], 'user'],
    ['POST', '/unfriend', [Pages::class, 'unfriendSent'], 'user'],
    ['GET', '/chat', [Pages::class, 'chats'], 'user'],
    ['GET', '/chat/{name}', [Pages::class, 'chat'], 'user'],
    ['POST', '/chat/{name}', [Pages::class, 'chatSent'], 'user'],
    ['GET', '/settings', [Pages::class, 'settings'], 'user'],
    ['POST', '/settings', [Pages::class, 'settingsSent'], 'user'],
    ['GET', '/avatars/{name}', [Pages::class, 'avatar'], 'user'],
    ['POST', '/ajax/wall', [Ajax::class, 'wall'], 'user'],
    ['POST', '/ajax/friend', [Ajax::class, 'friend'], 'user'],
    ['POST', '/ajax/chat', [Ajax::class, 'chatSent'], 'user'],
    ['GET', '/ajax/chat', [Ajax::class, 'chat'], 'user'],
    ['GET', '/ajax/feed', [Ajax::class, 'feed'], 'user'],
    ['GET', '/.prime/{name}', [Pages::class, 'prime'], 'user'],
    ['GET', '/.ready', [Pages::class, 'ready'], 'machine'],
];

$config = require $_SERVER['SOCIAL_CONFIG'];
$made = require $config['state'] . '/installation.php';
(new Site($config, $made, Request::fromGlobals()))->answer(ROUTES)->send();
