package movies.chassis;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.thrift.ProcessFunction;
import org.apache.thrift.TBase;
import org.apache.thrift.TBaseProcessor;

/**
 * Answers requests: one thread reads frames of all connections, `threads` workers answer them, and `queue` more may wait.
 *
 * <p>Not TThreadedSelectorServer: it knows neither header frames nor the moments at which a request is complete, is taken from
 * the queue and has been answered, and it drops what is beyond the queue without an answer.
 */
public final class Server implements Run.Listener {
    /** More than 30 callers with 8 connections each have, and less than the 1024 descriptors of a process. */
    private static final int MOST_PEERS = 512;
    private static final int BACKLOG = 511;
    /** Source: the contract of the application. */
    private static final long LONGEST_END_NS = TimeUnit.SECONDS.toNanos(2);
    /** How often is looked whether requests under way have ended. */
    private static final long LOOK_MS = 2;

    final Service service;
    final Handler handler;
    final Map<String, ? extends ProcessFunction<?, ? extends TBase<?, ?>>> functions;
    final Selector selector;
    private final ServerSocketChannel listener;
    final Set<Peer> peers = ConcurrentHashMap.newKeySet();
    private final BlockingQueue<Exchange> queue = new LinkedBlockingQueue<>();
    /** Requests at work or waiting. */
    final Set<Exchange> begun = ConcurrentHashMap.newKeySet();
    private final AtomicInteger places;
    volatile boolean isDraining;

    /** A handler has one interface of its own. */
    @SuppressWarnings({"unchecked", "rawtypes"}) // Generated code has its structures without their parameters.
    public Server(Service service, Handler handler) throws IOException {
        this.service = service;
        this.handler = handler;
        Class<?> iface = handler.getClass().getInterfaces()[0];
        this.functions = (Map) ((TBaseProcessor<?>) Generated.make(iface, "Processor", handler)).getProcessMapView();
        this.places = new AtomicInteger(service.config.threads + service.config.queue);
        this.selector = Selector.open();
        this.listener = ServerSocketChannel.open();
        listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
        try {
            listener.bind(service.config.listen, BACKLOG);
        } catch (IOException error) {
            throw new IOException("`listen` " + service.config.listenText + ": " + error.getMessage(), error);
        }
        listener.configureBlocking(false);
        listener.register(selector, SelectionKey.OP_ACCEPT);
    }

    @Override
    public void start() {
        daemon("loop", this::loop);
        for (int worker = 0; worker < service.config.threads; worker++) {
            daemon("worker-" + worker, this::work);
        }
    }

    private static void daemon(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void loop() {
        ByteBuffer buffer = ByteBuffer.allocateDirect(Wire.PART);
        while (selector.isOpen()) {
            try {
                selector.select(key -> onReady(key, buffer));
            } catch (IOException error) {
                service.log.error("connections cannot be watched", "error", error.getMessage());
            }
        }
    }

    private void onReady(SelectionKey key, ByteBuffer buffer) {
        if (!key.isValid()) {
            return;
        }
        Peer peer = (Peer) key.attachment();
        try {
            if (peer == null) {
                accept();
            } else {
                peer.onReady(buffer);
            }
        } catch (OutOfMemoryError | RuntimeException error) {
            service.log.error("a connection was closed", "error", error.toString());
            if (peer != null) {
                service.counts.badFrames.increment();
                peer.close();
            }
        }
    }

    private void accept() {
        try {
            SocketChannel channel = listener.accept();
            if (channel == null) {
                return;
            }
            if (peers.size() >= MOST_PEERS) {
                service.log.error("a connection was refused: there are too many", "limit", MOST_PEERS);
                channel.close();
                return;
            }
            service.counts.connections.increment();
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            SelectionKey key = channel.register(selector, 0);
            Peer peer = new Peer(this, channel, key);
            key.attach(peer);
            // Only now: if the peer could not be allocated, a ready key without a peer would keep the loop busy.
            key.interestOps(SelectionKey.OP_READ);
            peers.add(peer);
        } catch (IOException error) {
            if (!isDraining) {
                service.log.error("a connection cannot be accepted", "error", error.getMessage());
            }
        }
    }

    /** A frame has come. */
    void begin(Exchange exchange) {
        begun.add(exchange);
        try {
            exchange.parse();
        } catch (BadFrame bad) {
            exchange.closeBad();
            return;
        }
        if (exchange.isOfChassis()) {
            exchange.answerAtOnce();
        } else if (places.getAndDecrement() <= 0) {
            places.incrementAndGet();
            service.counts.overloaded.increment();
            exchange.refuse(new Failure.Overloaded(service.config.queue + " requests wait already"));
            exchange.answer();
        } else {
            queue.add(exchange);
        }
    }

    private void work() {
        try {
            for (;;) {
                Exchange exchange = queue.take();
                try {
                    exchange.work();
                } catch (RuntimeException | OutOfMemoryError error) {
                    service.log.error("a request was given up", "error", error.toString());
                    exchange.closeBad();
                } finally {
                    places.incrementAndGet();
                }
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void end() {
        isDraining = true;
        try {
            listener.close();
            // The descriptor is released when the loop has seen it.
            selector.wakeup();
        } catch (IOException error) {
            service.log.error("the listening socket cannot be closed", "error", error.getMessage());
        }
        // Requests already received are answered; then callers see the end at once, and turn to another instance.
        ByteBuffer buffer = ByteBuffer.allocateDirect(Wire.PART);
        long until = Clock.now() + LONGEST_END_NS;
        try {
            while (!peers.isEmpty() && Clock.now() < until) {
                peers.forEach(peer -> peer.end(buffer));
                Thread.sleep(LOOK_MS);
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
        if (!begun.isEmpty()) {
            service.log.error("requests were left at the end", "requests", begun.size());
        }
    }
}
