<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** The received bytes break the protocol; the connection is closed. */
final class BadFrame extends \RuntimeException
{
}
