package movies.chassis;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** The calls of one method of a callee. */
final class Edge {
    final String callee;
    final int peer;
    final String name;
    final int method;
    final Budget budget = new Budget();
    private final List<Pool<Wire>> replicas;
    private final AtomicInteger turn;
    private final LongAdder calls = new LongAdder();
    private final LongAdder errors = new LongAdder();
    private final LongAdder ns = new LongAdder();
    /** Of all calls: time seen here, and the callee's times from its answers. */
    private final Histogram wall = new Histogram();
    private final Histogram queue = new Histogram();
    private final Histogram application = new Histogram();
    private final Histogram processor = new Histogram();

    /** The replicas and whose turn it is belong to all methods of the callee. */
    Edge(String callee, int method, List<Pool<Wire>> replicas, AtomicInteger turn) {
        Registry.Row row = Registry.row(callee);
        this.callee = callee;
        this.peer = row.id();
        this.name = row.methods().get(method);
        this.method = method;
        this.replicas = replicas;
        this.turn = turn;
    }

    /** `key`: its hash selects the replica; null: replicas take turns. */
    Pool<Wire> pick(String key) {
        int at = key != null ? Jump.shard(key, replicas.size()) : Math.floorMod(turn.getAndIncrement(), replicas.size());
        return replicas.get(at);
    }

    /** `times`: from the answer; null if absent. */
    void count(Outcome outcome, long took, Times times) {
        calls.increment();
        ns.add(took);
        wall.add(took);
        if (times != null) {
            queue.add(times.queue());
            application.add(times.application());
            processor.add(times.processor());
        }
        if (outcome == Outcome.FAILED || outcome == Outcome.DEADLINE) {
            errors.increment();
        }
    }

    void appendTo(Map<String, Long> all) {
        String prefix = "edge." + callee + "." + name;
        all.put(prefix + ".calls", calls.sum());
        all.put(prefix + ".errors", errors.sum());
        all.put(prefix + ".ns", ns.sum());
        wall.appendTo(all, prefix + ".wall");
        queue.appendTo(all, prefix + ".queue");
        application.appendTo(all, prefix + ".application");
        processor.appendTo(all, prefix + ".cpu");
    }
}
