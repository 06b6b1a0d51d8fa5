package movies.chassis;

import org.apache.thrift.TException;

/**
 * An answer that is waited for later, so that several services can be asked at once without a thread for each.
 *
 * <p>Close it: a question that was sent is waited for even if its answer is not wanted any more, or the connection were lost.
 */
public interface Later<T> extends AutoCloseable {
    /** Waits for the answer; repeated calls return the same one. */
    T get() throws TException;

    @Override
    void close();

    /** A question to a service. */
    interface Question<I, T> {
        T ask(I service) throws TException;
    }

    /** Calls one method of a service. A service in this process runs in another thread if the request has some, otherwise at once. */
    static <I, T> Later<T> ask(I service, Question<I, T> question) {
        return ask(service, Long.MAX_VALUE, question);
    }

    /** The same, whose answer is waited for until then at most. Units: ns of CLOCK_MONOTONIC. */
    static <I, T> Later<T> ask(I service, long end, Question<I, T> question) {
        Request request = Request.current().until(end);
        try {
            if (!Upstream.isOne(service)) {
                Request.Work<T> work = () -> question.ask(service);
                return request.parts == null ? new Done<>(request.during(work), null) : PartLater.begin(request, work);
            }
            Call.Begun begun = new Call.Begun();
            request.during(() -> begun.during(() -> question.ask(service)));
            return new CallLater<>(begun.call);
        } catch (TException error) {
            return new Done<>(null, error);
        }
    }

    /** A result that is already known. */
    record Done<T>(T value, TException failure) implements Later<T> {
        @Override
        public T get() throws TException {
            if (failure != null) {
                throw failure;
            }
            return value;
        }

        @Override
        public void close() {
            // No call is under way.
        }
    }
}
