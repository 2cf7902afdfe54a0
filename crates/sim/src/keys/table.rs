//! The tables of a scenario, which have one form.

/// Makes structs that are tables of keys. An unknown key is refused. A key `name?: Type` may be absent, and
/// is then not written. Where keys have values, as in `name: Type = value`, all of them do: each may be
/// absent, and then has its value.
macro_rules! keys {
    (@ [$($about:tt)*] $table:ident [$($key:tt)*] []) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        $($about)*
        pub struct $table { $($key)* }
    };
    (@ [$($about:tt)*] $table:ident $keys:tt [$($value:tt)+]) => {
        $crate::keys::table::keys!(@ [#[serde(default)] $($about)*] $table $keys []);

        impl Default for $table {
            fn default() -> Self {
                Self { $($value)* }
            }
        }
    };
    (@ $about:tt $table:ident [$($key:tt)*] $values:tt $(#[$help:meta])* pub $name:ident?: $type:ty, $($more:tt)*) => {
        $crate::keys::table::keys!(@ $about $table [
            $($key)* $(#[$help])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $name: Option<$type>,
        ] $values $($more)*);
    };
    (@ $about:tt $table:ident [$($key:tt)*] [$($value:tt)*] $(#[$help:meta])* pub $name:ident: $type:ty = $default:expr, $($more:tt)*) => {
        $crate::keys::table::keys!(
            @ $about $table [$($key)* $(#[$help])* pub $name: $type,] [$($value)* $name: $default,] $($more)*
        );
    };
    (@ $about:tt $table:ident [$($key:tt)*] $values:tt $(#[$help:meta])* $seen:vis $name:ident: $type:ty, $($more:tt)*) => {
        $crate::keys::table::keys!(
            @ $about $table [$($key)* $(#[$help])* $seen $name: $type,] $values $($more)*
        );
    };
    ($($(#[$about:meta])* pub struct $table:ident { $($key:tt)* })*) => {
        $($crate::keys::table::keys!(@ [$(#[$about])*] $table [] [] $($key)*);)*
    };
}
pub(crate) use keys;
