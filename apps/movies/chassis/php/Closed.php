<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** The other side closed the connection, or it broke. */
final class Closed extends \RuntimeException
{
}
