package movies.chassis;

import java.util.Map;
import movies.idl.Chassis;
import org.apache.thrift.TException;

/** Base class of handlers: the process answers the methods that every service has. */
public abstract class Handler implements Chassis.Iface {
    private final Chassis.Iface process;

    protected Handler(Chassis.Iface process) {
        this.process = process;
    }

    @Override
    public final long ping() throws TException {
        return process.ping();
    }

    @Override
    public final Map<String, Long> counters() throws TException {
        return process.counters();
    }

    @Override
    public final void drain() throws TException {
        process.drain();
    }
}
