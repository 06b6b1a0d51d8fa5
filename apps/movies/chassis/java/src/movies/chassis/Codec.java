package movies.chassis;

import org.apache.thrift.TByteArrayOutputStream;
import org.apache.thrift.TConfiguration;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.protocol.TProtocolUtil;
import org.apache.thrift.transport.TIOStreamTransport;
import org.apache.thrift.transport.TMemoryInputTransport;

/** The strict binary protocol over memory. */
final class Codec {
    /** More than the types of the application nest; Thrift's own limit for structures that it knows is 64. */
    private static final int DEEPEST = 64;

    static {
        // Otherwise unknown fields may nest until the stack ends.
        TProtocolUtil.setMaxSkipDepth(DEEPEST);
    }

    private Codec() {}

    /** Reads a part of an array: sizes that it says cannot be larger than it is. */
    static TProtocol reader(byte[] bytes, int from) throws TException {
        int size = bytes.length - from;
        TConfiguration limits = new TConfiguration(size, Frame.LIMIT, DEEPEST);
        return new TBinaryProtocol(new TMemoryInputTransport(limits, bytes, from, size), size, size, true, true);
    }

    static TProtocol writer(TByteArrayOutputStream out) throws TException {
        return new TBinaryProtocol(new TIOStreamTransport(out));
    }
}
