package movies.chassis;

/** The classes that Thrift generates beside an interface: `Videos.Client` and `Videos.Processor` beside `Videos.Iface`. */
final class Generated {
    private Generated() {}

    /** Makes one of them by its only public constructor. `name`: such as `Processor`. */
    static Object make(Class<?> iface, String name, Object... values) {
        try {
            return Class.forName(iface.getEnclosingClass().getName() + "$" + name).getConstructors()[0].newInstance(values);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(iface + " has no " + name, error);
        }
    }
}
