package movies.chassis;

/** What is wrong with the configuration: file, key, what was given, what it takes. */
public final class ConfigError extends Exception {
    private static final long serialVersionUID = 1;

    public ConfigError(String what) {
        super(what);
    }
}
