package movies.chassis;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.thrift.TException;

/** The answer of a service in this process, which another thread works on. */
final class PartLater<T> implements Later<T> {
    private final FutureTask<T> task;
    private final long deadline;

    private PartLater(FutureTask<T> task, long deadline) {
        this.task = task;
        this.deadline = deadline;
    }

    static <T> PartLater<T> begin(Request request, Request.Work<T> work) {
        Thread asker = Thread.currentThread();
        FutureTask<T> task = new FutureTask<>(() -> {
            // If all others are busy, the asking thread runs it, and counts its own time.
            if (Thread.currentThread() == asker) {
                return request.during(work);
            }
            long before = Clock.processor();
            try {
                return request.during(work);
            } finally {
                request.partsNs.add(Clock.processor() - before);
            }
        });
        request.parts.execute(task);
        return new PartLater<>(task, request.deadline);
    }

    @Override
    public T get() throws TException {
        try {
            return task.get(Math.max(0, Request.left(deadline)), TimeUnit.NANOSECONDS);
        } catch (TimeoutException late) {
            throw new Failure.DeadlineSpent("a part of the answer was not there in time");
        } catch (ExecutionException error) {
            if (error.getCause() instanceof TException known) {
                throw known;
            }
            throw new Failure.Unavailable("internal: " + error.getCause());
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
            throw new Failure.Unavailable("the service ends");
        }
    }

    /** One that nothing waits for ends by itself: it works on the time of its request, too. */
    @Override
    public void close() {
        task.cancel(false);
    }
}
