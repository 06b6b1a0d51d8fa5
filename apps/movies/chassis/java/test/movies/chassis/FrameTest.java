package movies.chassis;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.thrift.protocol.TMessageType;
import org.junit.jupiter.api.Test;

final class FrameTest {
    private static boolean isTaken(byte[] bytes) {
        ByteBuffer whole = ByteBuffer.wrap(bytes);
        if (bytes.length < 5) {
            return false;
        }
        int size = whole.getInt();
        if (size < 1 || size > Frame.LIMIT || size != whole.remaining()) {
            return false;
        }
        try {
            Frame frame = Frame.parse(Arrays.copyOfRange(bytes, 4, bytes.length));
            return Head.parse(frame).type() != 0;
        } catch (BadFrame bad) {
            return false;
        }
    }

    @Test
    void goldenFrames() throws IOException {
        int seen = 0;
        try (Stream<Path> files = Files.list(Path.of(System.getProperty("movies.contract"), "golden"))) {
            for (Path file : files.toList()) {
                Map<Boolean, List<String>> lines =
                        Files.readAllLines(file).stream().collect(Collectors.partitioningBy(line -> line.startsWith("#")));
                byte[] bytes = HexFormat.of().parseHex(String.join("", lines.get(false)).replaceAll("\\s", ""));
                boolean isSound = lines.get(true).contains("# accept: yes") || lines.get(true).contains("# level: message");
                assertEquals(isSound, isTaken(bytes), file.toString());
                seen++;
            }
        }
        assertTrue(seen > 30, seen + " golden frames");
    }

    @Test
    void headersComeBack() throws BadFrame {
        byte[] message = {(byte) 0x80, 1, 0, TMessageType.REPLY, 0, 0, 0, 1, 'x', 0, 0, 0, 9, 0};
        String longest = "7".repeat(300);
        byte[] bytes = Frame.withHeader(-5, message, message.length, "d", "250", "other", longest).array();
        assertEquals(bytes.length - 4, ByteBuffer.wrap(bytes).getInt());
        Frame frame = Frame.parse(Arrays.copyOfRange(bytes, 4, bytes.length));
        assertEquals(-5, frame.sequence());
        assertEquals(Map.of("d", "250", "other", longest), frame.pairs());
        assertArrayEquals(message, Arrays.copyOfRange(frame.bytes(), frame.messageFrom(), frame.bytes().length));
        assertEquals(new Head(TMessageType.REPLY, "x", 9, frame.messageFrom() + 13), Head.parse(frame));
    }

    @Test
    void randomBytesAreTakenOrRefused() throws BadFrame {
        Random random = new Random(1);
        byte[] message = {(byte) 0x80, 1, 0, TMessageType.CALL, 0, 0, 0, 4, 'p', 'i', 'n', 'g', 0, 0, 0, 9, 0};
        byte[] good = Frame.withHeader(7, message, message.length, "d", "250", "traceparent", "x").array();
        int refused = 0;
        for (int round = 0; round < 20_000; round++) {
            byte[] bytes = Arrays.copyOf(good, 1 + random.nextInt(good.length));
            for (int change = 0; change < 4; change++) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            refused += isTaken(bytes) ? 0 : 1;
            byte[] all = new byte[random.nextInt(64)];
            random.nextBytes(all);
            assertFalse(isTaken(all) && all[4] != (byte) 0x80 && all[4] != 0x0f);
        }
        assertTrue(refused > 1000);
    }

    @Test
    void inboxMakesFramesOfAnyParts() throws Exception {
        byte[] message = new byte[3000];
        message[0] = (byte) 0x80;
        byte[] two = new byte[2 * 3004];
        Frame.plain(message, message.length).get(two, 0, 3004);
        Frame.plain(message, message.length).get(two, 3004, 3004);
        for (int part : new int[] {1, 3, 1000, 3004, 6008}) {
            Inbox inbox = new Inbox();
            int taken = 0;
            try (var channel = java.nio.channels.Channels.newChannel(new java.io.ByteArrayInputStream(two))) {
                ByteBuffer buffer = ByteBuffer.allocate(part);
                while (inbox.fill(channel, buffer) >= 0) {
                    for (byte[] frame = inbox.takeFrame(); frame != null; frame = inbox.takeFrame()) {
                        assertArrayEquals(message, frame);
                        taken++;
                    }
                }
            }
            assertEquals(2, taken, "in parts of " + part);
        }
    }
}
