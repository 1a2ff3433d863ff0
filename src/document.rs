//! JSON documents of commands: their formats, and JSON Schemas that are made of their types.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};

/// Format of a JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Name, which begins with `hps-`.
    pub name: &'static str,
    /// Version: 1 at first, and one more with each change that a reader of keys by name notices.
    pub version: u32,
}

/// A document that says its format in front of its own keys.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document<'a, T> {
    /// Name of the format.
    format: &'static str,
    /// Version of the format.
    format_version: u32,
    #[serde(flatten)]
    body: &'a T,
}

/// A format of a command, with its JSON Schema.
pub struct Described {
    /// The format.
    pub format: Format,
    /// JSON Schema of the format.
    pub schema: Value,
}

impl Format {
    /// A format.
    pub const fn new(name: &'static str, version: u32) -> Format {
        Format { name, version }
    }

    /// The document of this format with such a body.
    pub const fn of<T>(self, body: &T) -> Document<'_, T> {
        Document {
            format: self.name,
            format_version: self.version,
            body,
        }
    }

    /// The format of bodies of this type, which these commands write.
    pub fn described<T: JsonSchema>(self, commands: &[&str]) -> Described {
        let mut schema = self.schema::<T>();
        let says = schema["description"].as_str().unwrap_or("A list.");
        let written = commands.iter().map(|words| format!("`hps {words} --json`"));
        let written = written.collect::<Vec<_>>().join(", ");
        schema["description"] = match commands {
            [] => json!(says),
            _ => json!(format!("{says} Written by {written}.")),
        };
        Described {
            format: self,
            schema,
        }
    }

    /// The JSON Schema (draft 2020-12) of documents with a body of this type. A list has no key for its format.
    fn schema<T: JsonSchema>(self) -> Value {
        let settings = SchemaSettings::draft2020_12()
            .for_serialize()
            .with_transform(Tagged)
            .with_transform(Closed);
        let schema = settings.into_generator().into_root_schema_for::<T>();
        let mut schema = schema.to_value();
        schema["title"] = json!(format!("{} {}", self.name, self.version));
        if schema["type"] == "object" {
            for (key, value) in [
                ("format", json!(self.name)),
                ("format_version", json!(self.version)),
            ] {
                let says = format!("`{}`", value.to_string().trim_matches('"'));
                schema["properties"][key] = json!({ "const": value, "description": says });
                require(&mut schema, key);
            }
        }
        schema
    }
}

/// Adds a key to the required ones.
fn require(schema: &mut Value, key: &str) {
    if !schema["required"].is_array() {
        schema["required"] = json!([]);
    }
    if let Some(names) = schema["required"].as_array_mut()
        && !names.iter().any(|name| name == key)
    {
        names.push(json!(key));
    }
}

/// Gives the key that names a variant of an enumeration, and the one that holds its value, the meaning of the variant.
#[derive(Clone)]
struct Tagged;

impl Transform for Tagged {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
        for variant in variants.into_iter().flatten() {
            let says = variant["description"].clone();
            let keys = variant.get_mut("properties");
            let Some(keys) = keys.and_then(Value::as_object_mut) else {
                continue;
            };
            // Fields of a variant have meanings of their own.
            let is_tag = |key: &Value| key.get("const").is_some();
            let has_one_value = keys.values().filter(|key| !is_tag(key)).count() == 1;
            for key in keys.values_mut() {
                if key.get("description").is_none() && (is_tag(key) || has_one_value) {
                    key["description"] = says.clone();
                }
            }
        }
    }
}

/// Refuses keys that a type does not have, so that a test notices a key without a description.
#[derive(Clone)]
struct Closed;

/// Keywords that list alternatives or parts of an object.
const PARTS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

impl Transform for Closed {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let has = |key: &str| schema.get(key).is_some();
        if !has("properties") || has("additionalProperties") || has("unevaluatedProperties") {
            return;
        }
        let mut key = "additionalProperties";
        for keyword in PARTS {
            // Each part allows the keys beside it, and all together no others.
            for part in schema
                .get_mut(keyword)
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                key = "unevaluatedProperties";
                if let Some(part) = part.as_object_mut() {
                    part.remove("additionalProperties");
                }
            }
        }
        schema.insert(key.to_string(), Value::Bool(false));
    }
}
