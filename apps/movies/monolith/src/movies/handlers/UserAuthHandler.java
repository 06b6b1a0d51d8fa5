package movies.handlers;

import com.google.gson.JsonObject;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import movies.chassis.Documents;
import movies.chassis.Handler;
import movies.chassis.Store;
import movies.idl.Balance;
import movies.idl.Charge;
import movies.idl.Code;
import movies.idl.Refused;
import movies.idl.UserAuth;
import org.apache.thrift.TException;

/** A token's user, and the user's payments. */
public final class UserAuthHandler extends Handler implements UserAuth.Iface {
    /** A key is part of an id in the database. Units: bytes. */
    private static final int LONGEST_KEY = 64;
    /** No film costs more. Units: cents. */
    private static final int MOST = 1_000_000;
    /** Of a balance: far below what a number of JavaScript holds exactly. Units: cents. */
    private static final long FULL = 1_000_000_000_000L;

    private final Store store;
    private final Tokens tokens;

    public UserAuthHandler(Store store, Tokens tokens) {
        this.store = store;
        this.tokens = tokens;
    }

    @Override
    public long check(String token) throws TException {
        return tokens.user(token, store);
    }

    @Override
    public Balance balance(String token) throws TException {
        long user = check(token);
        JsonObject account = Documents.parse(String.valueOf(store.get("users", Long.toString(user))));
        if (account == null) {
            throw none(user);
        }
        return new Balance(user, Documents.number(account, "balance_cents"));
    }

    /** Takes the money once for each key of a user: the primary key of `charges` has both. */
    @Override
    public Charge charge(String token, int cents, String key) throws TException {
        long user = tokens.user(token);
        checkKey(key);
        if (cents < 0 || cents > MOST) {
            throw new Refused(Code.BAD_REQUEST, cents + " cents cannot be charged, but 0 to " + MOST);
        }
        return store.together(Long.toString(user), rows -> take(rows, token, user, cents, key));
    }

    /** Adds money, as a charge below zero. */
    @Override
    public Charge deposit(String token, int cents, String key) throws TException {
        long user = tokens.user(token);
        checkKey(key);
        if (cents < 1 || cents > MOST) {
            throw new Refused(Code.BAD_REQUEST, cents + " cents cannot be added, but 1 to " + MOST);
        }
        return store.together(Long.toString(user), rows -> take(rows, token, user, -cents, "+" + key));
    }

    private static void checkKey(String key) throws Refused {
        int size = key.getBytes(StandardCharsets.UTF_8).length;
        if (size < 1 || size > LONGEST_KEY || key.indexOf('\0') >= 0) {
            throw new Refused(Code.BAD_REQUEST, "a key has " + size + " bytes, and takes 1 to " + LONGEST_KEY + ", none of them 0");
        }
    }

    private static Refused none(long user) {
        return new Refused(Code.NOT_FOUND, "user " + user + " does not exist");
    }

    private static Charge take(Store.Rows rows, String token, long user, int cents, String key) throws Refused, SQLException {
        Tokens.checkIsAlive(rows.get("ended", Tokens.id(token)));
        // The lock on the user serializes that user's charges, so the values read below stay valid.
        JsonObject account = Documents.parse(String.valueOf(rows.lock("users", Long.toString(user))));
        if (account == null) {
            throw none(user);
        }
        String id = user + ":" + key;
        JsonObject before = Documents.parse(String.valueOf(rows.get("charges", id)));
        if (before != null) {
            long charged = Documents.number(before, "cents");
            if (charged != cents) {
                throw new Refused(Code.CONFLICT, "the key was charged with " + charged + " cents before, and not with " + cents);
            }
            return new Charge(user, Documents.number(before, "balance_cents"), true);
        }
        long had = Documents.number(account, "balance_cents");
        long balance = had - cents;
        if (balance < 0) {
            throw new Refused(Code.PAYMENT_REQUIRED, "the balance is " + had + " cents, and not " + cents);
        }
        if (balance > FULL) {
            throw new Refused(Code.CONFLICT, "the balance would be " + balance + " cents; the limit is " + FULL);
        }
        JsonObject after = new JsonObject();
        after.addProperty("balance_cents", balance);
        rows.merge("users", Long.toString(user), after.toString());
        after.addProperty("cents", cents);
        rows.insert("charges", id, after.toString());
        return new Charge(user, balance, false);
    }
}
