<?php

declare(strict_types=1);

namespace Movies\Php;

use Movies\Chassis\{Call, Caller, Counts, Failure};
use Movies\Idl\{Code, Page, Refused};

/** Operations of the HTTP interface. */
final class Api
{
    /** Sources of the limits: the contract of the services. Units of text limits: bytes. */
    private const LIST = 100;
    private const NAME = 32;
    private const PASSWORD = [8, 72];
    private const TEXT = 8192;
    private const TITLE = 256;
    private const KEY = 64;
    private const QUERY = 256;
    /** No list is longer. */
    private const START = 1_000_000;
    private const STARS = 10;
    private const UPSTREAMS = ['compose-page', 'rent-movie', 'unique-id', 'movie-id', 'text', 'review-rating', 'user', 'search', 'ads',
        'user-review', 'review-storage'];
    /** Least and most that is added to a balance at once. Units: cents. */
    private const DEPOSIT = [100, 100_00];
    /** How many advertisements a page has. */
    private const ADS = 3;

    public function __construct(
        private readonly Caller $caller,
        private readonly Counts $counts,
        private readonly string $secret,
        private readonly Request $request,
    ) {
    }

    public function page(int $movie): Answer
    {
        $user = $this->request->user($this->secret, time());
        $start = $this->request->queryNumber('start', 0, 0, self::START);
        $reviews = $this->request->queryNumber('reviews', 10, 0, self::LIST);
        $compose = $this->caller->start('compose-page', 'compose', $movie, $user, $start, $reviews);
        $pick = $this->caller->start('ads', 'pick', $user, $movie, self::ADS);
        /** @var Page $page */
        $page = $compose->result();
        $missing = $page->missing;
        $ads = $this->optional('ads', $pick, $missing);
        return new Answer([
            'info' => $page->info,
            'plot' => $page->plot,
            'thumbnail' => base64_encode($page->thumbnail),
            'rating' => $page->rating,
            'cast' => $page->cast,
            'reviews' => $page->reviews,
            'photos' => array_map(base64_encode(...), $page->photos),
            'video' => $page->video,
            'similar' => $page->similar,
            'ads' => $ads,
            'missing' => $missing,
        ], 200, $missing);
    }

    public function search(): Answer
    {
        $query = $this->request->queryText('q', self::QUERY);
        return new Answer($this->caller->start('search', 'find', $query, ...$this->part())->result());
    }

    public function titles(): Answer
    {
        $movies = $this->request->queryNumbers('ids', self::LIST);
        return new Answer(['hits' => $this->caller->start('search', 'titles', $movies)->result()]);
    }

    /** Each part of a review goes to its own service, all at once; the one that comes last to compose-review stores it. */
    public function review(): Answer
    {
        $token = $this->request->userToken($this->secret, time());
        $title = $this->request->fieldText('title', 1, self::TITLE);
        $text = $this->request->fieldText('text', 1, self::TEXT, Code::TOO_LARGE);
        $stars = $this->request->fieldNumber('stars', 1, self::STARS);
        $id = random_int(1, PHP_INT_MAX);
        $calls = [
            $this->caller->start('unique-id', 'upload', $id),
            $this->caller->start('movie-id', 'upload', $id, $title),
            $this->caller->start('text', 'upload', $id, $text),
            $this->caller->start('review-rating', 'upload', $id, $stars),
            $this->caller->start('user', 'upload', $id, $token),
        ];
        return new Answer(['review' => self::results($calls)[0]]);
    }

    public function rent(): Answer
    {
        $token = $this->request->userToken($this->secret, time());
        $movie = $this->request->fieldNumber('movie', 1, PHP_INT_MAX);
        $key = $this->request->fieldText('key', 1, self::KEY);
        return new Answer($this->caller->start('rent-movie', 'rent', $token, $movie, $key)->result());
    }

    /** The balance of the user, and a page of the rentals. */
    public function rentals(): Answer
    {
        $token = $this->request->userToken($this->secret, time());
        [$start, $n] = $this->part();
        return new Answer($this->caller->start('rent-movie', 'account', $token, $start, $n)->result());
    }

    public function deposit(): Answer
    {
        $token = $this->request->userToken($this->secret, time());
        $cents = $this->request->fieldNumber('cents', ...self::DEPOSIT);
        $key = $this->request->fieldText('key', 1, self::KEY);
        return new Answer($this->caller->start('rent-movie', 'deposit', $token, $cents, $key)->result());
    }

    /** The reviews that the user has written, the newest first. */
    public function myReviews(): Answer
    {
        $token = $this->request->userToken($this->secret, time());
        $user = $this->caller->start('user', 'check', $token)->result();
        $ids = $this->caller->start('user-review', 'page', $user, ...$this->part())->result();
        $reviews = $ids === [] ? [] : $this->caller->start('review-storage', 'readMany', $ids)->result();
        return new Answer(['reviews' => $reviews]);
    }

    public function login(): Answer
    {
        [$name, $password] = $this->credentials();
        $token = $this->caller->start('user', 'login', $name, $password, $this->request->source())->result();
        return Answer::login($token, $token->token, max(0, $token->expires_s - time()));
    }

    public function signUp(): Answer
    {
        [$name, $password] = $this->credentials();
        $this->caller->start('user', 'signUp', $name, $password, $this->request->source())->result();
        return $this->login();
    }

    public function logout(): Answer
    {
        // By the rule of the cookie no other site ends a login.
        $token = $this->request->token();
        if ($token !== '') {
            try {
                $this->caller->start('user', 'logout', $token)->result();
            } catch (Refused) {
                // It has expired, or is none.
            }
        }
        return Answer::login(new \stdClass(), '', 0);
    }

    /** Whether all services answer without which nothing works. */
    public function ready(): Answer
    {
        $config = $this->caller->config;
        $needed = array_values(array_filter(self::UPSTREAMS, static fn (string $name): bool => !$config->isOptional($name)));
        self::results(array_map(fn (string $name): Call => $this->caller->start($name, 'ping'), $needed));
        return new Answer(['ready' => true]);
    }

    public function counters(): Answer
    {
        return new Answer($this->counts->all());
    }

    /** @return array{int, int} begin and length of a part of a list */
    private function part(): array
    {
        return [
            $this->request->queryNumber('start', 0, 0, self::START),
            $this->request->queryNumber('n', 20, 1, self::LIST),
        ];
    }

    /** @return array{string, string} */
    private function credentials(): array
    {
        $this->request->checkOrigin();
        return [
            $this->request->fieldText('name', 1, self::NAME),
            $this->request->fieldText('password', ...self::PASSWORD),
        ];
    }

    /**
     * The answer of a service, if it is optional.
     *
     * @param list<string> $missing gets its name on failure
     * @return list<object>
     */
    private function optional(string $name, Call $call, array &$missing): array
    {
        try {
            return $call->result();
        } catch (Failure | Refused $error) {
            if (!$this->caller->config->isOptional($name)) {
                throw $error;
            }
            $missing[] = $name;
            $this->counts->add(['degraded' => 1]);
            return [];
        }
    }

    /**
     * The answers of all calls.
     *
     * Errors: a refusal if there is one, else a failure: a refusal says more.
     *
     * @param list<Call> $calls
     * @return list<mixed>
     */
    private static function results(array $calls): array
    {
        $results = $refused = $failed = [];
        foreach ($calls as $call) {
            try {
                $results[] = $call->result();
            } catch (Refused $error) {
                $refused[] = $error;
            } catch (Failure $error) {
                $failed[] = $error;
            }
        }
        $error = $refused[0] ?? $failed[0] ?? null;
        return $error === null ? $results : throw $error;
    }
}
