package movies.chassis;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import movies.idl.Chassis;

/** The context of handlers: configuration, upstreams and stores. It answers the methods of every service. */
public final class Service implements Chassis.Iface {
    public final Config config;
    public final Log log;
    final Counters counts = new Counters();
    final Spans spans;
    final Registry.Row row;
    private final Runnable onDrain;
    private final List<Upstream> upstreams = new ArrayList<>();
    private final List<JdbcStore> stores = new ArrayList<>();
    private long settledAt = Clock.now();
    private volatile boolean isReady;

    Service(Config config, Log log, Runnable onDrain) throws IOException {
        this.config = config;
        this.log = log;
        this.row = Registry.row(config.service);
        this.onDrain = onDrain;
        this.spans = new Spans(config, log);
    }

    /** A service that is called, as its interface, such as `Videos.Iface`. */
    public <I> I upstream(String name, Class<I> iface) throws ConfigError {
        Upstream upstream = new Upstream(this, name, iface);
        upstreams.add(upstream);
        return iface.cast(Proxy.newProxyInstance(iface.getClassLoader(), new Class<?>[] {iface}, upstream));
    }

    public Store store(String domain) throws ConfigError {
        JdbcStore store = new JdbcStore(this, domain);
        stores.add(store);
        return store;
    }

    public Cache cache(String domain) throws ConfigError {
        return new Memcached(this, domain);
    }

    /** Counts `parts` optional parts that an answer lacks. */
    public void degraded(int parts) {
        counts.degraded.add(parts);
    }

    /** Delays `ready` until at least `ns` from now. Returns that moment. Units: ns, of CLOCK_MONOTONIC. */
    public long settle(long ns) {
        settledAt = Clock.now() + ns;
        return settledAt;
    }

    /** Whether all that it needs has answered. */
    public boolean isReady() {
        return isReady;
    }

    void awaitSettled() throws InterruptedException {
        Thread.sleep(Math.max(0, Request.left(settledAt)) / Clock.NS_PER_MS);
        isReady = true;
    }

    /** Loads the classes that requests need, so that the first does not wait for them: code not compiled yet takes 25 times as long. */
    void warm() {
        stores.forEach(JdbcStore::warm);
        upstreams.forEach(Upstream::warm);
    }

    @Override
    public long ping() {
        return Clock.now();
    }

    @Override
    public Map<String, Long> counters() {
        Map<String, Long> all = new TreeMap<>();
        counts.appendTo(all);
        all.put("spans", spans.count());
        upstreams.forEach(upstream -> upstream.appendTo(all));
        return all;
    }

    @Override
    public void drain() {
        onDrain.run();
    }
}
