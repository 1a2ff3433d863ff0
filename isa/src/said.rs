//! Messages for people: English, and as a template with values, so that a page can say them in another language.

use std::fmt;
use std::ops::Deref;

/// A message in English. One of [`said!`](crate::said!) also has its template and the values that stand in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    english: String,
    /// The English text with `{places}`; `None` for a message that is English only.
    pub template: Option<&'static str>,
    /// The values by the names of their places.
    pub values: Vec<(&'static str, String)>,
}

impl Said {
    /// A template with its values. Use [`said!`](crate::said!), whose templates the tests of the page's languages find.
    #[must_use]
    pub fn new(template: &'static str, values: Vec<(&'static str, String)>) -> Said {
        let mut english = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, after) = behind.split_once('}').unwrap_or((behind, ""));
            let value = values.iter().find(|(known, _)| *known == name);
            english += before;
            english += value.map_or("", |(_, value)| value);
            rest = after;
        }
        english += rest;
        Said {
            english,
            template: Some(template),
            values,
        }
    }
}

/// A message by its English template: `said!("`{name}` is no label", name = name)`.
#[macro_export]
macro_rules! said {
    ($template:literal $(, $name:ident = $value:expr)* $(,)?) => {
        $crate::said::Said::new($template, vec![$((stringify!($name), $value.to_string())),*])
    };
}

impl Deref for Said {
    type Target = str;

    fn deref(&self) -> &str {
        &self.english
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.english)
    }
}

impl From<String> for Said {
    fn from(english: String) -> Said {
        Said {
            english,
            template: None,
            values: Vec::new(),
        }
    }
}

impl From<&str> for Said {
    fn from(english: &str) -> Said {
        Said::from(english.to_owned())
    }
}

impl From<Said> for String {
    fn from(said: Said) -> String {
        said.english
    }
}

#[cfg(test)]
mod tests {
    use crate::said::Said;

    #[test]
    fn values_stand_in_their_places_as_they_are() {
        let (name, n) = ("{n}", 3);
        let message = said!("`{name}` is there {n} times: {name}", name = name, n = n);
        assert_eq!(&*message, "`{n}` is there 3 times: {n}");
        assert_eq!(
            message.template,
            Some("`{name}` is there {n} times: {name}")
        );
        assert_eq!(Said::from("a {b}").to_string(), "a {b}");
    }
}
