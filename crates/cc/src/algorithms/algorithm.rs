//! An algorithm's parameters and its state, as one table.

/// Makes the struct of an algorithm, its constructor `new` and its list `PARAMS` for the registry.
///
/// A row `name: type = default, least..=most, "unit";` is a parameter and the field that holds its value. The
/// comment above it says what the parameter does. A flag has only a default. A row `use PARAM, ...;` lists
/// parameters that have no field of their own. The registry has the parameters in the order of the rows.
///
/// `state` has all other fields. Each begins with the value given, or with the default of its type.
/// To compute values, `state(args, ...)` names the arguments of `new`; the parameters and the
/// fields above have their names.
macro_rules! algorithm {
    (@rows $head:tt [$($param:expr,)*] $fields:tt $new:tt $state:tt { use $($more:expr),+; $($rows:tt)* }) => {
        algorithm!(@rows $head [$($param,)* $($more,)+] $fields $new $state { $($rows)* });
    };
    (@rows $head:tt [$($param:expr,)*] [$($field:tt)*] $new:tt $state:tt {
        $(#[doc = $about:literal])+ $name:ident: $type:ty = $default:expr; $($rows:tt)*
    }) => {
        algorithm!(@rows $head
            [$($param,)* Param::flag(stringify!($name), $default).about(concat!($($about),+).trim_ascii_start()),]
            [$($field)* $name: $type,] $new $state { $($rows)* });
    };
    (@rows $head:tt [$($param:expr,)*] [$($field:tt)*] $new:tt $state:tt {
        $(#[doc = $about:literal])+ $name:ident: $type:ty = $default:expr, $range:expr $(, $unit:literal)?; $($rows:tt)*
    }) => {
        algorithm!(@rows $head
            [$($param,)* Param::number(stringify!($name), $default, $range)
                $(.unit($unit))? .about(concat!($($about),+).trim_ascii_start()),]
            [$($field)* $name: $type,] $new $state { $($rows)* });
    };
    (@rows [$(#[$meta:meta])* $seen:vis $algorithm:ident $(<$part:ident: $bound:ident>)?]
        [$($param:expr,)*] [$($name:ident: $type:ty,)*] [$args:ident $(, $more:ident: $kind:ty)*]
        [$($(#[$about:meta])* $open:vis $field:ident: $of:ty $(= $value:expr)?,)*] {}
    ) => {
        $(#[$meta])*
        $seen struct $algorithm $(<$part: $bound>)? {
            $($name: $type,)*
            $($(#[$about])* $open $field: $of,)*
        }

        impl $(<$part: $bound>)? $algorithm $(<$part>)? {
            /// Its parameters.
            pub(crate) const PARAMS: &[Param] = &[$($param),*];

            /// Its state at the start of a connection.
            pub(crate) fn new($args: &Args $(, $more: $kind)*) -> Self {
                $(let $name: $type = $crate::params::FromArgs::from_args($args, stringify!($name));)*
                $(let $field: $of = algorithm!(@value $($value)?);)*
                Self { $($name,)* $($field,)* }
            }
        }
    };
    (@value) => { Default::default() };
    (@value $value:expr) => { $value };
    ($(#[$meta:meta])* $seen:vis struct $algorithm:ident $(<$part:ident: $bound:ident>)? { $($rows:tt)* }
        $(state { $($state:tt)* })?
    ) => {
        algorithm!(@rows [$(#[$meta])* $seen $algorithm $(<$part: $bound>)?] [] [] [args] [$($($state)*)?] { $($rows)* });
    };
    ($(#[$meta:meta])* $seen:vis struct $algorithm:ident $(<$part:ident: $bound:ident>)? { $($rows:tt)* }
        state($($new:tt)*) { $($state:tt)* }
    ) => {
        algorithm!(@rows [$(#[$meta])* $seen $algorithm $(<$part: $bound>)?] [] [] [$($new)*] [$($state)*] { $($rows)* });
    };
}

pub(crate) use algorithm;
