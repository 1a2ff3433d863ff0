//! How a configuration section is declared once and gives its struct, its defaults, its
//! differences ("patch") and its documentation.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt::Write as _;

/// Where the default of a key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The HPS paper's description of its machine (section 5).
    Paper,
    /// The paper leaves it open; chosen here. The reason stands in `presets/hps-4wide.ron`.
    Chosen,
}

/// Documentation of one configuration key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDoc {
    /// Where the key is, e.g. `memory.l1d.hit_cycles`. Keys of a variant of an enumeration have
    /// the variant in their path, e.g. `branch.predictor.Tage.tables`.
    pub path: String,
    /// Unit of the value.
    pub unit: &'static str,
    /// Default as it would be written in a file.
    pub default: String,
    /// Meaning of the key; for enumerations also every allowed value.
    pub description: String,
    /// Where the default comes from.
    pub source: Source,
}

/// Keys whose defaults are from the paper's section 5; every other default is chosen.
const PAPER_KEYS: &[&str] = &[
    "window.rob_entries",
    "window.reservation_stations",
    "window.dispatch_width",
    "fetch.fetch_width_insts",
    "decode.decode_width",
    "issue.issue_width",
    "window.commit_width",
    "memory.l1i.size_bytes",
    "memory.l1d.size_bytes",
    "memory.l2.size_bytes",
    "dise.pt_entries",
    "dise.rt_entries",
    "dise.rt_entry_bytes",
    "dise.expansion_cost",
    "dise.stall_cycles",
];

/// The source of the default of `path`.
pub(super) fn source_of(path: &str) -> Source {
    if PAPER_KEYS.contains(&path) {
        Source::Paper
    } else {
        Source::Chosen
    }
}

/// Path, unit and description under which a node appears in its section.
#[derive(Clone)]
pub struct Place {
    /// Dotted path.
    pub path: String,
    /// Unit of the value.
    pub unit: &'static str,
    /// Text of the key's doc comment.
    pub description: &'static str,
}

/// A part of the configuration: a section or a value.
pub trait Node: Sized {
    /// Part of the node that a file gives: nothing, some of it, or all.
    type Patch: Default + DeserializeOwned;

    /// Overwrites what `patch` gives.
    fn apply(&mut self, patch: Self::Patch);

    /// Appends the documentation of its keys; `self` holds the defaults.
    fn document(&self, place: Place, out: &mut Vec<KeyDoc>);

    /// Appends it as RON; leaves are followed by `,` and their unit and description.
    fn print(&self, place: &Place, indent: usize, out: &mut String);
}

/// The patch of a single value.
pub struct Given<T>(pub Option<T>);

impl<T> Default for Given<T> {
    fn default() -> Self {
        Given(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Given(Some(value)))
    }
}

/// The reader's and writer's dialect: `Tage(tables: 6)` instead of `Tage((tables: 6))`.
pub(super) fn dialect() -> ron::Options {
    ron::Options::default()
        .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES)
}

/// A value on one line, as a file would hold it.
pub(super) fn value_text<T: Serialize>(value: &T) -> String {
    let style = ron::ser::PrettyConfig::new()
        .struct_names(false)
        .compact_structs(true)
        .compact_maps(true)
        .compact_arrays(true);
    dialect()
        .to_string_pretty(value, style)
        .unwrap_or_else(|error| format!("/* {error} */"))
}

/// Appends the documentation of a value.
pub(super) fn document_value<T: Serialize>(value: &T, place: Place, out: &mut Vec<KeyDoc>) {
    out.push(KeyDoc {
        source: source_of(&place.path),
        path: place.path,
        unit: place.unit,
        default: value_text(value),
        description: place.description.to_string(),
    });
}

/// Prints `name: value, // unit: description`.
pub(super) fn print_value<T: Serialize>(value: &T, place: &Place, indent: usize, out: &mut String) {
    let name = place.path.rsplit('.').next().unwrap_or(&place.path);
    let origin = match source_of(&place.path) {
        Source::Paper => " (default: paper, section 5)",
        Source::Chosen => "",
    };
    let _ = writeln!(
        out,
        "{:indent$}{name}: {}, // {}: {}{origin}",
        "",
        value_text(value),
        place.unit,
        place.description,
        indent = indent * 4,
    );
}

/// A value that is given as a whole or not at all.
macro_rules! leaf {
    ($($ty:ty),+) => {$(
        impl $crate::config::node::Node for $ty {
            type Patch = $crate::config::node::Given<$ty>;

            fn apply(&mut self, patch: Self::Patch) {
                if let Some(value) = patch.0 {
                    *self = value;
                }
            }

            fn document(
                &self,
                place: $crate::config::node::Place,
                out: &mut Vec<$crate::config::node::KeyDoc>,
            ) {
                $crate::config::node::document_value(self, place, out);
            }

            fn print(
                &self,
                place: &$crate::config::node::Place,
                indent: usize,
                out: &mut String,
            ) {
                $crate::config::node::print_value(self, place, indent, out);
            }
        }
    )+};
}

leaf!(u32, u64, bool, String);

/// Declares a section. The doc comment of a field is its description at run time too. An attribute of
/// serde may follow it, for what is written of the field.
macro_rules! config_section {
    (
        $(#[doc = $section_doc:expr])+
        $name:ident patched by $patch:ident {
            $(
                $(#[doc = $doc:expr])+
                $(#[serde($serde:meta)])?
                $field:ident: $ty:ty = $default:expr, $unit:literal;
            )+
        }
    ) => {
        $(#[doc = $section_doc])+
        #[derive(
            Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("\n\nUnit: ", $unit, ".")]
                $(#[serde($serde)])?
                pub $field: $ty,
            )+
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $( $field: $default, )+ }
            }
        }

        #[doc = concat!("What a file says of [`", stringify!($name), "`].")]
        #[derive(Default, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $patch {
            $( pub(super) $field: <$ty as $crate::config::node::Node>::Patch, )+
        }

        impl $crate::config::node::Node for $name {
            type Patch = $patch;

            fn apply(&mut self, patch: $patch) {
                $( self.$field.apply(patch.$field); )+
            }

            fn document(
                &self,
                place: $crate::config::node::Place,
                out: &mut Vec<$crate::config::node::KeyDoc>,
            ) {
                $(
                    let field = $crate::config::node::field_place(
                        &place.path, stringify!($field), $unit, concat!($($doc),+),
                    );
                    self.$field.document(field, out);
                )+
            }

            fn print(
                &self,
                place: &$crate::config::node::Place,
                indent: usize,
                out: &mut String,
            ) {
                $crate::config::node::open_section(place, indent, out);
                $(
                    let field = $crate::config::node::field_place(
                        &place.path, stringify!($field), $unit, concat!($($doc),+),
                    );
                    self.$field.print(&field, indent + 1, out);
                )+
                $crate::config::node::close_section(place, indent, out);
            }
        }
    };
}

/// Declares an enumeration whose variants are units or hold one section.
macro_rules! config_enum {
    (
        $(#[doc = $enum_doc:expr])+
        $name:ident {
            $( $(#[doc = $doc:expr])+ $variant:ident $(($payload:ty))?, )+
        }
    ) => {
        $(#[doc = $enum_doc])+
        #[derive(
            Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum $name {
            $( $(#[doc = $doc])+ $variant $(($payload))?, )+
        }

        impl $crate::config::node::Node for $name {
            type Patch = $crate::config::node::Given<$name>;

            fn apply(&mut self, patch: Self::Patch) {
                if let Some(value) = patch.0 {
                    *self = value;
                }
            }

            fn document(
                &self,
                place: $crate::config::node::Place,
                out: &mut Vec<$crate::config::node::KeyDoc>,
            ) {
                let mut description = place.description.trim_end_matches('.').to_string();
                description.push_str(". One of");
                $(
                    description.push_str(concat!(" `", stringify!($variant), "`:", $($doc),+));
                )+
                out.push($crate::config::node::KeyDoc {
                    source: $crate::config::node::source_of(&place.path),
                    path: place.path.clone(),
                    unit: place.unit,
                    default: $crate::config::node::value_text(self),
                    description,
                });
                $($(
                    let mut variant = place.clone();
                    variant.path.push_str(concat!(".", stringify!($variant)));
                    <$payload as Default>::default().document(variant, out);
                )?)+
            }

            fn print(
                &self,
                place: &$crate::config::node::Place,
                indent: usize,
                out: &mut String,
            ) {
                $crate::config::node::print_value(self, place, indent, out);
            }
        }
    };
}

pub(super) use {config_enum, config_section, leaf};

/// The place of a field of the section at `section`.
pub(super) fn field_place(
    section: &str,
    field: &str,
    unit: &'static str,
    description: &'static str,
) -> Place {
    let path = if section.is_empty() {
        field.to_string()
    } else {
        format!("{section}.{field}")
    };
    Place {
        path,
        unit,
        description: description.trim(),
    }
}

/// Prints the head of a section.
pub(super) fn open_section(place: &Place, indent: usize, out: &mut String) {
    let pad = indent * 4;
    match place.path.rsplit('.').next() {
        None | Some("") => out.push_str("(\n"),
        Some(name) => {
            let _ = writeln!(out, "{:pad$}// {}", "", place.description);
            let _ = writeln!(out, "{:pad$}{name}: (", "");
        }
    }
}

/// Prints the end of a section.
pub(super) fn close_section(place: &Place, indent: usize, out: &mut String) {
    let end = if place.path.is_empty() { ")" } else { ")," };
    let _ = writeln!(out, "{:pad$}{end}", "", pad = indent * 4);
}
