//! Validates JSON against the part of JSON Schema (draft 2020-12) that the schemas of `docs/formats/schemas` use.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// Keywords that say nothing about what is valid.
const SILENT: [&str; 7] = [
    "$schema",
    "$defs",
    "title",
    "description",
    "unit",
    "default",
    // Of numbers: their size, which the types of the code have.
    "format",
];

/// The JSON Schema that the documents have of a format.
pub fn schema(format: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/formats/schemas");
    let file = folder.join(format!("{format}.schema.json"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// Refuses a document that does not obey the schema of its format.
#[track_caller]
pub fn expect_valid(format: &str, document: &Value) {
    let found = errors(&schema(format), document, "");
    assert!(found.is_empty(), "{format}: {found:#?}");
}

/// Places where a document breaks the schema, each with the reason. `place` is that of the document.
pub fn errors(schema: &Value, document: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    Validator { root: schema }.check(schema, document, place, &mut found);
    found
}

struct Validator<'a> {
    root: &'a Value,
}

impl<'a> Validator<'a> {
    /// Whether a document obeys a part of the schema.
    fn allows(&self, schema: &'a Value, document: &Value) -> bool {
        let mut found = Vec::new();
        self.check(schema, document, "", &mut found);
        found.is_empty()
    }

    fn check(&self, schema: &'a Value, document: &Value, place: &str, found: &mut Vec<String>) {
        let keywords = match schema {
            Value::Bool(true) => return,
            Value::Bool(false) => return found.push(format!("{place}: may not be here")),
            _ => schema.as_object().expect("a schema is an object"),
        };
        for (keyword, wanted) in keywords {
            self.check_keyword((keyword, wanted), schema, (document, place), found);
        }
    }

    fn check_keyword(
        &self,
        (keyword, wanted): (&str, &'a Value),
        schema: &'a Value,
        (document, place): (&Value, &str),
        found: &mut Vec<String>,
    ) {
        let number = || wanted.as_f64().expect("a number");
        let keys = || document.as_object().into_iter().flat_map(|o| o.keys());
        match keyword {
            "const" if document != wanted => found.push(format!("{place}: is not {wanted}")),
            "enum" if !list(wanted).contains(document) => {
                found.push(format!("{place}: {document} is none of {wanted}"));
            }
            "type" if !types(wanted).iter().any(|t| is_of(document, t)) => {
                found.push(format!("{place}: {document} is no {wanted}"));
            }
            "minimum" if document.as_f64().is_some_and(|value| value < number()) => {
                found.push(format!("{place}: is below {wanted}"));
            }
            "maximum" if document.as_f64().is_some_and(|value| value > number()) => {
                found.push(format!("{place}: is above {wanted}"));
            }
            "minItems"
                if document
                    .as_array()
                    .is_some_and(|all| (all.len() as f64) < number()) =>
            {
                found.push(format!("{place}: has fewer than {wanted} elements"));
            }
            "maxItems"
                if document
                    .as_array()
                    .is_some_and(|all| all.len() as f64 > number()) =>
            {
                found.push(format!("{place}: has more than {wanted} elements"));
            }
            "required" if document.is_object() => {
                let names = list(wanted).iter();
                let missing =
                    names.filter(|name| document.get(name.as_str().expect("a name")).is_none());
                found.extend(missing.map(|name| format!("{place}: lacks {name}")));
            }
            "$ref" => self.check(self.definition(wanted), document, place, found),
            "allOf" => {
                for part in list(wanted) {
                    self.check(part, document, place, found);
                }
            }
            "anyOf" | "oneOf" => {
                let several = list(wanted).iter();
                let count = several.filter(|one| self.allows(one, document)).count();
                if count == 0 || (keyword == "oneOf" && count > 1) {
                    found.push(format!("{place}: {document} obeys {count} alternatives"));
                }
            }
            "properties" => {
                for (name, schema) in wanted.as_object().expect("properties") {
                    if let Some(value) = document.get(name) {
                        self.check(schema, value, &format!("{place}.{name}"), found);
                    }
                }
            }
            "additionalProperties" | "unevaluatedProperties" => {
                let known = match keyword {
                    "additionalProperties" => names(schema),
                    _ => self.known(schema, document),
                };
                for key in keys().filter(|key| !known.contains(key.as_str())) {
                    match wanted {
                        Value::Bool(false) => found.push(format!("{place}: has {key}")),
                        _ => self.check(wanted, &document[key], &format!("{place}.{key}"), found),
                    }
                }
            }
            "prefixItems" => {
                let elements = document.as_array().into_iter().flatten();
                for (at, (schema, element)) in list(wanted).iter().zip(elements).enumerate() {
                    self.check(schema, element, &format!("{place}[{at}]"), found);
                }
            }
            "items" => {
                let first = schema["prefixItems"].as_array().map_or(0, Vec::len);
                let elements = document.as_array().into_iter().flatten().enumerate();
                for (at, element) in elements.skip(first) {
                    self.check(wanted, element, &format!("{place}[{at}]"), found);
                }
            }
            "const" | "enum" | "type" | "minimum" | "maximum" | "minItems" | "maxItems"
            | "required" => {}
            other => assert!(
                SILENT.contains(&other),
                "{place}: `{other}` is not validated"
            ),
        }
    }

    /// The part of the schema that a `$ref` names.
    fn definition(&self, name: &Value) -> &'a Value {
        let pointer = name.as_str().and_then(|name| name.strip_prefix('#'));
        let part = pointer.and_then(|pointer| self.root.pointer(pointer));
        part.unwrap_or_else(|| panic!("{name} is not in the schema"))
    }

    /// Keys that a schema knows, with those of its parts that the document obeys.
    fn known(&self, schema: &'a Value, document: &Value) -> BTreeSet<&'a str> {
        let mut known = names(schema);
        let named = schema.get("$ref").map(|name| self.definition(name));
        let parts = ["oneOf", "anyOf", "allOf"].into_iter();
        let parts = parts.flat_map(|keyword| schema[keyword].as_array().into_iter().flatten());
        for part in parts.chain(named) {
            if self.allows(part, document) {
                known.extend(self.known(part, document));
            }
        }
        known
    }
}

/// Names of the properties of a schema.
fn names(schema: &Value) -> BTreeSet<&str> {
    let properties = schema["properties"].as_object().into_iter();
    properties
        .flat_map(|p| p.keys().map(String::as_str))
        .collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn types(wanted: &Value) -> Vec<&str> {
    match wanted {
        Value::String(one) => vec![one],
        several => {
            let several = several.as_array().expect("types").iter();
            several.map(|one| one.as_str().expect("a type")).collect()
        }
    }
}

fn is_of(document: &Value, kind: &str) -> bool {
    match kind {
        "null" => document.is_null(),
        "boolean" => document.is_boolean(),
        "string" => document.is_string(),
        "number" => document.is_number(),
        "integer" => document.is_i64() || document.is_u64(),
        "array" => document.is_array(),
        "object" => document.is_object(),
        other => panic!("{other} is no type"),
    }
}
