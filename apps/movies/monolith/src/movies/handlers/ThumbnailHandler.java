package movies.handlers;

import java.nio.ByteBuffer;
import java.util.List;
import movies.chassis.Cache;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Store;
import movies.idl.Code;
import movies.idl.Refused;
import movies.idl.Thumbnail;

/** The small pictures of films. */
public final class ThumbnailHandler extends Handler implements Thumbnail.Iface {
    private final Pictures pictures;

    public ThumbnailHandler(Store store, Cache cache) {
        pictures = new Pictures(store, cache);
    }

    @Override
    public ByteBuffer read(long movie) throws Refused, Failure {
        Pictures.Name name = new Pictures.Name("thumb:" + movie, "t:" + movie);
        byte[] picture = pictures.read(List.of(name)).get(name.id());
        if (picture == null) {
            throw new Refused(Code.NOT_FOUND, "movie " + movie + " has no thumbnail");
        }
        return ByteBuffer.wrap(picture);
    }
}
