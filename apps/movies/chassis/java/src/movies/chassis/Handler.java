package movies.chassis;

import java.util.Map;
import movies.idl.Chassis;

/** Base class of handlers. Its methods are those of every service, which the server asks of the process instead. */
public abstract class Handler implements Chassis.Iface {
    @Override
    public final long ping() {
        throw new UnsupportedOperationException();
    }

    @Override
    public final Map<String, Long> counters() {
        throw new UnsupportedOperationException();
    }

    @Override
    public final void drain() {
        throw new UnsupportedOperationException();
    }
}
