package movies.chassis;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** Keeps connections to one address, which are made when they are needed. */
final class Pool<T extends Closeable> {
    /** Of connections to one callee. Source of these: the contract of the application. */
    private static final int CALLEE = 8;
    private static final long LONGEST_WAIT_NS = TimeUnit.SECONDS.toNanos(1);

    interface Connector<T> {
        T connect(long deadline) throws IOException, Failure;
    }

    final String address;
    private final int size;
    private final Connector<T> connector;
    private final Predicate<T> isAlive;
    /** One for each connection that is not in use. */
    private final Semaphore places;
    private final Deque<T> idle = new ArrayDeque<>();

    Pool(String address, int size, Connector<T> connector, Predicate<T> isAlive) {
        this.address = address;
        this.size = size;
        this.connector = connector;
        this.isAlive = isAlive;
        this.places = new Semaphore(size, true);
    }

    /** Of connections to a callee or a cache. */
    static Pool<Wire> to(InetSocketAddress address) {
        String text = address.getHostString() + ":" + address.getPort();
        return new Pool<>(text, CALLEE, deadline -> Wire.connect(address, deadline), Wire::isAlive);
    }

    /** Waits for a connection. Give it back with `keep` or `lose`. Errors: `IOException` if it cannot connect. */
    T take(long deadline) throws IOException, Failure {
        awaitPlace(deadline);
        boolean taken = false;
        try {
            for (T one = takeIdle(); one != null; one = takeIdle()) {
                if (isAlive.test(one)) {
                    taken = true;
                    return one;
                }
                one.close();
            }
            T made = connector.connect(deadline);
            taken = true;
            return made;
        } finally {
            if (!taken) {
                places.release();
            }
        }
    }

    private void awaitPlace(long deadline) throws Failure {
        try {
            if (places.tryAcquire()) {
                return;
            }
            long left = Request.left(deadline);
            if (places.tryAcquire(Math.min(left, LONGEST_WAIT_NS), TimeUnit.NANOSECONDS)) {
                return;
            }
            String what = address + ": all " + size + " connections stay in use";
            throw left <= LONGEST_WAIT_NS ? new Failure.DeadlineSpent(what) : new Failure.Unavailable(what);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
            throw new Failure.Unavailable(address + ": the service ends");
        }
    }

    /** Prefers the one used last, whose memory is likeliest in the processor's cache. */
    private synchronized T takeIdle() {
        return idle.pollLast();
    }

    void keep(T one) {
        synchronized (this) {
            idle.addLast(one);
        }
        places.release();
    }

    /** If the other end closed it, the idle ones are dead too. */
    void lose(T one, boolean others) {
        closeQuietly(one);
        if (others) {
            synchronized (this) {
                idle.forEach(Pool::closeQuietly);
                idle.clear();
            }
        }
        places.release();
    }

    private static void closeQuietly(Closeable one) {
        try {
            one.close();
        } catch (IOException error) {
            // An error on closing changes nothing: the connection is discarded.
            return;
        }
    }
}
