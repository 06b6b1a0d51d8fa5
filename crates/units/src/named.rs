/// Declares an enumeration whose values have names, with a list of all of them, their names and the look-up by name.
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $($(#[$of:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$of])* $variant,)+
        }

        impl $type {
            /// All values, in their order.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// The name that is typed and recorded.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),+ }
            }

            /// The value of this name.
            pub fn named(name: &str) -> Option<$type> {
                $type::ALL.into_iter().find(|one| one.name() == name)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
