package movies.chassis;

import org.apache.thrift.TException;

/** The answer to a call that has been sent. */
final class CallLater<T> implements Later<T> {
    private final Call call;
    private Done<T> done;

    CallLater(Call call) {
        this.call = call;
    }

    @Override
    public T get() throws TException {
        if (done == null) {
            try {
                // The generated method's return type.
                @SuppressWarnings("unchecked")
                T value = (T) call.finish();
                done = new Done<>(value, null);
            } catch (TException error) {
                done = new Done<>(null, error);
            }
        }
        return done.get();
    }

    @Override
    public void close() {
        try {
            get();
        } catch (TException unwanted) {
            // It was counted and logged by the call.
            return;
        }
    }
}
