package movies.handlers;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import movies.chassis.Checks;
import movies.chassis.Clock;
import movies.chassis.Failure;
import movies.chassis.Request;
import movies.idl.Code;
import movies.idl.Part;
import movies.idl.PartKind;
import movies.idl.Refused;
import movies.idl.Review;

/**
 * The parts of reviews while they are gathered, by request, in memory.
 *
 * <p>The sender of the last part gets the review, stores it, and reports by `finish`. A repeated part waits for that, or
 * retries it after a failure, so that a successful answer is reliable. An expired set is remembered for a while, so that a
 * late part is refused and does not begin a set that never completes.
 */
final class Parts {
    /** A set lives as long as a request does, which is this at most. Source: the contract of the application. */
    static final long LONGEST_LIFE_MS = 2000;
    private static final long LONGEST_LIFE_NS = TimeUnit.MILLISECONDS.toNanos(LONGEST_LIFE_MS);
    /** A part that is sent at the end of a set's life is spent after another; the third is a margin. */
    private static final long FORGET_NS = 3 * LONGEST_LIFE_NS;
    /** Of one shard: 64 of these with texts of 8 KiB are 512 MiB, far more than memory lets come. */
    private static final int MOST_SETS = 1024;
    /** Many more than threads, so that two seldom wait for one. */
    private static final int SHARDS = 64;

    private enum State {
        GATHERING,
        STORING,
        STORED
    }

    private static final class Gathered {
        final Set<PartKind> kinds = EnumSet.noneOf(PartKind.class);
        final long expiresAt;
        Review review = new Review();
        State state = State.GATHERING;

        Gathered(long expiresAt) {
            this.expiresAt = expiresAt;
            review.setTime_ms(System.currentTimeMillis());
        }
    }

    private record Age(long forgetAt, long request) {}

    private static final class Shard {
        final Map<Long, Gathered> sets = new HashMap<>();
        /** In the order in which they may be forgotten. */
        final Deque<Age> ages = new ArrayDeque<>();
    }

    /** State of a review after a part: whole, with the review to store; stored before; or neither yet. */
    record Now(Optional<Review> whole, boolean isStored) {}

    private final Shard[] shards = new Shard[SHARDS];

    Parts() {
        for (int at = 0; at < SHARDS; at++) {
            shards[at] = new Shard();
        }
    }

    /** After a whole one call `finish`. Errors: the part is not valid, differs from one that is there, or came too late. */
    Now put(long request, Part part) throws Refused, Failure {
        check(part);
        long end = Request.after(1, 1);
        Shard shard = shards[Math.floorMod(request, SHARDS)];
        synchronized (shard) {
            for (;;) {
                Gathered set = find(shard, request, end);
                if (set.state == State.STORED) {
                    return new Now(Optional.empty(), true);
                }
                if (set.state == State.GATHERING) {
                    add(set, part);
                    if (set.kinds.size() < PartKind.values().length) {
                        return new Now(Optional.empty(), false);
                    }
                    set.state = State.STORING;
                    return new Now(Optional.of(set.review), false);
                }
                await(shard, request, end);
            }
        }
    }

    void finish(long request, boolean isStored) {
        Shard shard = shards[Math.floorMod(request, SHARDS)];
        synchronized (shard) {
            Gathered set = shard.sets.get(request);
            if (set != null) {
                set.state = isStored ? State.STORED : State.GATHERING;
                // Free the memory of a stored review.
                set.review = isStored ? new Review() : set.review;
            }
            shard.notifyAll();
        }
    }

    private static void check(Part part) throws Refused {
        if (part.getKind() == null) {
            throw new Refused(Code.BAD_REQUEST, "the kind of a part takes 0 to " + (PartKind.values().length - 1));
        }
        if (part.getKind() == PartKind.TEXT) {
            Checks.size("text", part.getText(), Checks.LONGEST_TEXT);
        } else if (part.getKind() == PartKind.STARS) {
            Checks.range("stars", part.getNumber(), 1, 10);
        } else {
            Checks.number("the number of a part", part.getNumber());
        }
    }

    private static Gathered find(Shard shard, long request, long end) throws Refused {
        long now = Clock.now();
        while (!shard.ages.isEmpty() && shard.ages.getFirst().forgetAt <= now) {
            shard.sets.remove(shard.ages.removeFirst().request);
        }
        Gathered set = shard.sets.get(request);
        if (set != null) {
            if (set.state == State.GATHERING && now >= set.expiresAt) {
                throw new Refused(Code.UNAVAILABLE, "the parts of review " + request + " have expired");
            }
            return set;
        }
        if (shard.sets.size() >= MOST_SETS) {
            throw new Refused(Code.UNAVAILABLE, "too many reviews are gathered: " + MOST_SETS + " of 64 that share a lock");
        }
        set = new Gathered(Math.min(end, now + LONGEST_LIFE_NS));
        shard.sets.put(request, set);
        shard.ages.addLast(new Age(now + FORGET_NS, request));
        return set;
    }

    private static void add(Gathered set, Part part) throws Refused {
        Review review = set.review.deepCopy();
        switch (part.getKind()) {
            case ID -> review.setReview(part.getNumber());
            case MOVIE -> review.setMovie(part.getNumber());
            case TEXT -> review.setText(part.getText());
            case STARS -> review.setStars((int) part.getNumber());
            case USER -> review.setUser(part.getNumber());
        }
        if (set.kinds.contains(part.getKind()) && !review.equals(set.review)) {
            throw new Refused(Code.CONFLICT, part.getKind() + " of this review was put before with another value");
        }
        set.kinds.add(part.getKind());
        set.review = review;
    }

    private static void await(Shard shard, long request, long end) throws Failure {
        long leftMs = TimeUnit.NANOSECONDS.toMillis(end - Clock.now());
        if (leftMs <= 0) {
            throw new Failure.DeadlineSpent("review " + request + " is still being stored");
        }
        try {
            shard.wait(leftMs);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            throw new Failure.Unavailable("the service ends");
        }
    }
}
