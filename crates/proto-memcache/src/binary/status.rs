macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        /// How a request ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Status {
            $($(#[$doc])* $name = $code,)*
        }

        impl Status {
            /// The code in a header.
            pub fn code(self) -> u16 {
                self as u16
            }

            /// The default text after the header. Source: memcached, by experiment.
            pub fn text(self) -> &'static [u8] {
                match self {
                    $(Status::$name => $text,)*
                }
            }

            /// The status of this code, if known.
            pub fn of(code: u16) -> Option<Status> {
                match code {
                    $($code => Some(Status::$name),)*
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    /// It was done.
    Done = 0x00, b"";
    /// The item does not exist.
    NotFound = 0x01, b"Not found";
    /// There is such an item, or it has another unique number.
    Exists = 0x02, b"Data exists for key.";
    /// The item is over the largest size.
    TooLarge = 0x03, b"Too large.";
    /// The lengths in the header do not fit the command.
    Invalid = 0x04, b"Invalid arguments";
    /// No item exists to append to.
    NotStored = 0x05, b"Not stored.";
    /// The item to be counted is not a number.
    NonNumeric = 0x06, b"Non-numeric server-side value for incr or decr";
    /// The client is not known, or the command is not allowed.
    AuthError = 0x20, b"Auth failure.";
    /// The server waits for the next step of SASL.
    AuthContinue = 0x21, b"";
    /// Unknown command.
    Unknown = 0x81, b"Unknown command";
    /// Out of memory.
    NoMemory = 0x82, b"Out of memory";
    /// The server does not speak this protocol.
    NotSupported = 0x83, b"Not supported";
}
