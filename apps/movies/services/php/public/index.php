<?php

declare(strict_types=1);

// Entry point of every request of the HTTP interface. MOVIES_CONFIG names the configuration file.

namespace Movies\Php;

use Movies\Chassis\Config;

$begun = hrtime(true);

require dirname(__DIR__, 3) . '/chassis/php/load.php';
foreach (['Problem', 'Request', 'Answer', 'Arrival', 'Api', 'Front'] as $class) {
    require dirname(__DIR__) . "/src/$class.php";
}

// Method, path, operation, and its name in the registry; routes without a name are neither counted nor traced.
const ROUTES = [
    ['GET', '/api/movie/{number}', 'page', 'page'],
    ['GET', '/api/search', 'search', 'search'],
    ['GET', '/api/titles', 'titles', 'titles'],
    ['POST', '/api/review', 'review', 'review'],
    ['POST', '/api/rent', 'rent', 'rent'],
    ['GET', '/api/rentals', 'rentals', 'rentals'],
    ['POST', '/api/deposit', 'deposit', 'deposit'],
    ['GET', '/api/my-reviews', 'myReviews', 'my-reviews'],
    ['POST', '/api/login', 'login', 'login'],
    ['POST', '/api/sign-up', 'signUp', 'sign-up'],
    ['POST', '/api/logout', 'logout', 'logout'],
    ['GET', '/api/.ready', 'ready', null],
    ['GET', '/api/.counters', 'counters', null],
];

(new Front(Config::read($_SERVER['MOVIES_CONFIG']), Request::fromGlobals(), $begun))->run(ROUTES);
