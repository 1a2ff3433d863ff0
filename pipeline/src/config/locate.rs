//! Where a key stands in a RON text.

/// One key of a RON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundKey {
    /// Dotted path without the names of structs and variants.
    pub path: String,
    /// Byte offset of the key.
    pub offset: usize,
}

/// A place in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineColumn {
    pub line: usize,
    pub column: usize,
}

/// The path without variant names (segments that begin with a capital).
pub(super) fn plain_path(path: &str) -> String {
    let kept: Vec<&str> = path
        .split('.')
        .filter(|segment| !segment.starts_with(char::is_uppercase))
        .collect();
    kept.join(".")
}

/// The place of the key at `path`, or of the innermost section around it that the text has.
/// The flag says whether the key itself was found.
pub(super) fn locate(text: &str, path: &str) -> (LineColumn, bool) {
    let keys = keys_of(text);
    let mut wanted = plain_path(path);
    let mut exact = true;
    loop {
        if let Some(key) = keys.iter().find(|key| key.path == wanted) {
            return (line_column(text, key.offset), exact);
        }
        exact = false;
        match wanted.rfind('.') {
            Some(dot) => wanted.truncate(dot),
            None => return (LineColumn { line: 1, column: 1 }, false),
        }
    }
}

/// Line and column of a byte offset; the column counts characters.
pub(super) fn line_column(text: &str, offset: usize) -> LineColumn {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    LineColumn {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// Every key of a text in order. Expects well-formed RON; on anything else it gives what it
/// could make out.
pub(super) fn keys_of(text: &str) -> Vec<FoundKey> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut sections: Vec<String> = Vec::new();
    let mut word: Option<(&str, usize)> = None;
    let mut key: Option<&str> = None;
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => at = skip_comment(bytes, at),
            b'"' => {
                at = skip_quoted(bytes, at);
                word = Some((&text[start + 1..at.saturating_sub(1).max(start + 1)], start));
            }
            b'r' if matches!(bytes.get(at + 1), Some(b'"' | b'#')) => at = skip_raw(bytes, at),
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => {
                while bytes
                    .get(at)
                    .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
                {
                    at += 1;
                }
                word = Some((&text[start..at], start));
            }
            b':' => {
                if let Some((name, offset)) = word.take() {
                    found.push(FoundKey {
                        path: join(&sections, name),
                        offset,
                    });
                    key = Some(name);
                }
                at += 1;
            }
            b'(' | b'{' | b'[' => {
                sections.push(key.take().unwrap_or_default().to_string());
                at += 1;
            }
            b')' | b'}' | b']' => {
                sections.pop();
                (key, word) = (None, None);
                at += 1;
            }
            b',' => {
                (key, word) = (None, None);
                at += 1;
            }
            _ => at += 1,
        }
    }
    found
}

fn join(sections: &[String], name: &str) -> String {
    let mut path = String::new();
    for section in sections.iter().filter(|section| !section.is_empty()) {
        path.push_str(section);
        path.push('.');
    }
    path.push_str(name);
    path
}

fn skip_comment(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 2;
    if bytes[start + 1] == b'/' {
        while at < bytes.len() && bytes[at] != b'\n' {
            at += 1;
        }
        return at;
    }
    let mut depth = 1;
    while at < bytes.len() && depth > 0 {
        match &bytes[at..] {
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            _ => at += 1,
        }
    }
    at
}

fn skip_quoted(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// `r"..."`, `r#"..."#` (skipped) or an identifier that begins with `r#` (stepped into).
fn skip_raw(bytes: &[u8], start: usize) -> usize {
    let hashes = bytes[start + 1..]
        .iter()
        .take_while(|b| **b == b'#')
        .count();
    let open = start + 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return open;
    }
    let mut at = open + 1;
    while at < bytes.len() {
        if bytes[at] == b'"'
            && bytes[at + 1..]
                .iter()
                .take(hashes)
                .filter(|b| **b == b'#')
                .count()
                == hashes
        {
            return at + 1 + hashes;
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#![enable(implicit_some)]\n(\n    // fetch: (no: 1)\n    name: \"a: (b\",\n    fetch: (width: 4, /* x: 1 /* y */ */ block: 32),\n    branch: Branch(predictor: Tage(tables: 3)),\n    raw: r#\"q: \"z\"#, pools: { \"int\": 2 },\n)";

    #[test]
    fn finds_every_key_and_nothing_in_comments_or_strings() {
        let paths: Vec<String> = keys_of(TEXT).into_iter().map(|key| key.path).collect();
        assert_eq!(
            paths,
            [
                "name",
                "fetch",
                "fetch.width",
                "fetch.block",
                "branch",
                "branch.predictor",
                "branch.predictor.tables",
                "raw",
                "pools",
                "pools.int"
            ]
        );
    }

    #[test]
    fn locates_keys_and_falls_back_to_the_section() {
        let at = |line, column| LineColumn { line, column };
        assert_eq!(locate(TEXT, "fetch.block"), (at(5, 42), true));
        assert_eq!(
            locate(TEXT, "branch.predictor.Tage.tables"),
            (at(6, 36), true)
        );
        assert_eq!(locate(TEXT, "fetch.missing"), (at(5, 5), false));
        assert_eq!(locate(TEXT, "nothing.at.all"), (at(1, 1), false));
    }

    #[test]
    fn survives_broken_texts() {
        for text in [
            "", "(", "\"", "r#\"", "/*", "a:", "))))", "\\", "r#", "é: (ü",
        ] {
            for key in keys_of(text) {
                let last = key.path.rsplit('.').next().unwrap_or_default();
                assert!(
                    text[key.offset..].starts_with(last),
                    "{text:?}: {}",
                    key.path
                );
            }
        }
    }
}
