<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** What came is not of the protocol; the connection is closed. */
final class BadFrame extends \RuntimeException
{
}
