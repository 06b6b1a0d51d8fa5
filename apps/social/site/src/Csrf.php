<?php

declare(strict_types=1);

namespace Social;

/** The token that distinguishes a form of this site from a form of another site. */
final class Csrf
{
    /** @param string $secret this installation's */
    public function __construct(private readonly string $secret)
    {
        if (strlen($secret) < 32) {
            throw new \LogicException('the secret of the installation takes 32 bytes');
        }
    }

    /** The token of the session with this id, which tells nothing about the id. */
    public function token(string $sid): string
    {
        return hash_hmac('sha256', "csrf:$sid", $this->secret);
    }

    /**
     * Errors: the request has no session, or does not carry that session's token as field `csrf` or header `X-CSRF`.
     */
    public function check(Request $request, ?string $sid): void
    {
        $given = $request->header('X_CSRF') ?: $request->form('csrf');
        if ($sid === null || !hash_equals($this->token($sid), $given)) {
            throw Problem::forbidden('This form is out of date. Please load the page again and repeat what you did.');
        }
    }
}
