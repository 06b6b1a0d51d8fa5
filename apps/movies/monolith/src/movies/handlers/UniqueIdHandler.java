package movies.handlers;

import java.util.function.LongSupplier;
import movies.chassis.Handler;
import movies.idl.ComposeReview;
import movies.idl.Part;
import movies.idl.PartKind;
import movies.idl.UniqueId;
import org.apache.thrift.TException;

/** Numbers of new reviews. */
public final class UniqueIdHandler extends Handler implements UniqueId.Iface {
    private final LongSupplier ids;
    private final ComposeReview.Iface reviews;

    public UniqueIdHandler(LongSupplier ids, ComposeReview.Iface reviews) {
        this.ids = ids;
        this.reviews = reviews;
    }

    @Override
    public long upload(long request) throws TException {
        long review = ids.getAsLong();
        reviews.put(request, new Part(PartKind.ID, review, ""));
        return review;
    }
}
