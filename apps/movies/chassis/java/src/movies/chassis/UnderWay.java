package movies.chassis;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The calls that one thread has sent and not finished. While it waits for the answer to one, others that come first are taken, so that
 * each is decoded when it is there, and its span says so.
 */
final class UnderWay {
    private static final ThreadLocal<UnderWay> CURRENT = ThreadLocal.withInitial(UnderWay::new);

    private final Map<Call, SelectionKey> keys = new IdentityHashMap<>();
    private Selector selector;

    /** Of this thread. */
    static UnderWay current() {
        return CURRENT.get();
    }

    void add(Call call, Wire wire) {
        try {
            if (selector == null) {
                selector = Selector.open();
            }
            forget();
            keys.put(call, wire.register(selector, call));
        } catch (IOException error) {
            // The failure shows when the caller fetches this answer, which then waits by itself.
            keys.remove(call);
        }
    }

    void remove(Call call) {
        SelectionKey key = keys.remove(call);
        if (key == null) {
            return;
        }
        key.cancel();
        if (keys.isEmpty()) {
            forget();
        }
    }

    /** Lets go of connections that were removed. */
    private void forget() {
        try {
            selector.selectNow(key -> { });
        } catch (IOException error) {
            // It is done when the selector is used next.
            return;
        }
    }

    /** Reads answers of other calls until this call's answer has come, or its time is up. `wire`: this call's connection. */
    void await(Call wanted, Wire wire) {
        if (keys.isEmpty() || keys.size() == 1 && keys.containsKey(wanted)) {
            return;
        }
        if (!keys.containsKey(wanted)) {
            add(wanted, wire);
        }
        Set<Object> come = new HashSet<>();
        while (keys.containsKey(wanted) && keys.size() > 1) {
            long left = Long.MAX_VALUE;
            for (Call call : keys.keySet()) {
                left = Math.min(left, Request.left(call.deadline));
            }
            try {
                selector.select(key -> come.add(key.attachment()), Math.max(0, left) / Clock.NS_PER_MS + 1);
            } catch (IOException error) {
                return;
            }
            for (Call call : List.copyOf(keys.keySet())) {
                if (come.contains(call) || Request.left(call.deadline) <= 0) {
                    call.take();
                }
            }
            come.clear();
        }
    }
}
