<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** How a call ended, with the numbers that spans have. */
enum Outcome: int
{
    case Ok = 0;
    case Refused = 1;
    case Failed = 2;
    case Deadline = 3;
}
